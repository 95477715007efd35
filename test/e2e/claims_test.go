// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/podspec"
	"github.com/spawnery/spawnery-operator/test/stage"
)

// grown is the size that claims of 16Mi are to have.
const grown = "32Mi"

// Groups whose claims are to grow, and one whose claim is a person's.
var (
	narrow = worlds{name: "narrow", replicas: 1, class: boundToNode}
	wide   = worlds{name: "wide", replicas: 1, class: expandable}
	owned  = worlds{
		name: "owned", replicas: 1, class: boundToNode, tag: "shell",
		user: &v1alpha1.ServerUser{Policy: v1alpha1.UserFixed, UID: 1234, GID: 2345, FSGroup: 3456},
	}
)

// growthRefused asks for more than the class of a claim gives. The refusal is
// the API server's own.
func growthRefused(t *testing.T) {
	chronicle(t)
	claim, before := readClaim(t, "narrow-0"), podOf(t, "narrow-0")
	patchGroup(t, "narrow", `{"spec":{"storage":{"size":"`+grown+`"}}}`)
	awaitSaid(t, "narrow", v1alpha1.ConditionStorageResize, v1alpha1.ReasonStorageResizeRefused,
		"narrow-0", "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize")
	server := readServer(t, "narrow-0")
	if server.Status.Phase != v1alpha1.ServerReady || server.Status.PodUID != before {
		t.Errorf("the server does not run on: %s in %s, was in %s", server.Status.Phase, server.Status.PodUID, before)
	}
	if now := requested(readClaim(t, "narrow-0")); now.Cmp(requested(claim)) != 0 {
		t.Errorf("the claim asks for %s, want %s", &now, new(requested(claim)))
	}
	sameClaim(t, claim)
	nothingCounted(t, "narrow")
}

// growthAccepted asks for more where the class gives it. The acceptance is the
// API server's own; nothing in this cluster resizes a volume, so a stand-in
// plays that part. It says that the volume grew soon after the world was first
// up, for a driver has three minutes to grow a file system under a running game.
func growthAccepted(t *testing.T) {
	chronicle(t)
	claim, before := readClaim(t, "wide-0"), podOf(t, "wide-0")
	patchGroup(t, "wide", `{"spec":{"storage":{"size":"`+grown+`"}}}`)
	awaitClaim(t, "wide-0", "a request of "+grown, func(claim *corev1.PersistentVolumeClaim) bool {
		asks := requested(*claim)
		return asks.String() == grown
	})
	resizer := standInResizer{t: t, claim: claim, since: readServer(t, "wide-0").CreationTimestamp.Add(time.Second)}
	resizer.growVolume()
	must(t, cluster.Await(t.Context(), "wide-0 started again, because a file system grows as its pod starts", 2*soon, func(ctx context.Context) (string, bool) {
		server, err := cluster.Server(ctx, "wide-0")
		if err != nil || server == nil {
			return fmt.Sprintf("no server: %v", err), false
		}
		return fmt.Sprintf("storageResizePending %t, pod %s", ptr.Deref(server.Status.StorageResizePending, false), server.Status.PodUID),
			server.Status.PodUID != "" && server.Status.PodUID != before
	}))
	resizer.growFileSystem()
	awaitNewPod(t, "wide-0", before)
	sameClaim(t, claim)
	awaitSaid(t, "wide", v1alpha1.ConditionStorageResize, v1alpha1.ReasonStorageResized, "")
	nothingCounted(t, "wide")
}

// standInResizer plays the parts of a CSI driver's external resizer and of its
// node plugin, which this cluster has not: they alone say that a volume and its
// file system have grown.
type standInResizer struct {
	t     *testing.T
	claim corev1.PersistentVolumeClaim
	// since is when it says that the volume has grown.
	since time.Time
}

// growVolume is the external resizer's part.
func (r standInResizer) growVolume() {
	r.t.Helper()
	r.t.Log("stand-in for a CSI resizer: the volume has grown, its file system has not")
	r.patch("pv", r.claim.Spec.VolumeName, `{"spec":{"capacity":{"storage":"`+grown+`"}}}`)
	r.patch("pvc", r.claim.Name, `{"status":{"conditions":[{"type":"FileSystemResizePending","status":"True",`+
		`"lastTransitionTime":"`+r.since.UTC().Format(time.RFC3339)+`",`+
		`"message":"Waiting for user to (re-)start a pod to finish file system resize of volume on node."}]}}`, "--subresource=status")
}

