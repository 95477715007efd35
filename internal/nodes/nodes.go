// SPDX-License-Identifier: Apache-2.0

// Package nodes judges the nodes of a cluster: which of them are about to leave,
// and which could take a pod in their place.
package nodes

import (
	"slices"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"

	"github.com/spawnery/spawnery-operator/internal/fleet"
)

// Taints by which autoscalers say that a node leaves.
const (
	taintClusterAutoscaler = "ToBeDeletedByClusterAutoscaler"
	taintKarpenter         = "karpenter.sh/disrupted"
	// taintCandidate marks nodes that the autoscaler only considers. It is no
	// reason to move anybody.
	taintCandidate = "DeletionCandidateOfClusterAutoscaler"
)

// View is the nodes of a cluster at one instant. It must not be changed, and
// does not change what it was made of.
type View struct {
	byName map[string]*corev1.Node
	leave  map[string]bool
}

// Look sorts nodes by whether they are about to leave: cordoned, or tainted by
// an autoscaler or with one of the keys given.
func Look(all []corev1.Node, drainTaints []string) View {
	v := View{byName: make(map[string]*corev1.Node, len(all)), leave: map[string]bool{}}
	for i := range all {
		v.byName[all[i].Name] = &all[i]
		if departing(&all[i], drainTaints) {
			v.leave[all[i].Name] = true
		}
	}
	return v
}

func departing(node *corev1.Node, drainTaints []string) bool {
	return node.Spec.Unschedulable || slices.ContainsFunc(node.Spec.Taints, func(taint corev1.Taint) bool {
		switch taint.Key {
		case taintCandidate:
			return false
		case taintClusterAutoscaler, taintKarpenter:
			return true
		}
		return slices.Contains(drainTaints, taint.Key)
	})
}

// Departing is true for a node that is about to leave. One that nobody knows is
// not: what ran there is lost, which others see.
func (v View) Departing(node string) bool { return v.leave[node] }

// Outlook says what the node of a pod means for it: it departs when the node is
// about to leave and another one could take the pod, and holds it when no other
// one could take any pod with these volumes. Free resources are not looked at.
func (v View) Outlook(pod *corev1.Pod, volumes ...*corev1.VolumeNodeAffinity) fleet.NodeOutlook {
	if !v.leave[pod.Spec.NodeName] {
		return fleet.NodeStaying
	}
	outlook := fleet.NodeHolding
	for name, node := range v.byName {
		switch {
		case v.leave[name] || !reaches(node, volumes):
		case takes(node, pod):
			return fleet.NodeDeparting
		default:
			outlook = fleet.NodeStaying
		}
	}
	return outlook
}

// reaches is true for a node on which all the volumes can be mounted.
func reaches(node *corev1.Node, volumes []*corev1.VolumeNodeAffinity) bool {
	for _, affinity := range volumes {
		if affinity != nil && affinity.Required != nil && !selects(affinity.Required, node) {
			return false
		}
	}
	return true
}

// takes is true when the scheduler could place the pod on the node, as far as
// selectors and taints go.
func takes(node *corev1.Node, pod *corev1.Pod) bool {
	for key, value := range pod.Spec.NodeSelector {
		if has, there := node.Labels[key]; !there || has != value {
			return false
		}
	}
	return tolerates(pod, node) && attracts(pod.Spec.Affinity, node)
}

func attracts(affinity *corev1.Affinity, node *corev1.Node) bool {
	if affinity == nil || affinity.NodeAffinity == nil {
		return true
	}
	required := affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	return required == nil || selects(required, node)
}

// tolerates looks at the taints that keep new pods off a node.
func tolerates(pod *corev1.Pod, node *corev1.Node) bool {
	for i := range node.Spec.Taints {
		taint := &node.Spec.Taints[i]
		if taint.Effect == corev1.TaintEffectPreferNoSchedule {
			continue
		}
		if !slices.ContainsFunc(pod.Spec.Tolerations, func(toleration corev1.Toleration) bool {
			return toleration.ToleratesTaint(logr.Discard(), taint, true)
		}) {
			return false
		}
	}
	return true
}
