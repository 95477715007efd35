// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/children"
	"github.com/spawnery/spawnery-operator/internal/fleet"
	"github.com/spawnery/spawnery-operator/internal/index"
	"github.com/spawnery/spawnery-operator/internal/phase"
	"github.com/spawnery/spawnery-operator/internal/podspec"
	"github.com/spawnery/spawnery-operator/internal/sessions"
	"github.com/spawnery/spawnery-operator/internal/sighting"
)

// observation is everything a pass over one Server looks at.
type observation struct {
	now time.Time
	// group and network are nil when they are gone.
	group   *v1alpha1.ServerGroup
	network *v1alpha1.Network
	// pod is the Server's own, nil while there is none to see.
	pod *corev1.Pod
	// holder is another pod that has the Server's name.
	holder    *corev1.Pod
	podState  phase.Pod
	podDetail string
	// node says whether the pod's node is about to leave. It is looked at only
	// where the server retires for that.
	node     fleet.NodeOutlook
	presence fleet.Presence
	said     sessions.ServerState
	tally    sessions.Tally
	// inputs are what the group and Network want of a pod now, and podHash
	// their digest; empty while either is gone.
	inputs  podspec.Inputs
	podHash string
	// twin is the Server that carries the same ordinal and goes before this one.
	twin string
}

// accepted is true while group and Network stand.
func (o observation) accepted() bool {
	return o.group != nil && o.network != nil
}

func (r *Reconciler) observe(ctx context.Context, server *v1alpha1.Server) (observation, error) {
	seen := observation{now: r.Clock.Now()}
	if err := r.observeParents(ctx, server, &seen); err != nil {
		return seen, err
	}
	if err := r.observeTwin(ctx, server, &seen); err != nil {
		return seen, err
	}
	seen.said = r.Sessions.Server(types.UID(server.Status.PodUID))
	if err := r.observePod(ctx, server, &seen); err != nil {
		return seen, err
	}
	if err := r.observeWorld(ctx, server, &seen); err != nil {
		return seen, err
	}
	if err := r.observeNode(ctx, server, &seen); err != nil {
		return seen, err
	}
	proxies, err := sighting.ProxyPods(ctx, r.Client, server.Namespace, server.Spec.NetworkRef.Name)
	if err != nil {
		return seen, err
	}
	seen.tally = r.Sessions.Tally(types.UID(server.Status.PodUID), proxies)
	seen.presence = sighting.PresenceOf(server, r.Sessions, proxies)
	return seen, nil
}

func (r *Reconciler) observeParents(ctx context.Context, server *v1alpha1.Server, seen *observation) error {
	var group v1alpha1.ServerGroup
	err := r.Client.Get(ctx, client.ObjectKey{Namespace: server.Namespace, Name: server.Spec.GroupRef.Name}, &group)
	switch {
	case err == nil && children.OwnedBy(server, group.UID):
		seen.group = &group
	case err != nil && !apierrors.IsNotFound(err):
		return fmt.Errorf("read group %s: %w", server.Spec.GroupRef.Name, err)
	}
	var network v1alpha1.Network
	err = r.Client.Get(ctx, client.ObjectKey{Namespace: server.Namespace, Name: server.Spec.NetworkRef.Name}, &network)
	switch {
	case err == nil && apimeta.IsStatusConditionTrue(network.Status.Conditions, v1alpha1.ConditionAccepted):
		seen.network = &network
	case err != nil && !apierrors.IsNotFound(err):
		return fmt.Errorf("read network %s: %w", server.Spec.NetworkRef.Name, err)
	}
	if seen.accepted() {
		seen.inputs = podspec.ResolveServer(seen.network, seen.group)
		seen.podHash = podspec.Digest(seen.inputs)
	}
	return nil
}

