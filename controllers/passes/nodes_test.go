// SPDX-License-Identifier: Apache-2.0

package passes

import (
	"context"
	"slices"
	"time"

	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
)

func nodePasses() map[string]func(*world) {
	return map[string]func(*world){
		"a cordon of every node changes nothing":               everyNodeCordoned,
		"an empty server goes at once":                         emptyLeavesNode,
		"players stay until their server's place is taken":     occupiedLeavesNode,
		"a group that may sleep gets a server for its players": sleeperLeavesNode,
		"a node that stays after all keeps its server":         nodeUncordoned,
		"servers with players go one at a time":                oneAtATime,
		"a ceiling does not count servers on nodes that leave": ceilingOfADrain,
		"a world that is on its node stays there":              worldBoundToNode,
		"a world that can follow goes":                         worldFollows,
	}
}

// cordon takes a node out of service until the test ends.
func (w *world) cordon(name string) {
	w.t.Helper()
	w.unschedulable(name, true)
	w.t.Cleanup(func() { w.unschedulable(name, false) })
}

func (w *world) unschedulable(name string, is bool) {
	w.t.Helper()
	// The last call comes when the test has ended.
	ctx := context.WithoutCancel(w.t.Context())
	var node corev1.Node
	w.Expect(w.Client.Get(ctx, client.ObjectKey{Name: name}, &node)).To(gomega.Succeed())
	after := node.DeepCopy()
	after.Spec.Unschedulable = is
	w.Expect(w.Client.Patch(ctx, after, client.MergeFrom(&node))).To(gomega.Succeed())
}

// serveOn brings a server to Ready on a node, with players.
func (w *world) serveOn(name, node string, players int32) {
	w.t.Helper()
	w.settle(aServer, name)
	w.Expect(w.Client.SubResource("binding").Create(w.t.Context(), get[corev1.Pod](w, name),
		&corev1.Binding{Target: corev1.ObjectReference{Kind: "Node", Name: node}})).To(gomega.Succeed())
	w.serve(name, players)
}

// hubOf makes a hub and returns its servers' names, none of which has a pod.
func (w *world) hubOf(minimum, maximum int32) []string {
	w.t.Helper()
	w.network()
	group := hub()
	group.Spec.Scaling.MinReplicas, group.Spec.Scaling.MaxReplicas = &minimum, maximum
	w.create(group)
	w.settle(aGroup, "hub")
	return w.hubNames()
}

func (w *world) hubNames() []string {
	var names []string
	for _, server := range w.servers() {
		names = append(names, server.Name)
	}
	return names
}

// newcomers are the servers there are beside those given.
func (w *world) newcomers(known ...string) []string {
	var names []string
	for _, name := range w.hubNames() {
		if !slices.Contains(known, name) {
			names = append(names, name)
		}
	}
	return names
}

func (w *world) asked(name string) bool { return w.leaving(aServer, name) }

func (w *world) draining() string {
	w.t.Helper()
	return w.groupCondition("hub", "NodeDraining")
}

// tickWith has servers repeat their counts before a tick, so that none grows
// stale.
func (w *world) tickWith(players map[string]int32) {
	w.t.Helper()
	w.clock.Step(5 * time.Second)
	for name, count := range players {
		w.report(name, count)
	}
	w.settle(aGroup, "hub")
}

func everyNodeCordoned(w *world) {
	names := w.hubOf(2, 4)
	w.serveOn(names[0], nodeName, 5)
	w.serveOn(names[1], otherNode, 0)
	players := map[string]int32{names[0]: 5, names[1]: 0}
	w.tickWith(players)
	w.Expect(w.draining()).To(gomega.Equal("False NoNodesDraining: no server is on a node that is about to leave"))
	w.cordon(nodeName)
	w.cordon(otherNode)
	for range 5 {
		w.tickWith(players)
	}
	w.Expect(w.hubNames()).To(gomega.ConsistOf(names), "nothing is made, nothing goes")
	for _, name := range names {
		w.settle(aServer, name)
		w.Expect(w.asked(name)).To(gomega.BeFalse())
		w.Expect(w.serverStatus(name).Phase).To(gomega.Equal(v1alpha1.ServerReady))
		w.Expect(w.serverStatus(name).Registered).To(gomega.HaveValue(gomega.BeTrue()), "also the empty one is open")
	}
	w.Expect(w.draining()).To(gomega.And(
		gomega.HavePrefix("True NodeDraining: "), gomega.ContainSubstring("nowhere else to go"),
		gomega.ContainSubstring(names[0]), gomega.ContainSubstring(names[1]), gomega.ContainSubstring("(node1, node2)")))
	w.Expect(w.told()).To(gomega.ContainSubstring("Warning NodeDraining"))
}

