// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/utils/ptr"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/test/stage"
)

// limit is how long a person would wait before asking what is wrong.
const limit = 60 * time.Second

func firstPlayer(ctx context.Context, d *demo) (string, error) {
	d.line("Nora joins " + d.crowd.Address + " with the client of the npm package minecraft-protocol, not written here.")
	var err error
	if d.nora, err = d.crowd.JoinPeer(ctx, limit, "Nora"); err != nil {
		return "", err
	}
	return "Nora plays on " + d.crowd.Where("Nora"), nil
}

// bots are names of bots of ours, which behave as the game's client does.
func bots(from, to int) []string {
	var names []string
	for i := from; i <= to; i++ {
		names = append(names, fmt.Sprintf("Bot%02d", i))
	}
	return names
}

func grow(ctx context.Context, d *demo) (string, error) {
	d.line("The lobby has 2 servers of 4 seats, and wants 3 seats to be free at any time.")
	d.line("Eight bots of ours join in the same moment: with Nora one more than there are seats.")
	rush := d.clock.Now()
	names := bots(1, 8)
	if err := d.crowd.SendBots(ctx, names...); err != nil {
		return "", err
	}
	ready, err := d.cluster.AwaitServers(ctx, hub, "a third lobby, Ready", limit, func(ready []string, _ []v1alpha1.Server) bool {
		return len(ready) >= 3
	})
	if err != nil {
		return "", err
	}
	grown := d.clock.Since(rush)
	if err := d.crowd.AwaitPlaying(ctx, limit, names...); err != nil {
		return "", err
	}
	d.line(d.crowd.String())
	return fmt.Sprintf("lobby %d was Ready %.1f s after the rush; the one without a seat waited for it, nobody was refused", len(ready), grown.Seconds()), nil
}

func boost(ctx context.Context, d *demo) (string, error) {
	expires := d.clock.Now().Add(12 * time.Second).UTC().Format(time.RFC3339)
	manifest := fmt.Sprintf(`apiVersion: spawnery.cloud/v1alpha1
kind: ScaleBoost
metadata:
  name: hub-friday
  namespace: %s
spec:
  groupRef:
    name: %s
  replicas: 2
  expiresAt: "%s"
`, stage.Namespace, hub, expires)
	d.line("Two more lobbies than the 2 of minReplicas, for 12 seconds:")
	d.block(manifest)
	if err := d.do(ctx, manifest, "apply", "-f", "-"); err != nil {
		return "", err
	}
	players := len(d.crowd.Names())
	ready, err := d.cluster.AwaitSize(ctx, hub, 4, limit)
	if err != nil {
		return "", err
	}
	if err := d.do(ctx, "", "get", "boosts", "-n", stage.Namespace); err != nil {
		return "", err
	}
	if err := d.do(ctx, "", "get", "servergroup,server", "-n", stage.Namespace); err != nil {
		return "", err
	}
	d.line(fmt.Sprintf("%d lobbies, and still %d players. At %s the boost stops counting by itself:", len(ready), players, expires))
	if err := d.awaitBoosted(ctx, 0); err != nil {
		return "", err
	}
	_, err = d.cluster.AwaitSize(ctx, hub, 3, limit)
	return "from 3 to 4 lobbies with nobody else joining; over by itself, and back to 3", err
}

func (d *demo) awaitBoosted(ctx context.Context, wanted int32) error {
	return d.cluster.Await(ctx, fmt.Sprintf("BOOSTED %d", wanted), limit, func(ctx context.Context) (string, bool) {
		group, err := d.cluster.Group(ctx, hub)
		if err != nil {
			return err.Error(), false
		}
		boosted := ptr.Deref(group.Status.BoostedReplicas, -1)
		return fmt.Sprintf("BOOSTED %d", boosted), boosted == wanted
	})
}

func drain(ctx context.Context, d *demo) (string, error) {
	victim := d.crowd.Fullest(hub)
	moving := d.crowd.On(victim)
	d.line(fmt.Sprintf("%s are on %s.", strings.Join(moving, ", "), victim))
	if err := d.do(ctx, "", "delete", "server", victim, "-n", stage.Namespace, "--wait=false"); err != nil {
		return "", err
	}
	_, err := d.cluster.AwaitServers(ctx, hub, victim+" gone", limit, func(_ []string, all []v1alpha1.Server) bool {
		return !slices.ContainsFunc(all, func(s v1alpha1.Server) bool { return s.Name == victim })
	})
	if err != nil {
		return "", err
	}
	if err := d.crowd.AwaitPlaying(ctx, limit, moving...); err != nil {
		return "", err
	}
	d.line(d.crowd.String())
	return fmt.Sprintf("%d players were moved off %s before it stopped, 0 disconnected", len(moving), victim), nil
}

func cloudList(ctx context.Context, d *demo) (string, error) {
	d.line("Network.permissions gives Nora spawnery.cloud.read. She types /cloud list and reads:")
	lines, err := d.nora.Ask(ctx, "cloud list", limit, func(line string) bool { return strings.Contains(line, hub+"-") })
	for _, line := range lines {
		d.line("  | " + line)
	}
	return "Nora reads the servers in her chat", err
}

func shrink(ctx context.Context, d *demo) (string, error) {
	d.line("Everybody leaves but Nora. A lobby that has been empty for 5 seconds goes, one at a time, down to minReplicas.")
	names := slices.DeleteFunc(d.crowd.Names(), func(name string) bool { return name == "Nora" })
	d.crowd.Leave(names...)
	if _, err := d.cluster.AwaitSize(ctx, hub, 2, 2*limit); err != nil {
		return "", err
	}
	if err := d.do(ctx, "", "get", "minecraft", "-n", stage.Namespace); err != nil {
		return "", err
	}
	return "2 lobbies again, and Nora still plays on " + d.crowd.Where("Nora"), nil
}
