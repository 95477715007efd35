// SPDX-License-Identifier: Apache-2.0

package servergroup

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/boosts"
	"github.com/spawnery/spawnery-operator/internal/children"
	"github.com/spawnery/spawnery-operator/internal/expect"
	"github.com/spawnery/spawnery-operator/internal/fleet"
	"github.com/spawnery/spawnery-operator/internal/index"
	"github.com/spawnery/spawnery-operator/internal/podspec"
	"github.com/spawnery/spawnery-operator/internal/sighting"
)

// observation is everything a pass over one ServerGroup looks at.
type observation struct {
	now time.Time
	// network is nil unless it exists and is accepted.
	network *v1alpha1.Network
	// found is true when a Network of the name exists.
	found   bool
	podHash string
	// channel says whether silence can be told from trouble with the channel.
	channel fleet.Channel
	// unmakeable says why no pod of the group could be made, nil where one could.
	unmakeable *unmakeable
	// objects and servers are the same Servers in the same order.
	objects []v1alpha1.Server
	servers []fleet.Server
	// pods are all that carry the group's labels, whoever made them.
	pods map[types.UID]*corev1.Pod
	// leavers are the servers on nodes that are about to leave.
	leavers []leaver
	pending expect.Pending
	boosts  boosts.Effect
	waiting int
	// ticking is true when this pass is a tick.
	ticking bool
}

func (r *Reconciler) observe(ctx context.Context, group *v1alpha1.ServerGroup) (observation, error) {
	key := client.ObjectKeyFromObject(group)
	seen := observation{now: r.Clock.Now()}
	seen.ticking = r.ticks.take(key, seen.now)
	seen.unmakeable = r.unmakeable(ctx, group)
	if err := r.observeNetwork(ctx, group, &seen); err != nil {
		return seen, err
	}
	if err := r.observeServers(ctx, group, &seen); err != nil {
		return seen, err
	}
	named, err := index.BoostsOf(ctx, r.Client, group.Namespace, group.Name)
	if err != nil {
		return seen, err
	}
	seen.boosts = boosts.At(seen.now, group.Spec.Type, boostsOf(named))
	return seen, nil
}

// unmakeable is what an owner has to change before a pod can be made.
type unmakeable struct {
	reason string
	// note is for the decision, message for the condition.
	note, message string
}

func (r *Reconciler) unmakeable(ctx context.Context, group *v1alpha1.ServerGroup) *unmakeable {
	if err := podspec.ValidateMounts(group); err != nil {
		return &unmakeable{v1alpha1.ReasonInvalidMount, "a mount is invalid", err.Error()}
	}
	if !podspec.HasImageLayer(group) {
		return nil
	}
	seen, err := r.Kubernetes(ctx)
	if err != nil {
		// The API server itself refuses the pod where it knows no such volume.
		ctrl.LoggerFrom(ctx).Error(err, "Could not read the version of Kubernetes")
		return nil
	}
	if err := podspec.ValidateTemplate(group, seen); err != nil {
		return &unmakeable{v1alpha1.ReasonTemplateUnsupported, "a layer of the template is unsupported", err.Error()}
	}
	return nil
}

func (r *Reconciler) observeNetwork(ctx context.Context, group *v1alpha1.ServerGroup, seen *observation) error {
	var network v1alpha1.Network
	err := r.Client.Get(ctx, client.ObjectKey{Namespace: group.Namespace, Name: group.Spec.NetworkRef.Name}, &network)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("read network %s: %w", group.Spec.NetworkRef.Name, err)
	}
	seen.found = err == nil
	if seen.found && apimeta.IsStatusConditionTrue(network.Status.Conditions, v1alpha1.ConditionAccepted) {
		seen.network = &network
		if apimeta.IsStatusConditionTrue(network.Status.Conditions, v1alpha1.ConditionChannelDegraded) {
			seen.channel = fleet.ChannelDegraded
		}
		seen.podHash = podspec.Digest(podspec.ResolveServer(&network, group))
	}
	return nil
}

func (r *Reconciler) observeServers(ctx context.Context, group *v1alpha1.ServerGroup, seen *observation) error {
	servers, err := index.ServersOf(ctx, r.Client, group.Namespace, group.Name)
	if err != nil {
		return err
	}
	// A cache has no order by itself, and what is told must not change by chance.
	slices.SortFunc(servers, func(a, b v1alpha1.Server) int { return strings.Compare(a.Name, b.Name) })
	var shown []expect.Seen
	for i := range servers {
		if !children.OwnedBy(&servers[i], group.UID) {
			continue
		}
		seen.objects = append(seen.objects, servers[i])
		shown = append(shown, expect.Seen{
			Name: servers[i].Name, UID: servers[i].UID, Deleting: servers[i].DeletionTimestamp != nil,
			Retire: servers[i].Spec.RetireReason,
		})
	}
	seen.pending = r.writes.Settle(group.UID, shown, seen.now)
	if err := r.observePods(ctx, group, seen); err != nil {
		return err
	}
	proxies, err := sighting.ProxyPods(ctx, r.Client, group.Namespace, group.Spec.NetworkRef.Name)
	if err != nil {
		return err
	}
	says := sighting.Group{
		PodHash: seen.podHash, PlayableSlots: group.Spec.PlayableSlots, MaxPlayers: group.Spec.MaxPlayers,
	}
	for i := range seen.objects {
		object := &seen.objects[i]
		presence := sighting.PresenceOf(object, r.Sessions, proxies)
		one := sighting.ServerOf(object, says, seen.podView(object), presence)
		if seen.podHash == "" {
			one.Spec = fleet.SpecCurrent
		}
		sighting.Correct(&one, object, seen.pending)
		seen.servers = append(seen.servers, one)
	}
	r.takeCensus(client.ObjectKeyFromObject(group), seen)
	return r.observeNodes(ctx, seen)
}

// takeCensus has everybody counted once: the seats that are taken and the
// players who wait for one come from the same look at the same reports.
func (r *Reconciler) takeCensus(group client.ObjectKey, seen *observation) {
	pods := make(map[string]types.UID, len(seen.objects))
	for i := range seen.objects {
		pods[seen.objects[i].Name] = types.UID(seen.objects[i].Status.PodUID)
	}
	census := r.Sessions.Census(group, pods)
	seen.waiting = census.Waiting
	for i := range seen.servers {
		seen.servers[i].Counts = seen.servers[i].Counts.Seating(census.Seated[seen.servers[i].Name])
	}
}

func boostsOf(objects []v1alpha1.ScaleBoost) []boosts.Boost {
	all := make([]boosts.Boost, 0, len(objects))
	for i := range objects {
		if objects[i].DeletionTimestamp != nil {
			continue
		}
		all = append(all, boosts.Boost{
			Name:      objects[i].Name,
			Mode:      objects[i].Spec.Mode,
			CreatedAt: objects[i].CreationTimestamp.Time,
			Replicas:  int(ptr.Deref(objects[i].Spec.Replicas, 0)),
			ExpiresAt: sighting.Instant(objects[i].Spec.ExpiresAt),
		})
	}
	return all
}
