// SPDX-License-Identifier: Apache-2.0

package network

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/pace"
	"github.com/spawnery/spawnery-operator/internal/podspec"
	"github.com/spawnery/spawnery-operator/internal/predicates"
)

// reconcileWithin bounds one pass.
const reconcileWithin = 60 * time.Second

// SetupWithManager registers the controller; wakes carries the Networks that
// the channel has news for.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager, wakes source.Source) error {
	err := ctrl.NewControllerManagedBy(mgr).
		For(&v1alpha1.Network{}, builder.WithPredicates(predicates.Owners())).
		Watches(&v1alpha1.Network{}, handler.EnqueueRequestsFromMapFunc(r.namesakes), builder.WithPredicates(predicates.Owners())).
		Watches(&v1alpha1.ServerGroup{}, handler.EnqueueRequestsFromMapFunc(networkOf), builder.WithPredicates(predicate.Or(predicates.Owners(), listed()))).
		Watches(&v1alpha1.ProxyGroup{}, handler.EnqueueRequestsFromMapFunc(networkOf), builder.WithPredicates(predicates.Owners())).
		Watches(&v1alpha1.Server{}, handler.EnqueueRequestsFromMapFunc(networkOf)).
		Watches(&corev1.PersistentVolumeClaim{}, handler.EnqueueRequestsFromMapFunc(labelledNetwork)).
		Watches(&corev1.Pod{}, handler.EnqueueRequestsFromMapFunc(labelledNetwork), builder.WithPredicates(predicates.Started())).
		WatchesRawSource(wakes).
		WithOptions(controller.Options{
			ReconciliationTimeout: reconcileWithin, EnableWarmup: new(true), RateLimiter: pace.Retries(),
		}).
		Named("network").
		Complete(r.ByName(mgr.GetClient()))
	if err != nil {
		return fmt.Errorf("set up the network controller: %w", err)
	}
	return nil
}

// listed passes a group of which the proxies are to be told something else: a
// boost, or what keeps it from having its servers.
func listed() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		was, okWas := e.ObjectOld.(*v1alpha1.ServerGroup)
		now, okNow := e.ObjectNew.(*v1alpha1.ServerGroup)
		return !okWas || !okNow || !proto.Equal(groupOf(was), groupOf(now))
	}}
}

// namesakes wakes every Network of a namespace: the loser is accepted within a
// pass of the winner's deletion.
func (r *Reconciler) namesakes(ctx context.Context, changed client.Object) []reconcile.Request {
	var networks v1alpha1.NetworkList
	if err := r.Client.List(ctx, &networks, client.InNamespace(changed.GetNamespace())); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Could not list the networks to wake", "namespace", changed.GetNamespace())
		return nil
	}
	var requests []reconcile.Request
	for i := range networks.Items {
		requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&networks.Items[i])})
	}
	return requests
}

func networkOf(_ context.Context, object client.Object) []reconcile.Request {
	var name string
	switch typed := object.(type) {
	case *v1alpha1.ServerGroup:
		name = typed.Spec.NetworkRef.Name
	case *v1alpha1.ProxyGroup:
		name = typed.Spec.NetworkRef.Name
	case *v1alpha1.Server:
		name = typed.Spec.NetworkRef.Name
	}
	return request(object.GetNamespace(), name)
}

func labelledNetwork(_ context.Context, object client.Object) []reconcile.Request {
	return request(object.GetNamespace(), object.GetLabels()[podspec.LabelNetwork])
}

func request(namespace, name string) []reconcile.Request {
	if name == "" {
		return nil
	}
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: namespace, Name: name}}}
}
