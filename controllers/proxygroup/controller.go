// SPDX-License-Identifier: Apache-2.0

// Package proxygroup keeps the proxies of one ProxyGroup at their number,
// reachable, and told what to do.
package proxygroup

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/recorder"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/budget"
	"github.com/spawnery/spawnery-operator/internal/expect"
	"github.com/spawnery/spawnery-operator/internal/fleet"
	"github.com/spawnery/spawnery-operator/internal/outcome"
	"github.com/spawnery/spawnery-operator/internal/pace"
	"github.com/spawnery/spawnery-operator/internal/podspec"
	"github.com/spawnery/spawnery-operator/internal/sessions"
)

// fieldOwner is the name this controller's writes carry.
const fieldOwner = client.FieldOwner("spawnery-proxygroup")

// Sessions is what this controller needs of the channel.
type Sessions interface {
	// Proxy returns what the proxy in a pod said last.
	Proxy(pod types.UID) sessions.ProxyState
	// SetProxySettings states the configuration of a proxy.
	SetProxySettings(pod types.UID, settings *agentv1alpha1.ProxySettings)
	// Forget drops what is known of a pod that is gone.
	Forget(pod types.UID)
}

// Reconciler reconciles ProxyGroups.
type Reconciler struct {
	Client client.Client
	// Live reads past the cache: for names that a cache may not show.
	Live     client.Reader
	Sessions Sessions
	Events   recorder.EventRecorder
	Clock    clock.PassiveClock
	// Image is the operator's own, which holds the proxy.
	Image string
	// SessionServer replaces Mojang's; empty: Mojang's.
	SessionServer string
	// DrainTaints are keys of taints that say, beside the known ones, that a node
	// leaves.
	DrainTaints []string
	// Random draws names.
	Random podspec.IntN

	writes expect.Writes
	pacer  pace.Pacer
	heard  heard
	turns  turns
	// budgets protect the pods of every group.
	budgets budget.Keeper
}

// heard remembers the proxy pods of each group whose proxies may have spoken,
// so that the last words of a pod that is gone count for nothing.
type heard struct {
	mu   sync.Mutex
	pods map[types.NamespacedName]map[types.UID]bool
}

// replace states which pods of a group there are, and returns those that are
// gone since.
func (h *heard) replace(group types.NamespacedName, now map[types.UID]bool) []types.UID {
	h.mu.Lock()
	defer h.mu.Unlock()
	var gone []types.UID
	for uid := range h.pods[group] {
		if !now[uid] {
			gone = append(gone, uid)
		}
	}
	if h.pods == nil {
		h.pods = map[types.NamespacedName]map[types.UID]bool{}
	}
	h.pods[group] = now
	return gone
}

// +kubebuilder:rbac:groups=spawnery.cloud,resources=proxygroups,verbs=get;list;watch
// +kubebuilder:rbac:groups=spawnery.cloud,resources=proxygroups/status,verbs=get;patch
// +kubebuilder:rbac:groups=spawnery.cloud,resources=networks;servergroups,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=pods,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups="",resources=services,verbs=get;list;watch;create;patch
// +kubebuilder:rbac:groups="",resources=nodes,verbs=get;list;watch
// +kubebuilder:rbac:groups=policy,resources=poddisruptionbudgets,verbs=get;list;watch;create;patch

// Reconcile brings one ProxyGroup up to date: it observes, decides, acts and
// reports, and reports also when acting failed.
func (r *Reconciler) Reconcile(ctx context.Context, group *v1alpha1.ProxyGroup) (ctrl.Result, error) {
	if group.DeletionTimestamp != nil {
		r.writes.Forget(group.UID)
		r.budgets.Forget(group.UID)
		return ctrl.Result{}, nil
	}
	seen, err := r.observe(ctx, group)
	if err != nil {
		return ctrl.Result{}, err
	}
	var decided plan
	if seen.network != nil {
		decided = decide(seen.world(group))
	}
	ended := outcome.Join(r.act(ctx, group, seen, decided), r.protect(ctx, group, seen, decided))
	due, err := r.report(ctx, group, seen, decided, ended)
	if err != nil {
		return ctrl.Result{}, err
	}
	recheck := fleet.Earliest(decided.recheck, seen.pending.Until)
	return ended.Result(outcome.Soonest(due, outcome.Until(recheck, seen.now))), nil
}
