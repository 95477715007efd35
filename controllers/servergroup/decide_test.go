// SPDX-License-Identifier: Apache-2.0

package servergroup

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/expect"
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

func reconciler() *Reconciler {
	return &Reconciler{LeaderSince: func() time.Time { return now.Add(-time.Hour) }}
}

func failed(name string, ago time.Duration) fleet.Server {
	return fleet.Server{
		Name: name, Ordinal: fleet.NoOrdinal, Phase: v1alpha1.ServerFailed,
		Clocks: fleet.Clocks{FailedAt: now.Add(-ago)},
	}
}

func TestANewGroupIsMadeUpToItsFloor(t *testing.T) {
	got := reconciler().decide(ephemeral(), observation{network: &v1alpha1.Network{}, now: now, ticking: true})
	if len(got.create) != 2 || got.floor != 2 {
		t.Errorf("creates %d with floor %d, want 2 and 2", len(got.create), got.floor)
	}
}

func TestWhatIsOnOrderIsNotOrderedAgain(t *testing.T) {
	seen := observation{network: &v1alpha1.Network{}, now: now, ticking: true, pending: expect.Pending{Creates: []string{"hub-abcd", "hub-efgh"}}}
	if got := reconciler().decide(ephemeral(), seen); len(got.create) != 0 {
		t.Errorf("creates %d beside two on order, want none", len(got.create))
	}
	seen.pending.Creates = []string{"survival-0"}
	got := reconciler().decide(persistent(3), seen)
	var ordinals []int32
	for _, one := range got.create {
		ordinals = append(ordinals, *one.ordinal)
	}
	if diff := cmp.Diff([]int32{1, 2}, ordinals); diff != "" {
		t.Errorf("ordinals (-want +got):\n%s", diff)
	}
}

func TestAFailureGatesCreatesAndShowsFromTheFirst(t *testing.T) {
	group := ephemeral()
	got := reconciler().decide(group, observation{network: &v1alpha1.Network{}, now: now, ticking: true, servers: []fleet.Server{failed("hub-abcd", time.Second)}})
	if len(got.create) != 0 {
		t.Errorf("creates %d inside a back-off window, want none", len(got.create))
	}
	if got.failures.Streak.Failures != 1 {
		t.Errorf("streak = %d, want 1", got.failures.Streak.Failures)
	}
	if want := now.Add(-time.Second).Add(10 * time.Second); !got.recheck.Equal(want) {
		t.Errorf("recheck = %v, want the end of the window %v", got.recheck, want)
	}
}

func TestOnlyTheNewestFailedServerIsKept(t *testing.T) {
	asked := failed("d", 4*time.Minute)
	asked.Deletion = fleet.DeletionAsked
	alive := fleet.Server{Name: "e", Phase: v1alpha1.ServerReady}
	var got []string
	for _, one := range pruneFailed([]fleet.Server{failed("a", 3*time.Minute), failed("b", time.Minute), failed("c", 2*time.Minute), asked, alive}) {
		got = append(got, one.name)
	}
	if diff := cmp.Diff([]string{"c", "a"}, got); diff != "" {
		t.Errorf("pruned (-want +got):\n%s", diff)
	}
}

func TestATickIsTakenOnceInItsInterval(t *testing.T) {
	var clock ticks
	key := types.NamespacedName{Namespace: "minecraft", Name: "hub"}
	if !clock.take(key, now) || clock.take(key, now.Add(4*time.Second)) || !clock.take(key, now.Add(tick)) {
		t.Error("ticks were not five seconds apart")
	}
	if got := clock.next(key, now.Add(tick+2*time.Second)); got != 3*time.Second {
		t.Errorf("next tick in %v, want 3s", got)
	}
}
