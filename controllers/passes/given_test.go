// SPDX-License-Identifier: Apache-2.0

package passes

import (
	"github.com/onsi/gomega"
	"google.golang.org/protobuf/types/known/timestamppb"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/sessions"
)

func givenPasses() map[string]func(*world) {
	return map[string]func(*world){
		"what is wrong with a ConfigMap names it, key and reason": badConfigMapsTold,
		"a proxy that has another ConfigMap says nothing of it":   oldConfigMapsUnheard,
		"a group without ConfigMaps uses all of them":             noConfigMaps,
	}
}

// finds has the proxy in a pod report what is wrong with its ConfigMaps.
func (w *world) finds(pod string, problems ...*agentv1alpha1.ConfigProblem) {
	w.t.Helper()
	found := get[corev1.Pod](w, pod)
	if w.proxies[found.UID] == nil {
		w.proxies[found.UID] = w.store.OpenProxy(sessions.ProxyPod{
			UID: found.UID, Pod: client.ObjectKeyFromObject(found), Group: "front", Network: "production",
		}, &agentv1alpha1.Hello{Version: "test", Capabilities: []string{agentv1alpha1.CapabilityConfig}})
	}
	report := &agentv1alpha1.ProxyReport{SampledAt: timestamppb.New(w.clock.Now()), ConfigProblems: problems}
	w.Expect(w.proxies[found.UID].Receive(&agentv1alpha1.ProxyMessage{
		Message: &agentv1alpha1.ProxyMessage_Report{Report: report},
	})).To(gomega.Succeed())
}

func problemOf(part agentv1alpha1.ConfigPart, key, reason string) *agentv1alpha1.ConfigProblem {
	return &agentv1alpha1.ConfigProblem{Part: part, Key: key, Reason: reason}
}

var noPicture = problemOf(agentv1alpha1.ConfigPart_CONFIG_PART_FAVICON, "icon.png", "it is no PNG")

// givenFront is a group that names ConfigMaps, with proxies that run.
func (w *world) givenFront(replicas int32) []string {
	w.front(replicas, byAddress())
	edit(w, "front", func(g *v1alpha1.ProxyGroup) {
		g.Spec.Config.Favicon = v1alpha1.FaviconSource{Name: "pictures", Key: "icon.png"}
		g.Spec.Config.Protocols = v1alpha1.LocalReference{Name: "rows"}
	})
	for _, name := range w.proxyNames() {
		w.Expect(w.Client.Delete(w.t.Context(), get[corev1.Pod](w, name), client.GracePeriodSeconds(0))).To(gomega.Succeed())
	}
	w.settle(aFront, "front")
	w.runProxies()
	return w.proxyNames()
}

func badConfigMapsTold(w *world) {
	names := w.givenFront(2)
	w.finds(names[0])
	w.settle(aFront, "front")
	w.Expect(w.frontCondition("ConfigApplied")).To(gomega.Equal("True ConfigApplied: the proxies use all that config names in ConfigMaps"))
	w.finds(names[0], noPicture, problemOf(agentv1alpha1.ConfigPart_CONFIG_PART_PROTOCOLS, "", "it does not exist"),
		problemOf(agentv1alpha1.ConfigPart_CONFIG_PART_UNSPECIFIED, "x", "of a newer proxy"))
	w.finds(names[1], noPicture)
	w.settle(aFront, "front")
	w.Expect(w.frontCondition("ConfigApplied")).To(gomega.Equal("False ConfigMapInvalid: " +
		"ConfigMap pictures, key icon.png (config.favicon): it is no PNG. ConfigMap rows (config.protocols): it does not exist"))
	w.Expect(w.frontCondition("Available")).To(gomega.HavePrefix("True"), "it stops no proxy")
	w.restart()
	w.settle(aFront, "front")
	w.Expect(w.frontCondition("ConfigApplied")).To(gomega.HavePrefix("False ConfigMapInvalid"), "no proxy has said otherwise")
	w.finds(names[0])
	w.finds(names[1])
	w.settle(aFront, "front")
	w.Expect(w.frontCondition("ConfigApplied")).To(gomega.HavePrefix("True"))
}

func oldConfigMapsUnheard(w *world) {
	old := w.givenFront(1)[0]
	w.finds(old)
	w.settle(aFront, "front")
	edit(w, "front", func(g *v1alpha1.ProxyGroup) { g.Spec.Config.Favicon.Name = "others" })
	w.finds(old, noPicture)
	w.settle(aFront, "front")
	w.Expect(w.frontCondition("ConfigApplied")).To(gomega.HavePrefix("True"), "its picture is from another ConfigMap")
	fresh := w.freshProxy(old)
	w.run(fresh)
	w.finds(fresh, noPicture)
	w.settle(aFront, "front")
	w.Expect(w.frontCondition("ConfigApplied")).To(gomega.HavePrefix("False ConfigMapInvalid: ConfigMap others, key icon.png"))
}

func noConfigMaps(w *world) {
	w.front(1, byAddress())
	w.runProxies()
	w.finds(w.proxyNames()[0], noPicture)
	w.settle(aFront, "front")
	w.Expect(w.frontCondition("ConfigApplied")).To(gomega.Equal("True ConfigApplied: config names no ConfigMap"))
}
