// SPDX-License-Identifier: Apache-2.0

package podspec

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
)

// restrictedPod is the part of restricted Pod Security that a pod says once for
// all its containers. No user is chosen here.
func restrictedPod() *corev1.PodSecurityContext {
	return &corev1.PodSecurityContext{
		RunAsNonRoot:   new(true),
		SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
	}
}

// restrictedContainer is the part that every container says for itself.
func restrictedContainer() *corev1.SecurityContext {
	return &corev1.SecurityContext{
		AllowPrivilegeEscalation: new(false),
		Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
	}
}

// ownContainer is restrictedContainer for our programs, which write to volumes
// only.
func ownContainer() *corev1.SecurityContext {
	security := restrictedContainer()
	security.ReadOnlyRootFilesystem = new(true)
	return security
}

// asUser makes game and agent one user, so that each can write what the other
// wrote. OnRootMismatch spares a large world the walk at every start.
func asUser(security *corev1.PodSecurityContext, user v1alpha1.ServerUser) {
	switch user.Policy {
	case v1alpha1.UserFixed:
		security.RunAsUser = new(user.UID)
		security.RunAsGroup = new(user.GID)
		security.FSGroup = new(user.FSGroup)
		security.FSGroupChangePolicy = new(corev1.FSGroupChangeOnRootMismatch)
	case v1alpha1.UserNamespace:
	}
}

// schedule says where a pod may run.
func schedule(pod *corev1.PodSpec, chosen v1alpha1.Scheduling) {
	scheduling := chosen.DeepCopy()
	pod.NodeSelector = scheduling.NodeSelector
	pod.Tolerations = scheduling.Tolerations
	pod.Affinity = scheduling.Affinity
	pod.TopologySpreadConstraints = scheduling.TopologySpreadConstraints
	pod.PriorityClassName = scheduling.PriorityClassName
}

// agentResources is what prepare and agent need beside any game. No processor
// limit: throttling would make an agent look silent.
func agentResources() corev1.ResourceRequirements {
	return corev1.ResourceRequirements{
		Requests: corev1.ResourceList{
			corev1.ResourceCPU:    resource.MustParse("10m"),
			corev1.ResourceMemory: resource.MustParse("32Mi"),
		},
		Limits: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("128Mi")},
	}
}

// readiness asks often, because players wait for the answer. losses is how many
// failures in a row it takes not to be ready any more.
func readiness(path string, port, losses int32) *corev1.Probe {
	return &corev1.Probe{
		ProbeHandler: corev1.ProbeHandler{
			HTTPGet: &corev1.HTTPGetAction{Path: path, Port: intstr.FromInt32(port)},
		},
		PeriodSeconds:    2,
		TimeoutSeconds:   2,
		FailureThreshold: losses,
	}
}

// tcp spells out what the API server would fill in.
func tcp(name string, port int32) corev1.ContainerPort {
	return corev1.ContainerPort{Name: name, ContainerPort: port, Protocol: corev1.ProtocolTCP}
}
