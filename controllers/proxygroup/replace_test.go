// SPDX-License-Identifier: Apache-2.0

package proxygroup

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

type change func(*proxy)

func able(one *proxy)    { one.able = true }
func old(one *proxy)     { one.making, one.able = ofOldSpec, true }
func departs(one *proxy) { one.making, one.able = onLeavingNode, true }

func unplacedFor(d time.Duration) change {
	return func(one *proxy) { one.unplacedSince, one.unplacedWhy = now.Add(-d), "no free ports" }
}

func with(one proxy, changes ...change) proxy {
	for _, change := range changes {
		change(&one)
	}
	return one
}

func TestProxiesAreExchangedOneAtATime(t *testing.T) {
	type want struct {
		Create         int
		Withdraw, Back []string
		State          state
		Note           string
	}
	a, b := pod("a", serving, 7), pod("b", serving, 3)
	fresh := pod("z", serving, 0)
	tests := map[string]struct {
		world world
		want  want
	}{
		"another one comes first": {
			world{replicas: 2, proxies: []proxy{with(a, old), with(b, old)}},
			want{Create: 1, State: exchanging, Note: "the next one is being made"},
		},
		"not while one is on order": {
			world{replicas: 2, ordered: 1, proxies: []proxy{with(a, old), with(b, old)}},
			want{State: exchanging, Note: "the next one is being made"},
		},
		"not while it takes nobody": {
			world{replicas: 2, proxies: []proxy{with(a, old), with(b, old), fresh}},
			want{State: exchanging, Note: "z is to be ready and to know the servers"},
		},
		"then the one with the fewest players is withdrawn": {
			world{replicas: 2, proxies: []proxy{with(a, old), with(b, old), with(fresh, able)}},
			want{Withdraw: []string{"b"}, State: exchanging, Note: "b is being withdrawn"},
		},
		"one that takes nobody is the first to go": {
			world{replicas: 2, proxies: []proxy{with(pod("a", serving, -1), old, func(one *proxy) { one.able = false }), with(b, old), with(fresh, able)}},
			want{Withdraw: []string{"a"}, State: exchanging, Note: "a is being withdrawn"},
		},
		"the next waits until it has gone": {
			world{replicas: 2, proxies: []proxy{with(a, old), with(pod("b", withdrawn, 3), old), with(fresh, able)}},
			want{State: exchanging, Note: "b is withdrawn and waits for its players to leave"},
		},
		"an old one is not taken back": {
			world{replicas: 2, proxies: []proxy{with(pod("b", withdrawn, 3), old), with(fresh, able)}},
			want{Create: 1, State: exchanging, Note: "b is withdrawn and waits for its players to leave"},
		},
		"one of the spec is": {
			world{replicas: 2, proxies: []proxy{with(a, old), pod("b", withdrawn, 3)}},
			want{Back: []string{"b"}, State: exchanging, Note: "new ones come first"},
		},
		"what is missing comes before": {
			world{replicas: 3, proxies: []proxy{with(a, old), with(b, old)}},
			want{Create: 1, State: exchanging, Note: "new ones come first"},
		},
		"what is too many goes before, the old first": {
			world{replicas: 1, proxies: []proxy{with(a, old), with(b, old), with(fresh, able)}},
			want{Withdraw: []string{"b"}, State: exchanging, Note: "there are more than the spec wants"},
		},
		"another group of the Network has its turn": {
			world{replicas: 2, ahead: "side", proxies: []proxy{with(a, old), with(b, old)}},
			want{State: queued, Note: "ProxyGroup side of the same Network exchanges one first; its own condition Progressing says how that goes"},
		},
		"what was begun is finished": {
			world{replicas: 2, ahead: "side", proxies: []proxy{with(a, old), with(b, old), with(fresh, able)}},
			want{Withdraw: []string{"b"}, State: exchanging, Note: "b is being withdrawn"},
		},
		"one on a node that leaves is exchanged, too": {
			world{replicas: 1, proxies: []proxy{with(a, departs)}},
			want{Create: 1, State: exchanging, Note: "the next one is being made"},
		},
		"a broken one goes when the spec is what it was": {
			world{replicas: 2, proxies: []proxy{with(a, able), with(b, able), with(fresh, old, func(one *proxy) { one.able = false })}},
			want{Withdraw: []string{"z"}, State: exchanging, Note: "z is being withdrawn"},
		},
		"an autoscaler has time to bring a node": {
			world{replicas: 1, port: portOfTheNode, proxies: []proxy{with(a, old), with(fresh, unplacedFor(59*time.Second))}},
			want{State: exchanging, Note: "z is to be ready and to know the servers"},
		},
		"one makes room where a port is on every node already": {
			world{replicas: 1, port: portOfTheNode, proxies: []proxy{with(a, old), with(fresh, unplacedFor(time.Minute))}},
			want{Withdraw: []string{"a"}, State: cramped, Note: "no node takes z (no free ports), so a is withdrawn first, and goes when its players have left"},
		},
		"and that is told until it has gone": {
			world{replicas: 1, port: portOfTheNode, proxies: []proxy{with(pod("a", withdrawn, 7), old), with(fresh, unplacedFor(time.Hour))}},
			want{State: cramped, Note: "no node takes z (no free ports), so a is withdrawn first, and goes when its players have left"},
		},
		"a port on a node that leaves is no room": {
			world{replicas: 1, port: portOfTheNode, proxies: []proxy{with(a, departs), with(fresh, unplacedFor(time.Hour))}},
			want{State: cramped, Note: "no node takes z (no free ports); add a node, or want fewer replicas than there are nodes"},
		},
		"a second one makes no room while the first is ending": {
			world{replicas: 2, port: portOfTheNode, proxies: []proxy{with(pod("a", going, 0), old), with(b, old), with(fresh, unplacedFor(time.Hour))}},
			want{State: cramped, Note: "no node takes z (no free ports); add a node, or want fewer replicas than there are nodes"},
		},
		"nor when that room did not help": {
			world{replicas: 2, port: portOfTheNode, proxies: []proxy{with(b, old), with(fresh, unplacedFor(time.Hour))}},
			want{State: cramped, Note: "no node takes z (no free ports); add a node, or want fewer replicas than there are nodes"},
		},
		"the one whose node stays makes room": {
			world{replicas: 2, port: portOfTheNode, proxies: []proxy{with(a, old), with(b, departs), with(fresh, unplacedFor(time.Hour))}},
			want{Withdraw: []string{"a"}, State: cramped, Note: "no node takes z (no free ports), so a is withdrawn first, and goes when its players have left"},
		},
		"one that waits for its turn does not take it for want of a node": {
			world{replicas: 2, ahead: "side", port: portOfTheNode, proxies: []proxy{with(a, old), with(fresh, unplacedFor(time.Hour))}},
			want{State: queued, Note: "ProxyGroup side of the same Network exchanges one first; its own condition Progressing says how that goes"},
		},
		"a pod without a node alone withdraws nobody": {
			world{replicas: 1, proxies: []proxy{with(a, old), with(fresh, unplacedFor(time.Hour))}},
			want{State: exchanging, Note: "z is to be ready and to know the servers"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			test.world.now, test.world.drain = now, time.Hour
			p := decide(test.world)
			got := want{p.create, names(p.withdraw), names(p.reinstate), p.exchange.state, p.exchange.note}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("plan (-want +got):\n%s", diff)
			}
		})
	}
}

