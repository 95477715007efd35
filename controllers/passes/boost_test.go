// SPDX-License-Identifier: Apache-2.0

package passes

import (
	"slices"
	"time"

	"github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
)

func boostPasses() map[string]func(*world) {
	return map[string]func(*world){
		"one raises the floor, and its end lets it sink":     boostUpAndDown,
		"a pin to nothing ends no round":                     pinToNothing,
		"the newest of two pins holds":                       twoPins,
		"the end of a pin takes servers back":                pinEnds,
		"a raised pin takes back the fullest":                pinRaised,
		"maxStaleSeconds bounds a pin's retirements":         pinOverStaleness,
		"a server that changed meanwhile is looked at again": retireOnLaggingCache,
		"a pin does nothing to a persistent group":           pinOnPersistent,
		"a spread group is consolidated":                     consolidated,
	}
}

func (w *world) boostHub(name string, mode v1alpha1.BoostMode, replicas int32, until time.Duration) {
	w.t.Helper()
	boost := &v1alpha1.ScaleBoost{ObjectMeta: metav1.ObjectMeta{Name: name}}
	boost.Spec = v1alpha1.ScaleBoostSpec{GroupRef: v1alpha1.GroupReference{Name: "hub"}, Mode: mode, Replicas: &replicas}
	if until > 0 {
		boost.Spec.ExpiresAt = new(metav1.NewTime(w.clock.Now().Add(until)))
	}
	w.create(boost)
}

// playing is a hub with one Ready server for each of the numbers of players, and
// the servers' names in that order.
func (w *world) playing(group *v1alpha1.ServerGroup, players ...int32) []string {
	w.t.Helper()
	w.network()
	group.Spec.Scaling.MinReplicas = new(int32(len(players)))
	w.create(group)
	w.settle(aGroup, "hub")
	names := w.alive()
	w.Expect(names).To(gomega.HaveLen(len(players)))
	for i, name := range names {
		w.serve(name, players[i])
	}
	w.settle(aGroup, "hub")
	return names
}

// alive are the names of the servers that nobody asked to go.
func (w *world) alive() []string {
	var names []string
	for _, server := range w.servers() {
		if server.DeletionTimestamp == nil && server.Spec.RetireReason == "" {
			names = append(names, server.Name)
		}
	}
	slices.Sort(names)
	return names
}

// later steps the clock, has servers report again, and makes the passes that
// follow.
func (w *world) later(step time.Duration, players map[string]int32) {
	w.t.Helper()
	w.clock.Step(step)
	for name, n := range players {
		w.report(name, n)
		w.settle(aServer, name)
	}
	w.settle(aGroup, "hub")
}

func (w *world) retireReason(name string) v1alpha1.RetireReason {
	w.t.Helper()
	return get[v1alpha1.Server](w, name).Spec.RetireReason
}

func boostUpAndDown(w *world) {
	first := w.playing(hub(), 0)[0]
	w.boostHub("friday", v1alpha1.BoostAdd, 2, 10*time.Minute)
	w.settle(aGroup, "hub")
	w.Expect(w.alive()).To(gomega.HaveLen(3), "with nobody online")
	w.Expect(w.groupStatus("hub").BoostedReplicas).To(gomega.HaveValue(gomega.BeEquivalentTo(2)))
	nobody := map[string]int32{}
	for _, name := range w.alive() {
		if name != first {
			w.serve(name, 0)
		}
		nobody[name] = 0
	}
	w.later(10*time.Minute-time.Second, nobody)
	w.Expect(w.alive()).To(gomega.HaveLen(3), "its floor holds them")
	w.later(time.Second, nobody)
	w.Expect(w.groupStatus("hub").BoostedReplicas).To(gomega.HaveValue(gomega.BeZero()))
	for left := 2; left >= 1; left-- {
		w.later(5*time.Second, nobody)
		w.Expect(w.alive()).To(gomega.HaveLen(left), "one at each tick")
	}
	w.later(time.Minute, map[string]int32{w.alive()[0]: 0})
	w.Expect(w.alive()).To(gomega.HaveLen(1))
}

