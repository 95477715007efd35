// SPDX-License-Identifier: Apache-2.0

package servergroup

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/fleet"
	"github.com/spawnery/spawnery-operator/internal/podspec"
	"github.com/spawnery/spawnery-operator/internal/sighting"
)

// observePods lists the pods of the group's servers that the cache shows.
func (r *Reconciler) observePods(ctx context.Context, group *v1alpha1.ServerGroup, seen *observation) error {
	var servers corev1.PodList
	err := r.Client.List(ctx, &servers, client.InNamespace(group.Namespace),
		client.MatchingLabels(podspec.GroupPods(podspec.RoleServer, group.Name)))
	if err != nil {
		return fmt.Errorf("list the servers' pods: %w", err)
	}
	seen.pods = make(map[types.UID]*corev1.Pod, len(servers.Items))
	for i := range servers.Items {
		seen.pods[servers.Items[i].UID] = &servers.Items[i]
	}
	return nil
}

// podView says whether the cache shows the pod that a Server's status names, or
// why it names none.
func (o observation) podView(server *v1alpha1.Server) fleet.PodView {
	switch uid := types.UID(server.Status.PodUID); {
	case uid == "" && sighting.NameHeld(server):
		return fleet.PodNameHeld
	case uid == "" && sighting.WorldHeld(server):
		return fleet.PodWorldHeld
	case uid == "":
		return fleet.PodNone
	case o.pods[uid] != nil:
		return fleet.PodSeen
	}
	return fleet.PodUnseen
}
