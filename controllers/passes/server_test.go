// SPDX-License-Identifier: Apache-2.0

package passes

import (
	"time"

	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/podspec"
)

func serverPasses() map[string]func(*world) {
	return map[string]func(*world){
		"a foreign pod holds the name":                            foreignPodHoldsTheName,
		"a terminating pod holds the name":                        terminatingPodHoldsTheName,
		"the group is gone":                                       groupGone,
		"the Network is gone and what runs is kept":               networkGone,
		"a quota refuses the pod until it is raised":              quotaRefuses,
		"admission refuses the pod":                               admissionRefuses,
		"a deleted server drains":                                 drains,
		"a drain ends at its deadline":                            drainDeadline,
		"an empty server goes at once":                            emptyGoes,
		"a failed server stays for its retention":                 failsAndStays,
		"a game that ends with code 0 is replaced":                roundEnds,
		"a round that a plugin ended is no failure however short": shortRoundEnds,
		"a pod made by a pass that could not note it":             statusLost,
		"two passes on one stale object make one pod":             staleTwice,
		"a stale pass takes nothing back":                         staleTakesNothingBack,
		"another manager keeps everything":                        restartKeeps,
		"the startup deadline fails a server":                     startupDeadline,
		"two Servers on one ordinal":                              twoOnOneOrdinal,
		"a surplus ordinal says so":                               surplusOrdinal,
		"a spec edited before the pod is the pod's":               editedBeforeThePod,
		"a spec edited after a pod nobody sees yet":               editedAfterThePodUnseen,
		"forwarding is told and kept":                             forwarding,
	}
}

var aServer = &v1alpha1.Server{}

func (w *world) serverCondition(name, kind string) string {
	w.t.Helper()
	return condition(w.serverStatus(name).Conditions, kind)
}

// foreignPod holds the name of survival-0 and is nobody's.
func (w *world) foreignPod(node string) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "survival-0"}}
	pod.Spec.NodeName = node
	pod.Spec.Containers = []corev1.Container{{Name: "other", Image: "example.test/other"}}
	pod.Finalizers = []string{"example.test/held"}
	w.create(pod)
	return pod
}

func (w *world) unhold(pod *corev1.Pod) {
	edit(w, pod.Name, func(p *corev1.Pod) { p.Finalizers = nil })
	if !w.gone(pod, pod.Name) {
		w.end(pod.Name)
	}
}

func foreignPodHoldsTheName(w *world) {
	w.ordinal()
	w.told()
	pod := w.foreignPod("")
	for range 3 {
		result := w.settle(aServer, "survival-0")
		w.Expect(result.RequeueAfter).To(gomega.Equal(5 * time.Second))
		status := w.serverStatus("survival-0")
		w.Expect(status.Phase).To(gomega.Equal(v1alpha1.ServerPending))
		w.Expect(status.StartedAt).To(gomega.BeNil(), "the clock is suspended")
		w.Expect(condition(status.Conditions, "Accepted")).To(gomega.HavePrefix("False PodNameConflict: pod survival-0 "))
		w.clock.Step(time.Hour)
	}
	w.Expect(w.told()).To(gomega.MatchRegexp("^Warning PodNameConflict [^\n]*$"), "one event, however often it is looked at")
	w.unhold(pod)
	w.settle(aServer, "survival-0")
	w.Expect(w.serverCondition("survival-0", "Accepted")).To(gomega.HavePrefix("True Accepted"))
	w.Expect(w.serverStatus("survival-0").PodUID).To(gomega.BeEquivalentTo(get[corev1.Pod](w, "survival-0").UID))
	w.Expect(w.serverStatus("survival-0").StartedAt.Time).To(gomega.BeTemporally("~", w.clock.Now(), time.Second))
}

