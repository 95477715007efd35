// SPDX-License-Identifier: Apache-2.0

package podspec

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/agent/serverspec"
)

// ManagerAddress is where a pod's packets to the manager go, behind its Service.
type ManagerAddress struct {
	// Namespace of the manager's pods; empty where agents are told to dial
	// something else, of which nothing is known but the port.
	Namespace string
	// Ports in TCP; a Service may have another than the pods behind it.
	Ports []int32
}

// BuildServerPolicy renders the NetworkPolicy of the servers of a group; nil
// where the Network wants none. A kubelet always reaches the pods of its node,
// by probes and by the hook that stops a game.
func BuildServerPolicy(network *v1alpha1.Network, group *v1alpha1.ServerGroup, manager ManagerAddress) *networkingv1.NetworkPolicy {
	meta := ownedMeta(KindServerGroup, group, PolicyName(group.Name))
	meta.Labels = groupLabels(RoleServer, network.Name, group.Name)
	policy := &networkingv1.NetworkPolicy{ObjectMeta: meta, Spec: networkingv1.NetworkPolicySpec{
		PodSelector: metav1.LabelSelector{MatchLabels: GroupPods(RoleServer, group.Name)},
		PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress},
		Ingress:     ingressOf(network.Name, group),
	}}
	switch cmp.Or(network.Spec.NetworkPolicy, v1alpha1.PolicyIngress) {
	case v1alpha1.PolicyDisabled:
		return nil
	case v1alpha1.PolicyStrict:
		policy.Spec.PolicyTypes = append(policy.Spec.PolicyTypes, networkingv1.PolicyTypeEgress)
		policy.Spec.Egress = egressOf(network, manager)
	case v1alpha1.PolicyIngress:
	}
	return policy
}

// ingressOf names the game's port as its pods do: a group whose port changes has
// pods of either.
func ingressOf(network string, group *v1alpha1.ServerGroup) []networkingv1.NetworkPolicyIngressRule {
	proxies := ManagedLabels()
	proxies[LabelNetwork], proxies[LabelRole] = network, string(RoleProxy)
	rules := []networkingv1.NetworkPolicyIngressRule{{
		From: []networkingv1.NetworkPolicyPeer{{PodSelector: &metav1.LabelSelector{MatchLabels: proxies}}},
		Ports: []networkingv1.NetworkPolicyPort{
			policyPort(corev1.ProtocolTCP, intstr.FromString(gamePortName)),
			policyPort(corev1.ProtocolTCP, intstr.FromInt32(serverspec.Port)),
		},
	}}
	for _, access := range []v1alpha1.PortAccess{v1alpha1.FromCluster, v1alpha1.FromAnywhere} {
		rule := networkingv1.NetworkPolicyIngressRule{From: fromOf(access)}
		for _, port := range group.Spec.Ports {
			if cmp.Or(port.From, v1alpha1.FromCluster) == access {
				protocol := corev1.Protocol(cmp.Or(port.Protocol, v1alpha1.ProtocolTCP))
				rule.Ports = append(rule.Ports, policyPort(protocol, intstr.FromString(port.Name)))
			}
		}
		if len(rule.Ports) > 0 {
			rules = append(rules, rule)
		}
	}
	return rules
}

func fromOf(access v1alpha1.PortAccess) []networkingv1.NetworkPolicyPeer {
	switch access {
	case v1alpha1.FromCluster:
		return []networkingv1.NetworkPolicyPeer{{NamespaceSelector: &metav1.LabelSelector{}}}
	case v1alpha1.FromAnywhere:
	}
	return nil
}

// nameServerPorts are asked anywhere: a cache of the node's own has an address of
// no pod. OpenShift's name servers listen on 5353 behind their Service.
var nameServerPorts = []int32{53, 5353}

func egressOf(network *v1alpha1.Network, manager ManagerAddress) []networkingv1.NetworkPolicyEgressRule {
	var names networkingv1.NetworkPolicyEgressRule
	for _, port := range nameServerPorts {
		for _, protocol := range []corev1.Protocol{corev1.ProtocolUDP, corev1.ProtocolTCP} {
			names.Ports = append(names.Ports, policyPort(protocol, intstr.FromInt32(port)))
		}
	}
	var channel networkingv1.NetworkPolicyEgressRule
	for _, port := range manager.Ports {
		channel.Ports = append(channel.Ports, policyPort(corev1.ProtocolTCP, intstr.FromInt32(port)))
	}
	if manager.Namespace != "" {
		channel.To = []networkingv1.NetworkPolicyPeer{{NamespaceSelector: &metav1.LabelSelector{
			MatchLabels: map[string]string{corev1.LabelMetadataName: manager.Namespace},
		}}}
	}
	rules := []networkingv1.NetworkPolicyEgressRule{names, channel}
	for _, chosen := range network.Spec.NetworkPolicyEgress {
		rule := networkingv1.NetworkPolicyEgressRule{
			To: []networkingv1.NetworkPolicyPeer{{IPBlock: &networkingv1.IPBlock{CIDR: chosen.CIDR}}},
		}
		for _, port := range chosen.Ports {
			protocol := corev1.Protocol(cmp.Or(port.Protocol, v1alpha1.ProtocolTCP))
			rule.Ports = append(rule.Ports, policyPort(protocol, intstr.FromInt32(port.Port)))
		}
		rules = append(rules, rule)
	}
	return rules
}

func policyPort(protocol corev1.Protocol, port intstr.IntOrString) networkingv1.NetworkPolicyPort {
	return networkingv1.NetworkPolicyPort{Protocol: &protocol, Port: &port}
}
