// SPDX-License-Identifier: Apache-2.0

package passes

import (
	"context"
	"time"

	"github.com/onsi/gomega"
	"google.golang.org/protobuf/types/known/timestamppb"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/podspec"
	"github.com/spawnery/spawnery-operator/internal/sessions"
)

var aFront = &v1alpha1.ProxyGroup{}

func proxyGroupPasses() map[string]func(*world) {
	return map[string]func(*world){
		"an address appears when something answers there":   addressAppears,
		"a foreign Service is told and not taken":           foreignService,
		"a port that is taken is told":                      takenPort,
		"a surplus is withdrawn and taken back":             withdrawnAndBack,
		"a withdrawn proxy goes when nobody is on it":       withdrawnGoes,
		"a withdrawn proxy goes at its deadline":            withdrawnDeadline,
		"proxies are told their settings":                   settingsSent,
		"a quota is told as such":                           proxyQuota,
		"without its Network it keeps what runs":            frontWithoutNetwork,
		"another manager keeps everything":                  frontRestart,
		"the way in says whether it hides addresses":        addressesHidden,
		"two passes on one lagging cache make one proxy":    laggingProxies,
		"a proxy that was evicted is replaced":              evictedProxy,
		"a type of Service that changes is carried through": serviceChanges,
	}
}

func (w *world) front(replicas int32, expose v1alpha1.Expose) {
	w.network()
	group := &v1alpha1.ProxyGroup{ObjectMeta: metav1.ObjectMeta{Name: "front"}}
	group.Spec = v1alpha1.ProxyGroupSpec{
		NetworkRef: v1alpha1.NetworkReference{Name: "production"}, Replicas: replicas, Expose: expose,
		Routing: v1alpha1.Routing{FallbackGroups: []string{"hub"}},
	}
	w.create(group)
	w.settle(aFront, "front")
}

func byAddress() v1alpha1.Expose {
	return v1alpha1.Expose{Type: v1alpha1.ExposeClusterIP, ClusterIP: v1alpha1.ExposeByClusterIP{Address: "play.example.org"}}
}

func byPort(port int32) v1alpha1.Expose {
	return v1alpha1.Expose{Type: v1alpha1.ExposeNodePort, NodePort: v1alpha1.ExposeByNodePort{Port: port}}
}

func (w *world) frontStatus() v1alpha1.ProxyGroupStatus {
	w.t.Helper()
	return get[v1alpha1.ProxyGroup](w, "front").Status
}

func (w *world) frontCondition(kind string) string {
	w.t.Helper()
	return condition(w.frontStatus().Conditions, kind)
}

// hear has the proxy in a pod report players.
func (w *world) hear(pod string, players int) {
	w.t.Helper()
	found := get[corev1.Pod](w, pod)
	if w.proxies[found.UID] == nil {
		w.proxies[found.UID] = w.store.OpenProxy(sessions.ProxyPod{
			UID: found.UID, Pod: client.ObjectKeyFromObject(found), Group: "front", Network: "production",
		}, &agentv1alpha1.Hello{Version: "test"})
	}
	report := &agentv1alpha1.ProxyReport{SampledAt: timestamppb.New(w.clock.Now()), LoginOrigins: w.origins}
	for range players {
		report.Roster = append(report.Roster, &agentv1alpha1.RosterEntry{})
	}
	w.Expect(w.proxies[found.UID].Receive(&agentv1alpha1.ProxyMessage{
		Message: &agentv1alpha1.ProxyMessage_Report{Report: report},
	})).To(gomega.Succeed())
}

func (w *world) proxyNames() []string {
	var names []string
	for _, pod := range w.pods(podspec.RoleProxy) {
		if pod.DeletionTimestamp == nil {
			names = append(names, pod.Name)
		}
	}
	return names
}

func (w *world) runProxies() {
	for _, name := range w.proxyNames() {
		w.run(name)
	}
	w.settle(aFront, "front")
}