// growFileSystem is the node plugin's, as a pod starts.
func (r standInResizer) growFileSystem() {
	r.t.Helper()
	r.t.Log("stand-in for a CSI node plugin: the file system has grown")
	r.patch("pvc", r.claim.Name, `{"status":{"capacity":{"storage":"`+grown+`"},"conditions":null}}`, "--subresource=status")
}

func (r standInResizer) patch(kind, name, patch string, more ...string) {
	r.t.Helper()
	args := append([]string{"patch", kind, name, "-n", stage.Namespace, "--type=merge", "-p", patch}, more...)
	_, err := cluster.Kubectl(r.t.Context(), "", args...)
	must(r.t, err)
}

// claimByHand makes the claim of a group's first ordinal before the group, as a
// person does who brings a world along. Its volume is of type local, which the
// kubelet hands over to the group of a pod.
func claimByHand(t *testing.T, group string) {
	t.Helper()
	_, err := cluster.Kubectl(t.Context(), fmt.Sprintf(`
apiVersion: v1
kind: PersistentVolumeClaim
metadata:
  name: %s
  namespace: %s
  annotations: {volumeType: local}
  labels: {%s: %s, %s: %s}
spec:
  storageClassName: %s
  accessModes: [ReadWriteOnce]
  resources: {requests: {storage: 16Mi}}
`, podspec.DataClaimName(podspec.PersistentServerName(group, 0)), stage.Namespace,
		podspec.LabelManagedBy, podspec.ManagedBy, podspec.LabelGroup, group, boundToNode), "apply", "-f", "-")
	must(t, err)
}

// filesBelongToTheGroup looks at the files of a server that is a user of its own.
func filesBelongToTheGroup(t *testing.T) {
	chronicle(t)
	var volume corev1.PersistentVolume
	must(t, cluster.Get(t.Context(), client.ObjectKey{Name: readClaim(t, "owned-0").Spec.VolumeName}, &volume))
	if volume.Spec.Local == nil {
		t.Fatalf("the volume is no local one, and the kubelet hands it to nobody: %+v", volume.Spec.PersistentVolumeSource)
	}
	out, err := inGame(t, "owned-0", "ls", "-lan", "/data")
	must(t, err)
	for what, want := range map[string]string{
		".":                 "drwxrwsrwx 0 3456",
		"server.properties": "-rw-rw-r-- 1234 3456",
		"world":             "drwxr-sr-x 1234 3456",
	} {
		if got := ownership(out, what); got != want {
			t.Errorf("%s has %q, want %q; all of it:\n%s", what, got, want, out)
		}
	}
}

// ownership is mode, user and group of a file in the output of ls -lan.
func ownership(list, file string) string {
	for line := range strings.Lines(list) {
		if words := strings.Fields(line); len(words) > 4 && words[len(words)-1] == file {
			return strings.Join([]string{words[0], words[2], words[3]}, " ")
		}
	}
	return "not found"
}

func requested(claim corev1.PersistentVolumeClaim) resource.Quantity {
	return claim.Spec.Resources.Requests[corev1.ResourceStorage]
}

func awaitClaim(t *testing.T, server, what string, fits func(*corev1.PersistentVolumeClaim) bool) {
	t.Helper()
	key := client.ObjectKey{Namespace: stage.Namespace, Name: podspec.DataClaimName(server)}
	must(t, cluster.Await(t.Context(), key.Name+" with "+what, soon, func(ctx context.Context) (string, bool) {
		var claim corev1.PersistentVolumeClaim
		if err := cluster.Get(ctx, key, &claim); err != nil {
			return err.Error(), false
		}
		asks, has := requested(claim), claim.Status.Capacity[corev1.ResourceStorage]
		return fmt.Sprintf("asks for %s, has %s, %v", &asks, &has, claim.Status.Conditions), fits(&claim)
	}))
}
