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
	return func(one *proxy) { one.unplacedSince = now.Add(-d) }
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
			world{replicas: 2, turn: turnOthers, proxies: []proxy{with(a, old), with(b, old)}},
			want{State: queued, Note: "another group of the Network exchanges one first"},
		},
		"what was begun is finished": {
			world{replicas: 2, turn: turnOthers, proxies: []proxy{with(a, old), with(b, old), with(fresh, able)}},
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
			want{Withdraw: []string{"a"}, State: cramped, Note: "no node has the port free for z, so a is withdrawn first, and goes when its players have left"},
		},
		"and that is told until it has gone": {
			world{replicas: 1, port: portOfTheNode, proxies: []proxy{with(pod("a", withdrawn, 7), old), with(fresh, unplacedFor(time.Hour))}},
			want{State: cramped, Note: "no node has the port free for z, so a is withdrawn first, and goes when its players have left"},
		},
		"a port on a node that leaves is no room": {
			world{replicas: 1, port: portOfTheNode, proxies: []proxy{with(a, departs), with(fresh, unplacedFor(time.Hour))}},
			want{State: cramped, Note: "no node has the port free for z; add a node, or delete a pod of the group"},
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
// players leave.
type playedGroup struct {
	world
	made int
}

func (g *playedGroup) follow(t *rapid.T, p plan) {
	for _, one := range slices.Concat(p.withdraw, p.reinstate) {
		at := slices.IndexFunc(g.proxies, func(other proxy) bool { return other.name == one.name })
		g.proxies[at].standing, g.proxies[at].withdrawnAt = withdrawn, g.now
		if slices.ContainsFunc(p.reinstate, func(i intent) bool { return i.name == one.name }) {
			g.proxies[at].standing = serving
		}
	}
	for _, one := range p.remove {
		g.proxies = slices.DeleteFunc(g.proxies, func(other proxy) bool { return other.name == one.name })
	}
	for range p.create {
		g.made++
		g.proxies = append(g.proxies, proxy{name: fmt.Sprintf("new%02d", g.made), createdAt: g.now})
	}
	for i := range g.proxies {
		one := &g.proxies[i]
		if one.standing == serving && one.making == asWanted && rapid.Bool().Draw(t, "starts") {
			one.able = true
		}
		if one.standing == withdrawn && one.players > 0 && rapid.Bool().Draw(t, "leaves") {
			one.players--
		}
	}
	g.now = g.now.Add(time.Minute)
}

func TestAnExchangeEndsAndNeverTakesAWayIn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := playedGroup{world: world{now: now, replicas: rapid.IntRange(1, 4).Draw(t, "replicas"), drain: time.Hour}}
		for i := range g.replicas {
			one := with(pod(fmt.Sprintf("old%d", i), serving, rapid.IntRange(0, 4).Draw(t, "players")), able)
			one.making = making(rapid.IntRange(0, 2).Draw(t, "making"))
			g.proxies = append(g.proxies, one)
		}
		for range 400 {
			p := decide(g.world)
			g.follow(t, p)
			takers, all := 0, 0
			for _, one := range g.proxies {
				if one.standing == serving {
					all++
					if one.able {
						takers++
					}
				}
			}
			if takers < g.replicas || all > g.replicas+1 {
				t.Fatalf("%d of %d take players, want %d\n%+v", takers, all, g.replicas, g.proxies)
			}
			if p.exchange.state == settled {
				break
			}
		}
		if slices.ContainsFunc(g.proxies, func(one proxy) bool { return one.making != asWanted }) || len(g.proxies) != g.replicas {
			t.Fatalf("not whole in the end: %+v", g.proxies)
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
