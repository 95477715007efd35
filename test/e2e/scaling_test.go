// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"testing"
	"time"

	"k8s.io/utils/ptr"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/test/stage"
)

func TestAFullLobbyGetsItsNextServerAndNobodyIsRefused(t *testing.T) {
	crowd := gather(t)
	story := cluster.Begin(t.Context())
	names := bots(lobbies*seats + 1)
	must(t, crowd.SendBots(t.Context(), names...))
	// With six of the eight seats taken the group is short.
	must(t, crowd.AwaitCount(t.Context(), soon, lobbies*seats-2))
	short := time.Now()
	var ordered time.Time
	_, err := cluster.AwaitServers(t.Context(), hub, "a third lobby", soon, func(_ []string, all []v1alpha1.Server) bool {
		if len(all) > lobbies {
			ordered = all[lobbies].CreationTimestamp.Time
		}
		return !ordered.IsZero()
	})
	must(t, err)
	if took := ordered.Sub(short); took > pass {
		t.Errorf("the next server was ordered after %s, want it within %s", took, pass)
	}
	must(t, crowd.AwaitPlaying(t.Context(), soon, names...))
	// Everybody has a seat, and for two passes nobody orders one more.
	must(t, hold(t.Context(), 2*pass, func(context.Context) error { return crowd.Lost() }))
	if most := story.Most(hub); most != lobbies+1 {
		t.Errorf("the shortage of one server was answered with %d", most-lobbies)
	}
	must(t, cluster.Await(t.Context(), "3 free seats", counted, func(ctx context.Context) (string, bool) {
		group, err := cluster.Group(ctx, hub)
		if err != nil {
			return err.Error(), false
		}
		free := ptr.Deref(group.Status.FreeSlots, -1)
		return fmt.Sprintf("%d free seats", free), free == 3
	}))
	must(t, crowd.Lost())
	crowd.Leave()
	_, err = cluster.AwaitSize(t.Context(), hub, lobbies, soon)
	must(t, err)
}

func TestABoostRaisesTheFloorWithNobodyOnlineAndEndsByItself(t *testing.T) {
	gather(t)
	must(t, applyBoost(t.Context(), 2, time.Now().Add(time.Hour)))
	_, err := cluster.AwaitSize(t.Context(), hub, lobbies+2, soon)
	must(t, err)
	must(t, awaitBoosted(t.Context(), 2, soon))
	// Only now it is known how long the servers took to come.
	const life = 3 * pass
	expires := time.Now().Add(life).Truncate(time.Second)
	must(t, applyBoost(t.Context(), 2, expires))
	// It holds as long as it lives: servers that have long been empty are kept.
	must(t, hold(t.Context(), time.Until(expires), func(ctx context.Context) error {
		servers, err := cluster.Servers(ctx, hub)
		if err == nil && len(servers) != lobbies+2 && time.Now().Before(expires) {
			err = fmt.Errorf("%d lobbies under the boost, want %d: %s", len(servers), lobbies+2, stage.Describe(servers))
		}
		return err
	}))
	must(t, awaitBoosted(t.Context(), 0, time.Until(expires)+2*pass))
	_, err = cluster.AwaitSize(t.Context(), hub, lobbies, soon)
	must(t, err)
}

func applyBoost(ctx context.Context, replicas int, expires time.Time) error {
	_, err := cluster.Kubectl(ctx, fmt.Sprintf(`
apiVersion: spawnery.cloud/v1alpha1
kind: ScaleBoost
metadata: {name: hub-friday, namespace: %s}
spec:
  groupRef: {name: %s}
  replicas: %d
  expiresAt: "%s"
`, stage.Namespace, hub, replicas, expires.UTC().Format(time.RFC3339)), "apply", "-f", "-")
	return err
}

func awaitBoosted(ctx context.Context, want int32, limit time.Duration) error {
	return cluster.Await(ctx, fmt.Sprintf("boostedReplicas %d", want), limit, func(ctx context.Context) (string, bool) {
		group, err := cluster.Group(ctx, hub)
		if err != nil {
			return err.Error(), false
		}
		boosted := ptr.Deref(group.Status.BoostedReplicas, -1)
		return fmt.Sprintf("boostedReplicas %d", boosted), boosted == want
	})
}

// hold looks for the whole time, for what must stay true.
func hold(ctx context.Context, limit time.Duration, look func(ctx context.Context) error) error {
	ticks := time.NewTicker(250 * time.Millisecond)
	defer ticks.Stop()
	end := time.After(limit)
	for {
		if err := look(ctx); err != nil {
			return err
		}
		select {
		case <-ticks.C:
		case <-end:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