func pinToNothing(w *world) {
	group := hub()
	group.Spec.Scaling.SpareSlots = new(int32(30))
	names := w.playing(group, 7, 0)
	w.boostHub("pause", v1alpha1.BoostExact, 0, time.Hour)
	w.boostHub("friday", v1alpha1.BoostAdd, 2, time.Hour)
	w.settle(aGroup, "hub")
	status := w.groupStatus("hub")
	w.Expect(status.PinnedReplicas).To(gomega.HaveValue(gomega.BeZero()))
	w.Expect(status.PinnedUntil.Time).To(gomega.BeTemporally("~", w.clock.Now().Add(time.Hour), time.Second))
	w.Expect(status.BoostedReplicas).To(gomega.HaveValue(gomega.BeZero()), "what adds pauses")
	w.Expect(get[v1alpha1.Server](w, names[1]).DeletionTimestamp).NotTo(gomega.BeNil(), "an empty one goes at once")
	w.Expect(w.retireReason(names[0])).To(gomega.Equal(v1alpha1.RetirePin))
	w.Expect(w.groupCondition("hub", "ScalingLimited")).To(gomega.Equal(
		"True Pinned: demand wants 1 server, boost pause holds the group at 0"))
	w.Expect(w.told()).To(gomega.ContainSubstring("Warning Pinned"))

	w.settle(aServer, names[0])
	w.later(50*time.Minute, map[string]int32{names[0]: 7})
	server := w.serverStatus(names[0])
	w.Expect(server.Phase).To(gomega.Equal(v1alpha1.ServerRetiring), "its players stay")
	w.Expect(server.Registered).To(gomega.HaveValue(gomega.BeFalse()), "nobody new comes")
	w.Expect(w.alive()).To(gomega.BeEmpty(), "nothing is made in its place")
	w.later(5*time.Second, map[string]int32{names[0]: 0})
	w.Expect(w.serverStatus(names[0]).Phase).To(gomega.Equal(v1alpha1.ServerTerminating), "the last player has left")
	w.Expect(w.groupStatus("hub").Phase).To(gomega.Equal(v1alpha1.GroupReady), "no server is what is wanted")
}

func twoPins(w *world) {
	names := w.playing(hub(), 0)
	w.boostHub("a", v1alpha1.BoostExact, 1, 0)
	w.boostHub("b", v1alpha1.BoostExact, 9, time.Minute)
	w.settle(aGroup, "hub")
	status := w.groupStatus("hub")
	w.Expect(status.PinnedReplicas).To(gomega.HaveValue(gomega.BeEquivalentTo(9)), "as it is written")
	w.Expect(w.alive()).To(gomega.HaveLen(4), "as maxReplicas allows")
	w.Expect(w.groupCondition("hub", "ScalingLimited")).To(gomega.Equal(
		"True MaxReplicasReached: boost b wants to hold the group at 9 servers, maxReplicas allows 4"))
	w.later(time.Minute, map[string]int32{names[0]: 3})
	status = w.groupStatus("hub")
	w.Expect(status.PinnedReplicas).To(gomega.HaveValue(gomega.BeEquivalentTo(1)), "the one before it")
	w.Expect(status.PinnedUntil).To(gomega.BeNil(), "it has no end")
	w.Expect(w.alive()).To(gomega.Equal(names), "what was made for the other goes at once")
	w.remove(get[v1alpha1.ScaleBoost](w, "a"))
	w.later(5*time.Second, map[string]int32{names[0]: 3})
	w.Expect(w.groupStatus("hub").PinnedReplicas).To(gomega.BeNil())
	w.Expect(w.groupCondition("hub", "ScalingLimited")).To(gomega.HavePrefix("False WithinLimits"))
}

func pinEnds(w *world) {
	names := w.playing(hub(), 7, 2)
	on := map[string]int32{names[0]: 7, names[1]: 2}
	w.boostHub("pause", v1alpha1.BoostExact, 0, 10*time.Minute)
	w.settle(aGroup, "hub")
	w.later(5*time.Second, on)
	for _, name := range names {
		w.Expect(w.serverStatus(name).Phase).To(gomega.Equal(v1alpha1.ServerRetiring))
	}
	w.told()
	w.later(10*time.Minute, on)
	for _, name := range names {
		w.Expect(w.retireReason(name)).To(gomega.BeEmpty())
		w.Expect(w.serverStatus(name).Phase).To(gomega.Equal(v1alpha1.ServerRetiring), "its own pass is to come")
	}
	w.settle(aGroup, "hub")
	w.Expect(w.servers()).To(gomega.HaveLen(2), "nothing is made in place of one that comes back")
	for _, name := range names {
		w.settle(aServer, name)
		status := w.serverStatus(name)
		w.Expect(status.Phase).To(gomega.Equal(v1alpha1.ServerReady))
		w.Expect(status.Registered).To(gomega.HaveValue(gomega.BeTrue()))
		w.Expect(status.RetiringSince).To(gomega.BeNil())
	}
	w.settle(aGroup, "hub")
	w.Expect(w.alive()).To(gomega.Equal(names))
	w.Expect(w.groupStatus("hub").PinnedReplicas).To(gomega.BeNil())
}

