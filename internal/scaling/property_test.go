// SPDX-License-Identifier: Apache-2.0

package scaling_test

import (
	"fmt"
	"slices"
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
	s.Counts = s.Counts.Seating(s.Counts.Players() + rapid.SampledFrom([]int{0, 0, -1, 1}).Draw(t, "seated"))
	s.Registration = rapid.SampledFrom([]fleet.Registration{
		fleet.Registered, fleet.Registered, fleet.Deregistered, fleet.NeverRegistered,
	}).Draw(t, "registration")
	s.Roster = rapid.SampledFrom([]fleet.Roster{
		{}, fleet.SomebodyThere(), fleet.NobodySince(within(t, "agreed", 90)),
	}).Draw(t, "roster")
	s.Door = rapid.SampledFrom([]fleet.Door{fleet.DoorOpen, fleet.DoorOpen, fleet.DoorClosed}).Draw(t, "door")
	s.Pod = rapid.SampledFrom([]fleet.PodView{fleet.PodSeen, fleet.PodSeen, fleet.PodUnseen}).Draw(t, "pod")
	s.Node = rapid.SampledFrom([]fleet.NodeOutlook{fleet.NodeStaying, fleet.NodeStaying, fleet.NodeDeparting}).Draw(t, "node")
	s.Retire = rapid.SampledFrom([]v1alpha1.RetireReason{
		"", "", "", "", v1alpha1.RetirePin, v1alpha1.RetirePin, v1alpha1.RetireChangeover, v1alpha1.RetireConsolidation,
	}).Draw(t, "retire")
	s.Spec = rapid.SampledFrom([]fleet.SpecAge{fleet.SpecCurrent, fleet.SpecCurrent, fleet.SpecOld}).Draw(t, "spec")
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
	if rapid.IntRange(0, 2).Draw(t, "pinned") == 0 {
		in.Boosts.Added, in.Boosts.Pin = 0, scaling.Pin{Boost: "event", Replicas: rapid.IntRange(0, 12).Draw(t, "pin")}
	}
	if rapid.Bool().Draw(t, "consolidates") {
		in.Sizes.Consolidation, in.Spareable = v1alpha1.ConsolidationEnabled, scaling.Spareable{}
		for i := range servers {
			if rapid.Bool().Draw(t, "spareable") {
				in.Spareable[servers[i].Name] = within(t, "spareableFor", 600)
			}
		}
	}
	in.Surge = rapid.IntRange(0, 1).Draw(t, "surge")
	in.MinAvailable = rapid.IntRange(0, 2).Draw(t, "minAvailable")
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
// of it yet; what was written to a Server is known nevertheless.
func carriedOut(in scaling.Input, plan scaling.Plan) scaling.Input {
	in.Expected.Creates += plan.Creates
	in.Surge = max(0, in.Surge-plan.Creates)
	in.Expected.Deletes = append([]string{}, in.Expected.Deletes...)
	for _, r := range plan.Removals {
		in.Expected.Deletes = append(in.Expected.Deletes, r.Name)
	}
	reasons := map[string]v1alpha1.RetireReason{}
	for _, r := range plan.Retirements {
		reasons[r.Name] = r.Reason
	}
	for _, w := range plan.Withdrawals {
		reasons[w.Name] = v1alpha1.RetireNone
	}
	in.Servers = slices.Clone(in.Servers)
	for i := range in.Servers {
		if reason, ok := reasons[in.Servers[i].Name]; ok {
			in.Servers[i].Retire = reason
		}
	}
	in.Spareable = plan.Spareable
	return in
}

// change is by how many servers the group grows that it can count on; those
// taken back are counted already.
func change(plan scaling.Plan) int {
	return plan.Creates - len(plan.Removals) - len(plan.Retirements)
}

func orders(plan scaling.Plan) int {
	return plan.Creates + len(plan.Removals) + len(plan.Retirements) + len(plan.Withdrawals)
}

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
		if len(again.Withdrawals) > 0 {
			t.Fatalf("%q took servers back, and then %q", first.LastDecision, again.LastDecision)
		}
		if first.Creates > 0 && len(again.Removals)+len(again.Retirements) > 0 {
			t.Fatalf("grew by %q, then shrank by %q", first.LastDecision, again.LastDecision)
		}
	})
}

