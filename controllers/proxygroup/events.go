// SPDX-License-Identifier: Apache-2.0

package proxygroup

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/conditions"
)

// deed is what a group does with one of its proxies, in the words of an event.
type deed struct{ reason, action string }

var (
	created  = deed{v1alpha1.EventProxyCreated, v1alpha1.EventActionCreate}
	withdrew = deed{v1alpha1.EventProxyWithdrawn, v1alpha1.EventActionRetire}
	tookBack = deed{v1alpha1.EventProxyTakenBack, v1alpha1.EventActionTakeBack}
	deleted  = deed{v1alpha1.EventProxyDeleted, v1alpha1.EventActionDelete}
)

// recount says what was done, once it is done: to the log, and to whoever
// describes the group.
func (r *Reconciler) recount(ctx context.Context, group *v1alpha1.ProxyGroup, pod *corev1.Pod, done deed, why string) {
	ctrl.LoggerFrom(ctx).Info(done.reason, "pod", pod.Name, "why", why)
	r.Events.Eventf(group, pod, corev1.EventTypeNormal, done.reason, done.action, "%s", conditions.NoteOn(pod.Name, why))
}
