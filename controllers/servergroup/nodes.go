// SPDX-License-Identifier: Apache-2.0

package servergroup

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/conditions"
	"github.com/spawnery/spawnery-operator/internal/fleet"
	"github.com/spawnery/spawnery-operator/internal/podspec"
	"github.com/spawnery/spawnery-operator/internal/sighting"
	"github.com/spawnery/spawnery-operator/internal/sizing"
)

// namedServers is how many servers a message lists before it counts.
const namedServers = 5

// leaver is a server on a node that is about to leave.
type leaver struct {
	server string
	node   string
	// outlook is NodeDeparting where another node could take the server.
	outlook fleet.NodeOutlook
}

// observeNodes says of every server whether its node is about to leave.
func (r *Reconciler) observeNodes(ctx context.Context, seen *observation) error {
	if len(seen.pods) == 0 {
		return nil
	}
	view, err := sighting.Nodes(ctx, r.Client, r.DrainTaints)
	if err != nil {
		return err
	}
	for i := range seen.objects {
		pod := seen.pods[types.UID(seen.objects[i].Status.PodUID)]
		if pod == nil || pod.DeletionTimestamp != nil || !view.Departing(pod.Spec.NodeName) {
			continue
		}
		volume, err := r.placeOfWorld(ctx, &seen.objects[i])
		if err != nil {
			return err
		}
		seen.servers[i].Node = view.Outlook(pod, volume)
		seen.leavers = append(seen.leavers, leaver{seen.objects[i].Name, pod.Spec.NodeName, seen.servers[i].Node})
	}
	return nil
}

// placeOfWorld is where the volume of a persistent server can be mounted, nil
// for anywhere.
func (r *Reconciler) placeOfWorld(ctx context.Context, server *v1alpha1.Server) (*corev1.VolumeNodeAffinity, error) {
	if server.Spec.Ordinal == nil {
		return nil, nil
	}
	var claim corev1.PersistentVolumeClaim
	key := client.ObjectKey{Namespace: server.Namespace, Name: podspec.DataClaimName(server.Name)}
	if err := r.Client.Get(ctx, key, &claim); err != nil || claim.Spec.VolumeName == "" {
		return nil, client.IgnoreNotFound(err)
	}
	var volume corev1.PersistentVolume
	err := r.Live.Get(ctx, client.ObjectKey{Name: claim.Spec.VolumeName}, &volume)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read volume %s: %w", claim.Spec.VolumeName, err)
	}
	return volume.Spec.NodeAffinity, nil
}

// reportNodes names the servers on nodes that leave, and what is missing for
// the next one to go.
func reportNodes(set *conditions.Set, seen observation, decided sizing.Plan) {
	if len(seen.leavers) == 0 {
		set.False(v1alpha1.ConditionNodeDraining, v1alpha1.ReasonNoNodesDraining, "no server is on a node that is about to leave")
		return
	}
	var said []string
	departs := func(outlook fleet.NodeOutlook) bool { return outlook == fleet.NodeDeparting }
	if going, nodes := seen.leaving(departs); going != "" {
		said = append(said, fmt.Sprintf("%s: on nodes that are about to leave (%s)", going, nodes))
		if decided.NodeWait != "" {
			said = append(said, decided.NodeWait+". Deleting a Server moves its players at once")
		}
	}
	stays := func(outlook fleet.NodeOutlook) bool { return !departs(outlook) }
	if stuck, nodes := seen.leaving(stays); stuck != "" {
		said = append(said, fmt.Sprintf("%s: on nodes that are about to leave (%s), and there is nowhere else to go, so they serve on. "+
			"Add or uncordon a node that can take them; deleting a Server moves its players at once", stuck, nodes))
	}
	set.True(v1alpha1.ConditionNodeDraining, v1alpha1.ReasonNodeDraining, strings.Join(said, ". "))
}

// leaving lists the servers on nodes that leave with an outlook as asked for,
// and the nodes.
func (o observation) leaving(wanted func(fleet.NodeOutlook) bool) (string, string) {
	var servers, nodes []string
	for _, one := range o.leavers {
		if wanted(one.outlook) {
			servers, nodes = append(servers, one.server), append(nodes, one.node)
		}
	}
	slices.Sort(nodes)
	return listed(servers), listed(slices.Compact(nodes))
}

// listed names a few and counts the rest.
func listed(names []string) string {
	if more := len(names) - namedServers; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:namedServers], ", "), more)
	}
	return strings.Join(names, ", ")
}