func terminatingPodHoldsTheName(w *world) {
	w.ordinal()
	pod := w.foreignPod(nodeName)
	w.remove(pod)
	w.settle(aServer, "survival-0")
	w.clock.Step(24 * time.Hour)
	w.settle(aServer, "survival-0")
	w.Expect(w.serverStatus("survival-0").Phase).To(gomega.Equal(v1alpha1.ServerPending), "never Failed")
	w.Expect(w.serverCondition("survival-0", "Accepted")).To(gomega.And(
		gomega.HavePrefix("False PodNameTerminating: pod survival-0 "), gomega.ContainSubstring(nodeName)))
	w.settle(aGroup, "survival")
	w.Expect(w.groupStatus("survival").ConsecutiveFailures).To(gomega.HaveValue(gomega.BeZero()))
	w.unhold(pod)
	w.settle(aServer, "survival-0")
	w.Expect(w.serverStatus("survival-0").PodName).To(gomega.Equal("survival-0"))
}

func groupGone(w *world) {
	w.ordinal()
	w.remove(get[v1alpha1.ServerGroup](w, "survival"))
	w.settle(aServer, "survival-0")
	w.Expect(w.serverCondition("survival-0", "Accepted")).To(gomega.HavePrefix("False GroupNotFound: ServerGroup survival "))
	w.create(survival(1))
	w.settle(aServer, "survival-0")
	w.Expect(w.serverCondition("survival-0", "Accepted")).To(gomega.HavePrefix("False GroupNotFound"),
		"a group made again under the name is another")
	w.Expect(w.pods(podspec.RoleServer)).To(gomega.BeEmpty())
}

func networkGone(w *world) {
	w.ordinal()
	w.serve("survival-0", 3)
	w.remove(get[v1alpha1.Network](w, "production"))
	w.settle(aServer, "survival-0")
	status := w.serverStatus("survival-0")
	w.Expect(condition(status.Conditions, "Accepted")).To(gomega.HavePrefix("False NetworkNotFound"))
	w.Expect(status.Phase).To(gomega.Equal(v1alpha1.ServerReady))
	w.Expect(status.Registered).To(gomega.HaveValue(gomega.BeTrue()))
}

func noPods() corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourcePods: resource.MustParse("0")}
}

func quotaRefuses(w *world) {
	w.ordinal()
	quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "none"}}
	quota.Spec.Hard = noPods()
	w.create(quota)
	quota.Status.Hard, quota.Status.Used = quota.Spec.Hard, quota.Spec.Hard
	w.Expect(w.Client.Status().Update(w.t.Context(), quota)).To(gomega.Succeed())
	w.Eventually(func() string {
		w.pass(aServer, "survival-0")
		return w.serverCondition("survival-0", "Accepted")
	}, 10*time.Second).Should(gomega.And(gomega.HavePrefix("False QuotaExceeded"), gomega.ContainSubstring("exceeded quota: none")))
	w.Expect(w.serverStatus("survival-0").Phase).To(gomega.Equal(v1alpha1.ServerPending))
	w.Expect(w.settle(aServer, "survival-0").RequeueAfter).To(gomega.Equal(30 * time.Second))
	w.remove(quota)
	w.Eventually(func() string {
		w.pass(aServer, "survival-0")
		return w.serverStatus("survival-0").PodName
	}, 10*time.Second).Should(gomega.Equal("survival-0"))
}

// admissionRefuses stands for whatever admission an owner's cluster has: ours
// are pods that Pod Security's strictest level takes.
func admissionRefuses(w *world) {
	w.ordinal()
	limits := &corev1.LimitRange{ObjectMeta: metav1.ObjectMeta{Name: "tiny"}}
	limits.Spec.Limits = []corev1.LimitRangeItem{{
		Type: corev1.LimitTypePod, Max: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("1Mi")},
	}}
	w.create(limits)
	w.Eventually(func() string {
		w.pass(aServer, "survival-0")
		return w.serverCondition("survival-0", "Accepted")
	}, 10*time.Second).Should(gomega.And(gomega.HavePrefix("False PodRefused"), gomega.ContainSubstring("memory")))
}

