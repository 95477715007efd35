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

const (
	// begunFor is how long a cache may not show yet that a group began to exchange
	// a proxy.
	begunFor = 10 * time.Second
	// startingPatience is how long a replacement that is not ready has the turn of
	// its group: a proxy is up within seconds, and an image takes a while to come.
	startingPatience = 5 * time.Minute
)

// turns remembers which group of a Network was the last to begin an exchange,
// until every cache shows it. The zero value is ready to use.
type turns struct {
	mu    sync.Mutex
	begun map[types.NamespacedName]begun
}

type begun struct {
	group string
	at    time.Time
}

// take notes that a group begins.
func (t *turns) take(network types.NamespacedName, group string, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.begun == nil {
		t.begun = map[types.NamespacedName]begun{}
	}
	t.begun[network] = begun{group, now}
}

// last is the group that has begun a moment ago, empty for none.
func (t *turns) last(network types.NamespacedName, now time.Time) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	last, there := t.begun[network]
	if there && !now.Before(last.at.Add(begunFor)) {
		delete(t.begun, network)
		return ""
	}
	return last.group
}

// ahead names another group of the Network that exchanges a proxy: it has more
// than it wants, or one that is withdrawn. Empty: it is this one's turn.
func (r *Reconciler) ahead(ctx context.Context, group *v1alpha1.ProxyGroup, now time.Time) (string, error) {
	network := types.NamespacedName{Namespace: group.Namespace, Name: group.Spec.NetworkRef.Name}
	if last := r.turns.last(network, now); last != "" && last != group.Name {
		return last, nil
	}
	groups, err := index.ProxyGroupsIn(ctx, r.Client, network.Namespace, network.Name)
	if err != nil {
		return "", fmt.Errorf("list the proxy groups of the network: %w", err)
	}
	for i := range groups {
		if groups[i].UID == group.UID || groups[i].DeletionTimestamp != nil {
			continue
		}
		if busy, err := r.exchanges(ctx, &groups[i], now); busy || err != nil {
			return groups[i].Name, err
		}
	}
	return "", nil
}

// exchanges is true for a group in which a proxy is on its way out, or one is
// more than it wants. One that does not get ready holds up no other group: none
// of its own goes before it is.
func (r *Reconciler) exchanges(ctx context.Context, group *v1alpha1.ProxyGroup, now time.Time) (bool, error) {
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
		case isReady(pod) || now.Before(pod.CreationTimestamp.Add(startingPatience)):
			count++
		}
	}
	return count > group.Spec.Replicas, nil
}
