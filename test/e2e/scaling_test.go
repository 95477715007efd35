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
	names := bots(lobbies*seats + 1)
	rush := time.Now()
	must(t, crowd.SendBots(t.Context(), names...))
	most := 0
	_, err := cluster.AwaitServers(t.Context(), hub, "a third lobby", soon, func(_ []string, all []v1alpha1.Server) bool {
		return len(all) > lobbies
	})
	must(t, err)
	if took := time.Since(rush); took > pass {
		t.Errorf("the next server was ordered after %s, want it within %s", took, pass)
	}
	must(t, crowd.AwaitPlaying(t.Context(), soon, names...))
	must(t, hold(t.Context(), 2*pass, func(ctx context.Context) error {
		servers, err := cluster.Servers(ctx, hub)
		most = max(most, len(servers))
		return err
	}))
	if most != lobbies+1 {
		t.Errorf("the shortage of one server was answered with %d", most-lobbies)
	}
	must(t, cluster.Await(t.Context(), "3 free seats", 20*time.Second, func(ctx context.Context) (string, bool) {
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
	const life = 20 * time.Second
	expires := time.Now().Add(life).Truncate(time.Second)
	must(t, applyBoost(t.Context(), 2, expires))
	_, err := cluster.AwaitSize(t.Context(), hub, lobbies+2, time.Until(expires))
	must(t, err)
	must(t, awaitBoosted(t.Context(), 2, time.Until(expires)))
	// It holds as long as it lives: empty servers are kept.
	must(t, hold(t.Context(), time.Until(expires)-time.Second, func(ctx context.Context) error {
		servers, err := cluster.Servers(ctx, hub)
		if err == nil && len(servers) != lobbies+2 {
			err = fmt.Errorf("%d lobbies under the boost, want %d", len(servers), lobbies+2)
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
