// SPDX-License-Identifier: Apache-2.0

package passes

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
)

const newImage = "ghcr.io/spawnery/purpur:26.4"

func rolloutPasses() map[string]func(*world) {
	return map[string]func(*world){
		"a new image under players":                       imageUnderPlayers,
		"an edit of what is read at runtime":              runtimeEdit,
		"a restart by hand":                               restartedByHand,
		"a Network's default replaces who chose nothing":  networkDefault,
		"WhenEmpty waits for empty servers":               whenEmpty,
		"minAvailable orders another one first":           minAvailable,
		"maxStaleSeconds bounds a changeover's patience":  staleTooLong,
		"at maxReplicas it waits for room for one":        noRoom,
		"under a pin it waits for room for one":           noRoomUnderPin,
		"an image that does not start, and its back-out":  brokenImage,
		"a change of mind takes retirements back":         takenBack,
		"a lagging cache tells nobody twice":              toldOnce,
		"nobody is told to go before a new leader sees":   newLeader,
		"nobody is told to go while most are silent":      silentRollout,
		"without its Network nothing is rolled or undone": networkGoneMeanwhile,
	}
}

// image is that of a server's game.
func (w *world) image(name string) string {
	w.t.Helper()
	return get[corev1.Pod](w, name).Spec.Containers[0].Image
}

func (w *world) editImage(image string) {
	w.t.Helper()
	edit(w, "hub", func(g *v1alpha1.ServerGroup) { g.Spec.Image = image })
	w.settle(aGroup, "hub")
}

// fresh are the servers alive that are none of these.
func (w *world) fresh(known ...string) []string {
	return slices.DeleteFunc(w.alive(), func(name string) bool { return slices.Contains(known, name) })
}

// first is the one server that a changeover ordered, made to serve.
func (w *world) first(known ...string) string {
	w.t.Helper()
	ordered := w.fresh(known...)
	w.Expect(ordered).To(gomega.HaveLen(1), "one comes first")
	w.serve(ordered[0], 0)
	w.settle(aGroup, "hub")
	return ordered[0]
}

// empties has the last player leave a server that retires, and its pod go.
func (w *world) empties(name string, others map[string]int32) {
	w.t.Helper()
	on := maps.Clone(others)
	on[name] = 0
	w.later(5*time.Second, on)
	w.Expect(w.serverStatus(name).Phase).To(gomega.Equal(v1alpha1.ServerTerminating))
	w.saved(name)
	w.settle(aServer, name)
	w.end(name)
	w.settle(aServer, name)
	w.Expect(w.gone(aServer, name)).To(gomega.BeTrue())
	w.settle(aGroup, "hub")
}

func (w *world) updated() int32 {
	w.t.Helper()
	return *w.groupStatus("hub").UpdatedReplicas
}

func imageUnderPlayers(w *world) {
	names := w.playing(hub(), 20, 7)
	on := map[string]int32{names[0]: 20, names[1]: 7}
	w.told()
	edit(w, "hub", func(g *v1alpha1.ServerGroup) { g.Spec.Image = newImage })
	w.pass(aGroup, "hub")
	w.Expect(w.groupCondition("hub", "Progressing")).To(gomega.Equal(
		"True RollingOut: 0 of 2 servers are of the new spec; a first server of the new spec is ordered"))
	w.Expect(w.told()).To(gomega.And(
		gomega.ContainSubstring("Normal RollingOut 0 of 2 servers"),
		gomega.MatchRegexp("Normal ServerCreated hub-[a-z0-9]+: .*create 1 for a changeover")))
	w.Expect(w.groupStatus("hub").LastDecision).To(gomega.HaveSuffix(
		"create 1 for a changeover; changeover: a first server of the new spec is ordered"))
	w.Expect(w.told()).To(gomega.BeEmpty(), "once")
	w.settle(aGroup, "hub")
	w.Expect(w.groupCondition("hub", "Progressing")).To(gomega.Equal(
		"True RollingOut: 1 of 3 servers are of the new spec; a server of the new spec has to be Ready before an old one goes"))
	w.Expect(w.updated()).To(gomega.BeEquivalentTo(1))

	third := w.first(names...)
	on[third] = 0
	w.Expect(w.image(third)).To(gomega.Equal(newImage))
	w.Expect(w.retireReason(names[0])).To(gomega.Equal(v1alpha1.RetireChangeover), "all are of one age, and it is the first by name")
	w.Expect(w.retireReason(names[1])).To(gomega.BeEmpty(), "one at a time")
	w.Expect(w.told()).To(gomega.ContainSubstring("Normal ServerRetired " + names[0] + " is of an old spec"))
	w.Expect(w.groupCondition("hub", "Progressing")).To(gomega.Equal(
		"True RollingOut: 1 of 3 servers are of the new spec; 1 server is on the way out, as many as maxUnavailable allows"))
	w.later(time.Hour, on)
	status := w.serverStatus(names[0])
	w.Expect(status.Phase).To(gomega.Equal(v1alpha1.ServerRetiring), "its players stay as long as they like")
	w.Expect(status.Registered).To(gomega.HaveValue(gomega.BeFalse()), "nobody new comes")
	w.Expect(w.groupCondition("hub", "Available")).To(gomega.HavePrefix("True"))
	w.empties(names[0], on)
	delete(on, names[0])

	w.Expect(w.retireReason(names[1])).To(gomega.Equal(v1alpha1.RetireChangeover))
	w.Expect(w.image(names[1])).NotTo(gomega.Equal(newImage))
	fourth := w.first(names[1], third)
	w.empties(names[1], on)
	w.Expect(w.alive()).To(gomega.ConsistOf(third, fourth))
	w.Expect(w.groupCondition("hub", "Progressing")).To(gomega.HavePrefix("False Settled"))
	w.Expect(w.updated()).To(gomega.BeEquivalentTo(2))
	w.Expect(w.told()).To(gomega.ContainSubstring("Normal Settled"))
}

