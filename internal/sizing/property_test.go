// SPDX-License-Identifier: Apache-2.0

package sizing

import (
	"cmp"
	"fmt"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/boosts"
	"github.com/spawnery/spawnery-operator/internal/fleet"
	"github.com/spawnery/spawnery-operator/internal/scaling"
	"github.com/spawnery/spawnery-operator/internal/sighting"
)

func earlier(t *rapid.T, label string, seconds int) time.Time {
	return now.Add(-time.Duration(rapid.IntRange(0, seconds).Draw(t, label)) * time.Second)
}

// oneOf draws from what is more likely the more often it is listed.
func oneOf[T any](t *rapid.T, label string, values ...T) T {
	return rapid.SampledFrom(values).Draw(t, label)
}

func anyServer(t *rapid.T) fleet.Server {
	s := playing("", 0)
	s.Phase = oneOf(t, "phase",
		v1alpha1.ServerPending, v1alpha1.ServerStarting, v1alpha1.ServerReady, v1alpha1.ServerReady, v1alpha1.ServerReady, v1alpha1.ServerReady,
		v1alpha1.ServerRetiring, v1alpha1.ServerDraining, v1alpha1.ServerTerminating, v1alpha1.ServerFailed)
	players := oneOf(t, "players", 0, 0, 1, 20, 50)
	s.Counts = oneOf(t, "counts", fleet.Fresh(players, now), fleet.Fresh(players, now), fleet.Stale(players, now.Add(-20*time.Second)), fleet.Counts{})
	s.Registration = oneOf(t, "registration", fleet.Registered, fleet.Registered, fleet.Deregistered, fleet.NeverRegistered)
	s.Roster = oneOf(t, "roster", fleet.Roster{}, fleet.SomebodyThere(), fleet.NobodySince(earlier(t, "agreed", 90)))
	s.Door = oneOf(t, "door", fleet.DoorOpen, fleet.DoorOpen, fleet.DoorClosed)
	s.Pod = oneOf(t, "pod", fleet.PodSeen, fleet.PodSeen, fleet.PodUnseen)
	s.Node = oneOf(t, "node", fleet.NodeStaying, fleet.NodeStaying, fleet.NodeDeparting)
	s.Spec = oneOf(t, "spec", fleet.SpecCurrent, fleet.SpecCurrent, fleet.SpecOld)
	s.Retire = oneOf(t, "retire", v1alpha1.RetireNone, v1alpha1.RetireNone, v1alpha1.RetireNone, v1alpha1.RetireNone,
		v1alpha1.RetirePin, v1alpha1.RetireChangeover, v1alpha1.RetireConsolidation, v1alpha1.RetireNodeDraining)
	if s.Retire != v1alpha1.RetireNone && rapid.Bool().Draw(t, "retiring") {
		s.RetiringSince = earlier(t, "retiringSince", 600)
	}
	if s.Phase == v1alpha1.ServerFailed {
		s.FailedAt = earlier(t, "failed", 300)
	}
	s.CreatedAt = earlier(t, "created", 1000)
	if rapid.Bool().Draw(t, "empty") {
		s.EmptySince = earlier(t, "emptyFor", 600)
	}
	if rapid.Bool().Draw(t, "firstStart") {
		s.ReadySince = time.Time{}
	}
	return s
}

