// SPDX-License-Identifier: Apache-2.0

package servergroup

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/index"
	"github.com/spawnery/spawnery-operator/internal/pace"
	"github.com/spawnery/spawnery-operator/internal/predicates"
)

const (
	// reconcileWithin bounds one pass.
	reconcileWithin = 60 * time.Second
	// workers let one slow pass not become the clock of all groups.
	workers = 4
)

// SetupWithManager registers the controller; wakes carries the groups that the
// channel has news for.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager, wakes source.Source) error {
	err := ctrl.NewControllerManagedBy(mgr).
		For(&v1alpha1.ServerGroup{}, builder.WithPredicates(predicates.Owners())).
		Owns(&v1alpha1.Server{}).
		Owns(&policyv1.PodDisruptionBudget{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Owns(&networkingv1.NetworkPolicy{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&v1alpha1.ScaleBoost{}, handler.EnqueueRequestsFromMapFunc(ofBoost)).
		Watches(&v1alpha1.Network{}, handler.EnqueueRequestsFromMapFunc(r.ofNetwork), builder.WithPredicates(predicates.Standing())).
		Watches(&corev1.Node{}, handler.EnqueueRequestsFromMapFunc(r.everyGroup), builder.WithPredicates(predicates.Draining())).
		WatchesRawSource(wakes).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: workers, ReconciliationTimeout: reconcileWithin, EnableWarmup: new(true), RateLimiter: pace.Retries(),
		}).
		Named("servergroup").
		Complete(reconcile.AsReconciler(mgr.GetClient(), r))
	if err != nil {
		return fmt.Errorf("set up the servergroup controller: %w", err)
	}
	return nil
}

func ofBoost(_ context.Context, object client.Object) []reconcile.Request {
	boost, ok := object.(*v1alpha1.ScaleBoost)
	if !ok {
		return nil
	}
	return []reconcile.Request{{NamespacedName: types.NamespacedName{
		Namespace: boost.Namespace, Name: boost.Spec.GroupRef.Name,
	}}}
}

// everyGroup wakes all groups: a node may take servers of any of them, or have
// some.
func (r *Reconciler) everyGroup(ctx context.Context, _ client.Object) []reconcile.Request {
	var groups v1alpha1.ServerGroupList
	if err := r.Client.List(ctx, &groups); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Could not list the server groups to wake")
		return nil
	}
	woken := make([]reconcile.Request, 0, len(groups.Items))
	for i := range groups.Items {
		woken = append(woken, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&groups.Items[i])})
	}
	return woken
}

func (r *Reconciler) ofNetwork(ctx context.Context, network client.Object) []reconcile.Request {
	groups, err := index.ServerGroupsIn(ctx, r.Client, network.GetNamespace(), network.GetName())
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Could not list the server groups to wake")
		return nil
	}
	woken := make([]reconcile.Request, 0, len(groups))
	for i := range groups {
		woken = append(woken, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&groups[i])})
	}
	return woken
}