// playedGroup lets plans come true: pods start, become able in any order, and
// players leave. With ports of nodes a pod starts where one is free.
type playedGroup struct {
	world
	made  int
	nodes int
}

// placed is true when a node is left for one more, and otherwise notes since when
// there is none.
func (g *playedGroup) placed(one *proxy) bool {
	taken := 0
	for _, other := range g.proxies {
		if other.name != one.name && other.unplacedSince.IsZero() {
			taken++
		}
	}
	switch {
	case g.port == portOfItsOwn || taken < g.nodes:
		one.unplacedSince = time.Time{}
		return true
	case one.unplacedSince.IsZero():
		one.unplacedSince = g.now
	}
	return false
}

func (g *playedGroup) named(name string) *proxy {
	return &g.proxies[slices.IndexFunc(g.proxies, func(one proxy) bool { return one.name == name })]
}

func (g *playedGroup) follow(t *rapid.T, p plan) {
	g.proxies = slices.DeleteFunc(g.proxies, func(one proxy) bool {
		return one.standing == going && rapid.Bool().Draw(t, "ends")
	})
	for _, name := range names(p.withdraw) {
		g.named(name).standing, g.named(name).withdrawnAt = withdrawn, g.now
	}
	for _, name := range names(p.reinstate) {
		g.named(name).standing = serving
	}
	for _, name := range names(p.remove) {
		g.named(name).standing = going
	}
	for range p.create {
		g.made++
		g.proxies = append(g.proxies, proxy{name: fmt.Sprintf("new%02d", g.made), createdAt: g.now})
	}
	for i := range g.proxies {
		g.live(t, &g.proxies[i])
	}
	g.now = g.now.Add(time.Minute)
}