func pinRaised(w *world) {
	names := w.playing(hub(), 2, 7, 5)
	w.boostHub("a", v1alpha1.BoostExact, 0, 0)
	w.settle(aGroup, "hub")
	w.later(5*time.Second, map[string]int32{names[0]: 2, names[1]: 7, names[2]: 5})
	w.boostHub("b", v1alpha1.BoostExact, 2, 0)
	w.settle(aGroup, "hub")
	w.Expect(w.alive()).To(gomega.Equal(names[1:]), "the fullest")
	w.Expect(w.groupStatus("hub").LastDecision).NotTo(gomega.ContainSubstring("create"))
	w.Expect(w.retireReason(names[0])).To(gomega.Equal(v1alpha1.RetirePin))
}

func pinOverStaleness(w *world) {
	group := hub()
	group.Spec.Update.MaxStaleSeconds = new(int32(600))
	name := w.playing(group, 7)[0]
	w.boostHub("pause", v1alpha1.BoostExact, 0, time.Hour)
	w.settle(aGroup, "hub")
	w.settle(aServer, name)
	w.later(599*time.Second, map[string]int32{name: 7})
	w.Expect(w.serverStatus(name).Phase).To(gomega.Equal(v1alpha1.ServerRetiring))
	w.later(time.Second, map[string]int32{name: 7})
	w.Expect(w.serverStatus(name).Phase).To(gomega.Equal(v1alpha1.ServerDraining), "its players are moved")
}

// The cache still shows what was: the same is not written again, and what has
// changed since is not written over.
func retireOnLaggingCache(w *world) {
	name := w.playing(hub(), 7)[0]
	w.boostHub("pause", v1alpha1.BoostExact, 0, time.Hour)
	w.cache.freeze(w, aServer)
	w.pass(aGroup, "hub")
	written := w.version(aServer, name)
	w.Expect(w.retireReason(name)).To(gomega.Equal(v1alpha1.RetirePin))
	w.pass(aGroup, "hub")
	w.Expect(w.version(aServer, name)).To(gomega.Equal(written), "it is told once")

	w.remove(get[v1alpha1.ScaleBoost](w, "pause"))
	result := w.pass(aGroup, "hub")
	w.Expect(w.retireReason(name)).To(gomega.Equal(v1alpha1.RetirePin), "the pass worked on what is no longer so")
	w.Expect(result.RequeueAfter).To(gomega.Equal(time.Second))
	w.cache.thaw()
	w.settle(aGroup, "hub")
	w.Expect(w.retireReason(name)).To(gomega.BeEmpty())
}

func pinOnPersistent(w *world) {
	w.ordinal()
	boost := &v1alpha1.ScaleBoost{ObjectMeta: metav1.ObjectMeta{Name: "pause"}}
	boost.Spec = v1alpha1.ScaleBoostSpec{
		GroupRef: v1alpha1.GroupReference{Name: "survival"}, Mode: v1alpha1.BoostExact, Replicas: new(int32(0)),
	}
	w.create(boost)
	w.settle(aGroup, "survival")
	status := w.groupStatus("survival")
	w.Expect(status.PinnedReplicas).To(gomega.BeNil())
	w.Expect(status.BoostedReplicas).To(gomega.HaveValue(gomega.BeZero()))
	w.Expect(w.servers()).To(gomega.HaveLen(1))
}

func consolidated(w *world) {
	group := hub()
	group.Spec.Scaling.SpareSlots, group.Spec.Scaling.Consolidation = new(int32(30)), v1alpha1.ConsolidationEnabled
	names := w.playing(group, 6, 2)
	on := map[string]int32{names[0]: 6, names[1]: 2}
	edit(w, "hub", func(g *v1alpha1.ServerGroup) { g.Spec.Scaling.MinReplicas = new(int32(1)) })
	for range 5 {
		w.later(5*time.Second, on)
	}
	w.Expect(w.alive()).To(gomega.Equal(names), "25 of 30 seconds")
	w.restart()
	for range 6 {
		w.later(5*time.Second, on)
	}
	w.Expect(w.alive()).To(gomega.Equal(names), "a new leader begins anew")
	w.later(5*time.Second, on)
	w.Expect(w.retireReason(names[1])).To(gomega.Equal(v1alpha1.RetireConsolidation), "the emptier one")
	w.settle(aServer, names[1])
	w.later(time.Hour, on)
	w.Expect(w.serverStatus(names[1]).Phase).To(gomega.Equal(v1alpha1.ServerRetiring), "its players stay as long as they like")
	w.Expect(w.servers()).To(gomega.HaveLen(2), "and nothing is made in its place")
	w.Expect(w.groupStatus("hub").LastDecision).To(gomega.HaveSuffix("alive 1, floor 1, ceiling 4: enough"))
	on[names[1]] = 0
	w.later(5*time.Second, on)
	w.Expect(w.serverStatus(names[1]).Phase).To(gomega.Equal(v1alpha1.ServerTerminating))
}
