// SPDX-License-Identifier: Apache-2.0

package scaling_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/fleet"
	"github.com/spawnery/spawnery-operator/internal/scaling"
)

func within(t *rapid.T, label string, seconds int) time.Time {
	return ago(time.Duration(rapid.IntRange(0, seconds).Draw(t, label)) * time.Second)
}

func anyServer(t *rapid.T) fleet.Server {
	s := serving("", 0)
	s.Phase = rapid.SampledFrom([]v1alpha1.ServerPhase{
		v1alpha1.ServerPending, v1alpha1.ServerStarting, v1alpha1.ServerReady, v1alpha1.ServerReady, v1alpha1.ServerReady,
		v1alpha1.ServerRetiring, v1alpha1.ServerDraining, v1alpha1.ServerTerminating, v1alpha1.ServerFailed,
	}).Draw(t, "phase")
	players := rapid.SampledFrom([]int{0, 0, 1, 20, 50}).Draw(t, "players")
	s.Counts = rapid.SampledFrom([]fleet.Counts{
		fleet.Fresh(players, now), fleet.Fresh(players, now), fleet.Stale(players, ago(20*time.Second)), {},
	}).Draw(t, "counts")
	s.Registration = rapid.SampledFrom([]fleet.Registration{
		fleet.Registered, fleet.Registered, fleet.Deregistered, fleet.NeverRegistered,
	}).Draw(t, "registration")
	s.Roster = rapid.SampledFrom([]fleet.Roster{
		{}, fleet.SomebodyThere(), fleet.NobodySince(within(t, "agreed", 90)),
	}).Draw(t, "roster")
	s.Door = rapid.SampledFrom([]fleet.Door{fleet.DoorOpen, fleet.DoorOpen, fleet.DoorClosed}).Draw(t, "door")
	s.Pod = rapid.SampledFrom([]fleet.PodView{fleet.PodSeen, fleet.PodSeen, fleet.PodUnseen}).Draw(t, "pod")
	s.Node = rapid.SampledFrom([]fleet.NodeOutlook{fleet.NodeStaying, fleet.NodeStaying, fleet.NodeDeparting}).Draw(t, "node")
	s.CreatedAt = within(t, "created", 1000)
	if rapid.Bool().Draw(t, "empty") {
		s.EmptySince = within(t, "emptyFor", 600)
	}
	if rapid.Bool().Draw(t, "firstStart") {
		s.ReadySince, s.ServedAt = time.Time{}, time.Time{}
	}
	return s
}

func anyGroup(t *rapid.T) scaling.Input {
	servers := rapid.SliceOfN(rapid.Custom(anyServer), 0, 8).Draw(t, "servers")
	for i := range servers {
		servers[i].Name = fmt.Sprint("s", i)
	}
	in := group(servers)
	in.Sizes.MaxReplicas = rapid.IntRange(1, 10).Draw(t, "max")
	in.Sizes.MinReplicas = rapid.IntRange(0, in.Sizes.MaxReplicas).Draw(t, "min")
	in.Sizes.SpareSlots = rapid.IntRange(0, 200).Draw(t, "spare")
	in.Sizes.Capacity = rapid.SampledFrom([]int{1, 12, 50}).Draw(t, "capacity")
	in.Boosts = scaling.Boosts{Added: rapid.IntRange(0, 3).Draw(t, "boosted"), NextExpiry: now.Add(90 * time.Second)}
	in.Waiting = rapid.IntRange(0, 80).Draw(t, "waiting")
	in.Expected.Creates = rapid.IntRange(0, 2).Draw(t, "unseen")
	in.LeaderSince = within(t, "leader", 200)
	in.Trigger = rapid.SampledFrom([]scaling.Trigger{scaling.OnTick, scaling.OnEvent}).Draw(t, "trigger")
	in.Gate = rapid.SampledFrom([]fleet.Gate{{}, {}, fleet.WaitUntil(now.Add(30 * time.Second)), fleet.GivenUp()}).Draw(t, "gate")
	if rapid.IntRange(0, 9).Draw(t, "degraded") == 0 {
		in.Channel = fleet.ChannelDegraded
	}
	return in
}