func drains(w *world) {
	w.ordinal()
	w.serve("survival-0", 3)
	w.remove(get[v1alpha1.Server](w, "survival-0"))
	w.settle(aServer, "survival-0")
	status := w.serverStatus("survival-0")
	w.Expect(status.Phase).To(gomega.Equal(v1alpha1.ServerDraining))
	w.Expect(status.Registered).To(gomega.HaveValue(gomega.BeFalse()))
	w.Expect(get[corev1.Pod](w, "survival-0").DeletionTimestamp).To(gomega.BeNil(), "players are on it")
	w.clock.Step(20 * time.Second)
	w.report("survival-0", 0)
	w.settle(aServer, "survival-0")
	w.Expect(w.serverStatus("survival-0").Phase).To(gomega.Equal(v1alpha1.ServerTerminating))
	w.Expect(get[corev1.Pod](w, "survival-0").DeletionTimestamp).To(gomega.BeNil(), "its world is saved first")
	w.saved("survival-0")
	w.pass(aServer, "survival-0")
	w.Expect(get[corev1.Pod](w, "survival-0").DeletionTimestamp).NotTo(gomega.BeNil())
	w.pass(aServer, "survival-0")
	w.Expect(w.gone(aServer, "survival-0")).To(gomega.BeFalse(), "its pod is still stopping")
	w.end("survival-0")
	w.settle(aServer, "survival-0")
	w.Expect(w.gone(aServer, "survival-0")).To(gomega.BeTrue())
	w.Expect(w.gone(&corev1.PersistentVolumeClaim{}, "survival-0-data")).To(gomega.BeFalse())
}

func drainDeadline(w *world) {
	w.ordinal()
	w.serve("survival-0", 3)
	w.remove(get[v1alpha1.Server](w, "survival-0"))
	result := w.settle(aServer, "survival-0")
	w.Expect(result.RequeueAfter).To(gomega.BeNumerically("~", 60*time.Second, time.Second), "the deadline wakes it")
	edit(w, "survival", func(g *v1alpha1.ServerGroup) { g.Spec.Drain.TimeoutSeconds = 90 })
	w.clock.Step(61 * time.Second)
	w.report("survival-0", 3)
	w.settle(aServer, "survival-0")
	w.Expect(w.serverStatus("survival-0").Phase).To(gomega.Equal(v1alpha1.ServerDraining), "it was raised meanwhile")
	w.clock.Step(30 * time.Second)
	w.report("survival-0", 3)
	w.settle(aServer, "survival-0")
	w.Expect(w.serverStatus("survival-0").Phase).To(gomega.Equal(v1alpha1.ServerTerminating))
	w.clock.Step(31 * time.Second)
	w.settle(aServer, "survival-0")
	w.Expect(get[corev1.Pod](w, "survival-0").DeletionTimestamp).NotTo(gomega.BeNil(), "a save that nobody confirms holds it up for so long only")
}

func emptyGoes(w *world) {
	w.ordinal()
	w.settle(aServer, "survival-0")
	w.remove(get[v1alpha1.Server](w, "survival-0"))
	w.settle(aServer, "survival-0")
	w.Expect(w.gone(aServer, "survival-0")).To(gomega.BeTrue(), "no player ever heard of it")
	w.Expect(w.pods(podspec.RoleServer)).To(gomega.BeEmpty())
}

