// SPDX-License-Identifier: Apache-2.0

package passes

import (
	"fmt"
	"strings"
	"time"

	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/podspec"
)

var aGroup = &v1alpha1.ServerGroup{}

func serverGroupPasses() map[string]func(*world) {
	return map[string]func(*world){
		"without its Network it keeps what runs":              groupWithoutNetwork,
		"a Network that is not accepted is told":              groupOfALoser,
		"failures back off from the first and end in give-up": groupBacksOff,
		"a new generation starts over":                        groupStartsOver,
		"a retry starts over once":                            groupRetries,
		"demand beyond the ceiling is told in numbers":        limitedByDemand,
		"boosts beyond the ceiling are told in numbers":       limitedByBoost,
		"a boost on a persistent group shows and moves not":   boostOnPersistent,
		"an invalid mount makes nothing and says so":          invalidMount,
		"a taken name is drawn again":                         takenName,
		"a taken ordinal holds up no other":                   takenOrdinal,
		"a lowered ceiling takes empty servers":               loweredCeiling,
		"a refused create is told in status":                  refusedCreate,
		"two passes on one lagging cache order once":          laggingCache,
		"a group made again has ordered nothing":              madeAgain,
		"silence of most agents stops growth and shrinking":   silentChannel,
	}
}

func (w *world) groupCondition(name, kind string) string {
	w.t.Helper()
	return condition(w.groupStatus(name).Conditions, kind)
}

// tick makes the pass of the hub that is due after five seconds, and those that
// follow.
func (w *world) tick() {
	w.t.Helper()
	w.clock.Step(5 * time.Second)
	w.settle(aGroup, "hub")
}

func groupWithoutNetwork(w *world) {
	w.network()
	w.create(hub())
	w.settle(aGroup, "hub")
	w.remove(get[v1alpha1.Network](w, "production"))
	edit(w, "hub", func(g *v1alpha1.ServerGroup) {
		g.Spec.Scaling.MinReplicas = new(int32(0))
	})
	w.create(&v1alpha1.ScaleBoost{ObjectMeta: metav1.ObjectMeta{Name: "more"}, Spec: v1alpha1.ScaleBoostSpec{
		GroupRef: v1alpha1.GroupReference{Name: "hub"}, Replicas: new(int32(3)),
	}})
	before := len(w.servers())
	w.tick()
	w.Expect(w.servers()).To(gomega.HaveLen(before))
	w.Expect(w.groupCondition("hub", "Accepted")).To(gomega.HavePrefix("False NetworkNotFound: no Network production "))
	w.Expect(w.groupStatus("hub").LastDecision).To(gomega.ContainSubstring("without Network production"))
	w.Expect(w.groupCondition("hub", "Progressing")).NotTo(gomega.ContainSubstring("starting: 3"), "nothing is made")
	w.network()
	w.tick()
	w.Expect(w.groupCondition("hub", "Accepted")).To(gomega.HavePrefix("True"))
	w.Expect(len(w.servers())).To(gomega.BeNumerically(">", before))
}

func groupOfALoser(w *world) {
	w.network()
	w.create(&v1alpha1.Network{ObjectMeta: metav1.ObjectMeta{Name: "staging"}})
	w.settle(aNetwork, "staging")
	group := hub()
	group.Spec.NetworkRef.Name = "staging"
	w.create(group)
	w.settle(aGroup, "hub")
	w.Expect(w.groupCondition("hub", "Accepted")).To(gomega.HavePrefix("False NetworkNotAccepted"))
	w.Expect(w.servers()).To(gomega.BeEmpty())
}

// failOnce brings survival-0 to its failure, and then away.
func failOnce(w *world) {
	w.settle(aServer, "survival-0")
	w.run("survival-0")
	w.settle(aServer, "survival-0")
	w.exit("survival-0", 1)
	w.settle(aServer, "survival-0")
	w.settle(aGroup, "survival")
}

