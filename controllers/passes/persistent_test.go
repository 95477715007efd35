// SPDX-License-Identifier: Apache-2.0

package passes

import (
	"fmt"
	"time"

	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
)

// persistentPasses are about ordinals that go, and those that come back.
func persistentPasses() map[string]func(*world) {
	return map[string]func(*world){
		"a new spec takes one ordinal after the other":         ordinalsAreUpdated,
		"an edit that reaches no pod takes none":               editReachesNoPod,
		"an ordinal that failed before holds up no update":     failedBefore,
		"an ordinal that fails with the new spec stops it":     failsWithTheNewSpec,
		"an ordinal that waits for its name holds up nobody":   namelessBefore,
		"what cannot be made again is not taken down":          brokenMountTakesNobody,
		"a file system that is to grow takes ordinals in turn": fileSystemsGrow,
		"lowered replicas take the top, whoever is on it":      loweredReplicas,
		"a dead node's successor waits where it is seen":       deadNode,
		"a duplicate is told of, and never fails":              duplicateNeverFails,
	}
}

// worlds makes a group whose ordinals all serve, with a player each.
func (w *world) worlds(replicas int32) {
	w.t.Helper()
	w.network()
	w.create(survival(replicas))
	w.settle(aGroup, "survival")
	for ordinal := range replicas {
		w.serve(fmt.Sprintf("survival-%d", ordinal), 1)
	}
	w.settle(aGroup, "survival")
	w.Expect(w.groupStatus("survival").ReadyReplicas).To(gomega.HaveValue(gomega.Equal(replicas)))
}

// goingOrdinals are the Servers that were told to go.
func (w *world) goingOrdinals() []string {
	var names []string
	for _, server := range w.servers() {
		if server.DeletionTimestamp != nil {
			names = append(names, server.Name)
		}
	}
	return names
}

// goes lets a Server that drains go to the end: its player leaves, its world is
// saved, and its pod ends.
func (w *world) goes(name string) {
	w.t.Helper()
	w.settle(aServer, name)
	w.Expect(w.serverStatus(name).Phase).To(gomega.Equal(v1alpha1.ServerDraining), "it is drained as always")
	w.report(name, 0)
	w.settle(aServer, name)
	w.saved(name)
	w.pass(aServer, name)
	w.end(name)
	w.settle(aServer, name)
	w.Expect(w.gone(aServer, name)).To(gomega.BeTrue())
	w.settle(aGroup, "survival")
}

func (w *world) newWorldImage() {
	edit(w, "survival", func(g *v1alpha1.ServerGroup) { g.Spec.Image = "ghcr.io/spawnery/purpur:26.4-0.1.0" })
	w.settle(aGroup, "survival")
}

func ordinalsAreUpdated(w *world) {
	w.worlds(3)
	claims := map[string]string{}
	for _, name := range []string{"survival-0", "survival-1", "survival-2"} {
		claims[name] = string(get[corev1.PersistentVolumeClaim](w, name+"-data").UID)
	}
	w.told()
	w.newWorldImage()
	names := []string{"survival-2", "survival-1", "survival-0"}
	next := []string{"survival-1 waits: survival-2 is on its way out", "survival-0 waits: survival-1 is on its way out", "survival-0 is on its way out"}
	for updated, name := range names {
		w.Expect(w.goingOrdinals()).To(gomega.Equal([]string{name}), "one at a time, the highest first")
		w.Expect(w.told()).To(gomega.ContainSubstring(name + " is of an old spec"))
		w.Expect(w.groupCondition("survival", "Progressing")).To(gomega.Equal(fmt.Sprintf(
			"True RollingOut: %d of 3 servers are of the new spec; %s", updated, next[updated])))
		w.settle(aGroup, "survival")
		w.Expect(w.goingOrdinals()).To(gomega.Equal([]string{name}))
		w.goes(name)
		w.Expect(w.goingOrdinals()).To(gomega.BeEmpty(), "the next one waits until this one is back")
		w.serve(name, 1)
		w.Expect(get[corev1.Pod](w, name).Spec.Containers[0].Image).To(gomega.Equal("ghcr.io/spawnery/purpur:26.4-0.1.0"))
		w.Expect(string(get[corev1.PersistentVolumeClaim](w, name+"-data").UID)).To(gomega.Equal(claims[name]))
		w.settle(aGroup, "survival")
	}
	w.Expect(w.groupStatus("survival").UpdatedReplicas).To(gomega.HaveValue(gomega.BeEquivalentTo(3)))
	w.Expect(w.groupCondition("survival", "Progressing")).To(gomega.HavePrefix("False Settled"))
	w.Expect(w.groupCondition("survival", "Available")).To(gomega.Equal("True MinimumReplicasReady: ready: 3, the floor is 3"))
}

