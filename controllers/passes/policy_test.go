// SPDX-License-Identifier: Apache-2.0

package passes

import (
	"github.com/onsi/gomega"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/podspec"
)

func policyPasses() map[string]func(*world) {
	return map[string]func(*world){
		"a policy stands before the first server":              policyComesFirst,
		"a network that had none gets one and restarts nobody": policyOfAnUpgrade,
		"it follows the Network and the ports of its group":    policyFollows,
		"what somebody else makes of it is put right":          policyIsRestored,
		"a Network that wants none has it removed":             policyIsRemoved,
		"somebody else's is neither changed nor removed":       policyNameTaken,
		"what stands is kept without the Network":              policyWithoutNetwork,
	}
}

func (w *world) policy() *networkingv1.NetworkPolicy {
	w.t.Helper()
	return get[networkingv1.NetworkPolicy](w, "hub-server")
}

func (w *world) policyMode(mode v1alpha1.PolicyMode, egress ...v1alpha1.EgressRule) {
	w.t.Helper()
	edit(w, "production", func(n *v1alpha1.Network) { n.Spec.NetworkPolicy, n.Spec.NetworkPolicyEgress = mode, egress })
	w.settle(aNetwork, "production")
	w.settle(aGroup, "hub")
}

func policyComesFirst(w *world) {
	w.network()
	w.create(hub())
	w.cache.afterWrite = func() {
		if len(w.servers()) > 0 {
			w.Expect(w.gone(&networkingv1.NetworkPolicy{}, "hub-server")).To(gomega.BeFalse(), "a server stands before the policy")
		}
	}
	w.settle(aGroup, "hub")
	w.Expect(w.servers()).To(gomega.HaveLen(1))
	made := w.policy()
	w.Expect(metav1.GetControllerOf(made)).To(gomega.HaveValue(gomega.And(
		gomega.HaveField("UID", get[v1alpha1.ServerGroup](w, "hub").UID), gomega.HaveField("BlockOwnerDeletion", gomega.HaveValue(gomega.BeFalse())))))
	w.Expect(made.Labels).To(gomega.HaveKeyWithValue(podspec.LabelManagedBy, podspec.ManagedBy))
	w.Expect(made.Spec.PolicyTypes).To(gomega.ConsistOf(networkingv1.PolicyTypeIngress))
	// Nothing is written again: the API server fills in nothing that we leave out.
	before := made.ResourceVersion
	w.pass(aGroup, "hub")
	w.Expect(w.policy().ResourceVersion).To(gomega.Equal(before))
}

func policyOfAnUpgrade(w *world) {
	name := w.hubs(1)[0]
	w.remove(w.policy())
	pod, hash := w.serverStatus(name).PodUID, get[v1alpha1.Server](w, name).Spec.PodHash
	w.restart()
	w.settle(aGroup, "hub")
	w.settle(aServer, name)
	w.policy()
	w.Expect(w.serverStatus(name).PodUID).To(gomega.Equal(pod))
	w.Expect(get[v1alpha1.Server](w, name).Spec.PodHash).To(gomega.Equal(hash))
	w.Expect(get[v1alpha1.Server](w, name).Spec.RetireReason).To(gomega.BeEmpty())
}

func policyFollows(w *world) {
	w.hubs(1)
	uid := w.policy().UID
	w.policyMode(v1alpha1.PolicyStrict, v1alpha1.EgressRule{CIDR: "10.0.0.0/8"})
	w.Expect(w.policy().Spec.PolicyTypes).To(gomega.ConsistOf(networkingv1.PolicyTypeIngress, networkingv1.PolicyTypeEgress))
	w.Expect(w.policy().Spec.Egress).To(gomega.HaveLen(3))
	w.policyMode(v1alpha1.PolicyStrict)
	w.Expect(w.policy().Spec.Egress).To(gomega.HaveLen(2))
	w.policyMode(v1alpha1.PolicyIngress)
	w.Expect(w.policy().Spec.PolicyTypes).To(gomega.ConsistOf(networkingv1.PolicyTypeIngress))
	w.Expect(w.policy().Spec.Egress).To(gomega.BeEmpty(), "it would be read by people")
	edit(w, "hub", func(g *v1alpha1.ServerGroup) {
		g.Spec.Ports = []v1alpha1.ServerPort{{Name: "voice", Port: 24454, Protocol: v1alpha1.ProtocolUDP, From: v1alpha1.FromAnywhere}}
	})
	w.settle(aGroup, "hub")
	w.Expect(w.policy().Spec.Ingress).To(gomega.HaveLen(2))
	edit(w, "hub", func(g *v1alpha1.ServerGroup) { g.Spec.Ports = nil })
	w.settle(aGroup, "hub")
	w.Expect(w.policy().Spec.Ingress).To(gomega.HaveLen(1))
	w.Expect(w.policy().UID).To(gomega.Equal(uid), "at no time there was none")
}

func policyIsRestored(w *world) {
	w.hubs(1)
	wanted := w.policy().Spec
	edit(w, "hub-server", func(p *networkingv1.NetworkPolicy) {
		p.Spec.Ingress = append(p.Spec.Ingress, networkingv1.NetworkPolicyIngressRule{})
	})
	w.settle(aGroup, "hub")
	w.Expect(w.policy().Spec).To(gomega.Equal(wanted))
	w.remove(w.policy())
	w.settle(aGroup, "hub")
	w.Expect(w.policy().Spec).To(gomega.Equal(wanted))
}

func policyIsRemoved(w *world) {
	w.hubs(1)
	w.policyMode(v1alpha1.PolicyDisabled)
	w.Expect(w.gone(&networkingv1.NetworkPolicy{}, "hub-server")).To(gomega.BeTrue())
	w.policyMode("")
	w.policy()
}

func policyNameTaken(w *world) {
	w.network()
	foreign := &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Name: "hub-server"}}
	w.create(foreign, hub())
	before := w.policy().ResourceVersion
	result := w.settle(aGroup, "hub")
	w.Expect(w.groupCondition("hub", "Accepted")).To(gomega.Equal(
		"False PolicyRefused: networkpolicy hub-server exists and does not belong to this group; delete it: the name is taken"))
	w.Expect(result.RequeueAfter).To(gomega.BeNumerically(">", 0))
	w.Expect(w.servers()).To(gomega.HaveLen(1), "servers are made all the same")
	w.policyMode(v1alpha1.PolicyDisabled)
	w.Expect(w.policy().ResourceVersion).To(gomega.Equal(before))
	w.Expect(w.groupCondition("hub", "Accepted")).To(gomega.HavePrefix("True"))
	w.policyMode(v1alpha1.PolicyIngress)
	w.remove(foreign)
	w.settle(aGroup, "hub")
	w.Expect(w.groupCondition("hub", "Accepted")).To(gomega.HavePrefix("True"))
	w.Expect(metav1.GetControllerOf(w.policy())).NotTo(gomega.BeNil())
}

func policyWithoutNetwork(w *world) {
	w.hubs(1)
	before := w.policy().ResourceVersion
	w.remove(get[v1alpha1.Network](w, "production"))
	w.settle(aGroup, "hub")
	w.Expect(w.policy().ResourceVersion).To(gomega.Equal(before))
}
