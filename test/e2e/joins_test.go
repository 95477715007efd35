// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"

	apimeta "k8s.io/apimachinery/pkg/api/meta"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/test/stage"
)

func TestTheFirstPlayerLandsInTheLobbyAndIsCounted(t *testing.T) {
	crowd := gather(t)
	_, err := crowd.JoinPeer(t.Context(), soon, "Nora")
	must(t, err)
	where := crowd.Where("Nora")
	if !strings.HasPrefix(where, hub+"-") {
		t.Fatalf("Nora is on %s, want a lobby", where)
	}
	must(t, awaitPlayers(t.Context(), where, 1))
	server, err := cluster.Server(t.Context(), where)
	must(t, err)
	if !apimeta.IsStatusConditionTrue(server.Status.Conditions, v1alpha1.ConditionForwardingActive) {
		t.Errorf("ForwardingActive is not True: %v", server.Status.Conditions)
	}
	awaitConnected(t, 1)
}

func TestAServerThatNobodyHereWroteTakesPlayersAndIsCounted(t *testing.T) {
	crowd := gather(t)
	where := joinGroup(t, crowd, "Olga", npm)
	must(t, awaitPlayers(t.Context(), where, 1))
	crowd.Leave("Olga")
	must(t, awaitPlayers(t.Context(), where, 0))
}

func TestWhoMayReadsCloudListAndWhoMayNotDoesNot(t *testing.T) {
	crowd := gather(t)
	nora, err := crowd.JoinPeer(t.Context(), soon, "Nora")
	must(t, err)
	must(t, crowd.JoinBots(t.Context(), soon, "Nobody"))
	servers, err := cluster.Servers(t.Context(), "")
	must(t, err)
	for _, server := range stage.Ready(servers) {
		lines, err := nora.Ask(t.Context(), "cloud list", soon, func(line string) bool { return strings.Contains(line, server) })
		if err != nil {
			t.Errorf("no line of /cloud list names %s: %v; %q", server, err, lines)
		}
	}
	bot := crowd.Bot("Nobody")
	bot.ForgetLines()
	must(t, bot.Command("cloud list"))
	// The lobby answers a command it does not know: with that the proxy has
	// passed on what it did not take.
	ctx, cancel := context.WithTimeout(t.Context(), soon)
	defer cancel()
	line, err := bot.WaitLine(ctx, func(string) bool { return true })
	must(t, err)
	for _, server := range stage.Ready(servers) {
		if strings.Contains(line, server) {
			t.Errorf("somebody without a permission reads %q", line)
		}
	}
}

// routed is true while proxies may send a player elsewhere than the overlay
// says.
var routed bool

// unroute waits until the proxies have the routing of the overlay again, which
// no status tells: whoever joins lands in a lobby.
func unroute(ctx context.Context) error {
	if !routed {
		return nil
	}
	address, err := cluster.AwaitDoor(ctx, edge, soon)
	if err != nil {
		return err
	}
	scout := &stage.Crowd{Address: address}
	defer scout.Leave()
	_, err = scout.JoinUntilOn(ctx, soon, "Scout", hub)
	routed = err != nil
	return err
}

// joinGroup sends whoever joins to a group, and lets a bot join it.
func joinGroup(t *testing.T, crowd *stage.Crowd, name, group string) string {
	t.Helper()
	routed = true
	_, err := cluster.Route(t.Context(), edge, group, hub)
	must(t, err)
	where, err := crowd.JoinUntilOn(t.Context(), soon, name, group)
	must(t, err)
	return where
}

// awaitPlayers waits until a Server's status counts so many players.
func awaitPlayers(ctx context.Context, server string, want int32) error {
	return cluster.Await(ctx, fmt.Sprintf("%d players in the status of %s", want, server), counted, func(ctx context.Context) (string, bool) {
		found, err := cluster.Server(ctx, server)
		if err != nil || found == nil {
			return fmt.Sprintf("no server: %v", err), false
		}
		if found.Status.Players == nil {
			return "no count", false
		}
		return fmt.Sprintf("%d players", *found.Status.Players), *found.Status.Players == want
	})
}