func editReachesNoPod(w *world) {
	w.worlds(2)
	edit(w, "survival", func(g *v1alpha1.ServerGroup) {
		g.Spec.DisplayName, g.Spec.Drain.TimeoutSeconds, g.Spec.FailedRetentionSeconds = "Survival", 90, new(int32(60))
	})
	w.settle(aGroup, "survival")
	w.Expect(w.groupStatus("survival").ObservedGeneration).To(gomega.HaveValue(gomega.BeEquivalentTo(2)))
	w.Expect(w.goingOrdinals()).To(gomega.BeEmpty(), "what counts is the digest, not the generation")
	w.Expect(w.groupCondition("survival", "Progressing")).To(gomega.HavePrefix("False Settled"))
}

func failedBefore(w *world) {
	w.worlds(2)
	w.exit("survival-1", 1)
	w.settle(aServer, "survival-1")
	w.newWorldImage()
	w.Expect(w.goingOrdinals()).To(gomega.Equal([]string{"survival-0"}), "the failed one may never be Ready again")
	w.goes("survival-0")
	w.serve("survival-0", 0)
	w.settle(aGroup, "survival")
	w.Expect(w.serverStatus("survival-1").Phase).To(gomega.Equal(v1alpha1.ServerFailed), "it is kept for its retention")
	w.Expect(w.groupCondition("survival", "Progressing")).To(gomega.Equal(
		"True RollingOut: 1 of 2 servers are of the new spec; those left are of an old spec and do not serve; they are of the new one when they are made again"))
	goFailedOf(w, "survival-1")
	w.clock.Step(10 * time.Second)
	w.settle(aGroup, "survival")
	w.settle(aServer, "survival-1")
	w.Expect(get[corev1.Pod](w, "survival-1").Spec.Containers[0].Image).To(gomega.Equal("ghcr.io/spawnery/purpur:26.4-0.1.0"))
}

// goFailedOf has a person delete a failed Server, which then goes at once.
func goFailedOf(w *world, name string) {
	w.t.Helper()
	w.remove(get[v1alpha1.Server](w, name))
	w.settle(aServer, name)
	w.end(name)
	w.settle(aServer, name)
	w.Expect(w.gone(aServer, name)).To(gomega.BeTrue())
}

func failsWithTheNewSpec(w *world) {
	w.worlds(2)
	w.newWorldImage()
	w.goes("survival-1")
	w.settle(aServer, "survival-1")
	w.run("survival-1")
	w.settle(aServer, "survival-1")
	w.exit("survival-1", 1)
	w.settle(aServer, "survival-1")
	w.clock.Step(time.Minute)
	w.report("survival-0", 1)
	w.settle(aGroup, "survival")
	w.Expect(w.goingOrdinals()).To(gomega.BeEmpty(), "the last world serves on")
	w.Expect(w.groupCondition("survival", "Progressing")).To(gomega.ContainSubstring("survival-0 waits: survival-1, which is of the group's spec, failed at "))
	edit(w, "survival", func(g *v1alpha1.ServerGroup) { g.Spec.Image = groupSpec().Image })
	w.settle(aGroup, "survival")
	w.Expect(w.goingOrdinals()).To(gomega.BeEmpty(), "the old spec is the group's again")
	w.Expect(w.groupStatus("survival").UpdatedReplicas).To(gomega.HaveValue(gomega.BeEquivalentTo(1)))
}

