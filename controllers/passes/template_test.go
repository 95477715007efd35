// SPDX-License-Identifier: Apache-2.0

package passes

import (
	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/podspec"
)

func templatePasses() map[string]func(*world) {
	return map[string]func(*world){
		"an image layer waits for a Kubernetes that mounts images": imageLayer,
		"layers are admitted where Pod Security is restricted":     restrictedLayers,
		"a layer that cannot be copied is told":                    uncopiedLayer,
		"a claim that its node does not mount is told":             unmountedLayer,
		"an old Kubernetes lets those go on that run":              layerOnRunning,
		"a version that cannot be read stops nobody":               unreadVersion,
	}
}

func layered(image bool) []v1alpha1.TemplateLayer {
	layers := []v1alpha1.TemplateLayer{
		{FromGameImage: "/data"}, {PersistentVolumeClaim: v1alpha1.LocalReference{Name: "maps"}, Path: "/lobby"},
	}
	if image {
		layers = append(layers, v1alpha1.TemplateLayer{
			Image: "images.test/plugins@sha256:4355a46b19d348dc2f57c046f8ef63d4538ebb936000f3c9ee954a27460dd865",
		})
	}
	return layers
}

func imageLayer(w *world) {
	w.kubernetes = "v1.34.2"
	w.network()
	group := hub()
	group.Spec.Server.Template = layered(true)
	w.create(group)
	w.settle(aGroup, "hub")
	w.Expect(w.groupCondition("hub", "Accepted")).To(gomega.And(
		gomega.HavePrefix("False TemplateUnsupported: server.template, layer 3 is an image, and Kubernetes v1.34.2 mounts none"),
		gomega.ContainSubstring("fromGameImage"), gomega.ContainSubstring("persistentVolumeClaim")))
	w.Expect(w.servers()).To(gomega.BeEmpty())
	w.kubernetes = "v1.35.0"
	w.settle(aGroup, "hub")
	w.Expect(w.groupCondition("hub", "Accepted")).To(gomega.HavePrefix("True"))
	w.Expect(w.servers()).To(gomega.HaveLen(1))
}

func restrictedLayers(w *world) {
	var namespace corev1.Namespace
	namespace.Name = w.namespace
	w.Expect(w.Client.Get(w.t.Context(), client.ObjectKey{Name: w.namespace}, &namespace)).To(gomega.Succeed())
	namespace.Labels["pod-security.kubernetes.io/enforce"] = "restricted"
	w.Expect(w.Client.Update(w.t.Context(), &namespace)).To(gomega.Succeed())
	w.ordinalWith(layered(true))
	pod := get[corev1.Pod](w, "survival-0")
	w.Expect(podspec.LayerClaims(pod)).To(gomega.Equal([]string{"maps"}))
}

func uncopiedLayer(w *world) {
	w.ordinalWith(layered(false))
	initial := func(status *corev1.PodStatus) *[]corev1.ContainerStatus { return &status.InitContainerStatuses }
	w.ends("survival-0", initial, podspec.ContainerTemplate, corev1.ContainerStateTerminated{
		ExitCode: 1, Message: "server.template, layer 2 (claim maps, path /lobby): there is no such directory",
	})
	w.settle(aServer, "survival-0")
	w.Expect(w.serverCondition("survival-0", "Ready")).To(gomega.HavePrefix(
		"False PrepareFailed: Preparing the game failed: server.template, layer 2 (claim maps, path /lobby): there is no such directory"))
	w.settle(aGroup, "survival")
	w.Expect(w.groupStatus("survival").ConsecutiveFailures).To(gomega.HaveValue(gomega.BeEquivalentTo(1)))
}

func unmountedLayer(w *world) {
	w.ordinalWith(layered(false))
	w.podStatus("survival-0", func(pod *corev1.Pod) {
		pod.Status.Phase = corev1.PodPending
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReadyToStartContainers, Status: corev1.ConditionFalse}}
	})
	w.settle(aServer, "survival-0")
	w.Expect(w.serverCondition("survival-0", "Ready")).To(gomega.And(
		gomega.HavePrefix("False GameNotReady"), gomega.ContainSubstring("has not mounted its volumes yet; server.template takes files from maps"),
		gomega.ContainSubstring("kubectl describe pod survival-0 -n "+w.namespace)))
}

func layerOnRunning(w *world) {
	w.network()
	w.create(hub())
	w.settle(aGroup, "hub")
	name := w.servers()[0].Name
	w.serve(name, 0)
	w.kubernetes = "v1.33.0"
	edit(w, "hub", func(g *v1alpha1.ServerGroup) { g.Spec.Server.Template = layered(true) })
	w.settle(aGroup, "hub")
	w.Expect(w.groupCondition("hub", "Accepted")).To(gomega.HavePrefix("False TemplateUnsupported"))
	w.Expect(w.servers()).To(gomega.HaveLen(1))
	w.Expect(w.servers()[0].Spec.RetireReason).To(gomega.BeEmpty(), "nothing could take its place")
}

func unreadVersion(w *world) {
	w.kubernetes = ""
	w.network()
	group := hub()
	group.Spec.Server.Template = layered(true)
	w.create(group)
	w.settle(aGroup, "hub")
	w.Expect(w.groupCondition("hub", "Accepted")).To(gomega.HavePrefix("True"))
}

// ordinalWith makes a Network, and the Server survival-0 with layers and its pod.
func (w *world) ordinalWith(layers []v1alpha1.TemplateLayer) {
	w.network()
	group := survival(1)
	group.Spec.Server.Template = layers
	w.create(group)
	w.settle(aGroup, "survival")
	w.settle(aServer, "survival-0")
}
