// SPDX-License-Identifier: Apache-2.0

package scaling_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/fleet"
	"github.com/spawnery/spawnery-operator/internal/scaling"
)

// lags are how many passes of five seconds pass until something happens.
type lags struct {
	seen    int // the Server shows in the cache
	podMade int
	podSeen int // the pod shows in the cache
	ready   int
}

// nursery plays a group without players from its very first pass.
type nursery struct {
	in   scaling.Input
	born []int // pass of each create
	pass int
	lags lags
}

// step shows Decide what the caches show at this pass and carries its plan out.
func (n *nursery) step() scaling.Plan {
	n.in.Now = now.Add(time.Duration(n.pass) * 5 * time.Second)
	n.in.Servers, n.in.Expected.Creates = nil, 0
	for i, born := range n.born {
		if n.pass-born < n.lags.seen {
			n.in.Expected.Creates++
			continue
		}
		n.in.Servers = append(n.in.Servers, n.server(i, born))
	}
	plan := scaling.Decide(n.in)
	for range plan.Creates {
		n.born = append(n.born, n.pass)
	}
	n.pass++
	return plan
}

func (n *nursery) server(i, born int) fleet.Server {
	age := n.pass - born
	s := ordered(fmt.Sprint("lobby-", i))
	s.CreatedAt = now.Add(time.Duration(born) * 5 * time.Second)
	if age >= n.lags.podMade {
		s.Pod, s.Phase = fleet.PodUnseen, v1alpha1.ServerPending
	}
	if age >= n.lags.podSeen {
		s.Pod, s.Phase = fleet.PodSeen, v1alpha1.ServerStarting
	}
	if age >= n.lags.ready {
		readyAt := now.Add(time.Duration(born+n.lags.ready) * 5 * time.Second)
		s.Phase, s.ReadySince, s.EmptySince = v1alpha1.ServerReady, readyAt, readyAt
		s.Presence = fleet.Presence{Registration: fleet.Registered, Counts: fleet.Fresh(0, n.in.Now)}
		if n.in.FirstRegisteredAt.IsZero() && age > n.lags.ready {
			n.in.FirstRegisteredAt = n.in.Now
		}
	}
	return s
}

func newNursery(l lags, sizes scaling.Sizes) *nursery {
	return &nursery{lags: l, in: scaling.Input{Now: now, Sizes: sizes, LeaderSince: ago(time.Hour)}}
}

func anyLags(t *rapid.T) lags {
	steps := make([]int, 4)
	for i := range steps {
		steps[i] = rapid.IntRange(0, 6).Draw(t, "lag")
	}
	slices.Sort(steps)
	return lags{seen: steps[0], podMade: steps[1], podSeen: steps[2], ready: max(1, steps[3])}
}

var lobby = scaling.Sizes{MinReplicas: 1, MaxReplicas: 8, SpareSlots: 30, Capacity: 50, Stabilization: 300 * time.Second}

func TestABrandNewGroupOfOneComesUpWithTwoNeverThree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := newNursery(anyLags(t), lobby)
		for range 60 {
			n.in.Trigger = rapid.SampledFrom([]scaling.Trigger{scaling.OnTick, scaling.OnEvent}).Draw(t, "trigger")
			n.step()
		}
		want := 2
		if max(1, n.lags.seen) == n.lags.ready {
			want = 1 // Ready when it was first seen: no time for an extra one
		}
		if got := len(n.born); got != want {
			t.Fatalf("came up with %d servers, want %d; lags %+v", got, want, n.lags)
		}
	})
}

func TestOneOfTheTwoIsTakenBackOnceItHasBeenEmptyLongEnough(t *testing.T) {
	n := newNursery(lags{seen: 1, podMade: 2, podSeen: 3, ready: 6}, lobby)
	for range 600 {
		plan := n.step()
		if len(plan.Removals) == 0 {
			continue
		}
		// Both are empty; the one that was Ready first is due first.
		age := time.Duration(n.pass-1-n.born[0]-n.lags.ready) * 5 * time.Second
		if plan.Removals[0].Name != "lobby-0" || age != 300*time.Second || len(plan.Removals) != 1 {
			t.Fatalf("%+v went %v after the first was Ready", plan.Removals, age)
		}
		return
	}
	t.Fatal("the extra server stays for ever")
}

func TestWhereThereIsNoExtraServer(t *testing.T) {
	tests := map[string]struct {
		sizes scaling.Sizes
		first bool // a server of the group was registered before
		want  int
	}{
		"without spare seats":           {scaling.Sizes{MinReplicas: 1, MaxReplicas: 8, Capacity: 50}, false, 1},
		"without room":                  {scaling.Sizes{MinReplicas: 1, MaxReplicas: 1, SpareSlots: 30, Capacity: 50}, false, 1},
		"after the first registration":  {lobby, true, 1},
		"with seats to spare at two":    {hub, false, 2},
		"with it, spare seats of three": {scaling.Sizes{MinReplicas: 1, MaxReplicas: 8, SpareSlots: 150, Capacity: 50}, false, 4},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			n := newNursery(lags{seen: 1, podMade: 2, podSeen: 3, ready: 6}, tt.sizes)
			if tt.first {
				n.in.FirstRegisteredAt = ago(time.Hour)
			}
			for range 30 {
				n.step()
			}
			if len(n.born) != tt.want {
				t.Errorf("came up with %d servers, want %d", len(n.born), tt.want)
			}
		})
	}
}

func benchGroup(servers int) scaling.Input {
	in := group(nil, sized(func(s *scaling.Sizes) { s.MaxReplicas = 2 * servers }))
	for i := range servers {
		in.Servers = append(in.Servers, serving(fmt.Sprint("hub-", i), i%50))
	}
	return in
}

func BenchmarkDecideHundredGroupsOfTen(b *testing.B) {
	in := benchGroup(10)
	b.ReportAllocs()
	for b.Loop() {
		for range 100 {
			_ = scaling.Decide(in)
		}
	}
}

func BenchmarkDecideOneGroupOfThousand(b *testing.B) {
	in := benchGroup(1000)
	b.ReportAllocs()
	for b.Loop() {
		_ = scaling.Decide(in)
	}
}