func failsAndStays(w *world) {
	w.ordinal()
	edit(w, "survival", func(g *v1alpha1.ServerGroup) { g.Spec.FailedRetentionSeconds = new(int32(20)) })
	w.settle(aServer, "survival-0")
	w.run("survival-0")
	w.settle(aServer, "survival-0")
	w.told()
	w.exit("survival-0", 3)
	result := w.settle(aServer, "survival-0")
	w.Expect(w.serverStatus("survival-0").Phase).To(gomega.Equal(v1alpha1.ServerFailed))
	w.Expect(w.serverCondition("survival-0", "Ready")).To(gomega.And(
		gomega.HavePrefix("False GameExited"), gomega.ContainSubstring("exit code 3")), "also after later passes")
	w.Expect(w.told()).To(gomega.MatchRegexp("^Warning GameExited [^\n]*exit code 3[^\n]*$"))
	w.Expect(result.RequeueAfter).To(gomega.BeNumerically("~", 20*time.Second, time.Second))
	w.Expect(get[corev1.Pod](w, "survival-0").DeletionTimestamp).To(gomega.BeNil(), "it is kept to be looked at")
	w.clock.Step(21 * time.Second)
	w.settle(aServer, "survival-0")
	w.Expect(w.serverStatus("survival-0").Phase).To(gomega.Equal(v1alpha1.ServerTerminating))
	w.end("survival-0")
	w.settle(aServer, "survival-0")
	w.Expect(w.gone(aServer, "survival-0")).To(gomega.BeTrue())
}

func roundEnds(w *world) {
	w.network()
	w.create(hub())
	w.settle(aGroup, "hub")
	name := w.servers()[0].Name
	w.serve(name, 0)
	w.clock.Step(10 * time.Minute)
	w.exit(name, 0)
	w.settle(aServer, name)
	w.Expect(w.serverStatus(name).Phase).To(gomega.Equal(v1alpha1.ServerTerminating))
	w.Expect(w.serverCondition(name, "Ready")).To(gomega.HavePrefix("False RoundEnded"))
	w.Expect(w.serverStatus(name).FailedAt).To(gomega.BeNil(), "it is no failure")
	w.clock.Step(5 * time.Second)
	w.settle(aGroup, "hub")
	w.Expect(w.servers()).To(gomega.HaveLen(2), "it is replaced at once")
}

func shortRoundEnds(w *world) {
	w.network()
	w.create(hub())
	w.settle(aGroup, "hub")
	name := w.servers()[0].Name
	w.serve(name, 0)
	ended := func() *agentv1alpha1.ServerReport {
		return &agentv1alpha1.ServerReport{
			GameState:  agentv1alpha1.GameState_GAME_STATE_READY,
			Forwarding: agentv1alpha1.ForwardingState_FORWARDING_STATE_ACTIVE, Slots: 50, RoundEnded: true,
		}
	}
	w.say(name, ended())
	w.settle(aServer, name)
	w.Expect(w.serverStatus(name).RoundEndedAt).NotTo(gomega.BeNil())
	w.report(name, 0)
	w.settle(aServer, name)
	w.Expect(w.serverStatus(name).RoundEndedAt).To(gomega.BeNil(), "it was taken back")
	w.say(name, ended())
	w.settle(aServer, name)
	w.restart()
	w.clock.Step(5 * time.Second)
	w.exit(name, 0)
	w.settle(aServer, name)
	w.Expect(w.serverStatus(name).Phase).To(gomega.Equal(v1alpha1.ServerTerminating), "another manager knows as well")
	w.Expect(w.serverCondition(name, "Ready")).To(gomega.HavePrefix("False RoundEnded"))
	w.Expect(w.serverStatus(name).FailedAt).To(gomega.BeNil(), "it is no failure")
	w.clock.Step(5 * time.Second)
	w.settle(aGroup, "hub")
	w.Expect(w.servers()).To(gomega.HaveLen(2), "it is replaced at once")
}

func statusLost(w *world) {
	w.ordinal()
	w.settle(aServer, "survival-0")
	lost := get[v1alpha1.Server](w, "survival-0")
	lost.Status = v1alpha1.ServerStatus{}
	w.Expect(w.Client.Status().Update(w.t.Context(), lost)).To(gomega.Succeed())
	w.run("survival-0")
	w.restart()
	w.settle(aServer, "survival-0")
	w.Expect(w.serverStatus("survival-0").PodUID).To(gomega.BeEquivalentTo(get[corev1.Pod](w, "survival-0").UID))
	w.report("survival-0", 0)
	w.settle(aServer, "survival-0")
	w.Expect(w.serverStatus("survival-0").Phase).To(gomega.Equal(v1alpha1.ServerReady))
}

