// SPDX-License-Identifier: Apache-2.0

package passes

import (
	"time"

	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/podspec"
)

func budgetPasses() map[string]func(*world) {
	return map[string]func(*world){
		"it never demands fewer pods than carry the label":   budgetCoversLabels,
		"it is lowered once every cache has seen the labels": budgetIsLowered,
		"a cache that shows it too high lowers nobody":       budgetOfALaggingCache,
		"a name that is taken is told, and pods are marked":  budgetNameTaken,
		"what somebody else makes of it is put right":        budgetIsRestored,
		"it goes on without the Network":                     budgetWithoutNetwork,
		"a pod on its way out demands nothing":               budgetOfALeavingPod,
		"an unheard server is occupied until it is known":    budgetOfUnheard,
	}
}

// hubs makes a hub of that many Ready servers, all empty, and returns their
// names.
func (w *world) hubs(count int32) []string {
	w.t.Helper()
	w.network()
	group := hub()
	group.Spec.Scaling.MinReplicas = &count
	w.create(group)
	w.settle(aGroup, "hub")
	var names []string
	for _, server := range w.servers() {
		w.serve(server.Name, 0)
		names = append(names, server.Name)
	}
	w.Expect(names).To(gomega.HaveLen(int(count)))
	w.pass(aGroup, "hub")
	return names
}

func (w *world) budget() *policyv1.PodDisruptionBudget {
	w.t.Helper()
	return get[policyv1.PodDisruptionBudget](w, "hub-server")
}

func (w *world) demanded() int {
	w.t.Helper()
	return w.budget().Spec.MinAvailable.IntValue()
}

// labelled are the names of the server pods that carry the label.
func (w *world) labelled() []string {
	var names []string
	for _, pod := range w.pods(podspec.RoleServer) {
		if podspec.OccupancyOf(&pod) == podspec.Occupied {
			names = append(names, pod.Name)
		}
	}
	return names
}

func budgetCoversLabels(w *world) {
	names := w.hubs(3)
	made := w.budget()
	w.Expect(made.Spec.MinAvailable).To(gomega.HaveValue(gomega.Equal(intstr.FromInt32(0))))
	w.Expect(metav1.GetControllerOf(made)).To(gomega.HaveValue(gomega.And(
		gomega.HaveField("UID", get[v1alpha1.ServerGroup](w, "hub").UID), gomega.HaveField("BlockOwnerDeletion", gomega.HaveValue(gomega.BeFalse())))))
	w.Expect(made.Spec.Selector.MatchLabels).To(gomega.Equal(map[string]string{
		podspec.LabelManagedBy: podspec.ManagedBy, podspec.LabelGroup: "hub", podspec.LabelRole: "server", podspec.LabelOccupied: "true",
	}))
	w.cache.afterWrite = func() { w.Expect(w.demanded()).To(gomega.BeNumerically(">=", len(w.labelled()))) }
	for _, players := range [][]int32{{1, 0, 0}, {1, 2, 3}, {0, 2, 0}, {4, 0, 5}, {0, 0, 0}} {
		occupied := 0
		for i, name := range names {
			w.report(name, players[i])
			if players[i] > 0 {
				occupied++
			}
		}
		w.pass(aGroup, "hub")
		w.Expect(w.labelled()).To(gomega.HaveLen(occupied))
		for _, name := range w.labelled() {
			w.Expect(get[corev1.Pod](w, name).Annotations).To(gomega.HaveKeyWithValue("karpenter.sh/do-not-disrupt", "true"))
		}
		w.clock.Step(5 * time.Second)
	}
}

func budgetIsLowered(w *world) {
	names := w.hubs(2)
	w.report(names[0], 1)
	w.report(names[1], 1)
	w.pass(aGroup, "hub")
	w.Expect(w.demanded()).To(gomega.Equal(2))
	w.report(names[1], 0)
	result := w.pass(aGroup, "hub")
	w.Expect(w.labelled()).To(gomega.ConsistOf(names[0]))
	w.Expect(w.demanded()).To(gomega.Equal(2), "others may still see the label")
	w.Expect(result.RequeueAfter).To(gomega.BeNumerically("<=", 5*time.Second))
	w.clock.Step(5 * time.Second)
	w.pass(aGroup, "hub")
	w.Expect(w.demanded()).To(gomega.Equal(1))
}