func runtimeEdit(w *world) {
	names := w.playing(hub(), 5, 0)
	written := w.version(aServer, names[0])
	edit(w, "hub", func(g *v1alpha1.ServerGroup) {
		g.Annotations = map[string]string{"example.org/note": "edited"}
		g.Spec.DisplayName, g.Spec.PlayableSlots, g.Spec.Drain.TimeoutSeconds = "Lobby", 40, 600
		g.Spec.StartupDeadlineSeconds, g.Spec.FailedRetentionSeconds = 999, new(int32(60))
		g.Spec.Scaling.MaxReplicas, g.Spec.Update.MaxUnavailable = 6, 3
	})
	w.settle(aGroup, "hub")
	w.Expect(w.alive()).To(gomega.Equal(names))
	w.Expect(w.version(aServer, names[0])).To(gomega.Equal(written))
	w.Expect(w.updated()).To(gomega.BeEquivalentTo(2))
	w.Expect(w.groupCondition("hub", "Progressing")).To(gomega.HavePrefix("False Settled"))
}

func restartedByHand(w *world) {
	name := w.playing(hub(), 5)[0]
	edit(w, "hub", func(g *v1alpha1.ServerGroup) {
		g.Annotations = map[string]string{v1alpha1.AnnotationRestartedAt: "2026-11-30T10:00:00Z"}
	})
	w.settle(aGroup, "hub")
	w.Expect(w.updated()).To(gomega.BeEquivalentTo(1), "the one that was ordered")
	second := w.first(name)
	w.Expect(w.image(second)).To(gomega.Equal(w.image(name)), "the spec is the same")
	w.empties(name, map[string]int32{second: 0})
	w.Expect(w.alive()).To(gomega.Equal([]string{second}))
	w.Expect(w.groupCondition("hub", "Progressing")).To(gomega.HavePrefix("False Settled"))
}

func networkDefault(w *world) {
	name := w.playing(hub(), 5)[0]
	edit(w, "production", func(n *v1alpha1.Network) {
		n.Spec.Defaults = &v1alpha1.NetworkDefaults{Resources: &corev1.ResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m")},
		}}
	})
	w.settle(aGroup, "hub")
	second := w.first(name)
	w.Expect(get[corev1.Pod](w, second).Spec.Containers[0].Resources.Requests.Cpu().String()).To(gomega.Equal("100m"))
	w.Expect(w.retireReason(name)).To(gomega.Equal(v1alpha1.RetireChangeover))
}

func whenEmpty(w *world) {
	group := hub()
	group.Spec.Update.Strategy = v1alpha1.UpdateWhenEmpty
	names := w.playing(group, 20, 7)
	on := map[string]int32{names[0]: 20, names[1]: 7}
	w.editImage(newImage)
	on[w.first(names...)] = 0
	w.later(time.Hour, on)
	w.Expect(w.retireReason(names[0]) + w.retireReason(names[1])).To(gomega.BeEmpty())
	w.Expect(w.groupCondition("hub", "Progressing")).To(gomega.Equal(
		"True RollingOut: 1 of 3 servers are of the new spec; an old server goes when it is empty (strategy WhenEmpty)"))
	w.Expect(w.alive()).To(gomega.HaveLen(3), "the empty one of the new spec is not given up meanwhile")
	on[names[1]] = 0
	w.later(5*time.Second, on)
	w.Expect(w.retireReason(names[1])).To(gomega.Equal(v1alpha1.RetireChangeover), "it is empty")
	w.Expect(w.retireReason(names[0])).To(gomega.BeEmpty())
}

