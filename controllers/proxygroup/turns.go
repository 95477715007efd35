// SPDX-License-Identifier: Apache-2.0

package proxygroup

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/children"
	"github.com/spawnery/spawnery-operator/internal/index"
	"github.com/spawnery/spawnery-operator/internal/podspec"
)

// begunFor is how long a cache may not show yet that a group began to exchange a
// proxy.
const begunFor = 10 * time.Second

// turns remembers which group of a Network was the last to begin an exchange,
// until every cache shows it. The zero value is ready to use.
type turns struct {
	mu    sync.Mutex
	begun map[types.NamespacedName]begun
}

type begun struct {
	group types.UID
	at    time.Time
}

// take notes that a group begins.
func (t *turns) take(network types.NamespacedName, group types.UID, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.begun == nil {
		t.begun = map[types.NamespacedName]begun{}
	}
	t.begun[network] = begun{group, now}
}

// taken is true while another group has begun a moment ago.
func (t *turns) taken(network types.NamespacedName, group types.UID, now time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	last, there := t.begun[network]
	if there && !now.Before(last.at.Add(begunFor)) {
		delete(t.begun, network)
		return false
	}
	return there && last.group != group
}

// turnOf says whether a group may begin to exchange a proxy: no other group of
// its Network has more proxies than it wants, or one that is withdrawn.
func (r *Reconciler) turnOf(ctx context.Context, group *v1alpha1.ProxyGroup, now time.Time) (turn, error) {
	network := types.NamespacedName{Namespace: group.Namespace, Name: group.Spec.NetworkRef.Name}
	if r.turns.taken(network, group.UID, now) {
		return turnOthers, nil
	}
	groups, err := index.ProxyGroupsIn(ctx, r.Client, network.Namespace, network.Name)
	if err != nil {
		return turnOthers, fmt.Errorf("list the proxy groups of the network: %w", err)
	}
	for i := range groups {
		if groups[i].UID == group.UID || groups[i].DeletionTimestamp != nil {
			continue
		}
		busy, err := r.exchanges(ctx, &groups[i])
		if busy || err != nil {
			return turnOthers, err
		}
	}
	return turnOurs, nil
}

// exchanges is true for a group in which a proxy is more than it wants, or on
// its way out.
func (r *Reconciler) exchanges(ctx context.Context, group *v1alpha1.ProxyGroup) (bool, error) {
	var pods corev1.PodList
	if err := r.Client.List(ctx, &pods, client.InNamespace(group.Namespace),
		client.MatchingLabels(podspec.GroupPods(podspec.RoleProxy, group.Name))); err != nil {
		return false, fmt.Errorf("list the proxies of %s: %w", group.Name, err)
	}
	count := int32(0)
	for i := range pods.Items {
		pod := &pods.Items[i]
		switch {
		case pod.DeletionTimestamp != nil || !children.OwnedBy(pod, group.UID):
		case pod.Annotations[podspec.AnnotationWithdrawnAt] != "":
			return true, nil
		default:
			count++
		}
	}
	return count > group.Spec.Replicas, nil
}
