// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/podspec"
	"github.com/spawnery/spawnery-operator/test/stage"
)

const world = survival + "-0"

func TestAWorldOutlivesItsPodAndItsServer(t *testing.T) {
	crowd := gather(t)
	joinGroup(t, crowd, "Wilma", survival)
	seen := joinsSeen(t, crowd, "Wilma")
	claim := readClaim(t)

	before := podOf(t)
	_, err := cluster.Kubectl(t.Context(), "", "delete", "pod", world, "-n", stage.Namespace, "--wait=false")
	must(t, err)
	awaitNewPod(t, before)
	must(t, crowd.AwaitPlaying(t.Context(), soon, "Wilma"))
	joinGroup(t, crowd, "Xaver", survival)
	if got := joinsSeen(t, crowd, "Xaver"); got != seen+1 {
		t.Errorf("the world has seen %d joins in its second pod, want %d", got, seen+1)
	}

	before = podOf(t)
	scaleWorld(t, 0)
	must(t, crowd.AwaitPlaying(t.Context(), soon, "Wilma", "Xaver"))
	sameClaim(t, claim)
	scaleWorld(t, 1)
	awaitNewPod(t, before)
	joinGroup(t, crowd, "Yvonne", survival)
	if got := joinsSeen(t, crowd, "Yvonne"); got != seen+2 {
		t.Errorf("the world has seen %d joins after its server was away, want %d", got, seen+2)
	}
	sameClaim(t, claim)
}

func TestAWorldOutlivesItsGroup(t *testing.T) {
	crowd := gather(t)
	joinGroup(t, crowd, "Wilma", survival)
	seen := joinsSeen(t, crowd, "Wilma")
	claim, before := readClaim(t), podOf(t)
	_, err := cluster.Kubectl(t.Context(), "", "delete", "servergroup", survival, "-n", stage.Namespace)
	must(t, err)
	_, err = cluster.AwaitSize(t.Context(), survival, 0, soon)
	must(t, err)
	must(t, crowd.AwaitPlaying(t.Context(), soon, "Wilma"))
	sameClaim(t, claim)
	must(t, settleAround(t.Context()))
	awaitNewPod(t, before)
	joinGroup(t, crowd, "Xaver", survival)
	if got := joinsSeen(t, crowd, "Xaver"); got != seen+1 {
		t.Errorf("the world of the new group has seen %d joins, want %d", got, seen+1)
	}
	sameClaim(t, claim)
}

// joinsSeen reads the line in which the double says how many joins its world
// has seen.
func joinsSeen(t *testing.T, crowd *stage.Crowd, bot string) int {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), soon)
	defer cancel()
	joins := 0
	_, err := crowd.Bot(bot).WaitLine(ctx, func(line string) bool {
		n, err := fmt.Sscanf(line, "This world has seen %d joins", &joins)
		return err == nil && n == 1
	})
	must(t, err)
	return joins
}

func readClaim(t *testing.T) corev1.PersistentVolumeClaim {
	t.Helper()
	var claim corev1.PersistentVolumeClaim
	must(t, cluster.Get(t.Context(), client.ObjectKey{Namespace: stage.Namespace, Name: podspec.DataClaimName(world)}, &claim))
	return claim
}

func sameClaim(t *testing.T, was corev1.PersistentVolumeClaim) {
	t.Helper()
	now := readClaim(t)
	if now.UID != was.UID || now.Spec.VolumeName != was.Spec.VolumeName || now.Status.Phase != corev1.ClaimBound || now.DeletionTimestamp != nil {
		t.Errorf("the claim is another one: %s on %s, %s; was %s on %s",
			now.UID, now.Spec.VolumeName, now.Status.Phase, was.UID, was.Spec.VolumeName)
	}
	if len(now.OwnerReferences) > 0 {
		t.Errorf("somebody owns the claim: %v", now.OwnerReferences)
	}
}

func podOf(t *testing.T) string {
	t.Helper()
	server, err := cluster.Server(t.Context(), world)
	must(t, err)
	if server == nil {
		t.Fatalf("there is no %s", world)
	}
	return server.Status.PodUID
}

func awaitNewPod(t *testing.T, old string) {
	t.Helper()
	must(t, cluster.Await(t.Context(), world+" Ready in another pod", soon, func(ctx context.Context) (string, bool) {
		server, err := cluster.Server(ctx, world)
		if err != nil || server == nil {
			return fmt.Sprintf("no server: %v", err), false
		}
		one := []v1alpha1.Server{*server}
		return stage.Describe(one), len(stage.Ready(one)) == 1 && server.Status.PodUID != old
	}))
}

func scaleWorld(t *testing.T, replicas int) {
	t.Helper()
	_, err := cluster.Kubectl(t.Context(), "", "patch", "servergroup", survival, "-n", stage.Namespace,
		"--type=merge", "-p", fmt.Sprintf(`{"spec":{"replicas":%d}}`, replicas))
	must(t, err)
	_, err = cluster.AwaitSize(t.Context(), survival, replicas, soon)
	must(t, err)
}
