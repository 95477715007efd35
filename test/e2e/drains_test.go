// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	apimeta "k8s.io/apimachinery/pkg/api/meta"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/test/stage"
)

func TestDeletingAServerMovesItsPlayersAndDisconnectsNobody(t *testing.T) {
	crowd := gather(t)
	_, err := crowd.JoinPeer(t.Context(), soon, "Nora")
	must(t, err)
	must(t, crowd.JoinBots(t.Context(), soon, bots(5)...))
	victim := crowd.Where("Nora")
	moving := crowd.On(victim)
	if len(moving) < 2 {
		t.Fatalf("only %v are on %s: players are not spread", moving, victim)
	}
	_, err = cluster.Kubectl(t.Context(), "", "delete", "server", victim, "-n", stage.Namespace, "--wait=false")
	must(t, err)
	awaitGone(t, victim)
	must(t, crowd.AwaitAway(t.Context(), soon, moving, victim))
}

func TestPlayersOfAServerThatDiesFallBackAndItIsReplaced(t *testing.T) {
	crowd := gather(t)
	must(t, crowd.JoinBots(t.Context(), soon, bots(4)...))
	victim := crowd.Fullest(hub)
	falling := crowd.On(victim)
	_, err := cluster.Kubectl(t.Context(), "", "delete", "pod", victim, "-n", stage.Namespace, "--grace-period=0", "--force", "--wait=false")
	must(t, err)
	awaitGone(t, victim)
	must(t, crowd.AwaitAway(t.Context(), soon, falling, victim))
	_, err = cluster.AwaitSize(t.Context(), hub, lobbies, soon)
	must(t, err)
}

func TestAGameThatIsKilledFailsIsReplacedAndItsPlayersFallBack(t *testing.T) {
	crowd := gather(t)
	must(t, crowd.JoinBots(t.Context(), soon, bots(4)...))
	victim := crowd.Fullest(hub)
	falling := crowd.On(victim)
	server, err := cluster.Server(t.Context(), victim)
	must(t, err)
	killIn(t, server.Status.PodUID, "double")
	must(t, cluster.Await(t.Context(), victim+" Failed", soon, func(ctx context.Context) (string, bool) {
		server, err = cluster.Server(ctx, victim)
		if err != nil || server == nil {
			return fmt.Sprintf("no server: %v", err), false
		}
		return string(server.Status.Phase), server.Status.Phase == v1alpha1.ServerFailed
	}))
	ready := apimeta.FindStatusCondition(server.Status.Conditions, v1alpha1.ConditionReady)
	if ready == nil || ready.Reason != v1alpha1.ReasonGameExited || !strings.Contains(ready.Message, "137") {
		t.Errorf("the server does not say that its game was killed: %v", ready)
	}
	must(t, crowd.AwaitAway(t.Context(), soon, falling, victim))
	awaitGone(t, victim)
	_, err = cluster.AwaitSize(t.Context(), hub, lobbies, soon)
	must(t, err)
}

func awaitGone(t *testing.T, server string) {
	t.Helper()
	_, err := cluster.AwaitServers(t.Context(), hub, server+" gone", soon, func(_ []string, all []v1alpha1.Server) bool {
		return !slices.ContainsFunc(all, func(s v1alpha1.Server) bool { return s.Name == server })
	})
	must(t, err)
}