func addressAppears(w *world) {
	w.front(2, byPort(30565))
	w.Expect(w.frontStatus().Address).To(gomega.BeEmpty())
	w.runProxies()
	address := w.frontStatus().Address
	w.Expect(address).To(gomega.BeElementOf("203.0.113.7:30565", "203.0.113.8:30565"))
	for range 10 {
		w.pass(aFront, "front")
		w.Expect(w.frontStatus().Address).To(gomega.Equal(address), "it does not wander between nodes")
	}
	w.Expect(w.frontStatus().Phase).To(gomega.Equal(v1alpha1.GroupReady))
	for _, name := range w.proxyNames() {
		w.podStatus(name, func(pod *corev1.Pod) { pod.Status.Conditions = nil })
	}
	w.settle(aFront, "front")
	w.Expect(w.frontStatus().Address).To(gomega.BeEmpty())
	w.Expect(w.frontCondition("Available")).To(gomega.Equal("False MinimumReplicasUnready: 0 of 2 proxies are ready"))
}

func foreignService(w *world) {
	w.create(&corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "front-proxy", Labels: podspec.ManagedLabels()},
		Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}},
	})
	w.front(1, byAddress())
	w.runProxies()
	w.Expect(w.frontCondition("Accepted")).To(gomega.HavePrefix("False ServiceRefused: service front-proxy exists"))
	w.Expect(w.frontStatus().Address).To(gomega.BeEmpty(), "nothing of ours answers there")
	w.Expect(w.settle(aFront, "front").RequeueAfter).To(gomega.Equal(30 * time.Second))
	w.remove(get[corev1.Service](w, "front-proxy"))
	w.settle(aFront, "front")
	w.Expect(w.frontCondition("Accepted")).To(gomega.HavePrefix("True"))
	w.settle(aFront, "front")
	w.Expect(w.frontStatus().Address).To(gomega.Equal("play.example.org"))
}

func takenPort(w *world) {
	other := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "other"}}
	other.Spec = corev1.ServiceSpec{Type: corev1.ServiceTypeNodePort, Ports: []corev1.ServicePort{{Port: 80, NodePort: 30567}}}
	w.create(other)
	w.front(1, byPort(30567))
	w.Expect(w.frontCondition("Accepted")).To(gomega.And(
		gomega.HavePrefix("False ServiceRefused"), gomega.ContainSubstring("port is already allocated")))
	w.Expect(w.proxyNames()).To(gomega.HaveLen(1), "the proxies need not wait for it")
}

func withdrawnAndBack(w *world) {
	w.front(2, byAddress())
	w.runProxies()
	names := w.proxyNames()
	w.Expect(w.told()).To(gomega.ContainSubstring("Normal ProxyCreated " + names[0] + ": replicas is 2"))
	w.hear(names[0], 5)
	w.hear(names[1], 2)
	edit(w, "front", func(g *v1alpha1.ProxyGroup) { g.Spec.Replicas = 1 })
	w.settle(aFront, "front")
	w.Expect(w.told()).To(gomega.ContainSubstring("Normal ProxyWithdrawn " + names[1] + ": replicas is 1"))
	w.Expect(get[corev1.Pod](w, names[1]).Annotations).To(gomega.HaveKey(podspec.AnnotationWithdrawnAt), "it has the fewest players")
	w.Expect(get[corev1.Pod](w, names[0]).Annotations).NotTo(gomega.HaveKey(podspec.AnnotationWithdrawnAt))
	w.Expect(w.lastSettings(names[1]).GetWithdrawn()).To(gomega.BeTrue())
	w.Expect(w.proxyNames()).To(gomega.HaveLen(2))
	edit(w, "front", func(g *v1alpha1.ProxyGroup) { g.Spec.Replicas = 2 })
	w.settle(aFront, "front")
	w.Expect(get[corev1.Pod](w, names[1]).Annotations).NotTo(gomega.HaveKey(podspec.AnnotationWithdrawnAt))
	w.Expect(w.lastSettings(names[1]).GetWithdrawn()).To(gomega.BeFalse())
	w.Expect(w.told()).To(gomega.ContainSubstring("Normal ProxyTakenBack " + names[1] + ": replicas is 2 again"))
	w.Expect(w.proxyNames()).To(gomega.ConsistOf(names), "it is taken back, not made anew")
}

// lastSettings are those that the proxy in a pod was sent last.
func (w *world) lastSettings(pod string) *agentv1alpha1.ProxySettings {
	w.t.Helper()
	var last *agentv1alpha1.ProxySettings
	for _, order := range w.orders(pod) {
		if settings := order.GetSettings(); settings != nil {
			last = settings
		}
	}
	return last
}