func minAvailable(w *world) {
	group := hub()
	group.Spec.Update = v1alpha1.ServerUpdate{MinAvailable: 2, MaxUnavailable: 4}
	names := w.playing(group, 20, 7)
	w.editImage(newImage)
	third := w.first(names...)
	w.Expect(w.retireReason(names[0])).To(gomega.Equal(v1alpha1.RetireChangeover), "two others can be joined")
	w.Expect(w.retireReason(names[1])).To(gomega.BeEmpty(), "one could be joined without it")
	w.Expect(w.groupCondition("hub", "Progressing")).To(gomega.HaveSuffix("a server on order has to be Ready before " + names[1] + " goes"))
	w.first(names[1], third)
	w.Expect(w.retireReason(names[1])).To(gomega.Equal(v1alpha1.RetireChangeover))
}

func staleTooLong(w *world) {
	group := hub()
	group.Spec.Update.MaxStaleSeconds = new(int32(600))
	name := w.playing(group, 7)[0]
	w.editImage(newImage)
	on := map[string]int32{name: 7, w.first(name): 0}
	w.settle(aServer, name)
	w.later(599*time.Second, on)
	w.Expect(w.serverStatus(name).Phase).To(gomega.Equal(v1alpha1.ServerRetiring))
	w.later(time.Second, on)
	w.Expect(w.serverStatus(name).Phase).To(gomega.Equal(v1alpha1.ServerDraining), "its players are moved")
}

func noRoom(w *world) {
	group := hub()
	group.Spec.Scaling.MaxReplicas = 2
	names := w.playing(group, 20, 7)
	on := map[string]int32{names[0]: 20, names[1]: 7}
	w.told()
	w.editImage(newImage)
	w.later(time.Hour, on)
	w.Expect(w.alive()).To(gomega.Equal(names), "it waits")
	w.Expect(w.groupCondition("hub", "ScalingLimited")).To(gomega.Equal("True MaxReplicasReached: a changeover wants 3 servers, " +
		"maxReplicas allows 2; it needs room for one new server before an old one can retire"))
	w.Expect(w.groupCondition("hub", "Progressing")).To(gomega.Equal(
		"True RollingOut: 0 of 2 servers are of the new spec; there is no room for a first server of the new spec"))
	w.Expect(w.told()).To(gomega.ContainSubstring("Warning MaxReplicasReached a changeover wants 3 servers"))
	edit(w, "hub", func(g *v1alpha1.ServerGroup) { g.Spec.Scaling.MaxReplicas = 3 })
	w.settle(aGroup, "hub")
	w.Expect(w.groupCondition("hub", "ScalingLimited")).To(gomega.HavePrefix("False WithinLimits"))
	w.first(names...)
	w.Expect(w.retireReason(names[0])).To(gomega.Equal(v1alpha1.RetireChangeover))
}

func noRoomUnderPin(w *world) {
	names := w.playing(hub(), 20, 7)
	w.boostHub("event", v1alpha1.BoostExact, 2, 0)
	w.editImage(newImage)
	w.Expect(w.groupCondition("hub", "ScalingLimited")).To(gomega.Equal("True Pinned: a changeover wants 3 servers, " +
		"boost event holds the group at 2; it needs room for one new server before an old one can retire"))
	w.Expect(w.alive()).To(gomega.Equal(names))
	w.remove(get[v1alpha1.ScaleBoost](w, "event"))
	w.settle(aGroup, "hub")
	w.first(names...)
	w.Expect(w.retireReason(names[0])).To(gomega.Equal(v1alpha1.RetireChangeover))
}

func brokenImage(w *world) {
	name := w.playing(hub(), 20)[0]
	on := map[string]int32{name: 20}
	w.editImage(newImage)
	for attempt := range 2 {
		ordered := w.fresh(name)
		w.Expect(ordered).NotTo(gomega.BeEmpty())
		broken := slices.DeleteFunc(ordered, func(n string) bool { return w.serverStatus(n).Phase == v1alpha1.ServerFailed })[0]
		w.settle(aServer, broken)
		w.run(broken)
		w.settle(aServer, broken)
		w.exit(broken, 1)
		w.settle(aServer, broken)
		w.later(time.Second, on)
		w.Expect(w.groupCondition("hub", "BackingOff")).To(gomega.HavePrefix("True CrashLoopBackoff"))
		w.Expect(w.groupCondition("hub", "Progressing")).To(gomega.And(
			gomega.HavePrefix("True RollingOut: 0 of 1 servers are of the new spec; starts have failed, next attempt at "),
			gomega.HaveSuffix("; the old servers serve on")))
		if attempt == 0 {
			w.later(10*time.Second, on)
		}
	}
	w.later(5*time.Second, on)
	w.Expect(w.retireReason(name)).To(gomega.BeEmpty(), "it serves on")
	w.editImage(hub().Spec.Image)
	w.Expect(w.groupCondition("hub", "BackingOff")).To(gomega.HavePrefix("False NoRecentFailures"))
	w.Expect(w.groupCondition("hub", "Progressing")).To(gomega.HavePrefix("False Settled"))
	w.later(time.Hour, on)
	alive := slices.DeleteFunc(w.alive(), func(n string) bool { return w.serverStatus(n).Phase == v1alpha1.ServerFailed })
	w.Expect(alive).To(gomega.Equal([]string{name}), "nothing more is made")
}

