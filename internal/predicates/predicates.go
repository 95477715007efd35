// SPDX-License-Identifier: Apache-2.0

// Package predicates keeps changes that no decision looks at, such as counts in
// a status, from waking everything that depends on an object.
package predicates

import (
	corev1 "k8s.io/api/core/v1"
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

// Started passes pods that come, go, or begin or cease to be Ready or to wait
// for their node or volumes.
func Started() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		was, okWas := e.ObjectOld.(*corev1.Pod)
		now, okNow := e.ObjectNew.(*corev1.Pod)
		return !okWas || !okNow || stageOf(was) != stageOf(now)
	}}
}

// stage is what Started looks at.
type stage struct {
	node                    string
	phase                   corev1.PodPhase
	going, sandboxed, ready bool
}

func stageOf(pod *corev1.Pod) stage {
	is := stage{node: pod.Spec.NodeName, phase: pod.Status.Phase, going: pod.DeletionTimestamp != nil}
	for _, condition := range pod.Status.Conditions {
		holds := condition.Status == corev1.ConditionTrue
		is.ready = is.ready || (holds && condition.Type == corev1.PodReady)
		is.sandboxed = is.sandboxed || (holds && condition.Type == corev1.PodReadyToStartContainers)
	}
	return is
}

// Draining passes nodes that come, go, or change what decides whether they leave
// and whom they could take.
func Draining() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		was, okWas := e.ObjectOld.(*corev1.Node)
		now, okNow := e.ObjectNew.(*corev1.Node)
		return !okWas || !okNow || was.Spec.Unschedulable != now.Spec.Unschedulable ||
			!equality.Semantic.DeepEqual(was.Spec.Taints, now.Spec.Taints) || !equality.Semantic.DeepEqual(was.Labels, now.Labels)
	}}
}

// Presence passes what comes and what goes.
func Presence() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(event.UpdateEvent) bool { return false }}
}

// Standing passes a Network whose spec, acceptance, mode in force or channel
// changed.
func Standing() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		was, okWas := e.ObjectOld.(*v1alpha1.Network)
		now, okNow := e.ObjectNew.(*v1alpha1.Network)
		if !okWas || !okNow {
			return true
		}
		return was.Generation != now.Generation || holds(was, v1alpha1.ConditionAccepted) != holds(now, v1alpha1.ConditionAccepted) ||
			holds(was, v1alpha1.ConditionChannelDegraded) != holds(now, v1alpha1.ConditionChannelDegraded) ||
			!equality.Semantic.DeepEqual(was.Status.OnlineMode, now.Status.OnlineMode)
	}}
}

func holds(network *v1alpha1.Network, condition string) bool {
	return apimeta.IsStatusConditionTrue(network.Status.Conditions, condition)
}
