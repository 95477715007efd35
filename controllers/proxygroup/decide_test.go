// SPDX-License-Identifier: Apache-2.0

package proxygroup

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

var now = time.Date(2026, 9, 18, 20, 0, 0, 0, time.UTC)

func pod(name string, at standing, players int) proxy {
	return proxy{name: name, standing: at, players: players, createdAt: now.Add(-time.Hour), withdrawnAt: now.Add(-time.Minute)}
}

func names(intents []intent) []string {
	var all []string
	for _, one := range intents {
		all = append(all, one.name)
	}
	return all
}

func TestDecideKeepsTheGroupAtItsNumber(t *testing.T) {
	type want struct {
		Create                      int
		Reinstate, Withdraw, Remove []string
	}
	tests := map[string]struct {
		replicas, ordered int
		proxies           []proxy
		want              want
	}{
		"a new group is made whole": {2, 0, nil, want{Create: 2}},
		"what is on order is not ordered again": {
			2, 1, []proxy{pod("a", serving, 0)}, want{},
		},
		"a settled group is left alone": {1, 0, []proxy{pod("a", serving, 5)}, want{}},
		"the surplus with the fewest players is withdrawn": {
			1, 0,
			[]proxy{pod("a", serving, 7), pod("b", serving, 3), pod("c", serving, 5)},
			want{Withdraw: []string{"b", "c"}},
		},
		"a proxy nobody hears counts as full": {
			1, 0, []proxy{pod("a", serving, -1), pod("b", serving, 300)}, want{Withdraw: []string{"b"}},
		},
		"a withdrawn proxy with players is waited for": {
			1, 0, []proxy{pod("a", serving, 7), pod("b", withdrawn, 3)}, want{},
		},
		"a withdrawn proxy nobody hears is waited for": {
			1, 0, []proxy{pod("a", serving, 7), pod("b", withdrawn, -1)}, want{},
		},
		"an empty withdrawn proxy goes": {
			1, 0, []proxy{pod("a", serving, 7), pod("b", withdrawn, 0)}, want{Remove: []string{"b"}},
		},
		"a withdrawn proxy is taken back before one is made": {
			3, 0,
			[]proxy{pod("a", serving, 7), pod("b", withdrawn, 1), pod("c", withdrawn, 4), pod("d", withdrawn, 9)},
			want{Reinstate: []string{"d", "c"}},
		},
		"one that ended is removed and replaced": {
			1, 0, []proxy{pod("a", ended, -1)}, want{Create: 1, Remove: []string{"a"}},
		},
		"one that is going is replaced": {1, 0, []proxy{pod("a", going, 4)}, want{Create: 1}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			p := decide(world{now: now, replicas: test.replicas, ordered: test.ordered, proxies: test.proxies, drain: time.Hour})
			got := want{p.create, names(p.reinstate), names(p.withdraw), names(p.remove)}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("plan (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAWithdrawnProxyGoesWhenItsDrainDeadlineIsOver(t *testing.T) {
	w := world{now: now, replicas: 1, drain: time.Hour, proxies: []proxy{pod("a", serving, 7), pod("b", withdrawn, 3)}}
	deadline := now.Add(-time.Minute).Add(time.Hour)
	if got := decide(w).recheck; !got.Equal(deadline) {
		t.Errorf("recheck = %v, want the deadline %v", got, deadline)
	}
	w.now = deadline
	if got := names(decide(w).remove); len(got) != 1 || got[0] != "b" {
		t.Errorf("removed %v at the deadline, want b", got)
	}
}

func TestNobodyIsRemovedWhoMayHavePlayersBeforeTheDeadline(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := world{now: now, replicas: rapid.IntRange(1, 5).Draw(t, "replicas"), drain: time.Hour}
		byName := map[string]proxy{}
		for i := range rapid.IntRange(0, 6).Draw(t, "proxies") {
			one := pod(string(rune('a'+i)), standing(rapid.IntRange(0, 3).Draw(t, "standing")), rapid.IntRange(-1, 3).Draw(t, "players"))
			w.proxies = append(w.proxies, one)
			byName[one.name] = one
		}
		p := decide(w)
		for _, name := range names(p.remove) {
			if one := byName[name]; one.standing != ended && one.players != 0 {
				t.Fatalf("%s is removed with %d players on it", name, one.players)
			}
		}
		if p.create > 0 && len(p.withdraw) > 0 {
			t.Fatalf("one plan creates %d and withdraws %v", p.create, names(p.withdraw))
		}
	})
}
