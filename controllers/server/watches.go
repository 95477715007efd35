// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
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
	"github.com/spawnery/spawnery-operator/internal/podspec"
	"github.com/spawnery/spawnery-operator/internal/predicates"
)

const (
	// reconcileWithin bounds one pass.
	reconcileWithin = 60 * time.Second
	// workers let one slow pass not become the clock of all servers.
	workers = 8
)

// SetupWithManager registers the controller; wakes carries the Servers that
// the channel has news for.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager, wakes source.Source) error {
	err := ctrl.NewControllerManagedBy(mgr).
		For(&v1alpha1.Server{}).
		Watches(&corev1.Pod{}, handler.EnqueueRequestsFromMapFunc(sameName)).
		Watches(&corev1.PersistentVolumeClaim{}, handler.EnqueueRequestsFromMapFunc(ofClaim)).
		Watches(&v1alpha1.ServerGroup{}, handler.EnqueueRequestsFromMapFunc(r.ofGroup), builder.WithPredicates(predicates.Owners())).
		Watches(&v1alpha1.Network{}, handler.EnqueueRequestsFromMapFunc(r.ofNetwork), builder.WithPredicates(predicates.Standing())).
		WatchesRawSource(wakes).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: workers, ReconciliationTimeout: reconcileWithin, EnableWarmup: new(true), RateLimiter: pace.Retries(),
		}).
		Named("server").
		Complete(reconcile.AsReconciler(mgr.GetClient(), r))
	if err != nil {
		return fmt.Errorf("set up the server controller: %w", err)
	}
	return nil
}

// sameName wakes the Server that a pod was made for, and the one that waits
// for the pod's name.
func sameName(_ context.Context, pod client.Object) []reconcile.Request {
	return []reconcile.Request{{NamespacedName: client.ObjectKeyFromObject(pod)}}
}

// ofClaim wakes the Server that mounts a claim. The claim's name says which: its
// labels are for people, and one that was handed over may have none of them.
func ofClaim(_ context.Context, claim client.Object) []reconcile.Request {
	group, ordinal, ok := podspec.OrdinalOfDataClaim(claim.GetName())
	if !ok {
		return nil
	}
	name := podspec.PersistentServerName(group, ordinal)
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: claim.GetNamespace(), Name: name}}}
}

func (r *Reconciler) ofGroup(ctx context.Context, group client.Object) []reconcile.Request {
	return requests(ctx, func() ([]v1alpha1.Server, error) {
		return index.ServersOf(ctx, r.Client, group.GetNamespace(), group.GetName())
	})
}

func (r *Reconciler) ofNetwork(ctx context.Context, network client.Object) []reconcile.Request {
	return requests(ctx, func() ([]v1alpha1.Server, error) {
		return index.ServersIn(ctx, r.Client, network.GetNamespace(), network.GetName())
	})
}

func requests(ctx context.Context, list func() ([]v1alpha1.Server, error)) []reconcile.Request {
	servers, err := list()
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Could not list the servers to wake")
		return nil
	}
	woken := make([]reconcile.Request, 0, len(servers))
	for i := range servers {
		woken = append(woken, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&servers[i])})
	}
	return woken
}