func budgetOfALaggingCache(w *world) {
	names := w.hubs(2)
	w.report(names[0], 1)
	w.report(names[1], 1)
	w.pass(aGroup, "hub")
	w.report(names[1], 0)
	w.pass(aGroup, "hub")
	w.cache.freeze(w, &policyv1.PodDisruptionBudget{})
	w.clock.Step(5 * time.Second)
	w.pass(aGroup, "hub")
	w.Expect(w.demanded()).To(gomega.Equal(1), "it is lowered, and the cache goes on showing 2")
	w.cache.afterWrite = func() { w.Expect(w.demanded()).To(gomega.BeNumerically(">=", len(w.labelled()))) }
	w.report(names[1], 1)
	w.pass(aGroup, "hub")
	w.Expect(w.labelled()).To(gomega.HaveLen(2))
	w.Expect(w.demanded()).To(gomega.Equal(2))
}

func budgetNameTaken(w *world) {
	foreign := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Name: "hub-server"}}
	foreign.Spec = policyv1.PodDisruptionBudgetSpec{
		MaxUnavailable: new(intstr.FromInt32(1)), Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "other"}},
	}
	w.create(foreign)
	names := w.hubs(1)
	w.report(names[0], 1)
	result := w.pass(aGroup, "hub")
	w.Expect(w.groupCondition("hub", "Accepted")).To(gomega.HavePrefix(
		"False BudgetRefused: poddisruptionbudget hub-server exists and does not belong to this group; delete it"))
	w.Expect(result.RequeueAfter).To(gomega.BeNumerically(">", 0))
	w.Expect(w.labelled()).To(gomega.HaveLen(1), "autoscalers keep away all the same")
	w.Expect(w.budget().Spec).To(gomega.Equal(foreign.Spec))
	w.remove(foreign)
	w.pass(aGroup, "hub")
	w.Expect(w.demanded()).To(gomega.Equal(1))
	w.Expect(w.groupCondition("hub", "Accepted")).To(gomega.HavePrefix("True"))
}

func budgetIsRestored(w *world) {
	names := w.hubs(1)
	w.report(names[0], 1)
	w.pass(aGroup, "hub")
	before := w.budget()
	edit(w, "hub-server", func(b *policyv1.PodDisruptionBudget) {
		b.Spec.MinAvailable, b.Spec.Selector.MatchLabels = new(intstr.FromInt32(0)), map[string]string{"app": "other"}
	})
	w.pass(aGroup, "hub")
	w.Expect(w.budget().Spec).To(gomega.Equal(before.Spec))
	w.remove(before)
	w.pass(aGroup, "hub")
	w.Expect(w.demanded()).To(gomega.Equal(1))
}

func budgetWithoutNetwork(w *world) {
	names := w.hubs(1)
	w.remove(get[v1alpha1.Network](w, "production"))
	w.report(names[0], 1)
	w.pass(aGroup, "hub")
	w.Expect(w.labelled()).To(gomega.HaveLen(1))
	w.Expect(w.demanded()).To(gomega.Equal(1))
}

func budgetOfALeavingPod(w *world) {
	names := w.hubs(2)
	w.report(names[0], 1)
	w.report(names[1], 1)
	w.pass(aGroup, "hub")
	w.remove(get[corev1.Pod](w, names[1]))
	w.clock.Step(5 * time.Second)
	w.report(names[0], 1)
	w.pass(aGroup, "hub")
	w.Expect(w.demanded()).To(gomega.Equal(1))
}

func budgetOfUnheard(w *world) {
	names := w.hubs(1)
	w.clock.Step(20 * time.Second)
	w.pass(aGroup, "hub")
	w.Expect(w.labelled()).To(gomega.ConsistOf(names[0]), "unknown is occupied")
	w.Expect(w.demanded()).To(gomega.Equal(1))
	w.report(names[0], 0)
	w.pass(aGroup, "hub")
	w.Expect(w.labelled()).To(gomega.BeEmpty())
}
