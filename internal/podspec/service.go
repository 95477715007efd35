// SPDX-License-Identifier: Apache-2.0

package podspec

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
)

// BuildService renders the Service players reach a ProxyGroup by.
func BuildService(group *v1alpha1.ProxyGroup) *corev1.Service {
	meta := ownedMeta(KindProxyGroup, group, ProxyServiceName(group.Name))
	meta.Labels = groupLabels(RoleProxy, group.Spec.NetworkRef.Name, group.Name)
	service := &corev1.Service{
		ObjectMeta: meta,
		Spec: corev1.ServiceSpec{
			Type:     corev1.ServiceTypeClusterIP,
			Selector: GroupPods(RoleProxy, group.Name),
			Ports: []corev1.ServicePort{{
				Name:       gamePortName,
				Protocol:   corev1.ProtocolTCP,
				Port:       ProxyPort,
				TargetPort: intstr.FromInt32(ProxyPort),
			}},
		},
	}
	expose(&service.Spec, group.Spec.Expose)
	if chosen := group.Spec.Expose.LoadBalancer.Annotations; len(chosen) > 0 {
		service.Annotations = maps.Clone(chosen)
		service.Annotations[AnnotationChosen] = strings.Join(slices.Sorted(maps.Keys(chosen)), ",")
	}
	return service
}

// Unchosen are the annotations of a Service that its group chose once, and does
// not choose any more. Those that others set are none of them.
func Unchosen(service, wanted *corev1.Service) []string {
	list, there := service.Annotations[AnnotationChosen]
	if !there {
		return nil
	}
	return slices.DeleteFunc(append(strings.Split(list, ","), AnnotationChosen), func(key string) bool {
		_, chosen := wanted.Annotations[key]
		return chosen
	})
}

// expose adds what a type of Service has beyond one inside the cluster. With the
// policy Local the players keep their addresses, so that bans and rate limits
// meet people and not nodes.
func expose(spec *corev1.ServiceSpec, expose v1alpha1.Expose) {
	switch expose.Type {
	case v1alpha1.ExposeClusterIP, v1alpha1.ExposeHostPort:
		// A port of a node needs no Service; what is in the cluster has one way in.
	case v1alpha1.ExposeLoadBalancer:
		spec.Type = corev1.ServiceTypeLoadBalancer
		policy := cmp.Or(expose.LoadBalancer.ExternalTrafficPolicy, v1alpha1.TrafficLocal)
		spec.ExternalTrafficPolicy = corev1.ServiceExternalTrafficPolicy(policy)
		if class := expose.LoadBalancer.LoadBalancerClass; class != "" {
			spec.LoadBalancerClass = new(class)
		}
	case v1alpha1.ExposeNodePort:
		spec.Type = corev1.ServiceTypeNodePort
		spec.Ports[0].NodePort = expose.NodePort.Port
		policy := cmp.Or(expose.NodePort.ExternalTrafficPolicy, v1alpha1.TrafficLocal)
		spec.ExternalTrafficPolicy = corev1.ServiceExternalTrafficPolicy(policy)
	}
}

// BuildServerBudget renders the budget that keeps node drains away from the
// servers of a group that have players. occupied is how many of its pods carry
// LabelOccupied, or are about to.
func BuildServerBudget(group *v1alpha1.ServerGroup, occupied int32) *policyv1.PodDisruptionBudget {
	meta := ownedMeta(KindServerGroup, group, BudgetName(RoleServer, group.Name))
	meta.Labels = groupLabels(RoleServer, group.Spec.NetworkRef.Name, group.Name)
	return budget(meta, GroupPods(RoleServer, group.Name), occupied)
}

// BuildProxyBudget is BuildServerBudget for the proxies of a group. A withdrawn
// proxy does not count and does not carry the label.
func BuildProxyBudget(group *v1alpha1.ProxyGroup, occupied int32) *policyv1.PodDisruptionBudget {
	meta := ownedMeta(KindProxyGroup, group, BudgetName(RoleProxy, group.Name))
	meta.Labels = groupLabels(RoleProxy, group.Spec.NetworkRef.Name, group.Name)
	return budget(meta, GroupPods(RoleProxy, group.Name), occupied)
}

// budget counts in pods: a share of them needs an owner with a scale
// subresource, which ours have not. A pod that is not ready stays protected, as
// is the default: it may have lost its readiness with players on it.
func budget(meta metav1.ObjectMeta, pods map[string]string, occupied int32) *policyv1.PodDisruptionBudget {
	pods[LabelOccupied] = OccupiedTrue
	return &policyv1.PodDisruptionBudget{
		ObjectMeta: meta,
		Spec: policyv1.PodDisruptionBudgetSpec{
			MinAvailable: new(intstr.FromInt32(occupied)),
			Selector:     &metav1.LabelSelector{MatchLabels: pods},
		},
	}
}

// groupLabels are the labels of pods, and of what stands for a whole group.
func groupLabels(role Role, network, group string) map[string]string {
	labels := GroupPods(role, group)
	labels[LabelNetwork] = network
	return labels
}