func TestRepeatedPassesComeToRest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := anyGroup(t)
		in.Trigger = scaling.OnTick
		plan := scaling.Decide(in)
		for range len(in.Servers) + 3 {
			if in = carriedOut(in, plan); orders(plan) == 0 {
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
		in.Spareable = plan.Spareable
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
		goes := len(plan.Removals) + len(plan.Retirements)
		if goes > 0 && after < min(plan.Floor, plan.Ceiling) {
			t.Fatalf("shrinks to %d below the floor %d", after, plan.Floor)
		}
		if plan.Creates > 0 && goes > 0 {
			t.Fatal("grows and shrinks in one pass")
		}
	})
}

func TestNoServerIsInAPlanTwice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		plan := scaling.Decide(anyGroup(t))
		seen := map[string]bool{}
		names := removed(plan)
		for _, r := range plan.Retirements {
			names = append(names, r.Name)
		}
		for _, w := range plan.Withdrawals {
			names = append(names, w.Name)
		}
		for _, name := range names {
			if seen[name] {
				t.Fatalf("%s is in the plan twice: %+v", name, plan)
			}
			seen[name] = true
		}
	})
}

// untroubled is a group that nothing keeps from carrying a pin out.
func untroubled(t *rapid.T) scaling.Input {
	in := anyGroup(t)
	in.Channel, in.Gate, in.LeaderSince, in.Expected.Creates = fleet.ChannelHealthy, fleet.Gate{}, ago(time.Hour), 0
	return in
}

func TestAPinnedGroupIsAtItsNumberAfterOnePass(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := untroubled(t)
		n := rapid.IntRange(0, 12).Draw(t, "pin to")
		in.Boosts = scaling.Boosts{Pin: scaling.Pin{Boost: "event", Replicas: n}}
		plan := scaling.Decide(in)
		want := min(n, in.Sizes.MaxReplicas)
		if after := plan.Alive + change(plan); after != want || plan.Floor != want || plan.Ceiling != want {
			t.Fatalf("pinned to %d: %d after %q", want, after, plan.LastDecision)
		}
	})
}

func TestUnderAPinOnlyEmptyServersAreDeletedAndOnlyOccupiedOnesRetired(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := untroubled(t)
		in.Boosts = scaling.Boosts{Pin: scaling.Pin{Boost: "event", Replicas: rapid.IntRange(0, 3).Draw(t, "pin to")}}
		plan := scaling.Decide(in)
		for i := range in.Servers {
			s := &in.Servers[i]
			for _, r := range plan.Retirements {
				if r.Name == s.Name && (!s.MayHavePlayers(now) || r.Reason != v1alpha1.RetirePin) {
					t.Fatalf("%+v of a server that is empty", r)
				}
			}
			if slices.Contains(removed(plan), s.Name) && s.MayHavePlayers(now) {
				t.Fatalf("%s is deleted under players", s.Name)
			}
		}
	})
}

func TestWithoutAPinNobodyStaysRetiredForOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := anyGroup(t)
		in.Channel, in.Boosts.Pin = fleet.ChannelHealthy, scaling.Pin{}
		for _, s := range carriedOut(in, scaling.Decide(in)).Servers {
			if s.Retire == v1alpha1.RetirePin && s.Phase == v1alpha1.ServerRetiring && s.Occupied(now) {
				t.Fatalf("%s stays retired", s.Name)
			}
		}
	})
}

func TestWhoIsConsolidatedLeavesTheSpareSeatsFree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := untroubled(t)
		in.Trigger = scaling.OnTick
		plan := scaling.Decide(in)
		for _, r := range plan.Retirements {
			if r.Reason != v1alpha1.RetireConsolidation {
				continue
			}
			left := 0
			for _, s := range in.Servers {
				switch {
				case s.Name == r.Name:
					left -= s.Counts.Seated()
				case s.Alive() && s.Joinable():
					left += s.Free(s.Counts.Seated())
				}
			}
			if left < in.Sizes.SpareSlots {
				t.Fatalf("%d seats are left of %d: %s", left, in.Sizes.SpareSlots, r.Note)
			}
		}
	})
}
