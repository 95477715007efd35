// SPDX-License-Identifier: Apache-2.0

package rollout_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/fleet"
	"github.com/spawnery/spawnery-operator/internal/rollout"
)

func anyServer(t *rapid.T) fleet.Server {
	s := serving("", 0)
	s.Phase = rapid.SampledFrom([]v1alpha1.ServerPhase{
		v1alpha1.ServerPending, v1alpha1.ServerStarting, v1alpha1.ServerReady, v1alpha1.ServerReady, v1alpha1.ServerReady, v1alpha1.ServerReady,
		v1alpha1.ServerRetiring, v1alpha1.ServerDraining, v1alpha1.ServerTerminating, v1alpha1.ServerFailed,
	}).Draw(t, "phase")
	s.Spec = rapid.SampledFrom([]fleet.SpecAge{fleet.SpecCurrent, fleet.SpecOld, fleet.SpecOld}).Draw(t, "spec")
	s.Retire = rapid.SampledFrom([]v1alpha1.RetireReason{
		v1alpha1.RetireNone, v1alpha1.RetireNone, v1alpha1.RetireNone, v1alpha1.RetireNone, v1alpha1.RetireChangeover, v1alpha1.RetirePin,
	}).Draw(t, "retire")
	players := rapid.SampledFrom([]int{0, 0, 1, 20, 50}).Draw(t, "players")
	s.Counts = rapid.SampledFrom([]fleet.Counts{
		fleet.Fresh(players, now), fleet.Fresh(players, now), fleet.Stale(players, ago(20*time.Second)), {},
	}).Draw(t, "counts")
	s.Registration = rapid.SampledFrom([]fleet.Registration{
		fleet.Registered, fleet.Registered, fleet.Deregistered, fleet.NeverRegistered,
	}).Draw(t, "registration")
	agreed := ago(time.Duration(rapid.IntRange(0, 90).Draw(t, "agreed")) * time.Second)
	s.Roster = rapid.SampledFrom([]fleet.Roster{{}, fleet.SomebodyThere(), fleet.NobodySince(agreed)}).Draw(t, "roster")
	s.Door = rapid.SampledFrom([]fleet.Door{fleet.DoorOpen, fleet.DoorOpen, fleet.DoorClosed}).Draw(t, "door")
	s.Pod = rapid.SampledFrom([]fleet.PodView{fleet.PodSeen, fleet.PodSeen, fleet.PodUnseen, fleet.PodNone}).Draw(t, "pod")
	s.Node = rapid.SampledFrom([]fleet.NodeOutlook{fleet.NodeStaying, fleet.NodeStaying, fleet.NodeDeparting}).Draw(t, "node")
	s.Deletion = rapid.SampledFrom([]fleet.Deletion{fleet.DeletionNone, fleet.DeletionNone, fleet.DeletionAsked}).Draw(t, "deletion")
	s.CreatedAt = ago(time.Duration(rapid.IntRange(0, 1000).Draw(t, "created")) * time.Second)
	if rapid.Bool().Draw(t, "firstStart") {
		s.ReadySince = time.Time{}
	}
	return s
}

func anyGroup(t *rapid.T) rollout.Input {
	all := rapid.SliceOfN(rapid.Custom(anyServer), 0, 8).Draw(t, "servers")
	for i := range all {
		all[i].Name = fmt.Sprint("s", i)
	}
	in := group(all)
	in.Update = rollout.Update{
		Strategy:       rapid.SampledFrom([]v1alpha1.UpdateStrategy{v1alpha1.UpdateRolling, v1alpha1.UpdateWhenEmpty}).Draw(t, "strategy"),
		MaxUnavailable: rapid.IntRange(1, 4).Draw(t, "maxUnavailable"),
		MinAvailable:   rapid.IntRange(0, 4).Draw(t, "minAvailable"),
	}
	in.Ceiling = rapid.IntRange(0, 10).Draw(t, "ceiling")
	in.Keep = rapid.IntRange(0, 150).Draw(t, "keep")
	in.Ordered = rapid.IntRange(0, 1).Draw(t, "ordered")
	in.LeaderSince = ago(time.Duration(rapid.IntRange(0, 200).Draw(t, "leader")) * time.Second)
	in.Gate = rapid.SampledFrom([]fleet.Gate{{}, {}, {}, fleet.WaitUntil(now.Add(30 * time.Second)), fleet.GivenUp()}).Draw(t, "gate")
	if rapid.IntRange(0, 9).Draw(t, "degraded") == 0 {
		in.Channel = fleet.ChannelDegraded
	}
	return in
}

// carriedOut has a surge granted where there is room.
func carriedOut(in rollout.Input, plan rollout.Plan) rollout.Input {
	in.Servers = plan.After(in.Servers)
	alive := count(in.Servers, func(s *fleet.Server) bool { return s.Alive() })
	if alive+in.Ordered < in.Ceiling && in.Gate.State() == fleet.GateOpen {
		in.Ordered += plan.Surge
	}
	return in
}

func count(all []fleet.Server, holds func(*fleet.Server) bool) int {
	n := 0
	for i := range all {
		if holds(&all[i]) {
			n++
		}
	}
	return n
}

func TestTheOrderOfServersDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := anyGroup(t)
		want := rollout.Decide(in)
		in.Servers = rapid.Permutation(in.Servers).Draw(t, "shuffled")
		if diff := cmp.Diff(want, rollout.Decide(in)); diff != "" {
			t.Fatalf("the plan changed with the order:\n%s", diff)
		}
	})
}

