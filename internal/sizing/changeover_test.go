// SPDX-License-Identifier: Apache-2.0

package sizing

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/boosts"
	"github.com/spawnery/spawnery-operator/internal/fleet"
	"github.com/spawnery/spawnery-operator/internal/sighting"
)

func serving(name string, players int, spec fleet.SpecAge) fleet.Server {
	long := now.Add(-time.Hour)
	return fleet.Server{
		Name: name, Ordinal: fleet.NoOrdinal, Phase: v1alpha1.ServerReady, Pod: fleet.PodSeen, Spec: spec,
		Seats:     fleet.Seats{Slots: 50, Playable: 50},
		Presence:  fleet.Presence{Registration: fleet.Registered, Counts: fleet.Fresh(players, now)},
		Clocks:    fleet.Clocks{StartedAt: long, ReadySince: long},
		CreatedAt: long, EmptySince: long,
	}
}

// changing is a group in the middle of its life, on an event.
func changing(servers ...fleet.Server) Input {
	group := ephemeral()
	group.Status.FirstRegisteredAt = sighting.Stamp(now.Add(-time.Hour))
	in := of(group)
	in.Servers = servers
	return in
}

func retired(plan Plan) map[string]v1alpha1.RetireReason {
	all := map[string]v1alpha1.RetireReason{}
	for _, one := range plan.Retire {
		all[one.Name] = one.Reason
	}
	return all
}

func TestTheDefaultsHoldWhereNoUpdateIsWritten(t *testing.T) {
	plan := Decide(changing(serving("new", 0, fleet.SpecCurrent), serving("a", 9, fleet.SpecOld), serving("b", 9, fleet.SpecOld)))
	if diff := cmp.Diff(map[string]v1alpha1.RetireReason{"a": v1alpha1.RetireChangeover}, retired(plan)); diff != "" {
		t.Errorf("retires (-want +got):\n%s", diff)
	}
}

func TestWhoeverRetiresIsReplacedInTheSamePass(t *testing.T) {
	plan := Decide(changing(serving("new", 0, fleet.SpecCurrent), serving("a", 9, fleet.SpecOld)))
	if len(plan.Retire) != 1 || len(plan.Create) != 1 {
		t.Errorf("retires %d and creates %d, want one each: two servers are the floor", len(plan.Retire), len(plan.Create))
	}
}

func TestTheSameSeatsAreNotGivenUpTwice(t *testing.T) {
	in := changing(serving("new", 0, fleet.SpecCurrent), serving("old", 9, fleet.SpecOld))
	in.Group.Spec.Scaling.MinReplicas = new(int32(1))
	plan := Decide(in)
	if len(plan.Retire) != 1 || len(plan.Remove) != 0 {
		t.Errorf("retires %v and removes %v, want the old one to retire and the empty new one to stay", plan.Retire, plan.Remove)
	}
}

func TestWhoWaitsHasASeatBeforeAnotherServerGoes(t *testing.T) {
	in := changing(serving("new", 20, fleet.SpecCurrent), serving("old", 9, fleet.SpecOld))
	if plan := Decide(in); len(plan.Retire) != 1 {
		t.Fatalf("retires %v with the spare seats left", plan.Retire)
	}
	in.Waiting = 1
	if plan := Decide(in); len(plan.Retire) != 0 {
		t.Errorf("retires %v, and one waits", plan.Retire)
	}
}

func TestOfTwoOrdersTheLastOneIsCarriedOut(t *testing.T) {
	back := serving("back", 3, fleet.SpecCurrent)
	back.Retire = v1alpha1.RetireChangeover
	in := changing(back, serving("full", 50, fleet.SpecCurrent))
	if plan := Decide(in); len(plan.Withdraw) != 1 {
		t.Fatalf("takes back %v, want the one that is of the group's spec again", plan.Withdraw)
	}
	in.Boosts = boosts.Effect{Pin: boosts.Pin{Name: "event", Replicas: 1}}
	plan := Decide(in)
	if diff := cmp.Diff(map[string]v1alpha1.RetireReason{"back": v1alpha1.RetirePin}, retired(plan)); diff != "" || len(plan.Withdraw) > 0 {
		t.Errorf("takes back %v, and retires (-want +got):\n%s", plan.Withdraw, diff)
	}
}

func TestAPinIsTheCeilingOfAChangeover(t *testing.T) {
	in := changing(serving("a", 3, fleet.SpecOld), serving("b", 5, fleet.SpecOld))
	if plan := Decide(in); len(plan.Create) != 1 {
		t.Fatalf("creates %d where there is room, want 1", len(plan.Create))
	}
	in.Boosts = boosts.Effect{Pin: boosts.Pin{Name: "event", Replicas: 2}}
	plan := Decide(in)
	if want := "there is no room for a first server of the new spec"; len(plan.Create) != 0 || plan.Changeover.Note != want {
		t.Errorf("creates %d and says %q, want none and %q", len(plan.Create), plan.Changeover.Note, want)
	}
}

func TestAChangeoverLooksAgainWhenItsTimeComes(t *testing.T) {
	silent := serving("old", 9, fleet.SpecOld)
	silent.Counts, silent.Roster = fleet.Stale(9, now.Add(-time.Minute)), fleet.NobodySince(now.Add(-40*time.Second))
	in := changing(serving("new", 0, fleet.SpecCurrent), silent)
	in.Group.Spec.Update.Strategy = v1alpha1.UpdateWhenEmpty
	plan := Decide(in)
	if want := now.Add(20 * time.Second); len(plan.Retire) != 0 || !plan.Recheck.Equal(want) {
		t.Errorf("retires %v, looks again at %v; want nobody, and at %v", plan.Retire, plan.Recheck, want)
	}
}
