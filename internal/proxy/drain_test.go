// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/mctest"
)

// progress is how far emptying lobby-a has come; nil when it is no drain.
func (p *Proxy) progress() *agentv1alpha1.MoveProgress {
	for _, m := range p.report().GetReport().GetMoves() {
		if m.GetServer() == "lobby-a" {
			return m
		}
	}
	return nil
}

func TestADrainMovesEverybodyAndDisconnectsNobody(t *testing.T) {
	const players = 100
	n := newNetwork(t)
	leaving := n.add("lobby-a", rig{})
	p := n.front()
	bots := make([]*mctest.Bot, players)
	for i := range bots {
		bots[i] = n.bot(p, fmt.Sprint("player", i), func(s *mctest.BotSettings) { s.Moves = 20 })
	}
	for _, b := range bots {
		n.on(b, "lobby-a")
	}
	n.add("lobby-b", rig{playable: 60, slots: 60})
	n.add("lobby-c", rig{playable: 60, slots: 60})
	began := time.Now()
	n.door("lobby-a", agentv1alpha1.DoorState_DOOR_STATE_MOVING)
	for _, b := range bots {
		n.on(b, "lobby-b", "lobby-c")
		n.hears(b, "You were moved here from lobby-a: it is closing")
	}
	t.Logf("%d players were moved in %s", players, time.Since(began))
	n.eventually("nobody is left", func() bool { return len(leaving.Players()) == 0 })
	if m := p.progress(); m == nil || m.GetRemaining() != 0 || m.GetWithoutSeat() != 0 {
		t.Errorf("reported %v", m)
	}
	if b, c := len(n.servers["lobby-b"].Players()), len(n.servers["lobby-c"].Players()); b != 50 || c != 50 {
		t.Errorf("%d and %d", b, c)
	}
	for _, b := range bots {
		if b.Err() != nil {
			t.Errorf("%s: %v", b.Name(), b.Err())
		}
	}
	n.unharmed()
}

func TestADrainWithoutSeatsIsTriedUntilThereAreSome(t *testing.T) {
	n := newNetwork(t)
	n.add("lobby-a", rig{})
	p := n.front()
	b := n.joined(p, "Ada", "lobby-a")
	n.door("lobby-a", agentv1alpha1.DoorState_DOOR_STATE_MOVING)
	n.eventually("the lack is reported", func() bool {
		return p.progress().GetRemaining() == 1 && p.progress().GetWithoutSeat() == 1
	})
	if b.Server() != "lobby-a" {
		t.Errorf("on %q", b.Server())
	}
	n.add("lobby-b", rig{})
	n.on(b, "lobby-b")
	n.unharmed()
}

func TestADrainThatIsCalledOffMovesNobody(t *testing.T) {
	n := newNetwork(t)
	n.add("lobby-a", rig{})
	p := n.front()
	b := n.joined(p, "Ada", "lobby-a")
	n.door("lobby-a", agentv1alpha1.DoorState_DOOR_STATE_MOVING)
	n.eventually("the lack is reported", func() bool { return p.progress().GetWithoutSeat() == 1 })
	n.door("lobby-a", agentv1alpha1.DoorState_DOOR_STATE_OPEN)
	n.add("lobby-b", rig{})
	time.Sleep(moveAgain + 100*time.Millisecond) // time in which nothing must happen
	if b.Server() != "lobby-a" {
		t.Errorf("on %q", b.Server())
	}
	if p.progress() != nil {
		t.Error("progress is reported of what is no drain")
	}
}