func emptyLeavesNode(w *world) {
	names := w.hubOf(2, 4)
	w.serveOn(names[0], nodeName, 0)
	w.serveOn(names[1], otherNode, 0)
	w.cordon(nodeName)
	w.tickWith(map[string]int32{names[0]: 0, names[1]: 0})
	w.Expect(w.asked(names[0])).To(gomega.BeTrue())
	w.Expect(w.asked(names[1])).To(gomega.BeFalse())
	w.Expect(w.newcomers(names...)).To(gomega.HaveLen(1), "it is replaced")
}

func occupiedLeavesNode(w *world) {
	names := w.hubOf(1, 4)
	w.serveOn(names[0], nodeName, 5)
	w.cordon(nodeName)
	w.tickWith(map[string]int32{names[0]: 5})
	fresh := w.newcomers(names...)
	w.Expect(fresh).To(gomega.HaveLen(1))
	for range 3 {
		w.tickWith(map[string]int32{names[0]: 5})
		w.Expect(w.asked(names[0])).To(gomega.BeFalse(), "its place is not taken")
		w.Expect(get[v1alpha1.Server](w, names[0]).Spec.RetireReason).To(gomega.BeEmpty(), "nobody else is open")
	}
	w.Expect(w.draining()).To(gomega.Equal("True NodeDraining: " + names[0] + ": on nodes that are about to leave (node1). " +
		names[0] + " waits for ready servers on other nodes: 0 of 1. Deleting a Server moves its players at once"))
	w.serveOn(fresh[0], otherNode, 0)
	w.tickWith(map[string]int32{names[0]: 5, fresh[0]: 0})
	w.Expect(w.asked(names[0])).To(gomega.BeTrue())
	w.settle(aServer, names[0])
	w.Expect(w.serverStatus(names[0]).Phase).To(gomega.Equal(v1alpha1.ServerDraining))
	w.Expect(w.serverStatus(names[0]).Registered).To(gomega.HaveValue(gomega.BeFalse()))
	w.Expect(w.asked(fresh[0])).To(gomega.BeFalse())
}

func sleeperLeavesNode(w *world) {
	w.hubOf(1, 4)
	name := w.hubNames()[0]
	w.serveOn(name, nodeName, 5)
	edit(w, "hub", func(g *v1alpha1.ServerGroup) { g.Spec.Scaling.MinReplicas = new(int32(0)) })
	w.tickWith(map[string]int32{name: 5})
	w.Expect(w.newcomers(name)).To(gomega.BeEmpty())
	w.cordon(nodeName)
	w.tickWith(map[string]int32{name: 5})
	fresh := w.newcomers(name)
	w.Expect(fresh).To(gomega.HaveLen(1), "its players need seats elsewhere")
	w.serveOn(fresh[0], otherNode, 0)
	w.tickWith(map[string]int32{name: 5, fresh[0]: 0})
	w.Expect(w.asked(name)).To(gomega.BeTrue())
}

func nodeUncordoned(w *world) {
	names := w.hubOf(2, 4)
	w.serveOn(names[0], nodeName, 5)
	w.serveOn(names[1], otherNode, 48)
	players := map[string]int32{names[0]: 5, names[1]: 48}
	w.cordon(nodeName)
	w.tickWith(players)
	w.Expect(get[v1alpha1.Server](w, names[0]).Spec.RetireReason).To(gomega.Equal(v1alpha1.RetireNodeDraining))
	w.settle(aServer, names[0])
	w.Expect(w.serverStatus(names[0]).Phase).To(gomega.Equal(v1alpha1.ServerRetiring))
	w.Expect(w.serverCondition(names[0], "Ready")).To(gomega.HavePrefix("False Retiring"))
	w.Expect(w.asked(names[0])).To(gomega.BeFalse())
	w.unschedulable(nodeName, false)
	w.tickWith(players)
	w.Expect(get[v1alpha1.Server](w, names[0]).Spec.RetireReason).To(gomega.BeEmpty())
	w.settle(aServer, names[0])
	w.Expect(w.serverStatus(names[0]).Phase).To(gomega.Equal(v1alpha1.ServerReady))
	w.Expect(w.serverStatus(names[0]).Registered).To(gomega.HaveValue(gomega.BeTrue()))
	w.Expect(w.draining()).To(gomega.HavePrefix("False NoNodesDraining"))
}