func takenBack(w *world) {
	names := w.playing(hub(), 20, 7)
	on := map[string]int32{names[0]: 20, names[1]: 7}
	w.editImage(newImage)
	third := w.first(names...)
	on[third] = 0
	w.later(time.Minute, on)
	w.Expect(w.serverStatus(names[0]).Phase).To(gomega.Equal(v1alpha1.ServerRetiring))
	w.editImage(hub().Spec.Image)
	w.Expect(w.retireReason(names[0])).To(gomega.BeEmpty())
	w.Expect(w.retireReason(third)).To(gomega.Equal(v1alpha1.RetireChangeover), "now it is the old one")
	w.Expect(w.told()).To(gomega.ContainSubstring("Normal ServerTakenBack " + names[0]))
	w.Expect(w.fresh(append(names, third)...)).To(gomega.BeEmpty(), "nothing is made in place of one that comes back")
	w.later(5*time.Second, on)
	w.Expect(w.serverStatus(names[0]).Phase).To(gomega.Equal(v1alpha1.ServerReady))
	w.Expect(w.alive()).To(gomega.Equal(names))
	w.Expect(w.servers()).To(gomega.HaveLen(3))
}

func toldOnce(w *world) {
	names := w.playing(hub(), 20, 7)
	w.editImage(newImage)
	ordered := w.fresh(names...)[0]
	w.settle(aServer, ordered)
	w.run(ordered)
	w.settle(aServer, ordered)
	w.report(ordered, 0)
	w.settle(aServer, ordered)
	w.cache.freeze(w, aServer)
	for range 3 {
		w.pass(aGroup, "hub")
	}
	w.Expect(w.retireReason(names[0])).To(gomega.Equal(v1alpha1.RetireChangeover))
	w.Expect(w.retireReason(names[1])).To(gomega.BeEmpty(), "the budget is used, though the cache does not show it")
	w.cache.thaw()
	w.settle(aGroup, "hub")
	w.Expect(w.retireReason(names[1])).To(gomega.BeEmpty())
}

func newLeader(w *world) {
	names := w.playing(hub(), 20, 7)
	w.editImage(newImage)
	ordered := w.fresh(names...)[0]
	w.settle(aServer, ordered)
	w.run(ordered)
	w.settle(aServer, ordered)
	w.report(ordered, 0)
	w.settle(aServer, ordered)
	w.restart()
	w.report(ordered, 0)
	w.settle(aGroup, "hub")
	w.Expect(w.groupCondition("hub", "Progressing")).To(gomega.HaveSuffix("waiting for the servers to report to a new leader"))
	w.Expect(w.retireReason(names[0])).To(gomega.BeEmpty())
	w.later(time.Second, map[string]int32{names[0]: 20, names[1]: 7, ordered: 0})
	w.Expect(w.retireReason(names[0])).To(gomega.Equal(v1alpha1.RetireChangeover))
}

func silentRollout(w *world) {
	names := w.playing(hub(), 20, 7, 3)
	for _, name := range names {
		w.settle(aServer, name)
	}
	w.clock.Step(20 * time.Second)
	w.settle(aNetwork, "production")
	w.editImage(newImage)
	w.Expect(w.alive()).To(gomega.Equal(names))
	w.Expect(w.groupCondition("hub", "Progressing")).To(gomega.HaveSuffix("most agents are silent; nothing is retired"))
}

func networkGoneMeanwhile(w *world) {
	names := w.playing(hub(), 20, 7)
	on := map[string]int32{names[0]: 20, names[1]: 7}
	w.editImage(newImage)
	on[w.first(names...)] = 0
	w.later(5*time.Second, on)
	w.remove(get[v1alpha1.Network](w, "production"))
	w.later(5*time.Second, on)
	w.Expect(w.retireReason(names[0])).To(gomega.Equal(v1alpha1.RetireChangeover), "nothing is taken back for lack of a Network")
	w.Expect(w.retireReason(names[1])).To(gomega.BeEmpty())
	w.Expect(strings.Contains(w.groupStatus("hub").LastDecision, "without Network production")).To(gomega.BeTrue())
}
