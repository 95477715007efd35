// SPDX-License-Identifier: Apache-2.0

package assembled

import (
	"time"

	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/podspec"
)

const secondNode = "node2"

func (w *world) cordon(name string) {
	var node corev1.Node
	w.Expect(w.Client.Get(w.t.Context(), client.ObjectKey{Name: name}, &node)).To(gomega.Succeed())
	after := node.DeepCopy()
	after.Spec.Unschedulable = true
	w.Expect(w.Client.Patch(w.t.Context(), after, client.MergeFrom(&node))).To(gomega.Succeed())
}

// placed are the nodes of the server pods that are not on their way out.
func (w *world) placed() map[string]string {
	var pods corev1.PodList
	w.Expect(w.Client.List(w.t.Context(), &pods, client.InNamespace(w.namespace),
		client.MatchingLabels{podspec.LabelRole: string(podspec.RoleServer)})).To(gomega.Succeed())
	nodes := map[string]string{}
	for i := range pods.Items {
		if pods.Items[i].DeletionTimestamp == nil {
			nodes[pods.Items[i].Name] = pods.Items[i].Spec.NodeName
		}
	}
	return nodes
}

// onlyNodeCordoned cordons the one node there is, with players on it.
func onlyNodeCordoned(w *world) {
	w.Eventually(w.readyHubs).Should(gomega.HaveLen(2))
	w.join(w.readyHubs()[0], 1)
	before := w.uids()
	w.cordon(nodeName)
	for _, name := range []string{"hub", "survival"} {
		w.Eventually(func(g gomega.Gomega) {
			draining := apimeta.FindStatusCondition(w.group(name).Status.Conditions, v1alpha1.ConditionNodeDraining)
			g.Expect(draining).NotTo(gomega.BeNil())
			g.Expect(draining.Reason).To(gomega.Equal(v1alpha1.ReasonNodeDraining))
			g.Expect(draining.Message).To(gomega.ContainSubstring("nowhere else to go"))
		}).Should(gomega.Succeed())
	}
	w.Consistently(w.uids, 6*time.Second, time.Second).Should(gomega.Equal(before), "more than a tick")
	w.Expect(w.readyHubs()).To(gomega.HaveLen(2))
}

// anotherNodeCame lets everybody move: the worlds too, whose volumes can be
// mounted anywhere.
func anotherNodeCame(w *world) {
	occupied := ""
	for _, server := range w.servers() {
		if server.Status.Players != nil && *server.Status.Players > 0 {
			occupied = server.Name
		}
	}
	w.Expect(occupied).NotTo(gomega.BeEmpty())
	w.startNode(secondNode, "203.0.113.8")
	w.Eventually(func(g gomega.Gomega) {
		placed := w.placed()
		g.Expect(placed).To(gomega.HaveLen(4))
		g.Expect(w.servers()).To(gomega.HaveLen(4))
		g.Expect(placed).To(gomega.HaveEach(secondNode))
		g.Expect(placed).NotTo(gomega.HaveKey(occupied))
		g.Expect(w.readyHubs()).To(gomega.HaveLen(2))
		g.Expect(w.group("survival").Status.ReadyReplicas).To(gomega.HaveValue(gomega.BeEquivalentTo(2)))
		g.Expect(apimeta.IsStatusConditionFalse(w.group("hub").Status.Conditions, v1alpha1.ConditionNodeDraining)).To(gomega.BeTrue())
	}).WithTimeout(2 * patience).Should(gomega.Succeed())
}

// bindWorld binds a claim to a volume, as a provisioner does.
func (w *world) bindWorld(claim string) {
	volume := &corev1.PersistentVolume{}
	volume.Name = "volume-0"
	volume.Spec = corev1.PersistentVolumeSpec{
		Capacity:               corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")},
		AccessModes:            []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
		PersistentVolumeSource: corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/tmp/world"}},
	}
	w.Expect(w.Client.Create(w.t.Context(), volume)).To(gomega.Succeed())
	var before corev1.PersistentVolumeClaim
	w.Expect(w.Client.Get(w.t.Context(), client.ObjectKey{Namespace: w.namespace, Name: claim}, &before)).To(gomega.Succeed())
	after := before.DeepCopy()
	after.Spec.VolumeName = volume.Name
	w.Expect(w.Client.Patch(w.t.Context(), after, client.MergeFrom(&before))).To(gomega.Succeed())
	after.Status.Phase, after.Status.Capacity = corev1.ClaimBound, volume.Spec.Capacity
	w.Expect(w.Client.Status().Update(w.t.Context(), after)).To(gomega.Succeed())
}