func oneAtATime(w *world) {
	names := w.hubOf(3, 6)
	w.serveOn(names[0], nodeName, 5)
	w.serveOn(names[1], nodeName, 3)
	w.serveOn(names[2], otherNode, 0)
	edit(w, "hub", func(g *v1alpha1.ServerGroup) { g.Spec.Scaling.MinReplicas = new(int32(1)) })
	w.cordon(nodeName)
	players := map[string]int32{names[0]: 5, names[1]: 3, names[2]: 0}
	for range 3 {
		w.tickWith(players)
		w.Expect(w.asked(names[1])).To(gomega.BeTrue(), "the one with fewer players")
		w.Expect(w.asked(names[0])).To(gomega.BeFalse())
	}
	w.force(get[v1alpha1.Server](w, names[1]))
	delete(players, names[1])
	w.tickWith(players)
	w.Expect(w.asked(names[0])).To(gomega.BeTrue())
}

func ceilingOfADrain(w *world) {
	names := w.hubOf(2, 2)
	w.serveOn(names[0], nodeName, 50)
	w.serveOn(names[1], nodeName, 50)
	w.cordon(nodeName)
	players := map[string]int32{names[0]: 50, names[1]: 50}
	w.tickWith(players)
	fresh := w.newcomers(names...)
	w.Expect(fresh).To(gomega.HaveLen(2), "both of the two that maxReplicas allows")
	w.tickWith(players)
	w.Expect(w.newcomers(names...)).To(gomega.HaveLen(2), "and no third")
	for _, name := range fresh {
		w.serveOn(name, otherNode, 0)
		players[name] = 0
	}
	w.tickWith(players)
	w.Expect([]bool{w.asked(names[0]), w.asked(names[1])}).To(gomega.ConsistOf(true, false), "one of them goes")
}

// worldOn makes survival-0 Ready on node1, its claim bound to a volume that can
// be mounted on the node given, or on any.
func (w *world) worldOn(node string) {
	w.t.Helper()
	w.ordinal()
	w.serveOn("survival-0", nodeName, 5)
	volume := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "volume-" + w.namespace}}
	volume.Spec = corev1.PersistentVolumeSpec{
		Capacity:    corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")},
		AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
		PersistentVolumeSource: corev1.PersistentVolumeSource{
			HostPath: &corev1.HostPathVolumeSource{Path: "/tmp/" + w.namespace},
		},
	}
	if node != "" {
		volume.Spec.NodeAffinity = &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
			MatchFields: []corev1.NodeSelectorRequirement{{Key: "metadata.name", Operator: corev1.NodeSelectorOpIn, Values: []string{node}}},
		}}}}
	}
	w.Expect(w.Client.Create(w.t.Context(), volume)).To(gomega.Succeed())
	w.bindClaim("1Gi")
	w.cordon(nodeName)
	w.clock.Step(time.Second)
	w.settle(aGroup, "survival")
}

func worldBoundToNode(w *world) {
	w.worldOn(nodeName)
	w.Expect(w.asked("survival-0")).To(gomega.BeFalse())
	w.Expect(w.groupCondition("survival", "NodeDraining")).To(gomega.And(
		gomega.HavePrefix("True NodeDraining: survival-0: "), gomega.ContainSubstring("nowhere else to go")))
	edit(w, "survival", func(g *v1alpha1.ServerGroup) { g.Spec.Image = "example.test/newer:1" })
	w.settle(aGroup, "survival")
	w.Expect(w.asked("survival-0")).To(gomega.BeFalse(), "it could not start again")
	w.Expect(w.groupCondition("survival", "Progressing")).To(gomega.ContainSubstring("survival-0 stays as it is: its node takes no new pods"))
}

func worldFollows(w *world) {
	w.worldOn("")
	w.Expect(w.asked("survival-0")).To(gomega.BeTrue())
	w.settle(aServer, "survival-0")
	w.Expect(w.serverStatus("survival-0").Phase).To(gomega.Equal(v1alpha1.ServerDraining), "its players are moved first")
	w.Expect(w.gone(&corev1.PersistentVolumeClaim{}, "survival-0-data")).To(gomega.BeFalse())
}
