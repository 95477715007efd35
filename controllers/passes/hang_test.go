// SPDX-License-Identifier: Apache-2.0

package passes

import (
	"time"

	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/podspec"
)

// hangPasses are about servers that stop saying anything new: whose game hangs,
// and who are merely cut off.
func hangPasses() map[string]func(*world) {
	return map[string]func(*world){
		"a game that hangs is given up, its players moved, and it is replaced": hungIsReplaced,
		"so is one whose pod is not ready any more":                            hungUnready,
		"an old count under a fresh report is a game that hangs":               oldCount,
		"a server that is cut off is left alone":                               cutOffStays,
		"a round that ends counts as no failure":                               tenRounds,
	}
}

// hangs repeats what an agent says about a server for a while.
func (w *world) hangs(name string, long time.Duration, say func()) {
	w.t.Helper()
	for end := w.clock.Now().Add(long); w.clock.Now().Before(end); {
		w.clock.Step(5 * time.Second)
		say()
		w.settle(aServer, name)
	}
}

// notAnswering is an agent's word on a game that hangs with three players.
func notAnswering() *agentv1alpha1.ServerReport {
	return &agentv1alpha1.ServerReport{
		GameState: agentv1alpha1.GameState_GAME_STATE_NOT_ANSWERING, Online: 3, Slots: 50, JoinsOpen: true,
		Forwarding: agentv1alpha1.ForwardingState_FORWARDING_STATE_ACTIVE,
	}
}

// checkReplaced looks at a server whose game hung with players on it, and at
// its group.
func (w *world) checkReplaced(name string) {
	w.t.Helper()
	status := w.serverStatus(name)
	w.Expect(status.Phase).To(gomega.Equal(v1alpha1.ServerFailed))
	w.Expect(condition(status.Conditions, "Ready")).To(gomega.HavePrefix("False Unresponsive: The game has not answered its agent for 5m0s"))
	w.Expect(status.Registered).To(gomega.HaveValue(gomega.BeFalse()))
	w.Expect(status.DrainStartedAt).NotTo(gomega.BeNil(), "the proxies move its players")
	w.Expect(get[corev1.Pod](w, name).DeletionTimestamp).To(gomega.BeNil(), "it is kept to be looked at")
	w.clock.Step(10 * time.Second)
	w.settle(aGroup, "hub")
	w.Expect(w.newcomers(name)).To(gomega.HaveLen(1), "another takes its place")
	w.Expect(w.groupStatus("hub").ConsecutiveFailures).To(gomega.HaveValue(gomega.BeEquivalentTo(1)))
}

// hanging is a server with players, and what its agent says while its game hangs.
func (w *world) hanging() (string, func()) {
	w.t.Helper()
	name := w.hubs(1)[0]
	w.report(name, 3)
	w.settle(aServer, name)
	asked := w.clock.Now()
	return name, func() { w.sayOf(name, notAnswering(), asked) }
}

func hungIsReplaced(w *world) {
	name, hang := w.hanging()
	w.hangs(name, 5*time.Minute, hang)
	w.Expect(w.serverStatus(name).Phase).To(gomega.Equal(v1alpha1.ServerReady), "it may come back")
	w.Expect(w.labelled()).To(gomega.BeEmpty(), "its group has not looked yet")
	w.pass(aGroup, "hub")
	w.Expect(w.labelled()).To(gomega.ConsistOf(name), "nobody knows how many are on it")
	w.hangs(name, 5*time.Second, hang)
	w.checkReplaced(name)
}

// hungUnready is what a kubelet makes of it: the agent's own probe fails.
func hungUnready(w *world) {
	name, hang := w.hanging()
	w.hangs(name, 20*time.Second, hang)
	w.podStatus(name, func(pod *corev1.Pod) { pod.Status.Conditions = nil })
	w.settle(aServer, name)
	w.Expect(w.serverStatus(name).Phase).To(gomega.Equal(v1alpha1.ServerStarting), "nobody new is sent there")
	w.hangs(name, 280*time.Second, hang)
	w.Expect(w.serverStatus(name).Phase).To(gomega.Equal(v1alpha1.ServerStarting))
	w.hangs(name, 5*time.Second, hang)
	w.checkReplaced(name)
}

// oldCount is an agent that does not notice that its game hangs, and goes on
// sending the last number.
func oldCount(w *world) {
	name := w.hubs(1)[0]
	w.report(name, 3)
	w.settle(aServer, name)
	counted := w.clock.Now()
	repeat := func() {
		w.sayOf(name, &agentv1alpha1.ServerReport{
			GameState: agentv1alpha1.GameState_GAME_STATE_READY, Online: 3, Slots: 50, JoinsOpen: true,
			Forwarding: agentv1alpha1.ForwardingState_FORWARDING_STATE_ACTIVE,
		}, counted)
	}
	w.hangs(name, 305*time.Second, repeat)
	w.Expect(w.serverStatus(name).Phase).To(gomega.Equal(v1alpha1.ServerReady))
	w.Expect(w.serverStatus(name).Players).To(gomega.BeNil(), "an old count is no count")
	w.hangs(name, 5*time.Second, repeat)
	w.checkReplaced(name)
}

func cutOffStays(w *world) {
	name := w.hubs(1)[0]
	w.report(name, 3)
	w.settle(aServer, name)
	w.agents[types.UID(w.serverStatus(name).PodUID)].Close()
	w.hangs(name, 20*time.Minute, func() {})
	w.tick()
	status := w.serverStatus(name)
	w.Expect(status.Phase).To(gomega.Equal(v1alpha1.ServerReady))
	w.Expect(status.Registered).To(gomega.HaveValue(gomega.BeTrue()), "who is on it stays, and may come back")
	w.Expect(status.ReadinessLosses).To(gomega.HaveValue(gomega.BeZero()))
	w.Expect(status.Players).To(gomega.BeNil())
	w.Expect(w.newcomers(name)).To(gomega.BeEmpty())
	w.Expect(w.groupStatus("hub").FreeSlots).To(gomega.HaveValue(gomega.BeZero()), "nobody is sent there unasked")
	w.Expect(podspec.OccupancyOf(get[corev1.Pod](w, name))).To(gomega.Equal(podspec.Occupied))
}

// tenRounds plays ten rounds that end with code 0, more than failures would be
// forgiven.
func tenRounds(w *world) {
	w.hubOf(1, 2)
	for range 10 {
		name := w.hubNames()[0]
		w.serve(name, 5)
		w.clock.Step(10 * time.Minute)
		w.exit(name, 0)
		w.settle(aServer, name)
		w.Expect(w.serverCondition(name, "Ready")).To(gomega.HavePrefix("False RoundEnded"))
		w.settle(aGroup, "hub")
		w.Expect(w.newcomers(name)).To(gomega.HaveLen(1), "it is replaced at once")
		w.Expect(w.groupStatus("hub").ConsecutiveFailures).To(gomega.HaveValue(gomega.BeZero()))
		w.end(name)
		w.settle(aServer, name)
		w.Expect(w.gone(aServer, name)).To(gomega.BeTrue(), "nothing of it is kept")
	}
}
