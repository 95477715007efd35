// SPDX-License-Identifier: Apache-2.0

package passes

import (
	"slices"
	"time"

	"github.com/onsi/gomega"
	"google.golang.org/protobuf/types/known/timestamppb"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/podspec"
	"github.com/spawnery/spawnery-operator/internal/sessions"
)

// exchangePasses are about proxies that cannot stay as they are.
func exchangePasses() map[string]func(*world) {
	return map[string]func(*world){
		"an edit exchanges proxies one at a time":           editExchanges,
		"an edit that is taken back ends a broken exchange": brokenExchange,
		"what goes over the channel exchanges nobody":       channelExchangesNobody,
		"one group of a Network at a time":                  groupsTakeTurns,
		"a proxy leaves a node that leaves":                 proxyLeavesNode,
		"a cordon of every node exchanges nobody":           everyProxyNodeCordoned,
		"a port of the node makes room first":               hostPortMakesRoom,
		"a budget protects the proxies with players":        proxiesProtected,
		"a budget's name that is taken is told":             proxyBudgetTaken,
	}
}

// knows has the proxy in a pod report players, and that it holds the whole
// directory.
func (w *world) knows(pod string, players int) {
	w.t.Helper()
	w.hear(pod, players)
	w.store.SetDirectory(client.ObjectKey{Namespace: w.namespace, Name: "production"}, sessions.Directory{})
	w.orders(pod)
	report := &agentv1alpha1.ProxyReport{SampledAt: timestamppb.New(w.clock.Now()), DirectoryRevision: 1 << 60}
	for range players {
		report.Roster = append(report.Roster, &agentv1alpha1.RosterEntry{})
	}
	w.Expect(w.proxies[get[corev1.Pod](w, pod).UID].Receive(&agentv1alpha1.ProxyMessage{
		Message: &agentv1alpha1.ProxyMessage_Report{Report: report},
	})).To(gomega.Succeed())
}

// freshProxy is the one proxy that was not there before.
func (w *world) freshProxy(before ...string) string {
	w.t.Helper()
	now := slices.DeleteFunc(w.proxyNames(), func(name string) bool { return slices.Contains(before, name) })
	w.Expect(now).To(gomega.HaveLen(1))
	return now[0]
}

func (w *world) isWithdrawn(pod string) bool {
	return get[corev1.Pod](w, pod).Annotations[podspec.AnnotationWithdrawnAt] != ""
}

func (w *world) largerFront() {
	edit(w, "front", func(g *v1alpha1.ProxyGroup) { g.Spec.Image = "example.test/proxy:2" })
	w.settle(aFront, "front")
}

func editExchanges(w *world) {
	w.front(2, byAddress())
	w.runProxies()
	old := w.proxyNames()
	w.knows(old[0], 5)
	w.knows(old[1], 2)
	w.told()
	w.largerFront()
	first := w.freshProxy(old...)
	w.Expect(w.told()).To(gomega.ContainSubstring("Normal ProxyCreated " + first + ": it replaces " + old[1] + ", which is of an old spec"))
	w.Expect(w.frontCondition("Progressing")).To(gomega.Equal("True RollingOut: 2 of 2 proxies are ready, 2 of them to be replaced: " + first + " is to be ready and to know the servers"))
	w.run(first)
	w.settle(aFront, "front")
	w.Expect(w.isWithdrawn(old[1])).To(gomega.BeFalse(), "it does not know where to send players yet")
	w.knows(first, 0)
	w.settle(aFront, "front")
	w.Expect(w.isWithdrawn(old[1])).To(gomega.BeTrue(), "it has the fewest players")
	w.Expect(w.isWithdrawn(old[0])).To(gomega.BeFalse())
	w.Expect(w.proxyNames()).To(gomega.HaveLen(3), "the next waits until it has gone")
	w.knows(old[1], 0)
	w.settle(aFront, "front")
	w.settle(aFront, "front") // its end wakes the group
	second := w.freshProxy(old[0], first)
	w.run(second)
	w.knows(second, 0)
	w.settle(aFront, "front")
	w.Expect(w.isWithdrawn(old[0])).To(gomega.BeTrue())
	w.knows(old[0], 0)
	w.settle(aFront, "front")
	w.settle(aFront, "front")
	w.Expect(w.proxyNames()).To(gomega.ConsistOf(first, second))
	w.Expect(w.frontCondition("Progressing")).To(gomega.Equal("False Settled: 2 of 2 proxies are ready"))
}

