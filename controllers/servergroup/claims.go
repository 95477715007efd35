// SPDX-License-Identifier: Apache-2.0

package servergroup

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/conditions"
	"github.com/spawnery/spawnery-operator/internal/fleet"
	"github.com/spawnery/spawnery-operator/internal/podspec"
)

// observeResizes finds the file systems that another mount does not make grow:
// they were to do so before their server was made. Restarting it once more would
// only restart it for ever.
func (r *Reconciler) observeResizes(ctx context.Context, seen *observation) error {
	for i := range seen.servers {
		if seen.servers[i].Resize != fleet.ResizePending {
			continue
		}
		var claim corev1.PersistentVolumeClaim
		key := client.ObjectKey{Namespace: seen.objects[i].Namespace, Name: podspec.DataClaimName(seen.objects[i].Name)}
		if err := r.Client.Get(ctx, key, &claim); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("read claim %s: %w", key.Name, err)
		}
		if asked := resizeAsked(&claim); !asked.IsZero() && asked.Before(&seen.objects[i].CreationTimestamp) {
			seen.servers[i].Resize = fleet.ResizeNone
			seen.unresized = append(seen.unresized, seen.objects[i].Name)
		}
	}
	return nil
}

// resizeAsked is when a claim began to wait for its file system, zero where it
// does not say.
func resizeAsked(claim *corev1.PersistentVolumeClaim) *metav1.Time {
	for _, condition := range claim.Status.Conditions {
		if condition.Type == corev1.PersistentVolumeClaimFileSystemResizePending {
			return &condition.LastTransitionTime
		}
	}
	return &metav1.Time{}
}

// reportResize tells of claims that could not grow, and of those whose file
// systems are to follow.
func reportResize(set *conditions.Set, seen observation) {
	for i := range seen.objects {
		if refused := seen.objects[i].Status.StorageResizeError; refused != "" {
			set.False(v1alpha1.ConditionStorageResize, v1alpha1.ReasonStorageResizeRefused,
				fmt.Sprintf("the claim of %s keeps its size: %s", seen.objects[i].Name, refused))
			return
		}
	}
	said := []string{"every claim asks for spec.storage.size, or more"}
	var pending []string
	for i := range seen.servers {
		if seen.servers[i].Resize == fleet.ResizePending {
			pending = append(pending, seen.servers[i].Name)
		}
	}
	if len(pending) > 0 {
		said = append(said, listed(pending)+": the volume has grown, and its file system does so when the server is restarted, one at a time")
	}
	if len(seen.unresized) > 0 {
		said = append(said, listed(seen.unresized)+
			": the file system has not grown though it was mounted anew since; look at the claim's events and at the storage driver")
	}
	set.True(v1alpha1.ConditionStorageResize, v1alpha1.ReasonStorageResized, strings.Join(said, ". "))
}