func goFailed(w *world) {
	w.remove(get[v1alpha1.Server](w, "survival-0"))
	w.settle(aServer, "survival-0")
	if !w.gone(&corev1.Pod{}, "survival-0") {
		w.end("survival-0")
	}
	w.settle(aServer, "survival-0")
	w.Expect(w.gone(aServer, "survival-0")).To(gomega.BeTrue())
}

func groupBacksOff(w *world) {
	w.ordinal()
	for n := range 6 {
		failOnce(w)
		status := w.groupStatus("survival")
		w.Expect(status.ConsecutiveFailures).To(gomega.HaveValue(gomega.BeEquivalentTo(n + 1)))
		w.Expect(status.LastFailureAt).NotTo(gomega.BeNil(), "from the first")
		if n == 5 {
			break
		}
		w.Expect(condition(status.Conditions, "BackingOff")).To(gomega.HavePrefix(fmt.Sprintf("True CrashLoopBackoff: attempt %d of 6", n+1)))
		w.Expect(condition(status.Conditions, "Degraded")).To(gomega.HavePrefix("False NoRecentFailures"))
		goFailed(w)
		result := w.settle(aGroup, "survival")
		w.Expect(w.servers()).To(gomega.BeEmpty(), "the delay holds it back")
		w.Expect(result.RequeueAfter).To(gomega.BeNumerically(">", 0))
		w.Expect(result.RequeueAfter).To(gomega.BeNumerically("<=", 10*time.Second<<n))
		w.clock.Step(result.RequeueAfter)
		w.settle(aGroup, "survival")
		w.Expect(w.groupCondition("survival", "BackingOff")).To(gomega.HavePrefix("False NoRecentFailures: no server has failed to start recently"))
		w.Expect(w.servers()).To(gomega.HaveLen(1), "the next attempt")
	}
	w.Expect(w.groupCondition("survival", "BackingOff")).To(gomega.HavePrefix("False GaveUp"))
	w.Expect(w.groupCondition("survival", "Degraded")).To(gomega.HavePrefix("True CrashLoopBackoff: 6 attempts"))
	w.Expect(w.groupStatus("survival").Phase).To(gomega.Equal(v1alpha1.GroupDegraded))
	goFailed(w)
	w.clock.Step(24 * time.Hour)
	w.settle(aGroup, "survival")
	w.Expect(w.servers()).To(gomega.BeEmpty(), "time alone changes nothing")
	edit(w, "survival", func(g *v1alpha1.ServerGroup) { g.Spec.MaxPlayers++ })
	w.settle(aGroup, "survival")
	w.Expect(w.servers()).To(gomega.HaveLen(1), "an edit starts over")
	w.Expect(w.groupCondition("survival", "Degraded")).To(gomega.HavePrefix("False"))
}

func groupStartsOver(w *world) {
	w.ordinal()
	failOnce(w)
	edit(w, "survival", func(g *v1alpha1.ServerGroup) { g.Spec.MaxPlayers++ })
	w.settle(aGroup, "survival")
	w.Expect(w.groupStatus("survival").ConsecutiveFailures).To(gomega.HaveValue(gomega.BeZero()))
	w.Expect(w.groupCondition("survival", "BackingOff")).To(gomega.HavePrefix("False NoRecentFailures"))
	w.settle(aGroup, "survival")
	w.Expect(w.groupStatus("survival").ConsecutiveFailures).To(gomega.HaveValue(gomega.BeZero()), "the corpse is not counted again")
}