func brokenExchange(w *world) {
	w.front(1, byAddress())
	w.runProxies()
	old := w.proxyNames()[0]
	w.knows(old, 5)
	w.largerFront()
	broken := w.freshProxy(old)
	w.clock.Step(time.Hour)
	w.knows(old, 5)
	w.settle(aFront, "front")
	w.Expect(w.isWithdrawn(old)).To(gomega.BeFalse(), "nothing takes its place")
	edit(w, "front", func(g *v1alpha1.ProxyGroup) { g.Spec.Image = "" })
	w.settle(aFront, "front")
	w.Expect(w.proxyNames()).To(gomega.ConsistOf(old), broken+" was never up")
	w.Expect(w.isWithdrawn(old)).To(gomega.BeFalse())
}

func channelExchangesNobody(w *world) {
	w.front(1, byPort(30573))
	w.runProxies()
	before := w.proxyNames()
	w.knows(before[0], 1)
	edit(w, "front", func(g *v1alpha1.ProxyGroup) {
		g.Spec.Expose, g.Spec.Config.MOTD, g.Spec.Drain.TimeoutSeconds = byAddress(), "hello", 99
		g.Spec.Routing.FallbackGroups = []string{"lobby"}
	})
	w.settle(aFront, "front")
	w.Expect(w.proxyNames()).To(gomega.Equal(before))
	w.Expect(w.frontCondition("Progressing")).To(gomega.HavePrefix("False Settled"))
}

func groupsTakeTurns(w *world) {
	w.front(1, byAddress())
	other := get[v1alpha1.ProxyGroup](w, "front").DeepCopy()
	other.ObjectMeta = metav1.ObjectMeta{Name: "side"}
	w.create(other)
	w.settle(aFront, "side")
	w.runProxies()
	w.settle(aFront, "side")
	pods := func(group string) []string {
		return slices.DeleteFunc(w.proxyNames(), func(name string) bool {
			return get[corev1.Pod](w, name).Labels[podspec.LabelGroup] != group
		})
	}
	old := pods("front")[0]
	w.knows(old, 0)
	w.largerFront()
	edit(w, "side", func(g *v1alpha1.ProxyGroup) { g.Spec.Image = "example.test/proxy:2" })
	result := w.settle(aFront, "side")
	side := func() string { return condition(get[v1alpha1.ProxyGroup](w, "side").Status.Conditions, "Progressing") }
	w.Expect(pods("side")).To(gomega.HaveLen(1))
	w.Expect(side()).To(gomega.HaveSuffix("1 of them to be replaced: ProxyGroup front of the same Network exchanges one first; its own condition Progressing says how that goes"))
	w.Expect(result.RequeueAfter).To(gomega.BeNumerically("~", 5*time.Second, time.Second))
	fresh := slices.DeleteFunc(pods("front"), func(name string) bool { return name == old })[0]
	w.run(fresh)
	w.knows(fresh, 0)
	w.settle(aFront, "front")
	w.Expect(pods("front")).To(gomega.ConsistOf(fresh))
	w.clock.Step(11 * time.Second)
	w.settle(aFront, "side")
	w.Expect(pods("side")).To(gomega.HaveLen(2), "its turn has come")
}

// on binds the pod of a proxy to a node, and has it run there.
func (w *world) on(pod, node string) {
	w.t.Helper()
	w.Expect(w.Client.SubResource("binding").Create(w.t.Context(), get[corev1.Pod](w, pod),
		&corev1.Binding{Target: corev1.ObjectReference{Kind: "Node", Name: node}})).To(gomega.Succeed())
	w.run(pod)
}

func proxyLeavesNode(w *world) {
	w.front(1, byAddress())
	old := w.proxyNames()[0]
	w.on(old, nodeName)
	w.knows(old, 3)
	w.settle(aFront, "front")
	w.Expect(w.frontCondition("NodeDraining")).To(gomega.HavePrefix("False NoNodesDraining"))
	w.cordon(nodeName)
	w.settle(aFront, "front")
	fresh := w.freshProxy(old)
	w.Expect(w.frontCondition("NodeDraining")).To(gomega.HavePrefix("True NodeDraining: " + old + " on node1"))
	w.on(fresh, otherNode)
	w.knows(fresh, 0)
	w.settle(aFront, "front")
	w.Expect(w.isWithdrawn(old)).To(gomega.BeTrue())
	w.Expect(w.told()).To(gomega.ContainSubstring("Normal ProxyWithdrawn " + old + ": it is on a node that leaves, and another one takes its place"))
}

