// SPDX-License-Identifier: Apache-2.0

package sizing

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/fleet"
)

var now = time.Date(2026, 9, 18, 20, 0, 0, 0, time.UTC)

func ephemeral() *v1alpha1.ServerGroup {
	group := &v1alpha1.ServerGroup{}
	group.Name, group.Namespace, group.Generation = "hub", "minecraft", 1
	group.Spec.Type, group.Spec.MaxPlayers = v1alpha1.GroupEphemeral, 50
	group.Spec.Scaling = v1alpha1.Scaling{MinReplicas: new(int32(2)), MaxReplicas: 8, SpareSlots: new(int32(30))}
	return group
}

func persistent(replicas int32) *v1alpha1.ServerGroup {
	group := ephemeral()
	group.Name = "survival"
	group.Spec.Type, group.Spec.Scaling, group.Spec.Replicas = v1alpha1.GroupPersistent, v1alpha1.Scaling{}, &replicas
	return group
}

func of(group *v1alpha1.ServerGroup) Input {
	return Input{Now: now, Group: group, LeaderSince: now.Add(-time.Hour)}
}

func failed(name string, ago time.Duration) fleet.Server {
	return fleet.Server{
		Name: name, Ordinal: fleet.NoOrdinal, Phase: v1alpha1.ServerFailed,
		Clocks: fleet.Clocks{FailedAt: now.Add(-ago)},
	}
}

func TestANewGroupIsMadeUpToItsFloor(t *testing.T) {
	got := Decide(of(ephemeral()))
	if len(got.Create) != 2 || got.Floor != 2 {
		t.Errorf("creates %d with floor %d, want 2 and 2", len(got.Create), got.Floor)
	}
}

func TestWhatIsOnOrderIsNotOrderedAgain(t *testing.T) {
	in := of(ephemeral())
	in.Pending = []string{"hub-abcd", "hub-efgh"}
	if got := Decide(in); len(got.Create) != 0 {
		t.Errorf("creates %d beside two on order, want none", len(got.Create))
	}
	in = of(persistent(3))
	in.Pending = []string{"survival-0"}
	got := Decide(in)
	var ordinals []int32
	for _, one := range got.Create {
		ordinals = append(ordinals, *one.Ordinal)
	}
	if diff := cmp.Diff([]int32{1, 2}, ordinals); diff != "" {
		t.Errorf("ordinals (-want +got):\n%s", diff)
	}
}

func TestAFailureGatesCreatesAndShowsFromTheFirst(t *testing.T) {
	in := of(ephemeral())
	in.Servers = []fleet.Server{failed("hub-abcd", time.Second)}
	got := Decide(in)
	if len(got.Create) != 0 {
		t.Errorf("creates %d inside a back-off window, want none", len(got.Create))
	}
	if got.Failures.Streak.Failures != 1 {
		t.Errorf("streak = %d, want 1", got.Failures.Streak.Failures)
	}
	if want := now.Add(-time.Second).Add(10 * time.Second); !got.Recheck.Equal(want) {
		t.Errorf("recheck = %v, want the end of the window %v", got.Recheck, want)
	}
}

func TestOnlyTheNewestFailedServerIsKept(t *testing.T) {
	asked := failed("d", 4*time.Minute)
	asked.Deletion = fleet.DeletionAsked
	alive := fleet.Server{Name: "e", Phase: v1alpha1.ServerReady}
	var got []string
	for _, one := range pruneFailed([]fleet.Server{failed("a", 3*time.Minute), failed("b", time.Minute), failed("c", 2*time.Minute), asked, alive}) {
		got = append(got, one.Name)
	}
	if diff := cmp.Diff([]string{"c", "a"}, got); diff != "" {
		t.Errorf("pruned (-want +got):\n%s", diff)
	}
}