func TestTheBudgetIsNeverExceeded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := anyGroup(t)
		plan := rollout.Decide(in)
		leaving := count(plan.After(in.Servers), func(s *fleet.Server) bool {
			return s.Retire == v1alpha1.RetireChangeover && s.Phase != v1alpha1.ServerFailed
		})
		if len(plan.Retirements) > 0 && leaving > in.Update.MaxUnavailable {
			t.Fatalf("%d servers leave, %d may; told now: %v", leaving, in.Update.MaxUnavailable, names(plan.Retirements))
		}
	})
}

func TestNobodyIsToldToGoWithoutAServerOfTheNewSpec(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := anyGroup(t)
		plan := rollout.Decide(in)
		proven := count(plan.After(in.Servers), func(s *fleet.Server) bool {
			return s.Alive() && s.Phase == v1alpha1.ServerReady && s.Spec == fleet.SpecCurrent && s.Counts.State() == fleet.CountsFresh
		})
		if len(plan.Retirements) > 0 && (proven == 0 || in.Channel == fleet.ChannelDegraded || in.Gate.State() != fleet.GateOpen) {
			t.Fatalf("%v go, %d of the new spec serve", names(plan.Retirements), proven)
		}
	})
}

func TestWhatPlayersNeedIsLeft(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := anyGroup(t)
		plan := rollout.Decide(in)
		if len(plan.Retirements) == 0 {
			return
		}
		after := plan.After(in.Servers)
		joinable, seats := 0, 0
		for i := range after {
			if s := &after[i]; s.Alive() && s.Joinable() {
				joinable++
				seats += s.FreeSeats()
			}
		}
		if joinable < in.Update.MinAvailable {
			t.Fatalf("%d servers can be joined after %v, want %d", joinable, names(plan.Retirements), in.Update.MinAvailable)
		}
		// Those on their way back take their place again.
		full := count(after, func(s *fleet.Server) bool { return s.Alive() || s.Phase == v1alpha1.ServerRetiring })
		if seats < in.Keep && full+len(plan.Retirements)+in.Ordered < in.Ceiling {
			t.Fatalf("%d seats are free after %v, want %d; there was room for another server", seats, names(plan.Retirements), in.Keep)
		}
	})
}

func TestOnlyOldServersGo(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := anyGroup(t)
		plan := rollout.Decide(in)
		goes := slices.Concat(names(plan.Retirements), names(plan.Removals))
		for i := range in.Servers {
			s := &in.Servers[i]
			goesBack := s.Phase == v1alpha1.ServerRetiring && s.Retire == v1alpha1.RetireNone && s.Deletion == fleet.DeletionNone
			if slices.Contains(goes, s.Name) && (s.Spec == fleet.SpecCurrent || !s.Alive() && !goesBack) {
				t.Fatalf("%s goes: of spec %v, alive %v", s.Name, s.Spec, s.Alive())
			}
			if slices.Contains(names(plan.Withdrawals), s.Name) && (s.Spec == fleet.SpecOld || s.Retire != v1alpha1.RetireChangeover) {
				t.Fatalf("the retirement of %s is taken back: spec %v, reason %q", s.Name, s.Spec, s.Retire)
			}
		}
	})
}

func TestNobodyIsTakenFromAServerThatTheOwnerProtects(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := anyGroup(t)
		plan := rollout.Decide(in)
		for i := range in.Servers {
			s := &in.Servers[i]
			if in.Update.Strategy == v1alpha1.UpdateWhenEmpty && slices.Contains(names(plan.Retirements), s.Name) && s.Occupied(now) {
				t.Fatalf("%s retires with players on it", s.Name)
			}
			if slices.Contains(names(plan.Removals), s.Name) && !s.FirstStart() {
				t.Fatalf("%s is deleted, and was Ready", s.Name)
			}
		}
	})
}

func TestAPlanCarriedOutIsNotOrderedAgain(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := anyGroup(t)
		first := rollout.Decide(in)
		next := carriedOut(in, first)
		again := rollout.Decide(next)
		if len(again.Withdrawals)+len(again.Retirements)+len(again.Removals) > 0 {
			t.Fatalf("%+v was followed by %+v", first, again)
		}
		if again.Surge > 0 && next.Ordered > in.Ordered {
			t.Fatalf("%q ordered one more, and %q another", first.Note, again.Note)
		}
	})
}

func TestThePlanIsConstantUntilRecheck(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := anyGroup(t)
		plan := rollout.Decide(in)
		until := plan.Recheck
		if until.IsZero() {
			until = now.Add(time.Hour)
		}
		in.Now = now.Add(time.Duration(rapid.Int64Range(0, int64(until.Sub(now))-1).Draw(t, "wait")))
		if diff := cmp.Diff(plan, rollout.Decide(in)); diff != "" {
			t.Fatalf("after %v, before %v:\n%s", in.Now.Sub(now), until.Sub(now), diff)
		}
	})
}

func TestEveryChangeoverSaysWhatItWaitsFor(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		plan := rollout.Decide(anyGroup(t))
		idle := len(plan.Retirements)+len(plan.Removals)+plan.Surge == 0
		if plan.Progress.RollingOut() && idle && plan.Note == "" {
			t.Fatalf("%+v says nothing", plan)
		}
	})
}
