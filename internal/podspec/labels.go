// SPDX-License-Identifier: Apache-2.0

package podspec

import (
	"maps"

	corev1 "k8s.io/api/core/v1"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
)

// Labels of the objects the operator makes.
const (
	prefix = v1alpha1.GroupName + "/"

	// LabelManagedBy marks every object the operator made. The manager's caches
	// over pods, claims, Services, budgets and policies are restricted by it and
	// by nothing else.
	LabelManagedBy = prefix + "managed-by"
	// LabelNetwork names the Network an object belongs to.
	LabelNetwork = prefix + "network"
	// LabelGroup names the ServerGroup or ProxyGroup; the two kinds may share a
	// name, so a selector over pods names LabelRole too.
	LabelGroup = prefix + "group"
	// LabelServer names the Server an object belongs to.
	LabelServer = prefix + "server"
	// LabelRole tells server pods from proxy pods.
	LabelRole = prefix + "role"
	// LabelOccupied stands on pods that have players, and only on those.
	LabelOccupied = prefix + "occupied"
)

const (
	// ManagedBy is the value of LabelManagedBy.
	ManagedBy = "spawnery-operator"
	// OccupiedTrue is the one value of LabelOccupied.
	OccupiedTrue = "true"
)

const (
	// AnnotationPodHash holds the digest of what the owner chose, on proxy
	// pods: a proxy has no object of its own that could hold it.
	AnnotationPodHash = prefix + "pod-hash"
	// AnnotationChosen lists the annotations of a Service that its group chose,
	// so that they can be taken off again.
	AnnotationChosen = prefix + "chosen-annotations"
	// AnnotationWithdrawnAt says since when (RFC 3339) a proxy pod is withdrawn.
	AnnotationWithdrawnAt = prefix + "withdrawn-at"

	annotationSafeToEvict  = "cluster-autoscaler.kubernetes.io/safe-to-evict"
	annotationDoNotDisrupt = "karpenter.sh/do-not-disrupt"
)

// Role is what a pod does in a Network: the value of LabelRole.
type Role string

const (
	// RoleServer runs a game.
	RoleServer Role = "server"
	// RoleProxy is what players connect to.
	RoleProxy Role = "proxy"
)

// Occupancy says whether evicting a pod would throw players out.
type Occupancy string

const (
	// Vacant pods may go at any time: they never hold up a node.
	Vacant Occupancy = "Vacant"
	// Occupied pods have players, or may have: unknown is occupied.
	Occupied Occupancy = "Occupied"
)

// ManagedLabels is what every object the operator makes carries at least.
func ManagedLabels() map[string]string {
	return map[string]string{LabelManagedBy: ManagedBy}
}

// GroupPods selects the pods of one group.
func GroupPods(role Role, group string) map[string]string {
	return map[string]string{
		LabelManagedBy: ManagedBy,
		LabelGroup:     group,
		LabelRole:      string(role),
	}
}

// OccupancyLabels are the labels a pod of that occupancy carries, and a pod of
// the other one does not.
func OccupancyLabels(occupancy Occupancy) map[string]string {
	switch occupancy {
	case Occupied:
		return map[string]string{LabelOccupied: OccupiedTrue}
	case Vacant:
	}
	return map[string]string{}
}

// OccupancyAnnotations keep node autoscalers away from a pod with players, and
// let them take a node whose pods have none: without them a pod with an
// emptyDir or an owner they do not know keeps its node for ever.
func OccupancyAnnotations(occupancy Occupancy) map[string]string {
	switch occupancy {
	case Occupied:
		return map[string]string{annotationSafeToEvict: "false", annotationDoNotDisrupt: "true"}
	case Vacant:
	}
	return map[string]string{annotationSafeToEvict: "true"}
}

// OccupancyOf reads back what a pod's label says.
func OccupancyOf(pod *corev1.Pod) Occupancy {
	if pod.Labels[LabelOccupied] == OccupiedTrue {
		return Occupied
	}
	return Vacant
}

// SetOccupancy changes a pod's label and annotations to match, leaves all
// others alone, and reports whether anything changed.
func SetOccupancy(pod *corev1.Pod, occupancy Occupancy) bool {
	labels := replaced(pod.Labels, OccupancyLabels(occupancy), LabelOccupied)
	annotations := replaced(pod.Annotations, OccupancyAnnotations(occupancy),
		annotationSafeToEvict, annotationDoNotDisrupt)
	changed := !maps.Equal(pod.Labels, labels) || !maps.Equal(pod.Annotations, annotations)
	pod.Labels, pod.Annotations = labels, annotations
	return changed
}

// replaced is a copy of from in which keys have the values of with, or none.
func replaced(from, with map[string]string, keys ...string) map[string]string {
	result := make(map[string]string, len(from)+len(with))
	maps.Copy(result, from)
	for _, key := range keys {
		delete(result, key)
	}
	maps.Copy(result, with)
	return result
}
