// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/spawnery/spawnery-operator/internal/podspec"
	"github.com/spawnery/spawnery-operator/test/stage"
)

// TestAWorldOutlivesTheOperator takes away everything that can be taken away
// without touching claims, in the order in which nothing is left waiting for
// somebody who has gone, and brings it back.
func TestAWorldOutlivesTheOperator(t *testing.T) {
	crowd := gather(t)
	joinGroup(t, crowd, "Wilma", survival)
	seen := joinsSeen(t, crowd, "Wilma")
	claim := readClaim(t, world)
	crowd.Leave()
	t.Cleanup(func() {
		if t.Failed() {
			if err := install(context.WithoutCancel(t.Context())); err != nil {
				t.Error(err)
			}
		}
	})
	for _, command := range [][]string{
		{"delete", "servergroups,proxygroups,networks", "--all", "-n", stage.Namespace},
		{"wait", "--for=delete", "pod", "--all", "-n", stage.Namespace, "--timeout=" + soon.String()},
		// It would go on asking for what it may no longer see.
		{"delete", "deployment", stage.Manager, "-n", stage.SystemNamespace},
		{"wait", "--for=delete", "pod", "--all", "-n", stage.SystemNamespace, "--timeout=" + soon.String()},
		{"delete", "--ignore-not-found", "-k", filepath.Join(root, "test/demo/operator")},
	} {
		_, err := cluster.Kubectl(t.Context(), "", command...)
		must(t, err)
	}
	sameClaim(t, claim)
	must(t, install(t.Context()))
	sameClaim(t, claim)
	var err error
	crowd.Address, err = cluster.AwaitDoor(t.Context(), edge, soon)
	must(t, err)
	joinGroup(t, crowd, "Xaver", survival)
	if got := joinsSeen(t, crowd, "Xaver"); got != seen+1 {
		t.Errorf("the world has seen %d joins under another operator, want %d", got, seen+1)
	}
	if labels := readClaim(t, world).Labels; labels[podspec.LabelManagedBy] != podspec.ManagedBy {
		t.Errorf("nobody would find the world: %v", labels)
	}
}
