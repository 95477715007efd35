// SPDX-License-Identifier: Apache-2.0

// Package predicates keeps changes that no decision looks at, such as counts in
// a status, from waking everything that depends on an object.
package predicates

import (
	"k8s.io/apimachinery/pkg/api/equality"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
)

// Owners passes what an owner writes: the spec, annotations, and a deletion.
func Owners() predicate.Predicate {
	deleted := predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		return e.ObjectOld.GetDeletionTimestamp() == nil && e.ObjectNew.GetDeletionTimestamp() != nil
	}}
	return predicate.Or(predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{}, deleted)
}

// Standing passes a Network whose spec, acceptance or mode in force changed.
func Standing() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		was, okWas := e.ObjectOld.(*v1alpha1.Network)
		now, okNow := e.ObjectNew.(*v1alpha1.Network)
		if !okWas || !okNow {
			return true
		}
		return was.Generation != now.Generation || accepted(was) != accepted(now) ||
			!equality.Semantic.DeepEqual(was.Status.OnlineMode, now.Status.OnlineMode)
	}}
}

func accepted(network *v1alpha1.Network) bool {
	return apimeta.IsStatusConditionTrue(network.Status.Conditions, v1alpha1.ConditionAccepted)
}
