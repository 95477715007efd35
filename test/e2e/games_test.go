// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/agent/ledger"
	"github.com/spawnery/spawnery-operator/internal/mctest"
	"github.com/spawnery/spawnery-operator/internal/podspec"
	"github.com/spawnery/spawnery-operator/test/peers"
	"github.com/spawnery/spawnery-operator/test/stage"
)

// Groups that these tests have for themselves.
const (
	frost = "frost"
	still = "still"
	squid = "squid"
)

// lendGames makes ephemeral groups of one server, each with what is special about
// its spec, and takes them away at the end. It returns their servers by group.
func lendGames(t *testing.T, special map[string]string) map[string]string {
	t.Helper()
	var manifest strings.Builder
	for name, lines := range special {
		fmt.Fprintf(&manifest, `---
apiVersion: spawnery.cloud/v1alpha1
kind: ServerGroup
metadata: {name: %s, namespace: %s}
spec:
  networkRef: {name: production}
  type: Ephemeral
  maxPlayers: 10
  scaling: {minReplicas: 1, maxReplicas: 1, spareSlots: 0, scaleDownStabilizationSeconds: 5}
  drain: {timeoutSeconds: 30}
  terminationGracePeriodSeconds: 12
  failedRetentionSeconds: 5
%s`, name, stage.Namespace, lines)
	}
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		for name := range special {
			_, err := cluster.Kubectl(ctx, "", "delete", "servergroup", name, "-n", stage.Namespace, "--wait=false")
			if err != nil {
				t.Error(err)
			}
		}
		for name := range special {
			_, err := cluster.AwaitSize(ctx, name, 0, soon)
			if err != nil {
				t.Error(err)
			}
		}
	})
	_, err := cluster.Kubectl(t.Context(), manifest.String(), "apply", "-f", "-")
	must(t, err)
	servers := make(map[string]string)
	for name := range special {
		ready, err := cluster.AwaitSize(t.Context(), name, 1, soon)
		must(t, err)
		servers[name] = ready[0]
	}
	return servers
}

// The main thread of two games hangs. Both still answer the server list, one has
// a player, and the other would be removed if anybody took it for empty.
func TestAGameThatHangsGetsNobodyIsNotTakenForEmptyAndIsReplacedAfterItsDeadline(t *testing.T) {
	crowd := gather(t)
	const double = `
  image: spawnery.test/double:dev
  server: {acceptEula: true}
  startupDeadlineSeconds: 60
`
	servers := lendGames(t, map[string]string{frost: double, still: double})
	where := joinGroup(t, crowd, "Hana", frost)
	must(t, awaitPlayers(t.Context(), where, 1))
	for group, server := range servers {
		patchGroup(t, group, `{"spec":{"startupDeadlineSeconds":10}}`)
		typeAtConsole(t, server, "hang", "The main thread hangs")
	}
	for group, server := range servers {
		_, err := cluster.AwaitServers(t.Context(), group, server+" not Ready, once its counts are stale", 3*ledger.StaleAfter,
			func(ready []string, _ []v1alpha1.Server) bool { return !slices.Contains(ready, server) })
		must(t, err)
	}
	patchGroup(t, still, `{"spec":{"scaling":{"minReplicas":0}}}`)
	must(t, crowd.JoinBots(t.Context(), soon, bots(3)...))
	for _, bot := range bots(3) {
		if on := crowd.Where(bot); !strings.HasPrefix(on, hub+"-") {
			t.Errorf("%s was sent to %s, want a lobby", bot, on)
		}
	}
	for _, server := range servers {
		awaitUnresponsive(t, server)
	}
	must(t, crowd.AwaitAway(t.Context(), soon, []string{"Hana"}, where))
	if lines := crowd.Bot("Hana").Lines(); !slices.ContainsFunc(lines, func(line string) bool {
		return strings.HasPrefix(line, "You were moved here from "+where) && !strings.Contains(line, "connection")
	}) {
		t.Errorf("Hana was not moved before %s went: %q", where, lines)
	}
	_, err := cluster.AwaitServers(t.Context(), frost, "another server in the place of "+where, soon, func(ready []string, _ []v1alpha1.Server) bool {
		return len(ready) == 1 && ready[0] != where
	})
	must(t, err)
}