// observeTwin looks for another Server on the same ordinal. The one whose name
// is the ordinal's goes before any other, and else the first by name.
func (r *Reconciler) observeTwin(ctx context.Context, server *v1alpha1.Server, seen *observation) error {
	if server.Spec.Ordinal == nil || seen.group == nil {
		return nil
	}
	rightful := podspec.PersistentServerName(seen.group.Name, *server.Spec.Ordinal)
	if server.Name == rightful {
		return nil
	}
	siblings, err := index.ServersOf(ctx, r.Client, server.Namespace, seen.group.Name)
	if err != nil {
		return err
	}
	for i := range siblings {
		other := &siblings[i]
		same := other.Spec.Ordinal != nil && *other.Spec.Ordinal == *server.Spec.Ordinal && children.OwnedBy(other, seen.group.UID)
		if same && (other.Name == rightful || other.Name < server.Name) {
			seen.twin = other.Name
		}
	}
	return nil
}

// observePod finds the Server's pod, or who else has its name. What the cache
// does not show is asked for past it: absence has consequences.
func (r *Reconciler) observePod(ctx context.Context, server *v1alpha1.Server, seen *observation) error {
	cached, err := r.readPod(ctx, r.Client, server)
	if err != nil {
		return err
	}
	if r.ours(server, cached) {
		seen.pod = cached
		seen.podState, seen.podDetail = podState(cached, rounds{
			readySince: sighting.ClocksOf(&server.Status).ReadySince, ended: server.Spec.Ordinal == nil && sighting.RoundEnded(seen.said, &server.Status),
		})
		return nil
	}
	made := server.Status.PodUID != ""
	if !made && cached == nil && !sighting.NameHeld(server) {
		seen.podState = phase.PodNotMade
		return nil
	}
	live, err := r.readPod(ctx, r.Live, server)
	if err != nil {
		return err
	}
	switch {
	case r.ours(server, live):
		seen.podState = phase.PodUnseen
	case made:
		seen.podState = phase.PodAbsent
	case live == nil:
		seen.podState = phase.PodNotMade
	default:
		seen.holder = live
		seen.podState = heldBy(live)
	}
	return nil
}

// observeNode looks whether the reason to retire still stands.
func (r *Reconciler) observeNode(ctx context.Context, server *v1alpha1.Server, seen *observation) error {
	if server.Spec.RetireReason != v1alpha1.RetireNodeDraining || seen.pod == nil {
		return nil
	}
	view, err := sighting.Nodes(ctx, r.Client, r.DrainTaints)
	if err != nil {
		return err
	}
	seen.node = view.Outlook(seen.pod)
	return nil
}

func heldBy(holder *corev1.Pod) phase.Pod {
	if holder.DeletionTimestamp != nil {
		return phase.PodNameTerminating
	}
	return phase.PodNameTaken
}

// readPod returns nil when there is no pod of the Server's name.
func (r *Reconciler) readPod(ctx context.Context, reader client.Reader, server *v1alpha1.Server) (*corev1.Pod, error) {
	var pod corev1.Pod
	err := reader.Get(ctx, client.ObjectKeyFromObject(server), &pod)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read pod %s: %w", server.Name, err)
	}
	return &pod, nil
}

// ours tells the Server's own pod: made for this very Server, and the one its
// status names once it names one.
func (r *Reconciler) ours(server *v1alpha1.Server, pod *corev1.Pod) bool {
	if pod == nil || !children.OwnedBy(pod, server.UID) {
		return false
	}
	return server.Status.PodUID == "" || server.Status.PodUID == string(pod.UID)
}

// life is the observation in the words of the decision about a server's life.
func (r *Reconciler) life(seen observation) *sighting.Life {
	life := &sighting.Life{
		Now:             seen.now,
		Group:           seen.group,
		PodHash:         seen.podHash,
		Node:            seen.node,
		Pod:             seen.podState,
		PodDetail:       seen.podDetail,
		Said:            seen.said,
		Presence:        seen.presence,
		LeaderSince:     r.LeaderSince(),
		StartupDeadline: r.StartupDeadline,
	}
	if seen.twin != "" {
		// It is given no pod, so that its clock says nothing of its world.
		life.PodHash = ""
	}
	if seen.pod != nil && seen.pod.DeletionTimestamp != nil {
		life.PodGraceEnds = seen.pod.DeletionTimestamp.Time
	}
	return life
}
