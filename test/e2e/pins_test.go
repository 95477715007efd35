// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/ptr"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/test/stage"
)

// pinnedToZero holds the lobby at no server while somebody is on one.
func pinnedToZero(t *testing.T, critical func()) {
	crowd := gather(t)
	must(t, crowd.JoinBots(t.Context(), soon, "Stays"))
	home := crowd.Where("Stays")
	expires := time.Now().Add(time.Hour).Truncate(time.Second)
	must(t, pin(t.Context(), "nobody", 0, expires))
	retiring := func(_ []string, all []v1alpha1.Server) bool {
		return len(all) == 1 && all[0].Name == home && all[0].Status.Phase == v1alpha1.ServerRetiring
	}
	_, err := cluster.AwaitServers(t.Context(), hub, "only "+home+", Retiring", soon, retiring)
	must(t, err)
	critical()
	must(t, crowd.SendBots(t.Context(), "Late"))
	awaitPin(t, 0, expires)
	must(t, hold(t.Context(), 2*pass, func(ctx context.Context) error {
		servers, err := cluster.Servers(ctx, hub)
		if err == nil && !retiring(nil, servers) {
			err = fmt.Errorf("under the pin: %s", stage.Describe(servers))
		}
		if where := crowd.Where("Late"); where != "" {
			err = errors.Join(err, fmt.Errorf("somebody new is on %s", where))
		}
		if where := crowd.Where("Stays"); where != home {
			err = errors.Join(err, fmt.Errorf("who was on %s is on %q", home, where))
		}
		return errors.Join(err, crowd.Lost())
	}))
	crowd.Leave("Stays")
	_, err = cluster.AwaitSize(t.Context(), hub, 0, soon)
	must(t, err)
	_, err = cluster.Kubectl(t.Context(), "", "delete", "boost", "nobody", "-n", stage.Namespace)
	must(t, err)
	must(t, crowd.AwaitPlaying(t.Context(), soon, "Late"))
	_, err = cluster.AwaitSize(t.Context(), hub, lobbies, soon)
	must(t, err)
	awaitPin(t, -1, time.Time{})
}

func pin(ctx context.Context, name string, replicas int, expires time.Time) error {
	_, err := cluster.Kubectl(ctx, fmt.Sprintf(`
apiVersion: spawnery.cloud/v1alpha1
kind: ScaleBoost
metadata: {name: %s, namespace: %s}
spec:
  groupRef: {name: %s}
  mode: Exact
  replicas: %d
  expiresAt: "%s"
`, name, stage.Namespace, hub, replicas, expires.UTC().Format(time.RFC3339)), "apply", "-f", "-")
	return err
}

// awaitPin waits until the lobby's status shows this pin, or none for -1.
func awaitPin(t *testing.T, replicas int32, until time.Time) {
	t.Helper()
	must(t, cluster.Await(t.Context(), fmt.Sprintf("a pin to %d until %s", replicas, until), soon, func(ctx context.Context) (string, bool) {
		group, err := cluster.Group(ctx, hub)
		if err != nil {
			return err.Error(), false
		}
		status := &group.Status
		pinned, ends := ptr.Deref(status.PinnedReplicas, -1), time.Time{}
		if status.PinnedUntil != nil {
			ends = status.PinnedUntil.Time
		}
		limited := apimeta.FindStatusCondition(status.Conditions, v1alpha1.ConditionScalingLimited)
		seen := fmt.Sprintf("pinned to %d until %s, ScalingLimited %v", pinned, ends, limited)
		// Whoever waits at the door is demand that the pin refuses.
		refused := limited != nil && limited.Reason == v1alpha1.ReasonPinned
		return seen, pinned == replicas && ends.Equal(until) && refused == (replicas >= 0)
	}))
}

const fresh = "fresh"

// newGroupSettles makes a group of at least one server.
func newGroupSettles(t *testing.T, critical func()) {
	gather(t)
	apply := fmt.Sprintf(`
apiVersion: spawnery.cloud/v1alpha1
kind: ServerGroup
metadata: {name: %s, namespace: %s}
spec:
  networkRef: {name: production}
  type: Ephemeral
  image: spawnery.test/double:dev
  maxPlayers: 4
  scaling: {minReplicas: 1, maxReplicas: 5, spareSlots: 3, scaleDownStabilizationSeconds: 12}
  server: {acceptEula: true}
  terminationGracePeriodSeconds: 20
`, fresh, stage.Namespace)
	story := cluster.Begin(t.Context())
	t.Cleanup(func() {
		story.End()
		ctx := context.WithoutCancel(t.Context())
		_, err := cluster.Kubectl(ctx, "", "delete", "servergroup", fresh, "-n", stage.Namespace)
		_, gone := cluster.AwaitSize(ctx, fresh, 0, soon)
		if err := errors.Join(err, gone); err != nil {
			t.Error(err)
		}
	})
	_, err := cluster.Kubectl(t.Context(), apply, "apply", "-f", "-")
	must(t, err)
	_, err = cluster.AwaitServers(t.Context(), fresh, "a first server", soon, func(_ []string, all []v1alpha1.Server) bool { return len(all) > 0 })
	must(t, err)
	critical()
	two, err := cluster.AwaitSize(t.Context(), fresh, 2, soon)
	must(t, err)
	one, err := cluster.AwaitSize(t.Context(), fresh, 1, soon)
	must(t, err)
	if !slices.Contains(two, one[0]) {
		t.Errorf("%s remained, which is none of %s", one[0], strings.Join(two, ", "))
	}
	if most := story.Most(fresh); most != 2 {
		t.Errorf("a new group had %d servers at a time, want 2", most)
	}
}

// boostEnds lets a boost run out, and with a manager that is killed while
// nobody is there to see it.
func boostEnds(t *testing.T, critical func()) {
	gather(t)
	must(t, applyBoost(t.Context(), 1, time.Now().Add(time.Hour)))
	_, err := cluster.AwaitSize(t.Context(), hub, lobbies+1, soon)
	must(t, err)
	must(t, applyBoost(t.Context(), 1, time.Now().Add(time.Second)))
	critical()
	must(t, awaitBoosted(t.Context(), 0, soon))
	_, err = cluster.AwaitSize(t.Context(), hub, lobbies, soon)
	must(t, err)
}

// killedGame kills a game, and with a manager that is killed while nobody is
// there to see that either.
func killedGame(t *testing.T, critical func()) {
	crowd := gather(t)
	must(t, crowd.JoinBots(t.Context(), soon, bots(4)...))
	victim := crowd.Fullest(hub)
	falling := crowd.On(victim)
	server, err := cluster.Server(t.Context(), victim)
	must(t, err)
	killIn(t, server.Status.PodUID, "double")
	critical()
	must(t, crowd.AwaitAway(t.Context(), soon, falling, victim))
	awaitGone(t, victim)
	_, err = cluster.AwaitSize(t.Context(), hub, lobbies, soon)
	must(t, err)
}