func everyProxyNodeCordoned(w *world) {
	w.front(1, byAddress())
	old := w.proxyNames()[0]
	w.on(old, nodeName)
	w.knows(old, 3)
	w.cordon(nodeName)
	w.cordon(otherNode)
	w.settle(aFront, "front")
	w.Expect(w.proxyNames()).To(gomega.ConsistOf(old))
	w.Expect(w.frontCondition("NodeDraining")).To(gomega.And(
		gomega.HavePrefix("True NodeDraining: "+old), gomega.ContainSubstring("nowhere else to go")))
}

func hostPortMakesRoom(w *world) {
	w.front(1, v1alpha1.Expose{Type: v1alpha1.ExposeHostPort, HostPort: v1alpha1.ExposeByHostPort{Port: 25577}})
	old := w.proxyNames()[0]
	w.on(old, nodeName)
	w.knows(old, 3)
	w.settle(aFront, "front")
	w.Expect(w.frontStatus().Address).To(gomega.Equal("203.0.113.7:25577"))
	edit(w, "front", func(g *v1alpha1.ProxyGroup) { g.Spec.Expose.HostPort.Port = 25578 })
	w.settle(aFront, "front")
	fresh := w.freshProxy(old)
	w.Expect(w.frontStatus().Address).To(gomega.Equal("203.0.113.7:25577"), "that is where one answers")
	w.podStatus(fresh, func(pod *corev1.Pod) {
		pod.Status.Conditions = []corev1.PodCondition{{
			Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable,
			Message: "0/2 nodes are available", LastTransitionTime: metav1.NewTime(w.clock.Now()),
		}}
	})
	w.settle(aFront, "front")
	w.Expect(w.isWithdrawn(old)).To(gomega.BeFalse(), "an autoscaler may bring a node")
	w.clock.Step(61 * time.Second)
	w.knows(old, 3)
	w.settle(aFront, "front")
	w.Expect(w.isWithdrawn(old)).To(gomega.BeTrue())
	w.Expect(w.frontCondition("Progressing")).To(gomega.HavePrefix("False NoNodeToSurge: "))
	w.Expect(w.frontCondition("Progressing")).To(gomega.HaveSuffix(
		"no node takes " + fresh + " (0/2 nodes are available), so " + old + " is withdrawn first, and goes when its players have left"))
	w.knows(old, 0)
	w.settle(aFront, "front")
	w.Expect(w.proxyNames()).To(gomega.ConsistOf(fresh))
}

// proxyBudget is how many occupied proxies must stay, and which carry the label.
func (w *world) proxyBudget() (int, []string) {
	w.t.Helper()
	var labelled []string
	for _, pod := range w.pods(podspec.RoleProxy) {
		if podspec.OccupancyOf(&pod) == podspec.Occupied {
			labelled = append(labelled, pod.Name)
		}
	}
	return get[policyv1.PodDisruptionBudget](w, "front-proxy").Spec.MinAvailable.IntValue(), labelled
}

func proxiesProtected(w *world) {
	w.front(2, byAddress())
	w.runProxies()
	names := w.proxyNames()
	w.hear(names[0], 3)
	w.hear(names[1], 0)
	w.settle(aFront, "front")
	w.clock.Step(5 * time.Second)
	w.hear(names[0], 3)
	w.hear(names[1], 0)
	w.settle(aFront, "front")
	demanded, labelled := w.proxyBudget()
	w.Expect(labelled).To(gomega.ConsistOf(names[0]))
	w.Expect(demanded).To(gomega.Equal(1))
	w.hear(names[1], 5)
	edit(w, "front", func(g *v1alpha1.ProxyGroup) { g.Spec.Replicas = 1 })
	w.settle(aFront, "front")
	_, labelled = w.proxyBudget()
	w.Expect(labelled).To(gomega.ConsistOf(names[1]), "the other is withdrawn, and holds up no node")
	w.remove(get[v1alpha1.Network](w, "production"))
	w.hear(names[1], 0)
	w.settle(aFront, "front")
	_, labelled = w.proxyBudget()
	w.Expect(labelled).To(gomega.BeEmpty(), "also without its Network")
}

func proxyBudgetTaken(w *world) {
	foreign := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Name: "front-proxy"}}
	foreign.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "other"}}
	w.create(foreign)
	w.front(1, byAddress())
	w.runProxies()
	w.Expect(w.frontCondition("Accepted")).To(gomega.HavePrefix(
		"False BudgetRefused: poddisruptionbudget front-proxy exists and does not belong to this group; delete it"))
	w.remove(foreign)
	w.settle(aFront, "front")
	w.Expect(w.frontCondition("Accepted")).To(gomega.HavePrefix("True"))
}
