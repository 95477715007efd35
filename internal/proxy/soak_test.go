// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"runtime"
	"runtime/pprof"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spawnery/spawnery-operator/internal/mctest"
	"github.com/spawnery/spawnery-operator/internal/proxy/proxytest"
	"github.com/spawnery/spawnery-operator/internal/proxy/session"
)

var (
	soakFor  = flag.Duration("soak", 0, "how long TestSoak lasts; 0 skips it")
	soakSeed = flag.Uint64("seed", 0, "seed of TestSoak; 0 draws one")
)

// soak is a network whose players come and go at random.
type soak struct {
	*network
	until   context.Context // the end of all lives
	proxies []*Proxy
	servers []string

	joins, early, switches, refused, lines, here atomic.Int64
	mu                                           sync.Mutex
	wrong                                        []string
}

func (s *soak) complain(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wrong = append(s.wrong, fmt.Sprintf(format, args...))
}

// person lives one life after the other until the end: comes through a proxy,
// chats, switches, and leaves, sometimes before they have arrived.
func (s *soak) person(number int, random *rand.Rand) {
	for life := 0; s.until.Err() == nil; life++ {
		s.pause(random, 3*time.Second)
		p := s.proxies[random.IntN(len(s.proxies))]
		b, err := mctest.Join(s.ctx, mctest.BotSettings{Address: p.address(), Name: fmt.Sprintf("p%dn%d", number, life), Moves: 2})
		if err != nil {
			s.complain("%v", err)
			return
		}
		s.joins.Add(1)
		if random.IntN(8) == 0 {
			s.early.Add(1)
			s.pause(random, 60*time.Millisecond)
		} else if _, err := b.WaitServer(s.ctx); err != nil {
			s.complain("%v", err)
		} else {
			s.here.Add(1)
			s.stay(p, b, random)
			s.here.Add(-1)
		}
		b.Leave()
		if err := b.Err(); !errors.Is(err, mctest.ErrLeft) {
			s.complain("%s: %v", b.Name(), err)
		}
	}
}

func (s *soak) stay(p *Proxy, b *mctest.Bot, random *rand.Rand) {
	for range 1 + random.IntN(10) {
		s.pause(random, 3*time.Second)
		if s.until.Err() != nil {
			return
		}
		if random.IntN(2) == 0 {
			// Somebody who is just being moved misses a line.
			if b.Chat("hello from "+b.Name()) == nil {
				s.lines.Add(1)
			}
			continue
		}
		player := p.player(b.Name())
		if player == nil {
			s.complain("%s is on no roster: %v", b.Name(), b.Err())
			return
		}
		err := player.Switch(s.ctx, s.servers[random.IntN(len(s.servers))])
		if _, ok := errors.AsType[*session.Switched](err); ok {
			s.refused.Add(1)
		} else if err != nil {
			s.complain("%s: %v", b.Name(), err)
		} else {
			s.switches.Add(1)
		}
	}
}

// pause lasts up to a time.
func (s *soak) pause(random *rand.Rand, atMost time.Duration) {
	select {
	case <-time.After(time.Duration(random.Int64N(int64(atMost)))):
	case <-s.until.Done():
	}
}

// live has people live for a time, and returns when all of them have left.
func (s *soak) live(people int, seed uint64, d time.Duration) {
	ctx, cancel := context.WithTimeout(s.ctx, d)
	defer cancel()
	s.until = ctx
	var lives sync.WaitGroup
	for i := range people {
		random := rand.New(rand.NewPCG(seed, uint64(i)))
		lives.Go(func() { s.person(i, random) })
	}
	// The manager counts players about once a second.
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for second := 1; ctx.Err() == nil; second++ {
		select {
		case <-ticker.C:
			s.publish()
			if second%10 == 0 {
				s.t.Logf("%4d of %.0f s: %s", second, d.Seconds(), s.told())
			}
		case <-ctx.Done():
		}
	}
	lives.Wait()
}

func (s *soak) told() string {
	return fmt.Sprintf("%3d here, %d joins, %d of them left at once, %d switches, %d refused, %d lines, %d goroutines",
		s.here.Load(), s.joins.Load(), s.early.Load(), s.switches.Load(), s.refused.Load(), s.lines.Load(), runtime.NumGoroutine())
}

// TestSoak has people join, switch, chat and leave at random. In the end the
// process holds what it held before they came.
func TestSoak(t *testing.T) {
	if *soakFor == 0 {
		t.Skip("it needs the process for itself, for at least a minute: make soak")
	}
	const people = 200
	seed := *soakSeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("seed %d: %d people for %s; again with make soak SEED=%[1]d", seed, people, *soakFor)
	ctx, cancel := context.WithTimeout(t.Context(), *soakFor+10*time.Minute)
	defer cancel()
	s := &soak{network: newNetworkAlone(t), servers: []string{"lobby", "survival", "lobby-a", "lobby-b", "survival-a", "survival-b"}}
	s.ctx, s.quiet = ctx, true
	s.settings.MaxHeld = new(int32(people))
	for _, name := range s.servers[2:] {
		s.add(name, rig{playable: people, whole: true})
	}
	s.proxies = []*Proxy{s.front(), s.front()}
	begin := s.steady()
	t.Logf("before anybody came: %s", begin)
	s.live(people, seed+1, 5*time.Second)
	within := func() context.Context {
		ctx, cancel := context.WithTimeout(s.ctx, time.Minute)
		t.Cleanup(cancel)
		return ctx
	}
	begin = begin.Settled(within())
	t.Logf("after everything was used once: %s", begin)
	used, began := usedCPU(t), time.Now()
	s.live(people, seed, *soakFor)
	t.Logf("%.2f cores were used", (usedCPU(t)-used).Seconds()/time.Since(began).Seconds())
	end := begin.Settled(within())
	t.Logf("at the end: %s; %s", end, s.told())
	if err := begin.Kept(end); err != nil {
		t.Error(err)
		var stacks strings.Builder
		_ = pprof.Lookup("goroutine").WriteTo(&stacks, 1)
		t.Log(stacks.String())
	}
	for _, wrong := range s.wrong {
		t.Error(wrong)
	}
	if least := int64(soakFor.Seconds()) * people / 60; s.joins.Load() < least || s.switches.Load() < least || s.lines.Load() < least {
		t.Errorf("too little happened, at least %d of each should have: %s", least, s.told())
	}
	s.unharmed()
}

// steady is what is held once the number of goroutines has stayed the same for
// two seconds.
func (s *soak) steady() proxytest.Footprint {
	last, since := runtime.NumGoroutine(), time.Now()
	s.eventually("everything has started", func() bool {
		if n := runtime.NumGoroutine(); n != last {
			last, since = n, time.Now()
		}
		return time.Since(since) > 2*time.Second
	})
	return proxytest.Measure()
}
