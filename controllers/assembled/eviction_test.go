// SPDX-License-Identifier: Apache-2.0

package assembled

import (
	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spawnery/spawnery-operator/internal/podspec"
)

// evict asks for a pod to go as kubectl drain and node autoscalers do.
func (w *world) evict(name string) error {
	return w.kube.PolicyV1().Evictions(w.namespace).Evict(w.t.Context(), &policyv1.Eviction{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name},
	})
}

// evictions asks for servers with and without players. Kubernetes' own
// controller counts for the budget.
func evictions(w *world) {
	w.StartControllers(w.t, "disruption-controller")
	w.Eventually(w.readyHubs).Should(gomega.HaveLen(2))
	occupied, empty := w.readyHubs()[0], w.readyHubs()[1]
	w.join(occupied, 1)
	w.protects(occupied, 1)
	w.refused(occupied)

	w.Expect(w.evict(empty)).To(gomega.Succeed(), "an empty server never holds up a node")
	w.Eventually(w.readyHubs).Should(gomega.And(gomega.HaveLen(2), gomega.ContainElement(occupied), gomega.Not(gomega.ContainElement(empty))))
	w.refused(occupied)

	// A second one with players is refused too, and lets the first go on.
	second := w.readyHubs()[0]
	if second == occupied {
		second = w.readyHubs()[1]
	}
	w.join(second, 1)
	w.protects(second, 2)
	w.refused(occupied)
	w.refused(second)

	w.join(second, 0)
	w.Eventually(func() error { return w.evict(second) }).Should(gomega.Succeed(), "its player has left")
	w.refused(occupied)
	w.join(occupied, 0)
	w.Eventually(func() error { return w.evict(occupied) }).Should(gomega.Succeed())
	w.Eventually(w.readyHubs).Should(gomega.HaveLen(2))
}

// protects waits until a server's pod is one of so many that the budget counts.
func (w *world) protects(name string, count int32) {
	w.Eventually(func(g gomega.Gomega) {
		var pod corev1.Pod
		g.Expect(w.Client.Get(w.t.Context(), client.ObjectKey{Namespace: w.namespace, Name: name}, &pod)).To(gomega.Succeed())
		g.Expect(podspec.OccupancyOf(&pod)).To(gomega.Equal(podspec.Occupied))
		var budget policyv1.PodDisruptionBudget
		g.Expect(w.Client.Get(w.t.Context(), client.ObjectKey{Namespace: w.namespace, Name: "hub-server"}, &budget)).To(gomega.Succeed())
		g.Expect(budget.Status.ObservedGeneration).To(gomega.Equal(budget.Generation), "nobody has counted yet")
		g.Expect(budget.Status.CurrentHealthy).To(gomega.Equal(count))
	}).Should(gomega.Succeed())
}

func (w *world) refused(name string) {
	err := w.evict(name)
	w.Expect(apierrors.IsTooManyRequests(err)).To(gomega.BeTrue(), "%v", err)
	w.Expect(apierrors.HasStatusCause(err, policyv1.DisruptionBudgetCause)).To(gomega.BeTrue(), "%v", err)
	w.Expect(err).To(gomega.MatchError(gomega.ContainSubstring("disruption budget")))
}