// orders are those that wait for the proxy in a pod.
func (w *world) orders(pod string) []*agentv1alpha1.ProxyOrder {
	w.t.Helper()
	session := w.proxies[get[corev1.Pod](w, pod).UID]
	var all []*agentv1alpha1.ProxyOrder
	for {
		ctx, cancel := context.WithTimeout(w.t.Context(), 100*time.Millisecond)
		order, err := session.Next(ctx)
		cancel()
		if err != nil {
			return all
		}
		all = append(all, order)
	}
}

// withdrawOne lowers a group of two by one, and returns who goes.
func withdrawOne(w *world) string {
	w.front(2, byAddress())
	w.runProxies()
	names := w.proxyNames()
	w.hear(names[0], 5)
	w.hear(names[1], 2)
	edit(w, "front", func(g *v1alpha1.ProxyGroup) { g.Spec.Replicas = 1 })
	w.settle(aFront, "front")
	return names[1]
}

func withdrawnGoes(w *world) {
	leaving := withdrawOne(w)
	w.clock.Step(11 * time.Second)
	w.settle(aFront, "front")
	w.Expect(w.proxyNames()).To(gomega.ContainElement(leaving), "silence is no proof")
	w.hear(leaving, 0)
	w.settle(aFront, "front")
	w.Expect(w.proxyNames()).NotTo(gomega.ContainElement(leaving))
	w.Expect(w.told()).To(gomega.ContainSubstring("Normal ProxyDeleted " + leaving + ": nobody is on it"))
}

func withdrawnDeadline(w *world) {
	leaving := withdrawOne(w)
	drain := time.Duration(podspec.ProxyDrainSeconds(get[v1alpha1.ProxyGroup](w, "front"))) * time.Second
	w.clock.Step(5 * time.Second) // and the budget is as low as it gets
	w.settle(aFront, "front")
	result := w.settle(aFront, "front")
	w.Expect(result.RequeueAfter).To(gomega.BeNumerically("~", drain, 6*time.Second), "the deadline wakes it")
	w.clock.Step(drain + time.Second)
	w.hear(leaving, 2)
	w.settle(aFront, "front")
	w.Expect(w.proxyNames()).NotTo(gomega.ContainElement(leaving))
}

func settingsSent(w *world) {
	w.front(1, byAddress())
	w.runProxies()
	name := w.proxyNames()[0]
	w.hear(name, 0)
	edit(w, "front", func(g *v1alpha1.ProxyGroup) { g.Spec.Config.MOTD = "welcome" })
	edit(w, "production", func(n *v1alpha1.Network) {
		n.Spec.Permissions = []v1alpha1.PermissionGroup{{Name: "admins", Players: []string{"Alex"}, Permissions: []string{"*"}}}
	})
	w.settle(aFront, "front")
	settings := w.lastSettings(name)
	w.Expect(settings.GetMotd()).To(gomega.Equal("welcome"))
	w.Expect(settings.GetOnlineMode()).To(gomega.BeTrue())
	w.Expect(settings.GetFallbackGroups()).To(gomega.Equal([]string{"hub"}))
	w.Expect(settings.GetPermissions()).To(gomega.HaveLen(1))
	w.Expect(w.proxyNames()).To(gomega.ConsistOf(name), "nothing of this rolls a proxy")
}

func proxyQuota(w *world) {
	quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "none"}}
	quota.Spec.Hard = noPods()
	w.create(quota)
	quota.Status.Hard, quota.Status.Used = noPods(), noPods()
	w.Expect(w.Client.Status().Update(w.t.Context(), quota)).To(gomega.Succeed())
	w.front(1, byAddress())
	w.Eventually(func() string {
		w.pass(aFront, "front")
		return w.frontCondition("Accepted")
	}, 10*time.Second).Should(gomega.HavePrefix("False QuotaExceeded"))
}

func frontWithoutNetwork(w *world) {
	w.front(1, byAddress())
	w.runProxies()
	w.remove(get[v1alpha1.Network](w, "production"))
	edit(w, "front", func(g *v1alpha1.ProxyGroup) { g.Spec.Replicas = 2 })
	w.settle(aFront, "front")
	w.Expect(w.frontCondition("Accepted")).To(gomega.HavePrefix("False NetworkNotFound"))
	w.Expect(w.proxyNames()).To(gomega.HaveLen(1))
	w.Expect(w.frontStatus().Address).To(gomega.Equal("play.example.org"), "it still answers there")
}