func groupRetries(w *world) {
	w.ordinal()
	w.create(hub())
	w.settle(aGroup, "hub")
	lobby := w.alive()[0] // a name with letters comes before the ordinal of survival
	for _, one := range []struct{ group, server string }{{"survival", "survival-0"}, {"hub", lobby}} {
		w.settle(aServer, one.server)
		w.run(one.server)
		w.settle(aServer, one.server)
		w.exit(one.server, 1)
		w.settle(aServer, one.server)
		w.settle(aGroup, one.group)
		w.Expect(w.groupCondition(one.group, "BackingOff")).To(gomega.HavePrefix("True CrashLoopBackoff"))
		ask := func(value string) {
			edit(w, one.group, func(g *v1alpha1.ServerGroup) { g.Annotations = map[string]string{v1alpha1.AnnotationRetry: value} })
			w.settle(aGroup, one.group)
		}
		ask("alice, 20:15")
		status := w.groupStatus(one.group)
		w.Expect(status.ConsecutiveFailures).To(gomega.HaveValue(gomega.BeZero()))
		w.Expect(status.ObservedRetry).To(gomega.Equal("alice, 20:15"))
		w.Expect(condition(status.Conditions, "BackingOff")).To(gomega.HavePrefix("False NoRecentFailures"))
		ask(strings.Repeat("x", 300))
		w.Expect(w.groupStatus(one.group).ObservedRetry).To(gomega.HaveLen(253))
	}
	w.Expect(w.alive()).To(gomega.HaveLen(3), "the hub's next attempt does not wait")
	goFailed(w)
	w.clock.Step(time.Minute)
	w.settle(aGroup, "survival")
	failOnce(w)
	w.Expect(w.groupStatus("survival").ConsecutiveFailures).To(gomega.HaveValue(gomega.BeEquivalentTo(1)), "the old retry is no excuse for a new failure")
}

func limitedByDemand(w *world) {
	w.network()
	group := hub()
	group.Spec.Scaling.MaxReplicas, group.Spec.Scaling.SpareSlots = 2, new(int32(120))
	w.create(group)
	w.settle(aGroup, "hub")
	w.Expect(w.servers()).To(gomega.HaveLen(2))
	w.Expect(w.groupCondition("hub", "ScalingLimited")).To(gomega.Equal(
		"True MaxReplicasReached: demand wants 3 servers, maxReplicas allows 2"))
	edit(w, "hub", func(g *v1alpha1.ServerGroup) { g.Spec.Scaling.MaxReplicas = 3 })
	w.settle(aGroup, "hub")
	w.Expect(w.servers()).To(gomega.HaveLen(3))
	w.Expect(w.groupCondition("hub", "ScalingLimited")).To(gomega.HavePrefix("False WithinLimits"))
}

func limitedByBoost(w *world) {
	w.network()
	w.create(hub())
	expires := metav1.NewTime(w.clock.Now().Add(time.Hour))
	w.create(&v1alpha1.ScaleBoost{ObjectMeta: metav1.ObjectMeta{Name: "friday"}, Spec: v1alpha1.ScaleBoostSpec{
		GroupRef: v1alpha1.GroupReference{Name: "hub"}, Replicas: new(int32(6)), ExpiresAt: &expires,
	}})
	w.settle(aGroup, "hub")
	w.Expect(w.groupStatus("hub").BoostedReplicas).To(gomega.HaveValue(gomega.BeEquivalentTo(6)))
	w.Expect(w.groupCondition("hub", "ScalingLimited")).To(gomega.Equal(
		"True MaxReplicasReached: minReplicas and boosts want 7 servers, maxReplicas allows 4"))
	w.Expect(w.servers()).To(gomega.HaveLen(4))
	w.Expect(w.told()).To(gomega.ContainSubstring("Warning MaxReplicasReached"))
	w.clock.Step(time.Hour)
	w.settle(aGroup, "hub")
	w.Expect(w.groupStatus("hub").BoostedReplicas).To(gomega.HaveValue(gomega.BeZero()))
	w.Expect(w.groupCondition("hub", "ScalingLimited")).To(gomega.HavePrefix("False"))
}

