// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spawnery/spawnery-operator/internal/podspec"
	"github.com/spawnery/spawnery-operator/test/stage"
)

func TestADrainedNodeMovesItsPlayersAndDisconnectsNobody(t *testing.T) {
	lendNodes(t)
	crowd := gather(t)
	_, err := crowd.JoinPeer(t.Context(), soon, "Nora")
	must(t, err)
	must(t, crowd.JoinBots(t.Context(), soon, bots(3)...))
	victim := crowd.Where("Nora")
	moving := crowd.On(victim)
	node := lobbyNodes(t)[victim]
	awaitProtected(t, hub, victim)

	// The lobby's own pods only: what else runs there is not what is tested.
	drain := []string{
		"drain", node, "--ignore-daemonsets", "--delete-emptydir-data",
		"--pod-selector=" + podspec.LabelGroup + "=" + hub + "," + podspec.LabelRole + "=" + string(podspec.RoleServer),
	}
	_, err = cluster.Kubectl(t.Context(), "", append(drain, "--dry-run=server", "--timeout=3s")...)
	if err == nil || !strings.Contains(err.Error(), victim) || !strings.Contains(err.Error(), "disruption budget") {
		t.Fatalf("the eviction of %s, which has players, was not refused: %v", victim, err)
	}
	_, err = cluster.Kubectl(t.Context(), "", append(drain, "--timeout="+soon.String())...)
	must(t, err)
	must(t, crowd.AwaitAway(t.Context(), soon, moving, victim))
	_, err = cluster.AwaitSize(t.Context(), hub, lobbies, soon)
	must(t, err)
	for server, where := range lobbyNodes(t) {
		if where == node {
			t.Errorf("%s is on %s, which was drained", server, node)
		}
	}
}

func TestACordonWithNowhereElseToGoChangesNothing(t *testing.T) {
	nodes := lendNodes(t)
	crowd := gather(t)
	must(t, crowd.JoinBots(t.Context(), soon, bots(2)...))
	home := lobbyNodes(t)[crowd.Fullest(hub)]
	// Who is on the other nodes stays; nobody else may come.
	for _, node := range nodes {
		if node != home {
			_, err := cluster.Kubectl(t.Context(), "", "taint", "node", node, full)
			must(t, err)
		}
	}
	before, err := cluster.Identities(t.Context())
	must(t, err)
	_, err = cluster.Kubectl(t.Context(), "", "cordon", home)
	must(t, err)
	awaitNodeDraining(t, hub, home, "nowhere else to go")
	must(t, hold(t.Context(), 3*pass, func(ctx context.Context) error {
		now, err := cluster.Identities(ctx)
		if err != nil {
			return err
		}
		if changes := append(before.Missing(now), now.Missing(before)...); len(changes) > 0 {
			return fmt.Errorf("a cordon changed something: %s", strings.Join(changes, "; "))
		}
		return crowd.Lost()
	}))
}

// full keeps new pods off a node.
const full = "example.test/full=yes:NoSchedule"

// lendNodes returns the names of the nodes, and gives every node back at the end
// of the test. It comes before a crowd is gathered, so that everybody is looked
// at before that.
func lendNodes(t *testing.T) []string {
	t.Helper()
	var nodes corev1.NodeList
	must(t, cluster.List(t.Context(), &nodes))
	names := make([]string, 0, len(nodes.Items))
	for i := range nodes.Items {
		names = append(names, nodes.Items[i].Name)
	}
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		for _, name := range names {
			if _, err := cluster.Kubectl(ctx, "", "uncordon", name); err != nil {
				t.Error(err)
			}
			// Fails where there is no such taint.
			_, _ = cluster.Kubectl(ctx, "", "taint", "node", name, full+"-")
		}
	})
	return names
}

// lobbyNodes are the nodes of the lobbies that are not on their way out.
func lobbyNodes(t *testing.T) map[string]string {
	t.Helper()
	pods, err := cluster.Pods(t.Context(), podspec.RoleServer)
	must(t, err)
	nodes := map[string]string{}
	for i := range pods {
		if pods[i].Labels[podspec.LabelGroup] == hub && pods[i].DeletionTimestamp == nil {
			nodes[pods[i].Name] = pods[i].Spec.NodeName
		}
	}
	return nodes
}

// awaitProtected waits until a server's pod is one of those that the budget
// counts.
func awaitProtected(t *testing.T, group, server string) {
	t.Helper()
	must(t, cluster.Await(t.Context(), server+" protected by its group's budget", soon, func(ctx context.Context) (string, bool) {
		var pod corev1.Pod
		var budget policyv1.PodDisruptionBudget
		err := errors.Join(
			cluster.Get(ctx, client.ObjectKey{Namespace: stage.Namespace, Name: server}, &pod),
			cluster.Get(ctx, client.ObjectKey{Namespace: stage.Namespace, Name: podspec.BudgetName(podspec.RoleServer, group)}, &budget),
		)
		if err != nil {
			return err.Error(), false
		}
		counted := budget.Status.ObservedGeneration == budget.Generation && budget.Status.DisruptionsAllowed == 0
		return fmt.Sprintf("%s, budget of %d, %d counted", podspec.OccupancyOf(&pod), budget.Spec.MinAvailable.IntValue(), budget.Status.CurrentHealthy),
			podspec.OccupancyOf(&pod) == podspec.Occupied && counted && budget.Status.CurrentHealthy > 0
	}))
}