// carriedOut is the group when a plan was carried out and the cache shows none
// of it yet.
func carriedOut(in scaling.Input, plan scaling.Plan) scaling.Input {
	in.Expected.Creates += plan.Creates
	in.Expected.Deletes = append([]string{}, in.Expected.Deletes...)
	for _, r := range plan.Removals {
		in.Expected.Deletes = append(in.Expected.Deletes, r.Name)
	}
	return in
}

func change(plan scaling.Plan) int { return plan.Creates - len(plan.Removals) }

func TestTheOrderOfServersDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := anyGroup(t)
		want := scaling.Decide(in)
		in.Servers = rapid.Permutation(in.Servers).Draw(t, "shuffled")
		if diff := cmp.Diff(want, scaling.Decide(in)); diff != "" {
			t.Fatalf("the plan changed with the order:\n%s", diff)
		}
	})
}

func TestMoreSpareNeverMeansFewerServers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := anyGroup(t)
		less := scaling.Decide(in)
		in.Sizes.SpareSlots += rapid.IntRange(1, 100).Draw(t, "more")
		if more := scaling.Decide(in); change(more) < change(less) {
			t.Fatalf("%q became %q", less.LastDecision, more.LastDecision)
		}
	})
}

func TestAPlanCarriedOutOrdersNothingMore(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := anyGroup(t)
		first := scaling.Decide(in)
		again := scaling.Decide(carriedOut(in, first))
		if again.Creates > 0 {
			t.Fatalf("%q was followed by %q", first.LastDecision, again.LastDecision)
		}
		if first.Creates > 0 && len(again.Removals) > 0 {
			t.Fatalf("grew by %q, then shrank by %q", first.LastDecision, again.LastDecision)
		}
	})
}

func TestRepeatedPassesComeToRest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := anyGroup(t)
		in.Trigger = scaling.OnTick
		plan := scaling.Decide(in)
		for range len(in.Servers) + 2 {
			if in = carriedOut(in, plan); change(plan) == 0 {
				return
			}
			plan = scaling.Decide(in)
		}
		t.Fatalf("still deciding: %q", plan.LastDecision)
	})
}

func TestThePlanIsConstantUntilRecheck(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := anyGroup(t)
		plan := scaling.Decide(in)
		until := plan.Recheck
		if until.IsZero() {
			until = now.Add(time.Hour)
		}
		in.Now = now.Add(time.Duration(rapid.Int64Range(0, int64(until.Sub(now))-1).Draw(t, "wait")))
		if diff := cmp.Diff(plan, scaling.Decide(in)); diff != "" {
			t.Fatalf("after %v, before %v:\n%s", in.Now.Sub(now), until.Sub(now), diff)
		}
	})
}

func TestNobodyIsRemovedUnderAPlayer(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := anyGroup(t)
		for _, name := range removed(scaling.Decide(in)) {
			for i := range in.Servers {
				if s := &in.Servers[i]; s.Name == name && (s.Occupied(now) || !s.Alive()) {
					t.Fatalf("%s is removed: occupied %v, alive %v", name, s.Occupied(now), s.Alive())
				}
			}
		}
	})
}

func TestThePlanStaysBetweenFloorAndCeiling(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		plan := scaling.Decide(anyGroup(t))
		after := plan.Alive + change(plan)
		if plan.Creates > 0 && after > plan.Ceiling {
			t.Fatalf("grows to %d above the ceiling %d", after, plan.Ceiling)
		}
		if len(plan.Removals) > 0 && after < min(plan.Floor, plan.Ceiling) {
			t.Fatalf("shrinks to %d below the floor %d", after, plan.Floor)
		}
		if plan.Creates > 0 && len(plan.Removals) > 0 {
			t.Fatal("grows and shrinks in one pass")
		}
	})
}