// awaitUnresponsive waits until a server has failed because its game hangs. It
// must not be given up for another reason before.
func awaitUnresponsive(t *testing.T, name string) {
	t.Helper()
	var wrong error
	err := cluster.Await(t.Context(), name+" Failed", soon, func(ctx context.Context) (string, bool) {
		server, err := cluster.Server(ctx, name)
		if err != nil {
			return err.Error(), false
		}
		if server == nil {
			wrong = fmt.Errorf("%s was removed before its deadline", name)
			return wrong.Error(), true
		}
		switch server.Status.Phase {
		case v1alpha1.ServerStarting:
			return string(server.Status.Phase), false
		case v1alpha1.ServerFailed:
			ready := apimeta.FindStatusCondition(server.Status.Conditions, v1alpha1.ConditionReady)
			if ready == nil || ready.Reason != v1alpha1.ReasonUnresponsive {
				wrong = fmt.Errorf("%s failed with %v", name, ready)
			}
			return string(server.Status.Phase), true
		case v1alpha1.ServerPending, v1alpha1.ServerReady, v1alpha1.ServerRetiring, v1alpha1.ServerDraining, v1alpha1.ServerTerminating:
		}
		wrong = fmt.Errorf("%s is %s and was not Failed before", name, server.Status.Phase)
		return wrong.Error(), true
	})
	must(t, errors.Join(err, wrong))
}

// flying-squid is started by its own program, which knows nothing of this
// project, and mineflayer needs the chunks of its world.
func TestAWorldOfFlyingSquidIsPlayedThroughTheProxy(t *testing.T) {
	crowd := gather(t)
	where := lendGames(t, map[string]string{squid: `
  image: spawnery.test/flying-squid:dev
  server: {flavor: Custom, forwarding: None}
`})[squid]
	out, err := cluster.Kubectl(t.Context(), "", "logs", where, "-n", stage.Namespace, "-c", podspec.ContainerServer)
	must(t, err)
	if !strings.Contains(out, "Server listening on port 25565, version 1.21.4") {
		t.Errorf("the game does not say that it is flying-squid:\n%s", out)
	}
	routed = true
	_, err = cluster.Route(t.Context(), edge, squid, hub)
	must(t, err)
	must(t, cluster.Await(t.Context(), "a bot in the world", soon, func(ctx context.Context) (string, bool) {
		line, err := firstLine(ctx, crowd.Address, "Scout")
		if err != nil {
			return err.Error(), false
		}
		return line, strings.Contains(line, "Scout joined the game")
	}))
	host, port, err := net.SplitHostPort(crowd.Address)
	must(t, err)
	player, err := peers.StartMineflayer(context.WithoutCancel(t.Context()), peers.ClientSettings{Host: host, Port: port, Version: "1.21.4", Name: "Flyer"})
	must(t, err)
	defer player.Stop()
	ctx, cancel := context.WithTimeout(t.Context(), soon)
	defer cancel()
	world, err := player.WaitKind(ctx, "world", "")
	must(t, err)
	if world.Columns < 9 || world.Text == "" || world.Text == "air" {
		t.Errorf("%d columns of chunks, and %q under the player", world.Columns, world.Text)
	}
	must(t, awaitPlayers(t.Context(), where, 1))
	player.Stop()
	must(t, awaitPlayers(t.Context(), where, 0))
}

// firstLine is the first that a bot reads who joins and leaves again.
func firstLine(ctx context.Context, address, name string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	bot, err := mctest.Join(ctx, mctest.BotSettings{Address: address, Name: name})
	if err != nil {
		return "", err
	}
	defer bot.Leave()
	return bot.WaitLine(ctx, func(string) bool { return true })
}