// live is a minute in the life of one proxy.
func (g *playedGroup) live(t *rapid.T, one *proxy) {
	starting := one.standing == serving && one.making == asWanted && !one.able
	if starting && g.placed(one) && rapid.Bool().Draw(t, "starts") {
		one.able = true
	}
	if one.standing == withdrawn && one.players > 0 && rapid.Bool().Draw(t, "leaves") {
		one.players--
	}
}

// serving is how many take players, and how many are there to.
func (g *playedGroup) serving() (int, int) {
	takers, all := 0, 0
	for _, one := range g.proxies {
		if one.standing != serving {
			continue
		}
		all++
		if one.able {
			takers++
		}
	}
	return takers, all
}

func drawGroup(t *rapid.T) *playedGroup {
	g := &playedGroup{world: world{now: now, replicas: rapid.IntRange(1, 4).Draw(t, "replicas"), drain: time.Hour}}
	g.nodes = g.replicas + rapid.IntRange(0, 1).Draw(t, "spare nodes")
	g.port = port(rapid.IntRange(0, 1).Draw(t, "port"))
	for i := range g.replicas {
		one := with(pod(fmt.Sprintf("old%d", i), serving, rapid.IntRange(0, 4).Draw(t, "players")), able)
		one.making = making(rapid.IntRange(0, 1).Draw(t, "making"))
		if g.port == portOfItsOwn && rapid.Bool().Draw(t, "departs") {
			one.making = onLeavingNode
		}
		g.proxies = append(g.proxies, one)
	}
	return g
}

// TestAnExchangeEndsAndNeverTakesAWayIn lets one go before the next only where
// its port is the node's.
func TestAnExchangeEndsAndNeverTakesAWayIn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := drawGroup(t)
		atLeast := g.replicas
		if g.port == portOfTheNode {
			atLeast--
		}
		for range 400 {
			p := decide(g.world)
			g.follow(t, p)
			takers, all := g.serving()
			if takers < atLeast || all > g.replicas+1 {
				t.Fatalf("%d of %d take players, want %d\n%+v", takers, all, g.replicas, g.proxies)
			}
			if p.exchange.state == settled && takers == len(g.proxies) {
				break
			}
		}
		if len(cannotStay(g.proxies)) > 0 || len(g.proxies) != g.replicas {
			t.Fatalf("not whole in the end: %+v", g.proxies)
		}
	})
}

// TestARoomThatDoesNotHelpTakesNoOtherProxy has nodes that nothing new can start
// on, for another reason than the port.
func TestARoomThatDoesNotHelpTakesNoOtherProxy(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := drawGroup(t)
		g.port, g.nodes = portOfTheNode, 0
		for range 200 {
			g.follow(t, decide(g.world))
		}
		if takers, _ := g.serving(); takers < g.replicas-1 {
			t.Fatalf("%d of %d take players\n%+v", takers, g.replicas, g.proxies)
		}
	})
}

func TestAPlanSaysWhyAProxyIsMade(t *testing.T) {
	p := decide(world{now: now, replicas: 1, proxies: []proxy{with(pod("a", serving, 7), departs)}})
	if want := "it replaces a, which is on a node that leaves"; p.because != want {
		t.Errorf("because %q, want %q", p.because, want)
	}
	if p := decide(world{now: now, replicas: 2}); !strings.HasPrefix(p.because, "replicas is 2") {
		t.Errorf("because %q", p.because)
	}
}
