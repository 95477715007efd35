// SPDX-License-Identifier: Apache-2.0

package network

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/index"
	"github.com/spawnery/spawnery-operator/internal/podspec"
	"github.com/spawnery/spawnery-operator/internal/sessions"
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
}

// seenServer is a Server and what its agent said last.
type seenServer struct {
	v1alpha1.Server
	said sessions.ServerState
}

func (r *Reconciler) observe(ctx context.Context, network *v1alpha1.Network) (observation, error) {
	seen := observation{now: r.Clock.Now()}
	var networks v1alpha1.NetworkList
	if err := r.Client.List(ctx, &networks, client.InNamespace(network.Namespace)); err != nil {
		return seen, fmt.Errorf("list networks: %w", err)
	}
	seen.namespace = networks.Items
	var err error
	if seen.proxyGroups, err = index.ProxyGroupsIn(ctx, r.Client, network.Namespace, network.Name); err != nil {
		return seen, err
	}
	if seen.serverGroups, err = index.ServerGroupsIn(ctx, r.Client, network.Namespace, network.Name); err != nil {
		return seen, err
	}
	servers, err := index.ServersIn(ctx, r.Client, network.Namespace, network.Name)
	if err != nil {
		return seen, err
	}
	for _, server := range servers {
		seen.servers = append(seen.servers, seenServer{server, r.Sessions.Server(types.UID(server.Status.PodUID))})
	}
	seen.players = int32(r.Sessions.NetworkPlayers(client.ObjectKeyFromObject(network)))
	return seen, r.observePods(ctx, network, &seen)
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
	for i := range pods.Items {
		pod := &pods.Items[i]
		if pod.Status.Phase == corev1.PodPending && seen.now.Sub(pod.CreationTimestamp.Time) > podPatience {
			seen.waiting = true
		}
	}
	return nil
}
