// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/podspec"
	"github.com/spawnery/spawnery-operator/test/stage"
)

// nodeIsDrained drains the node on which all lobbies are, two of them with
// players and one without. The players came in through the other node. The
// critical moment is when the first of them is on its way out.
func nodeIsDrained(t *testing.T, critical func()) {
	nodes := lendNodes(t)
	crowd := gather(t)
	door := proxies(t)[0].Spec.NodeName
	leaving := nodes[slices.IndexFunc(nodes, func(name string) bool { return name != door })]
	gatherLobbies(t, door, leaving)
	names := bots(2)
	must(t, crowd.JoinBots(t.Context(), soon, names...))
	occupied := []string{crowd.Where(names[0]), crowd.Where(names[1])}
	if occupied[0] == occupied[1] {
		t.Fatalf("players are not spread: %s", crowd)
	}

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	drained := make(chan error, 1)
	go func() {
		// This cluster's DNS and its provisioner cannot leave their node, and the
		// manager's end is a scene of its own.
		_, err := cluster.Kubectl(ctx, "", "drain", leaving, "--ignore-daemonsets", "--delete-emptydir-data", "--timeout=180s",
			"--pod-selector=!k8s-app,app!=local-path-provisioner,app.kubernetes.io/component!=manager")
		drained <- err
	}()
	_, err := cluster.AwaitServers(t.Context(), hub, "an old lobby on its way out", soon, func(_ []string, all []v1alpha1.Server) bool {
		return slices.ContainsFunc(all, func(s v1alpha1.Server) bool {
			return slices.Contains(occupied, s.Name) && s.Status.Phase != v1alpha1.ServerReady
		})
	})
	must(t, err)
	critical()
	must(t, watchDrain(t.Context(), crowd, door, occupied, drained))
	for i, name := range names {
		must(t, crowd.AwaitAway(t.Context(), soon, []string{name}, occupied[i]))
	}
	must(t, crowd.Lost())
	awaitLobbiesOn(t, door, lobbies+1)
}

// watchDrain looks until kubectl is done: whoever is moved has somewhere to go.
func watchDrain(ctx context.Context, crowd *stage.Crowd, door string, occupied []string, drained <-chan error) error {
	looks := time.NewTicker(250 * time.Millisecond)
	defer looks.Stop()
	for {
		servers, err := cluster.Servers(ctx, hub)
		if err != nil {
			return err
		}
		draining := func(s v1alpha1.Server) bool {
			return slices.Contains(occupied, s.Name) && s.Status.Phase == v1alpha1.ServerDraining
		}
		pods, err := cluster.Pods(ctx, podspec.RoleServer)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(servers, draining) && len(readyOn(servers, pods, door)) == 0 {
			return fmt.Errorf("an occupied server drains with no other one Ready on %s: %s", door, stage.Describe(servers))
		}
		if err := crowd.Lost(); err != nil {
			return err
		}
		select {
		case err := <-drained:
			return err
		case <-looks.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// readyOn are the ready servers whose pods are on a node.
func readyOn(servers []v1alpha1.Server, pods []corev1.Pod, nodeName string) []string {
	return slices.DeleteFunc(stage.Ready(servers), func(name string) bool {
		return !slices.ContainsFunc(pods, func(pod corev1.Pod) bool { return pod.Name == name && pod.Spec.NodeName == nodeName })
	})
}

func awaitLobbiesOn(t *testing.T, nodeName string, count int) {
	t.Helper()
	must(t, cluster.Await(t.Context(), fmt.Sprintf("%d lobbies, all on %s", count, nodeName), 2*soon, func(ctx context.Context) (string, bool) {
		servers, err := cluster.Servers(ctx, hub)
		pods, podsErr := cluster.Pods(ctx, podspec.RoleServer)
		if err := errors.Join(err, podsErr); err != nil {
			return err.Error(), false
		}
		there := len(readyOn(servers, pods, nodeName))
		return fmt.Sprintf("%d there; %s", there, stage.Describe(servers)), there == count && len(servers) == count
	}))
}

// gatherLobbies brings one lobby more than usual, and all of them, from one node
// to the other.
func gatherLobbies(t *testing.T, from, to string) {
	t.Helper()
	kubectl := func(args ...string) {
		t.Helper()
		_, err := cluster.Kubectl(t.Context(), "", args...)
		must(t, err)
	}
	kubectl("taint", "node", from, full)
	must(t, applyBoost(t.Context(), 1, time.Now().Add(time.Hour)))
	for lobby, node := range lobbyNodes(t) {
		if node == from {
			kubectl("delete", "server", lobby, "-n", stage.Namespace, "--wait=false")
		}
	}
	awaitLobbiesOn(t, to, lobbies+1)
	kubectl("taint", "node", from, full+"-")
}
