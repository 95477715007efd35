// SPDX-License-Identifier: Apache-2.0

package network

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/fleet"
	"github.com/spawnery/spawnery-operator/internal/index"
	"github.com/spawnery/spawnery-operator/internal/podspec"
	"github.com/spawnery/spawnery-operator/internal/sessions"
	"github.com/spawnery/spawnery-operator/internal/sighting"
)

// observation is everything a pass over one Network looks at.
type observation struct {
	now time.Time
	// namespace holds every Network of it, this one included.
	namespace    []v1alpha1.Network
	proxyGroups  []v1alpha1.ProxyGroup
	serverGroups []v1alpha1.ServerGroup
	servers      []seenServer
	// players is how many are on the Network's proxies.
	players int32
	// claims are the names of the Network's claims.
	claims []string
	// waiting is true while a pod waits for its volumes for too long.
	waiting bool
	// channel says whether the silence of agents is the channel's fault.
	channel fleet.Channel
	// recheck is when one of these answers changes by itself; zero for never.
	recheck time.Time
}

// seenServer is a Server, what its agent said last, and whom the proxies have
// there.
type seenServer struct {
	v1alpha1.Server
	said  sessions.ServerState
	there sessions.Presence
}

func (r *Reconciler) observe(ctx context.Context, network *v1alpha1.Network) (observation, error) {
	seen := observation{now: r.Clock.Now()}
	var networks v1alpha1.NetworkList
	if err := r.Client.List(ctx, &networks, client.InNamespace(network.Namespace)); err != nil {
		return seen, fmt.Errorf("list networks: %w", err)
	}
	seen.namespace = networks.Items
	return seen, errors.Join(r.observeMembers(ctx, network, &seen), r.observePods(ctx, network, &seen))
}

// observeMembers lists what belongs to the Network, in an order that a cache
// does not have by itself: what follows from it must not change by chance.
func (r *Reconciler) observeMembers(ctx context.Context, network *v1alpha1.Network, seen *observation) error {
	var err error
	if seen.proxyGroups, err = index.ProxyGroupsIn(ctx, r.Client, network.Namespace, network.Name); err != nil {
		return err
	}
	if seen.serverGroups, err = index.ServerGroupsIn(ctx, r.Client, network.Namespace, network.Name); err != nil {
		return err
	}
	slices.SortFunc(seen.serverGroups, func(a, b v1alpha1.ServerGroup) int { return strings.Compare(a.Name, b.Name) })
	servers, err := index.ServersIn(ctx, r.Client, network.Namespace, network.Name)
	if err != nil {
		return err
	}
	for _, server := range servers {
		seen.servers = append(seen.servers, seenServer{
			Server: server, said: r.Sessions.Server(types.UID(server.Status.PodUID)), there: r.Sessions.Presence(client.ObjectKeyFromObject(&server)),
		})
	}
	seen.players = int32(r.Sessions.NetworkPlayers(client.ObjectKeyFromObject(network)))
	return nil
}

func (r *Reconciler) observePods(ctx context.Context, network *v1alpha1.Network, seen *observation) error {
	ofNetwork := client.MatchingLabels{podspec.LabelNetwork: network.Name}
	var claims corev1.PersistentVolumeClaimList
	if err := r.Client.List(ctx, &claims, client.InNamespace(network.Namespace), ofNetwork); err != nil {
		return fmt.Errorf("list claims: %w", err)
	}
	for i := range claims.Items {
		seen.claims = append(seen.claims, claims.Items[i].Name)
	}
	var pods corev1.PodList
	if err := r.Client.List(ctx, &pods, client.InNamespace(network.Namespace), ofNetwork); err != nil {
		return fmt.Errorf("list pods: %w", err)
	}
	ready := map[types.UID]bool{}
	for i := range pods.Items {
		pod := &pods.Items[i]
		ready[pod.UID] = holds(pod, corev1.PodReady) && pod.DeletionTimestamp == nil
		if !lacksVolumes(pod) {
			continue
		}
		if ends := pod.CreationTimestamp.Add(podPatience); seen.now.Before(ends) {
			seen.recheck = fleet.Earliest(seen.recheck, ends)
		} else {
			seen.waiting = true
		}
	}
	r.observeAgents(seen, ready)
	return nil
}

// observeAgents asks whether the agents that should be heard are.
func (r *Reconciler) observeAgents(seen *observation, ready map[types.UID]bool) {
	heard := sighting.Hearing{LeaderSince: r.LeaderSince()}
	for i := range seen.servers {
		if server := &seen.servers[i]; ready[types.UID(server.Status.PodUID)] {
			heard.Hear(&server.Status, server.said.Freshness)
		}
	}
	var until time.Time
	seen.channel, until = heard.Channel(seen.now)
	seen.recheck = fleet.Earliest(seen.recheck, until)
}

// lacksVolumes is true for a pod that has a node and whose sandbox could not be
// made: of what comes before it, the volumes are what an owner may have to see
// to. A pod without a node, and one whose image is being pulled, lacks none.
func lacksVolumes(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodPending && pod.DeletionTimestamp == nil &&
		pod.Spec.NodeName != "" && !holds(pod, corev1.PodReadyToStartContainers)
}

func holds(pod *corev1.Pod, kind corev1.PodConditionType) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == kind && c.Status == corev1.ConditionTrue
	})
}
