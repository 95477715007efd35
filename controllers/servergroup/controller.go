// SPDX-License-Identifier: Apache-2.0

// Package servergroup keeps a ServerGroup at its size: an ephemeral one by the
// free seats it can offer, a persistent one by its ordinals.
package servergroup

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/recorder"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/budget"
	"github.com/spawnery/spawnery-operator/internal/expect"
	"github.com/spawnery/spawnery-operator/internal/fleet"
	"github.com/spawnery/spawnery-operator/internal/outcome"
	"github.com/spawnery/spawnery-operator/internal/pace"
	"github.com/spawnery/spawnery-operator/internal/podspec"
	"github.com/spawnery/spawnery-operator/internal/sessions"
	"github.com/spawnery/spawnery-operator/internal/sighting"
	"github.com/spawnery/spawnery-operator/internal/sizing"
)

const (
	// fieldOwner is the name this controller's writes carry.
	fieldOwner = client.FieldOwner("spawnery-servergroup")
	// tick is the pace at which an ephemeral group is sized; only on it does
	// the group shrink for lack of demand.
	tick = 5 * time.Second
)

// Sessions is what this controller needs of the channel.
type Sessions interface {
	sighting.Channel
	// Census counts everybody of a group once, servers by name with their pods.
	Census(group types.NamespacedName, pods map[string]types.UID) sessions.Census
}

// Reconciler reconciles ServerGroups.
type Reconciler struct {
	Client client.Client
	// Live reads past the cache: for names that a cache may not show.
	Live     client.Reader
	Sessions Sessions
	Events   recorder.EventRecorder
	Clock    clock.PassiveClock
	// LeaderSince is when this process began to lead.
	LeaderSince func() time.Time
	// DrainTaints are keys of taints that say, beside the known ones, that a node
	// leaves.
	DrainTaints []string
	// Kubernetes says which version the API server is of, such as v1.37.2.
	Kubernetes func(context.Context) (string, error)
	// Manager is where servers reach the manager.
	Manager podspec.ManagerAddress
	// Random draws names.
	Random podspec.IntN

	writes    expect.Writes
	budgets   budget.Keeper
	pacer     pace.Pacer
	ticks     ticks
	spareable spareable
}

// +kubebuilder:rbac:groups=spawnery.cloud,resources=servergroups,verbs=get;list;watch
// +kubebuilder:rbac:groups=spawnery.cloud,resources=servergroups/status,verbs=get;patch
// +kubebuilder:rbac:groups=spawnery.cloud,resources=servers,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=spawnery.cloud,resources=networks;scaleboosts,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=pods,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups="",resources=nodes;persistentvolumeclaims,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=persistentvolumes,verbs=get
// +kubebuilder:rbac:groups=policy,resources=poddisruptionbudgets,verbs=get;list;watch;create;patch
// +kubebuilder:rbac:groups=networking.k8s.io,resources=networkpolicies,verbs=get;list;watch;create;patch;delete

// Reconcile brings one ServerGroup up to date: it observes, decides, acts and
// reports, and reports also when acting failed.
func (r *Reconciler) Reconcile(ctx context.Context, group *v1alpha1.ServerGroup) (ctrl.Result, error) {
	key := client.ObjectKeyFromObject(group)
	if group.DeletionTimestamp != nil {
		r.writes.Forget(group.UID)
		r.budgets.Forget(group.UID)
		r.ticks.forget(key)
		r.spareable.keep(group.UID, nil)
		return ctrl.Result{}, nil
	}
	seen, err := r.observe(ctx, group)
	if err != nil {
		return ctrl.Result{}, err
	}
	decided := r.decide(group, seen)
	// No server is made before the policy; what else is wrong is told first.
	confined := r.confine(ctx, group, seen)
	done := outcome.Join(r.act(ctx, group, seen, decided), confined, r.protect(ctx, group, seen))
	due, err := r.report(ctx, group, seen, decided, done)
	if err != nil {
		return ctrl.Result{}, err
	}
	return done.Result(outcome.Soonest(due, r.recheck(group, seen, decided))), nil
}

// recheck is when the group is looked at again without news: at the plan's own
// instant, and an ephemeral group at its tick.
func (r *Reconciler) recheck(group *v1alpha1.ServerGroup, seen observation, decided sizing.Plan) time.Duration {
	wait := outcome.Until(fleet.Earliest(decided.Recheck, seen.pending.Until), seen.now)
	if !group.IsEphemeral() {
		return wait
	}
	return outcome.Soonest(wait, r.ticks.next(client.ObjectKeyFromObject(group), seen.now))
}

// ticks remembers each group's last tick, so that news in between size a group
// up at once and never down.
type ticks struct {
	mu   sync.Mutex
	last map[types.NamespacedName]time.Time
}

// take says whether a tick is due, and if so takes it.
func (t *ticks) take(group types.NamespacedName, now time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.last == nil {
		t.last = map[types.NamespacedName]time.Time{}
	}
	if last, ok := t.last[group]; ok && now.Sub(last) < tick {
		return false
	}
	t.last[group] = now
	return true
}

// next is the time until the next tick.
func (t *ticks) next(group types.NamespacedName, now time.Time) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	return max(time.Millisecond, tick-now.Sub(t.last[group]))
}

func (t *ticks) forget(group types.NamespacedName) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.last, group)
}