func boostOnPersistent(w *world) {
	w.ordinal()
	w.create(&v1alpha1.ScaleBoost{ObjectMeta: metav1.ObjectMeta{Name: "friday"}, Spec: v1alpha1.ScaleBoostSpec{
		GroupRef: v1alpha1.GroupReference{Name: "survival"}, Replicas: new(int32(6)),
	}})
	w.settle(aGroup, "survival")
	w.Expect(w.groupStatus("survival").BoostedReplicas).To(gomega.HaveValue(gomega.BeEquivalentTo(6)))
	w.Expect(w.groupCondition("survival", "ScalingLimited")).To(gomega.BeEmpty())
	w.Expect(w.servers()).To(gomega.HaveLen(1))
}

func invalidMount(w *world) {
	w.network()
	group := hub()
	group.Spec.Mounts = []v1alpha1.Mount{{MountPath: "/data/server.properties", ConfigMap: v1alpha1.LocalReference{Name: "own"}}}
	w.create(group)
	w.settle(aGroup, "hub")
	w.Expect(w.groupCondition("hub", "Accepted")).To(gomega.And(
		gomega.HavePrefix("False InvalidMount"), gomega.ContainSubstring("mount /data/server.properties")))
	w.Expect(w.servers()).To(gomega.BeEmpty())
	w.Expect(w.groupCondition("hub", "Progressing")).To(gomega.HavePrefix("False Settled"), "nothing is starting")
	edit(w, "hub", func(g *v1alpha1.ServerGroup) { g.Spec.Mounts = nil })
	w.settle(aGroup, "hub")
	w.Expect(w.servers()).To(gomega.HaveLen(1))
	w.Expect(w.groupCondition("hub", "Accepted")).To(gomega.HavePrefix("True"))
}

// foreignServer takes a name without belonging to any group that exists.
func (w *world) foreignServer(name string) {
	w.create(&v1alpha1.Server{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1alpha1.ServerSpec{
		GroupRef: v1alpha1.GroupReference{Name: "other"}, NetworkRef: v1alpha1.NetworkReference{Name: "production"}, PodHash: "0",
	}})
}

func takenName(w *world) {
	w.network()
	w.create(hub())
	w.foreignServer(podspec.EphemeralServerName("hub", (&world{}).draw))
	w.settle(aGroup, "hub")
	w.Expect(w.servers()).To(gomega.HaveLen(2))
	w.Expect(w.groupCondition("hub", "Accepted")).To(gomega.HavePrefix("True"))
}

func takenOrdinal(w *world) {
	w.network()
	w.foreignServer("survival-1")
	w.create(survival(3))
	result := w.settle(aGroup, "survival")
	var names []string
	for _, server := range w.servers() {
		names = append(names, server.Name)
	}
	w.Expect(names).To(gomega.ConsistOf("survival-0", "survival-1", "survival-2"))
	w.Expect(w.groupCondition("survival", "Accepted")).To(gomega.HavePrefix("False ServerNameTaken: server survival-1 "))
	w.Expect(result.RequeueAfter).To(gomega.BeNumerically(">", 0))
	w.remove(get[v1alpha1.Server](w, "survival-1"))
	w.settle(aGroup, "survival")
	w.Expect(metav1.GetControllerOf(get[v1alpha1.Server](w, "survival-1"))).NotTo(gomega.BeNil())
	w.Expect(w.groupCondition("survival", "Accepted")).To(gomega.HavePrefix("True"))
}

func loweredCeiling(w *world) {
	w.network()
	group := hub()
	group.Spec.Scaling.MinReplicas = new(int32(4))
	w.create(group)
	w.settle(aGroup, "hub")
	occupied := w.servers()[0].Name
	for _, server := range w.servers() {
		w.serve(server.Name, 0)
	}
	w.report(occupied, 7)
	w.settle(aServer, occupied)
	edit(w, "hub", func(g *v1alpha1.ServerGroup) {
		g.Spec.Scaling.MinReplicas, g.Spec.Scaling.MaxReplicas = new(int32(1)), 1
	})
	w.settle(aGroup, "hub")
	w.Expect(get[v1alpha1.Server](w, occupied).DeletionTimestamp).To(gomega.BeNil(), "players are on it")
	leaving := 0
	for _, server := range w.servers() {
		if server.DeletionTimestamp != nil {
			leaving++
		}
	}
	w.Expect(leaving).To(gomega.Equal(3), "at once, and not after the stabilisation")
	w.Expect(w.told()).To(gomega.MatchRegexp("Normal ServerDeleted hub-[a-z0-9]+ is empty, and the group has"))
}

