// SPDX-License-Identifier: Apache-2.0

package proxygroup

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
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

// reconcileWithin bounds one pass.
const reconcileWithin = 60 * time.Second

// SetupWithManager registers the controller; wakes carries the groups that the
// channel has news for.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager, wakes source.Source) error {
	err := ctrl.NewControllerManagedBy(mgr).
		For(&v1alpha1.ProxyGroup{}, builder.WithPredicates(predicates.Owners())).
		Owns(&corev1.Pod{}).
		Owns(&corev1.Service{}).
		Owns(&policyv1.PodDisruptionBudget{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&v1alpha1.Network{}, handler.EnqueueRequestsFromMapFunc(r.ofNetwork), builder.WithPredicates(predicates.Standing())).
		Watches(&v1alpha1.ServerGroup{}, handler.EnqueueRequestsFromMapFunc(r.ofServerGroup), builder.WithPredicates(predicates.Presence())).
		Watches(&corev1.Node{}, handler.EnqueueRequestsFromMapFunc(r.everyGroup), builder.WithPredicates(predicates.Draining())).
		WatchesRawSource(wakes).
		WithOptions(controller.Options{
			ReconciliationTimeout: reconcileWithin, EnableWarmup: new(true), RateLimiter: pace.Retries(),
		}).
		Named("proxygroup").
		Complete(reconcile.AsReconciler(mgr.GetClient(), r))
	if err != nil {
		return fmt.Errorf("set up the proxygroup controller: %w", err)
	}
	return nil
}

func (r *Reconciler) ofNetwork(ctx context.Context, network client.Object) []reconcile.Request {
	return r.proxiesOf(ctx, client.ObjectKeyFromObject(network))
}

// ofServerGroup wakes those whose routing may name the group.
func (r *Reconciler) ofServerGroup(ctx context.Context, group client.Object) []reconcile.Request {
	of, ok := group.(*v1alpha1.ServerGroup)
	if !ok {
		return nil
	}
	return r.proxiesOf(ctx, client.ObjectKey{Namespace: of.Namespace, Name: of.Spec.NetworkRef.Name})
}

func (r *Reconciler) proxiesOf(ctx context.Context, network client.ObjectKey) []reconcile.Request {
	groups, err := index.ProxyGroupsIn(ctx, r.Client, network.Namespace, network.Name)
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Could not list the proxy groups to wake")
		return nil
	}
	return requestsFor(groups)
}

// everyGroup wakes all groups: a node may have proxies of any of them, or take
// some.
func (r *Reconciler) everyGroup(ctx context.Context, _ client.Object) []reconcile.Request {
	var groups v1alpha1.ProxyGroupList
	if err := r.Client.List(ctx, &groups); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Could not list the proxy groups to wake")
		return nil
	}
	return requestsFor(groups.Items)
}

func requestsFor(groups []v1alpha1.ProxyGroup) []reconcile.Request {
	woken := make([]reconcile.Request, 0, len(groups))
	for i := range groups {
		woken = append(woken, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&groups[i])})
	}
	return woken
}
