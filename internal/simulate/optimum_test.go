// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// exact is the least cost of all plans: each place for each player, and each
// number of servers, is tried. It is for a handful of players.
func (c *clairvoyant) exact() time.Duration {
	e := &enumeration{clairvoyant: c, turnings: c.turnings(), known: map[string]time.Duration{}}
	return e.from(0, make([]uint32, c.needed(0)), c.start)
}

type enumeration struct {
	*clairvoyant
	turnings []turning
	known    map[string]time.Duration
}

// from is what it costs at least to go on with these servers, each told by who
// is on it.
func (e *enumeration) from(turn int, servers []uint32, now time.Time) time.Duration {
	if turn == len(e.turnings) {
		return time.Duration(len(servers)) * e.end.Sub(now)
	}
	slices.Sort(servers)
	key := fmt.Sprint(turn, servers)
	if cost, ok := e.known[key]; ok {
		return cost
	}
	one := e.turnings[turn]
	passed := time.Duration(len(servers)) * one.at.Sub(now)
	try := e.leave
	if one.by > 0 {
		try = e.join
	}
	cost := passed + try(turn, servers)
	e.known[key] = cost
	return cost
}

func players(servers []uint32) int {
	n := 0
	for _, s := range servers {
		n += bits.OnesCount32(s)
	}
	return n
}

// join tries every server with a seat, also ones that are started for it.
func (e *enumeration) join(turn int, servers []uint32) time.Duration {
	one := e.turnings[turn]
	missing := max(0, e.needed(players(servers)+1)-len(servers))
	best := time.Duration(1<<63 - 1)
	for more := missing; more <= missing+1; more++ {
		all := append(slices.Clone(servers), make([]uint32, more)...)
		for i := range all {
			if bits.OnesCount32(all[i]) == e.capacity {
				continue
			}
			next := slices.Clone(all)
			next[i] |= 1 << one.visit
			best = min(best, time.Duration(more)*e.boot+e.from(turn+1, next, one.at))
		}
	}
	return best
}

// leave tries to stop each number of the servers that are empty then.
func (e *enumeration) leave(turn int, servers []uint32) time.Duration {
	one := e.turnings[turn]
	var used []uint32
	empty := 0
	for _, s := range servers {
		if s &^= 1 << one.visit; s == 0 {
			empty++
		} else {
			used = append(used, s)
		}
	}
	best := time.Duration(1<<63 - 1)
	for kept := max(0, e.needed(players(used))-len(used)); kept <= empty; kept++ {
		best = min(best, e.from(turn+1, append(slices.Clone(used), make([]uint32, kept)...), one.at))
	}
	return best
}

// handful is a trace of a few players that can be enumerated.
func handful(chance *rand.Rand) *clairvoyant {
	c := &clairvoyant{
		start: monday, end: monday.Add(4 * time.Hour), capacity: 1 + chance.IntN(3), spare: chance.IntN(3), least: chance.IntN(2),
		boot: time.Duration(1+chance.IntN(20)) * time.Minute,
	}
	for range 4 + chance.IntN(5) {
		at := monday.Add(time.Duration(chance.IntN(180)) * time.Minute)
		c.visits = append(c.visits, Visit{At: at, Until: at.Add(time.Duration(1+chance.IntN(100)) * time.Minute)})
	}
	c.visits = inOrder(c.visits)
	return c
}

func TestTheOptimumLiesBetweenItsBounds(t *testing.T) {
	var least, exact, most time.Duration
	const traces = 300
	met := 0
	for seed := range uint64(traces) {
		c := handful(rand.New(rand.NewPCG(seed, 9)))
		low, optimum, high := c.atLeast(), c.exact(), c.atMost()
		if low > optimum || optimum > high {
			t.Fatalf("seed %d: at least %s, exactly %s, at most %s: %+v", seed, low, optimum, high, c)
		}
		least, exact, most = least+low, exact+optimum, most+high
		if high == optimum {
			met++
		}
	}
	if least.Hours() < 0.99*exact.Hours() || most.Hours() > 1.01*exact.Hours() || met < traces*4/5 {
		t.Errorf("at least %s, exactly %s, at most %s in all; the plan is the optimum in %d of %d traces", least, exact, most, met, traces)
	}
}

// The optimum by hand: a server for two, minutes from the start.
func TestTheOptimumOfSmallTraces(t *testing.T) {
	minutes := func(from, to int) Visit {
		return Visit{At: monday.Add(time.Duration(from) * time.Minute), Until: monday.Add(time.Duration(to) * time.Minute)}
	}
	for name, row := range map[string]struct {
		visits      []Visit
		spare       int
		want        int
		movedAtWill int
	}{
		"a server starts its boot time ahead": {[]Visit{minutes(10, 20)}, 0, 10 + 5, 15},
		"one that is needed again soon stays": {[]Visit{minutes(10, 20), minutes(24, 30)}, 0, 20 + 5, 25},
		"one that is not starts anew":         {[]Visit{minutes(10, 20), minutes(26, 30)}, 0, 10 + 5 + 4 + 5, 24},
		"spare seats cost a server":           {[]Visit{minutes(10, 20), minutes(10, 20)}, 1, 60 + 10 + 5, 75},
		"who stays goes where somebody stays": {
			[]Visit{minutes(10, 40), minutes(10, 12), minutes(11, 13), minutes(12, 40)}, 0, 30 + 5 + 2 + 5, 30 + 5 + 2 + 5,
		},
		"one starts early, so that those who stay share the other": {
			[]Visit{minutes(10, 40), minutes(10, 20), minutes(12, 20), minutes(15, 40)}, 0, 30 + 5 + 10 + 5, 30 + 5 + 8 + 5,
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := &clairvoyant{
				visits: row.visits, start: monday, end: monday.Add(time.Hour), capacity: 2, spare: row.spare, boot: 5 * time.Minute,
			}
			if got := c.exact(); got != time.Duration(row.want)*time.Minute {
				t.Errorf("it costs %s, want %dm", got, row.want)
			}
			if got := c.atLeast(); got != time.Duration(row.movedAtWill)*time.Minute {
				t.Errorf("it costs at least %s, want %dm", got, row.movedAtWill)
			}
		})
	}
}