func editedBeforeThePod(w *world) {
	w.ordinal()
	edit(w, "survival", func(g *v1alpha1.ServerGroup) { g.Spec.Image = "ghcr.io/spawnery/purpur:26.4" })
	before := get[v1alpha1.Server](w, "survival-0").Spec.PodHash
	w.settle(aServer, "survival-0")
	made := get[v1alpha1.Server](w, "survival-0")
	w.Expect(made.Spec.PodHash).NotTo(gomega.Equal(before))
	w.settle(aGroup, "survival")
	w.Expect(w.groupStatus("survival").UpdatedReplicas).To(gomega.HaveValue(gomega.BeEquivalentTo(1)))
	edit(w, "survival", func(g *v1alpha1.ServerGroup) { g.Spec.Image = "ghcr.io/spawnery/purpur:26.5" })
	w.settle(aServer, "survival-0")
	w.Expect(get[v1alpha1.Server](w, "survival-0").Spec.PodHash).To(gomega.Equal(made.Spec.PodHash), "its pod is made")
}

func editedAfterThePodUnseen(w *world) {
	w.ordinal()
	w.cache.freeze(w, aServer, &corev1.Pod{})
	w.pass(aServer, "survival-0")
	made := get[v1alpha1.Server](w, "survival-0").Spec.PodHash
	edit(w, "survival", func(g *v1alpha1.ServerGroup) { g.Spec.Image = "ghcr.io/spawnery/purpur:26.4" })
	w.pass(aServer, "survival-0")
	w.cache.thaw()
	w.settle(aServer, "survival-0")
	w.Expect(get[corev1.Pod](w, "survival-0").Spec.Containers[0].Image).To(gomega.Equal("ghcr.io/spawnery/purpur:26.3-0.34.0"))
	w.Expect(get[v1alpha1.Server](w, "survival-0").Spec.PodHash).To(gomega.Equal(made), "its pod is of the spec before")
}

func staleTwice(w *world) {
	w.ordinal()
	w.cache.freeze(w, aServer, &corev1.Pod{})
	for range 2 {
		w.pass(aServer, "survival-0")
	}
	w.cache.thaw()
	w.Expect(w.pods(podspec.RoleServer)).To(gomega.HaveLen(1))
	w.settle(aServer, "survival-0")
	w.Expect(w.serverStatus("survival-0").PodUID).To(gomega.BeEquivalentTo(get[corev1.Pod](w, "survival-0").UID))
}

func staleTakesNothingBack(w *world) {
	w.ordinal()
	w.settle(aServer, "survival-0")
	w.run("survival-0")
	w.settle(aServer, "survival-0")
	w.cache.freeze(w, aServer)
	w.report("survival-0", 0)
	w.pass(aServer, "survival-0")
	w.Expect(w.serverStatus("survival-0").WasRegistered).To(gomega.HaveValue(gomega.BeTrue()))
	w.say("survival-0", &agentv1alpha1.ServerReport{GameState: agentv1alpha1.GameState_GAME_STATE_STARTING})
	result := w.pass(aServer, "survival-0")
	w.Expect(result.RequeueAfter).To(gomega.Equal(time.Second))
	w.Expect(w.serverStatus("survival-0").WasRegistered).To(gomega.HaveValue(gomega.BeTrue()), "proxies may have sent somebody there")
	w.cache.thaw()
	w.settle(aServer, "survival-0")
	w.Expect(w.serverStatus("survival-0").ReadinessLosses).To(gomega.HaveValue(gomega.BeEquivalentTo(1)))
}