func anyHub(t *rapid.T) Input {
	in := of(ephemeral())
	in.Servers = rapid.SliceOfN(rapid.Custom(anyServer), 0, 8).Draw(t, "servers")
	for i := range in.Servers {
		in.Servers[i].Name = fmt.Sprint("s", i)
	}
	spec := &in.Group.Spec
	spec.MaxPlayers = oneOf[int32](t, "capacity", 1, 12, 50)
	spec.Scaling.MaxReplicas = rapid.Int32Range(1, 10).Draw(t, "max")
	spec.Scaling.MinReplicas = new(rapid.Int32Range(0, spec.Scaling.MaxReplicas).Draw(t, "min"))
	spec.Scaling.SpareSlots = new(rapid.Int32Range(0, 200).Draw(t, "spare"))
	spec.Scaling.ScaleDownStabilizationSeconds = new(oneOf[int32](t, "stabilization", 0, 60, 300))
	spec.Update.Strategy = oneOf(t, "strategy", v1alpha1.UpdateRolling, v1alpha1.UpdateWhenEmpty)
	spec.Update.MaxUnavailable = rapid.Int32Range(1, 3).Draw(t, "maxUnavailable")
	spec.Update.MinAvailable = rapid.Int32Range(0, 2).Draw(t, "minAvailable")
	if rapid.Bool().Draw(t, "consolidates") {
		spec.Scaling.Consolidation, in.Spareable = v1alpha1.ConsolidationEnabled, scaling.Spareable{}
		for i := range in.Servers {
			if rapid.Bool().Draw(t, "spareable") {
				in.Spareable[in.Servers[i].Name] = earlier(t, "spareableFor", 600)
			}
		}
	}
	if rapid.IntRange(0, 3).Draw(t, "had servers before") > 0 {
		in.Group.Status.FirstRegisteredAt = sighting.Stamp(now.Add(-time.Hour))
	}
	in.Boosts = boosts.Effect{Added: rapid.IntRange(0, 3).Draw(t, "boosted"), NextExpiry: now.Add(90 * time.Second)}
	if rapid.IntRange(0, 3).Draw(t, "pinned") == 0 {
		in.Boosts = boosts.Effect{Pin: boosts.Pin{Name: "event", Replicas: rapid.IntRange(0, 12).Draw(t, "pin")}}
	}
	in.Trigger = oneOf(t, "trigger", scaling.OnTick, scaling.OnEvent)
	in.Waiting = rapid.IntRange(0, 80).Draw(t, "waiting")
	in.LeaderSince = earlier(t, "leader", 200)
	for i := range rapid.IntRange(0, 2).Draw(t, "unseen") {
		in.Pending = append(in.Pending, fmt.Sprint("unseen", i))
	}
	if rapid.IntRange(0, 9).Draw(t, "degraded") == 0 {
		in.Channel = fleet.ChannelDegraded
	}
	return in
}

// done is the group when a plan was carried out and the cache shows none of it
// yet; what was written to a Server is known nevertheless.
func done(in Input, plan Plan) Input {
	in.Servers = slices.Clone(in.Servers)
	in.Pending = slices.Clone(in.Pending)
	for i := range in.Servers {
		s := &in.Servers[i]
		if slices.ContainsFunc(plan.Withdraw, func(one Withdrawal) bool { return one.Name == s.Name }) {
			s.Retire = v1alpha1.RetireNone
		}
		for _, one := range plan.Retire {
			if one.Name == s.Name {
				s.Retire = one.Reason
			}
		}
		if slices.ContainsFunc(plan.Remove, func(one Removal) bool { return one.Name == s.Name }) {
			s.Deletion = fleet.DeletionAsked
		}
	}
	for i := range plan.Create {
		in.Pending = append(in.Pending, fmt.Sprint("made", len(in.Pending), i))
	}
	group := *in.Group
	group.Status.ConsecutiveFailures = new(int32(plan.Failures.Streak.Failures))
	group.Status.LastFailureAt = sighting.Stamp(plan.Failures.Streak.LastFailureAt)
	in.Group, in.Spareable = &group, plan.Spareable
	return in
}

// sorted is a plan whose lists are in the order of names.
func sorted(plan Plan) Plan {
	slices.SortFunc(plan.Remove, func(a, b Removal) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortFunc(plan.Retire, func(a, b Retirement) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortFunc(plan.Withdraw, func(a, b Withdrawal) int { return cmp.Compare(a.Name, b.Name) })
	return plan
}

func TestTheOrderOfServersDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := anyHub(t)
		want := sorted(Decide(in))
		in.Servers = rapid.Permutation(in.Servers).Draw(t, "shuffled")
		if diff := gocmp.Diff(want, sorted(Decide(in))); diff != "" {
			t.Fatalf("the plan changed with the order:\n%s", diff)
		}
	})
}

