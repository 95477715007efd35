// SPDX-License-Identifier: Apache-2.0

package proxygroup

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
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
		Watches(&v1alpha1.Network{}, handler.EnqueueRequestsFromMapFunc(r.ofNetwork), builder.WithPredicates(predicates.Standing())).
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
	groups, err := index.ProxyGroupsIn(ctx, r.Client, network.GetNamespace(), network.GetName())
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Could not list the proxy groups to wake")
		return nil
	}
	woken := make([]reconcile.Request, 0, len(groups))
	for i := range groups {
		woken = append(woken, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&groups[i])})
	}
	return woken
}