func restartKeeps(w *world) {
	w.ordinal()
	w.serve("survival-0", 3)
	w.settle(aGroup, "survival")
	before := w.serverStatus("survival-0")
	w.restart()
	w.clock.Step(time.Second)
	w.settle(aServer, "survival-0")
	w.settle(aGroup, "survival")
	w.settle(aNetwork, "production")
	w.Expect(w.serverStatus("survival-0")).To(gomega.Equal(before))
	w.Expect(w.groupStatus("survival").OnlinePlayers).To(gomega.HaveValue(gomega.BeEquivalentTo(3)))
	w.Expect(get[v1alpha1.Network](w, "production").Status.OnlinePlayers).To(gomega.HaveValue(gomega.BeEquivalentTo(3)))
	w.Expect(get[corev1.Pod](w, "survival-0").Labels).To(gomega.HaveKeyWithValue(podspec.LabelOccupied, "true"))
	w.Expect(w.told()).To(gomega.BeEmpty())
}

func startupDeadline(w *world) {
	w.ordinal()
	result := w.settle(aServer, "survival-0")
	w.Expect(result.RequeueAfter).To(gomega.BeNumerically("~", 5*time.Minute, time.Second), "the deadline wakes it")
	w.clock.Step(5 * time.Minute)
	w.settle(aServer, "survival-0")
	w.Expect(w.serverCondition("survival-0", "Ready")).To(gomega.HavePrefix("False StartupTimeout"))
}

func twoOnOneOrdinal(w *world) {
	w.ordinal()
	twin := get[v1alpha1.Server](w, "survival-0").DeepCopy()
	twin.ObjectMeta = metav1.ObjectMeta{Name: "survival-zero", OwnerReferences: twin.OwnerReferences, Finalizers: twin.Finalizers}
	w.create(twin)
	w.settle(aServer, "survival-0")
	w.settle(aServer, "survival-zero")
	w.Expect(w.serverCondition("survival-zero", "Accepted")).To(gomega.HavePrefix("False DuplicateOrdinal: Server survival-0 "))
	w.Expect(w.serverCondition("survival-0", "Accepted")).To(gomega.HavePrefix("True"))
	w.Expect(w.pods(podspec.RoleServer)).To(gomega.HaveLen(1), "one world serves one server")
	w.settle(aGroup, "survival")
	w.Expect(w.servers()).To(gomega.HaveLen(2), "nobody can tell which one is right")
}

func surplusOrdinal(w *world) {
	w.ordinal()
	w.serve("survival-0", 1)
	edit(w, "survival", func(g *v1alpha1.ServerGroup) { g.Spec.Replicas = new(int32(0)) })
	w.settle(aGroup, "survival")
	w.settle(aServer, "survival-0")
	w.Expect(w.serverCondition("survival-0", "Ready")).To(gomega.HavePrefix("False SurplusOrdinal"))
	w.Expect(w.serverStatus("survival-0").Phase).To(gomega.Equal(v1alpha1.ServerDraining))
}

func forwarding(w *world) {
	w.ordinal()
	w.serve("survival-0", 0)
	w.Expect(w.serverCondition("survival-0", "ForwardingActive")).To(gomega.HavePrefix("True Forwarding"))
	w.say("survival-0", &agentv1alpha1.ServerReport{
		GameState: agentv1alpha1.GameState_GAME_STATE_READY, Slots: 50, JoinsOpen: true,
		Forwarding: agentv1alpha1.ForwardingState_FORWARDING_STATE_NOT_ACTIVE, Detail: "config/paper-global.yml: proxies.velocity.enabled",
	})
	w.settle(aServer, "survival-0")
	w.Expect(w.serverCondition("survival-0", "ForwardingActive")).To(gomega.Equal(
		"False NotForwarding: config/paper-global.yml: proxies.velocity.enabled"))
	w.restart()
	w.settle(aServer, "survival-0")
	w.Expect(w.serverCondition("survival-0", "ForwardingActive")).To(gomega.HavePrefix("False NotForwarding"), "until it is heard otherwise")
}