// after is how many servers a group can count on once a plan was carried out,
// those it takes back included.
func after(in Input, plan Plan) int {
	in = done(in, plan)
	count := len(in.Pending)
	for i := range in.Servers {
		s := in.Servers[i]
		if s.Phase == v1alpha1.ServerRetiring && s.Retire == v1alpha1.RetireNone {
			s.Phase = v1alpha1.ServerReady
		}
		if s.Alive() {
			count++
		}
	}
	return count
}

func TestMoreSpareNeverMeansFewerServers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := anyHub(t)
		less := Decide(in)
		in.Group.Spec.Scaling.SpareSlots = new(*in.Group.Spec.Scaling.SpareSlots + rapid.Int32Range(1, 100).Draw(t, "more"))
		if more := Decide(in); after(in, more) < after(in, less) {
			t.Fatalf("%q became %q", less.Note, more.Note)
		}
	})
}

func TestAPlanCarriedOutIsNotOrderedAgain(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := anyHub(t)
		first := Decide(in)
		next := done(in, first)
		again := Decide(next)
		if setsGoing(first) {
			return
		}
		if len(again.Create) > 0 || len(again.Withdraw) > 0 {
			t.Fatalf("%q was followed by %q (take back %v)", first.Note, again.Note, again.Withdraw)
		}
		if len(first.Create) > 0 && after(next, again) < after(in, first) {
			t.Fatalf("grew by %q, then shrank by %q", first.Note, again.Note)
		}
		for _, one := range again.Remove {
			if slices.ContainsFunc(first.Remove, func(before Removal) bool { return before.Name == one.Name }) {
				t.Fatalf("%s is deleted twice: %q, then %q", one.Name, first.Note, again.Note)
			}
		}
		for _, one := range again.Retire {
			if slices.ContainsFunc(first.Retire, func(before Retirement) bool { return before == one }) {
				t.Fatalf("%s is retired twice: %q, then %q", one.Name, first.Note, again.Note)
			}
		}
	})
}

// setsGoing is true for a plan after which a changeover may take its next step: a
// server comes back, or one goes and makes room. TestRepeatedPassesComeToRest sees
// to the end of that.
func setsGoing(plan Plan) bool {
	return len(plan.Withdraw) > 0 || plan.Changeover.Progress.RollingOut() && len(plan.Remove)+len(plan.Retire) > 0
}

func TestRepeatedPassesComeToRest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := anyHub(t)
		in.Trigger = scaling.OnTick
		plan := Decide(in)
		for range 2*len(in.Servers) + 3 {
			if len(plan.Create)+len(plan.Remove)+len(plan.Retire)+len(plan.Withdraw) == 0 {
				return
			}
			in = done(in, plan)
			plan = Decide(in)
		}
		t.Fatalf("still deciding: %q", plan.Note)
	})
}

func TestThePlanIsConstantUntilRecheck(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := anyHub(t)
		plan := Decide(in)
		until := plan.Recheck
		if until.IsZero() {
			until = now.Add(time.Hour)
		}
		in.Spareable = plan.Spareable
		in.Now = now.Add(time.Duration(rapid.Int64Range(0, int64(until.Sub(now))-1).Draw(t, "wait")))
		if diff := gocmp.Diff(plan, Decide(in)); diff != "" {
			t.Fatalf("after %v, before %v:\n%s", in.Now.Sub(now), until.Sub(now), diff)
		}
	})
}

func TestNoServerIsInAPlanTwice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		plan := Decide(anyHub(t))
		seen := map[string]bool{}
		note := func(name string) {
			if seen[name] {
				t.Fatalf("%s is in the plan twice: %+v", name, plan)
			}
			seen[name] = true
		}
		for _, one := range plan.Remove {
			note(one.Name)
		}
		for _, one := range plan.Retire {
			note(one.Name)
		}
		for _, one := range plan.Withdraw {
			note(one.Name)
		}
	})
}
