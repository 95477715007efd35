// SPDX-License-Identifier: Apache-2.0

package assembled

import (
	"github.com/onsi/gomega"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
)

// policyTypes are what the hub's policy is about, empty for no policy.
func (w *world) policyTypes() []networkingv1.PolicyType {
	var policy networkingv1.NetworkPolicy
	err := w.Client.Get(w.t.Context(), client.ObjectKey{Namespace: w.namespace, Name: "hub-server"}, &policy)
	if apierrors.IsNotFound(err) {
		return nil
	}
	w.Expect(err).NotTo(gomega.HaveOccurred())
	return policy.Spec.PolicyTypes
}

// policiesFollow has the owner bound whom servers reach, then nothing, and then
// what holds by itself.
func policiesFollow(w *world) {
	ingress, both := []networkingv1.PolicyType{"Ingress"}, []networkingv1.PolicyType{"Ingress", "Egress"}
	w.Eventually(w.policyTypes).Should(gomega.Equal(ingress))
	for _, step := range []struct {
		mode v1alpha1.PolicyMode
		want []networkingv1.PolicyType
	}{{v1alpha1.PolicyStrict, both}, {v1alpha1.PolicyDisabled, nil}, {v1alpha1.PolicyIngress, ingress}} {
		var before v1alpha1.Network
		w.Expect(w.Client.Get(w.t.Context(), client.ObjectKey{Namespace: w.namespace, Name: "production"}, &before)).To(gomega.Succeed())
		after := before.DeepCopy()
		after.Spec.NetworkPolicy = step.mode
		w.Expect(w.Client.Patch(w.t.Context(), after, client.MergeFrom(&before))).To(gomega.Succeed())
		w.Eventually(w.policyTypes).Should(gomega.Equal(step.want), string(step.mode))
	}
}