func namelessBefore(w *world) {
	w.network()
	pod := w.foreignPod("")
	w.create(survival(2))
	w.settle(aGroup, "survival")
	w.settle(aServer, "survival-0")
	w.serve("survival-1", 1)
	w.settle(aGroup, "survival")
	w.Expect(w.groupCondition("survival", "Available")).To(gomega.ContainSubstring("waits for a pod that has its name"))
	w.newWorldImage()
	w.Expect(w.goingOrdinals()).To(gomega.Equal([]string{"survival-1"}))
	w.unhold(pod)
}

func brokenMountTakesNobody(w *world) {
	w.worlds(2)
	edit(w, "survival", func(g *v1alpha1.ServerGroup) {
		g.Spec.Mounts = []v1alpha1.Mount{{MountPath: "/data/server.properties", ConfigMap: v1alpha1.LocalReference{Name: "own"}}}
	})
	w.settle(aGroup, "survival")
	w.Expect(w.goingOrdinals()).To(gomega.BeEmpty())
	w.Expect(w.groupCondition("survival", "Progressing")).To(gomega.ContainSubstring("survival-1 waits: mount /data/server.properties"))
}

// fileSystemPending says on a claim, as a resizer does, that its file system
// grows when it is mounted anew.
func (w *world) fileSystemPending(name string, since time.Time) {
	w.t.Helper()
	claim := get[corev1.PersistentVolumeClaim](w, name)
	claim.Status.Conditions = []corev1.PersistentVolumeClaimCondition{{
		Type: corev1.PersistentVolumeClaimFileSystemResizePending, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(since),
	}}
	w.Expect(w.Client.Status().Update(w.t.Context(), claim)).To(gomega.Succeed())
}

func fileSystemsGrow(w *world) {
	w.worlds(2)
	for _, name := range []string{"survival-0", "survival-1"} {
		w.fileSystemPending(name+"-data", time.Now())
		w.settle(aServer, name)
	}
	w.settle(aGroup, "survival")
	w.Expect(w.goingOrdinals()).To(gomega.BeEmpty(), "drivers may grow them under the running games")
	w.clock.Step(4 * time.Minute)
	for _, name := range []string{"survival-0", "survival-1"} {
		w.report(name, 1)
		w.settle(aServer, name)
	}
	w.settle(aGroup, "survival")
	w.Expect(w.goingOrdinals()).To(gomega.Equal([]string{"survival-1"}), "the highest first")
	w.Expect(w.groupCondition("survival", "StorageResize")).To(gomega.And(
		gomega.HavePrefix("True StorageResized"), gomega.ContainSubstring("survival-0, survival-1: the volume has grown")))
	w.goes("survival-1")
	w.Expect(w.goingOrdinals()).To(gomega.BeEmpty(), "the other one waits until this one is back")
	// Its driver has not made it grow: the condition stands, from before.
	w.fileSystemPending("survival-1-data", time.Now().Add(-time.Minute))
	w.serve("survival-1", 1)
	w.settle(aGroup, "survival")
	w.Expect(w.goingOrdinals()).To(gomega.Equal([]string{"survival-0"}), "and not the same one for ever")
	w.clock.Step(4 * time.Minute)
	w.report("survival-1", 1)
	w.settle(aServer, "survival-1")
	w.settle(aGroup, "survival")
	w.Expect(w.groupCondition("survival", "StorageResize")).To(gomega.ContainSubstring("survival-1 has not grown: the file system"))
}

func loweredReplicas(w *world) {
	w.worlds(3)
	edit(w, "survival", func(g *v1alpha1.ServerGroup) { g.Spec.Replicas = new(int32(1)) })
	w.settle(aGroup, "survival")
	w.Expect(w.goingOrdinals()).To(gomega.Equal([]string{"survival-2"}))
	w.settle(aServer, "survival-2")
	w.Expect(w.serverCondition("survival-2", "Ready")).To(gomega.HavePrefix("False SurplusOrdinal"))
	w.Expect(w.serverStatus("survival-2").Phase).To(gomega.Equal(v1alpha1.ServerDraining), "its player is moved first")
	w.clock.Step(59 * time.Second)
	w.report("survival-2", 1)
	w.settle(aServer, "survival-2")
	w.Expect(w.serverStatus("survival-2").Phase).To(gomega.Equal(v1alpha1.ServerDraining))
	w.clock.Step(time.Second)
	w.report("survival-2", 1)
	w.settle(aServer, "survival-2")
	w.Expect(w.serverStatus("survival-2").Phase).To(gomega.Equal(v1alpha1.ServerTerminating), "drain.timeoutSeconds are over, and it is still there")
	w.settle(aGroup, "survival")
	w.Expect(w.goingOrdinals()).To(gomega.Equal([]string{"survival-2"}), "one at a time")
	w.saved("survival-2")
	w.pass(aServer, "survival-2")
	w.end("survival-2")
	w.settle(aServer, "survival-2")
	w.settle(aGroup, "survival")
	w.Expect(w.goingOrdinals()).To(gomega.Equal([]string{"survival-1"}))
	w.Expect(w.gone(&corev1.PersistentVolumeClaim{}, "survival-2-data")).To(gomega.BeFalse(), "its claim stays")
}

