// SPDX-License-Identifier: Apache-2.0

package servergroup

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/conditions"
)

// deed is what a group does with one of its Servers, in the words of an event.
type deed struct{ reason, action string }

var (
	created   = deed{v1alpha1.EventServerCreated, v1alpha1.EventActionCreate}
	retired   = deed{v1alpha1.EventServerRetired, v1alpha1.EventActionRetire}
	takenBack = deed{v1alpha1.EventServerTakenBack, v1alpha1.EventActionTakeBack}
	deleted   = deed{v1alpha1.EventServerDeleted, v1alpha1.EventActionDelete}
)

// tell says what was done, once it is done: to the log, and to whoever
// describes the group.
func (r *Reconciler) tell(ctx context.Context, group *v1alpha1.ServerGroup, server *v1alpha1.Server, done deed, why string) {
	ctrl.LoggerFrom(ctx).Info(done.reason, "server", server.Name, "why", why)
	r.Events.Eventf(group, server, corev1.EventTypeNormal, done.reason, done.action, "%s", conditions.NoteOn(server.Name, why))
}