// get answers from the proxy's probe port.
func (p *Proxy) get(t testing.TB, path string) (int, string) {
	t.Helper()
	resp, err := http.Get("http://" + p.config.HTTP.Addr().String() + path)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

func TestAWithdrawnProxyServesOnAndIsNotReady(t *testing.T) {
	n := newNetwork(t)
	n.add("lobby-a", rig{})
	p := n.front()
	if status, body := p.get(t, "/readyz"); status != http.StatusOK {
		t.Errorf("before: %d %s", status, body)
	}
	n.configure(func(s *agentv1alpha1.ProxySettings) { s.Withdrawn = true })
	if status, body := p.get(t, "/readyz"); status != http.StatusServiceUnavailable || !strings.Contains(body, "withdrawn") {
		t.Errorf("withdrawn: %d %s", status, body)
	}
	if status, _ := p.get(t, "/healthz"); status != http.StatusOK {
		t.Errorf("withdrawn, health: %d", status)
	}
	if !p.report().GetReport().GetWithdrawn() {
		t.Error("it is not reported")
	}
	n.joined(p, "Ada", "lobby-a")
	n.configure(func(s *agentv1alpha1.ProxySettings) { s.RefuseWhileWithdrawn = true })
	if got := n.ends(n.bot(p, "Bob")); got != "This way in is being replaced. Please join again in a moment." {
		t.Errorf("a port that no load balancer leaves out: %q", got)
	}
	n.configure(func(s *agentv1alpha1.ProxySettings) { s.Withdrawn = false })
	if status, _ := p.get(t, "/readyz"); status != http.StatusOK {
		t.Errorf("taken back: %d", status)
	}
	if _, body := p.get(t, "/metrics"); !strings.Contains(body, "spawnery_proxy_players 1") || !strings.Contains(body, `spawnery_proxy_logins_total{outcome="in"} 1`) {
		t.Errorf("metrics:\n%s", body)
	}
}

// A proxy that is told to end, as Run's context says it.
func TestAProxyThatMustGoWaitsForItsPlayers(t *testing.T) {
	for name, tt := range map[string]struct {
		timeout time.Duration
		told    int32 // by the manager, in seconds
		leave   bool
	}{
		"and ends when they have left":       {timeout: time.Minute, leave: true},
		"but not for ever":                   {timeout: 300 * time.Millisecond},
		"but not longer than it was told to": {timeout: time.Hour, told: 1},
	} {
		t.Run(name, func(t *testing.T) {
			n := newNetwork(t)
			n.add("lobby-a", rig{})
			config := n.config()
			config.DrainTimeout, n.settings.DrainSeconds = tt.timeout, tt.told
			p, err := New(config, n.log())
			if err != nil {
				t.Fatal(err)
			}
			n.proxies = append(n.proxies, p)
			ctx, told := context.WithCancel(n.ctx)
			ended := make(chan error, 1)
			go func() { ended <- p.Run(ctx) }()
			n.publish()
			older := n.joined(p, "Ada")
			told()
			n.eventually("it is withdrawn", func() bool { return p.ready() != nil })
			newer := n.joined(p, "Ben")
			if tt.leave {
				older.Leave()
				newer.Leave()
			} else {
				for _, b := range []*mctest.Bot{older, newer} {
					if got := n.ends(b); got != "The network is restarting. Please join again in a moment." {
						t.Errorf("got %q", got)
					}
				}
			}
			select {
			case err := <-ended:
				if err != nil {
					t.Error(err)
				}
			case <-n.ctx.Done():
				t.Fatal("it does not end")
			}
		})
	}
}

func TestARestartedProxyServesWithoutAManager(t *testing.T) {
	dir := t.TempDir()
	n := newNetwork(t)
	n.add("lobby-a", rig{})
	first := n.front(func(c *Config) { c.StateDir = dir })
	n.joined(first, "Ada").Leave()
	restarted := func() *Proxy {
		config := n.config()
		config.StateDir = dir
		p, err := New(config, n.log())
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	var p *Proxy
	n.eventually("the list is kept", func() bool { p = restarted(); return p.store.View().Complete() })
	ctx, cancel := context.WithCancel(n.ctx)
	ended := make(chan error, 1)
	go func() { ended <- p.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	if p.ready() != nil {
		t.Errorf("not ready: %v", p.ready())
	}
	b := n.joined(p, "Ben", "lobby-a")
	if p.report().GetReport().GetDirectoryRevision() != 0 {
		t.Error("it claims to hold the manager's list")
	}
	b.Leave()
}