// deadNode has a pod that nobody confirms the end of. A finalizer keeps it here,
// as the want of a kubelet does on a cluster.
func deadNode(w *world) {
	w.worlds(1)
	edit(w, "survival-0", func(p *corev1.Pod) { p.Finalizers = append(p.Finalizers, "example.test/no-kubelet") })
	dead := get[corev1.Pod](w, "survival-0")
	w.Expect(w.Client.Delete(w.t.Context(), dead, client.GracePeriodSeconds(1))).To(gomega.Succeed())
	before := get[v1alpha1.Server](w, "survival-0").UID
	w.settle(aServer, "survival-0")
	w.clock.Step(time.Minute)
	w.settle(aServer, "survival-0")
	w.Expect(w.gone(aServer, "survival-0")).To(gomega.BeTrue(), "it does not wait for a pod whose grace ran out 30 s ago")
	w.settle(aGroup, "survival")
	w.Expect(get[v1alpha1.Server](w, "survival-0").UID).NotTo(gomega.Equal(before))
	for range 3 {
		result := w.settle(aServer, "survival-0")
		w.settle(aGroup, "survival")
		w.Expect(result.RequeueAfter).To(gomega.Equal(5 * time.Second))
		status := w.serverStatus("survival-0")
		w.Expect(status.Phase).To(gomega.Equal(v1alpha1.ServerPending))
		w.Expect(status.StartedAt).To(gomega.BeNil(), "its clock does not run")
		w.Expect(condition(status.Conditions, "Accepted")).To(gomega.And(
			gomega.HavePrefix("False PodNameTerminating: pod survival-0 is still terminating on node "), gomega.ContainSubstring(dead.Spec.NodeName),
			gomega.ContainSubstring("kubectl delete pod survival-0 -n "+w.namespace+" --force --grace-period=0")))
		w.Expect(w.failures()).To(gomega.BeZero(), "it is never counted")
		w.clock.Step(12 * time.Hour)
	}
	w.unhold(get[corev1.Pod](w, "survival-0"))
	w.settle(aServer, "survival-0")
	w.Expect(get[corev1.Pod](w, "survival-0").UID).NotTo(gomega.Equal(dead.UID))
	w.Expect(w.serverStatus("survival-0").StartedAt.Time).To(gomega.BeTemporally("~", w.clock.Now(), time.Second), "the deadline begins now")
}

func duplicateNeverFails(w *world) {
	w.worlds(1)
	twin := get[v1alpha1.Server](w, "survival-0").DeepCopy()
	twin.ObjectMeta = metav1.ObjectMeta{Name: "survival-zero", OwnerReferences: twin.OwnerReferences, Finalizers: twin.Finalizers}
	w.create(twin)
	for range 3 {
		w.report("survival-0", 1)
		w.settle(aServer, "survival-0")
		w.settle(aServer, "survival-zero")
		w.settle(aGroup, "survival")
		w.clock.Step(time.Hour)
	}
	w.Expect(w.serverStatus("survival-zero").Phase).To(gomega.Equal(v1alpha1.ServerPending), "nothing of its world was tried")
	w.Expect(w.failures()).To(gomega.BeZero())
	w.Expect(w.groupStatus("survival").LastDecision).To(gomega.ContainSubstring("ordinals [0] are carried by several Servers"))
	w.newWorldImage()
	w.Expect(w.goingOrdinals()).To(gomega.BeEmpty(), "nobody can tell which one is right")
}