func refusedCreate(w *world) {
	w.network()
	quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "none"}}
	quota.Spec.Hard = corev1.ResourceList{"count/servers.spawnery.cloud": resource.MustParse("0")}
	w.create(quota)
	quota.Status.Hard, quota.Status.Used = quota.Spec.Hard, quota.Spec.Hard
	w.Expect(w.Client.Status().Update(w.t.Context(), quota)).To(gomega.Succeed())
	w.create(survival(1), hub())
	for _, name := range []string{"survival", "hub"} {
		w.Eventually(func() string {
			w.pass(aGroup, name)
			return w.groupCondition(name, "Accepted")
		}, 10*time.Second).Should(gomega.HavePrefix("False QuotaExceeded"))
	}
	w.settle(aGroup, "hub")
	w.Expect(w.groupStatus("survival").ObservedGeneration).To(gomega.HaveValue(gomega.BeEquivalentTo(1)))
	w.Expect(w.settle(aGroup, "survival").RequeueAfter).To(gomega.Equal(30 * time.Second))
}

func laggingCache(w *world) {
	w.network()
	w.create(hub(), survival(2))
	w.cache.hideServers = true
	for range 3 {
		for _, name := range []string{"hub", "survival"} {
			w.pass(aGroup, name)
		}
	}
	w.Expect(w.servers()).To(gomega.HaveLen(3))
	w.clock.Step(20 * time.Second)
	result := w.settle(aGroup, "survival")
	w.Expect(result.RequeueAfter).To(gomega.BeNumerically("~", 10*time.Second, time.Second), "what was ordered may never be shown")
}

func madeAgain(w *world) {
	w.network()
	w.create(hub())
	w.cache.hideServers = true
	w.pass(aGroup, "hub")
	w.cache.hideServers = false
	for _, server := range w.servers() {
		edit(w, server.Name, func(s *v1alpha1.Server) { s.Finalizers = nil })
		w.Expect(client.IgnoreNotFound(w.Client.Delete(w.t.Context(), &server))).To(gomega.Succeed())
	}
	w.remove(get[v1alpha1.ServerGroup](w, "hub"))
	w.create(hub())
	w.settle(aGroup, "hub")
	w.Expect(w.servers()).To(gomega.HaveLen(1))
}

func silentChannel(w *world) {
	w.network()
	group := hub()
	group.Spec.Scaling.MinReplicas = new(int32(3))
	w.create(group)
	w.settle(aGroup, "hub")
	for _, server := range w.servers() {
		w.serve(server.Name, 0)
	}
	w.settle(aNetwork, "production")
	w.clock.Step(20 * time.Second)
	w.settle(aNetwork, "production")
	network := get[v1alpha1.Network](w, "production")
	w.Expect(condition(network.Status.Conditions, "ChannelDegraded")).To(gomega.HavePrefix("True AgentsSilent"))
	w.Expect(w.told()).To(gomega.ContainSubstring("Warning AgentsSilent"))
	edit(w, "hub", func(g *v1alpha1.ServerGroup) { g.Spec.Scaling.MinReplicas = new(int32(4)) })
	w.tick()
	w.Expect(w.servers()).To(gomega.HaveLen(3), "nothing is created meanwhile")
	for _, server := range w.servers() {
		w.report(server.Name, 0)
	}
	w.settle(aNetwork, "production")
	w.tick()
	w.Expect(w.servers()).To(gomega.HaveLen(4))
}