func frontRestart(w *world) {
	w.front(2, byAddress())
	w.runProxies()
	for _, name := range w.proxyNames() {
		w.hear(name, 3)
	}
	w.clock.Step(15 * time.Second)
	for _, name := range w.proxyNames() {
		w.hear(name, 3)
	}
	w.settle(aFront, "front")
	before := w.frontStatus()
	w.Expect(before.ConnectedPlayers).To(gomega.HaveValue(gomega.BeEquivalentTo(6)))
	w.restart()
	w.settle(aFront, "front")
	w.Expect(w.frontStatus()).To(gomega.Equal(before))
	edit(w, "front", func(g *v1alpha1.ProxyGroup) { g.Spec.Replicas = 1 })
	w.settle(aFront, "front")
	w.Expect(w.proxyNames()).To(gomega.HaveLen(2), "unknown is occupied")
}

func addressesHidden(w *world) {
	w.front(1, byPort(30568))
	w.Expect(w.frontCondition("ClientAddressHidden")).To(gomega.HavePrefix("False PlayerAddresses"))
	edit(w, "front", func(g *v1alpha1.ProxyGroup) {
		g.Spec.Expose.NodePort.ExternalTrafficPolicy = v1alpha1.TrafficCluster
	})
	w.settle(aFront, "front")
	w.Expect(w.frontCondition("ClientAddressHidden")).To(gomega.HavePrefix("True ClusterAddresses"))
	w.Expect(w.told()).To(gomega.ContainSubstring("Warning ClusterAddresses"))
	w.Expect(get[corev1.Service](w, "front-proxy").Spec.ExternalTrafficPolicy).To(
		gomega.Equal(corev1.ServiceExternalTrafficPolicyCluster))
	w.runProxies()
	w.origins = &agentv1alpha1.LoginOrigins{Logins: 40}
	w.hear(w.proxyNames()[0], 3)
	w.settle(aFront, "front")
	w.Expect(w.frontCondition("ClientAddressHidden")).To(gomega.HavePrefix("False PlayerAddresses"), "whatever the way, players are seen")
	w.origins = &agentv1alpha1.LoginOrigins{Logins: 41, FromCluster: 40}
	w.hear(w.proxyNames()[0], 3)
	w.settle(aFront, "front")
	w.Expect(w.frontCondition("ClientAddressHidden")).To(gomega.HavePrefix("True ClusterAddresses"))
}

func laggingProxies(w *world) {
	w.cache.hidePods = true
	w.front(1, byAddress())
	result := w.pass(aFront, "front")
	w.Expect(w.pods(podspec.RoleProxy)).To(gomega.HaveLen(1))
	w.Expect(result.RequeueAfter).To(gomega.BeNumerically("~", 30*time.Second, time.Second))
}

func evictedProxy(w *world) {
	w.front(1, byAddress())
	w.runProxies()
	name := w.proxyNames()[0]
	w.podStatus(name, func(pod *corev1.Pod) { pod.Status.Phase = corev1.PodFailed })
	w.settle(aFront, "front")
	w.Expect(w.proxyNames()).NotTo(gomega.ContainElement(name))
	w.Expect(w.proxyNames()).To(gomega.HaveLen(1))
}

func serviceChanges(w *world) {
	w.front(1, byPort(30569))
	uid := get[corev1.Service](w, "front-proxy").UID
	edit(w, "front", func(g *v1alpha1.ProxyGroup) { g.Spec.Expose = byAddress() })
	w.settle(aFront, "front")
	service := get[corev1.Service](w, "front-proxy")
	w.Expect(service.Spec.Type).To(gomega.Equal(corev1.ServiceTypeClusterIP))
	w.Expect(service.UID).To(gomega.Equal(uid))
	edit(w, "front", func(g *v1alpha1.ProxyGroup) { g.Spec.Expose = byPort(30570) })
	w.settle(aFront, "front")
	w.Expect(get[corev1.Service](w, "front-proxy").Spec.Ports[0].NodePort).To(gomega.BeEquivalentTo(30570))
	w.Expect(w.frontCondition("Accepted")).To(gomega.HavePrefix("True"))
}
