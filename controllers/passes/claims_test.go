// SPDX-License-Identifier: Apache-2.0

package passes

import (
	"time"

	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/podspec"
)

func claimPasses() map[string]func(*world) {
	return map[string]func(*world){
		"a foreign claim is waited for":                 foreignClaim,
		"a foreign claim that goes makes room":          foreignClaimGoes,
		"a claim that exists is mounted as it is":       ownClaimAgain,
		"a claim that somebody deletes is not mounted":  deletedClaim,
		"a claim that somebody deletes under a running": deletedUnderIt,
		"a claim handed back while its server runs":     unlabelledUnderIt,
		"a deleted group leaves its claims":             groupLeavesClaims,
		"annotations reach new claims only":             annotations,
	}
}

const theClaim = "survival-0-data"

func (w *world) claim() *corev1.PersistentVolumeClaim {
	w.t.Helper()
	return get[corev1.PersistentVolumeClaim](w, theClaim)
}

// foreign makes a claim of the name that carries every label but the one that
// counts.
func (w *world) foreign() {
	claim := podspec.BuildDataClaim(get[v1alpha1.ServerGroup](w, "survival"), 0)
	delete(claim.Labels, podspec.LabelManagedBy)
	w.create(claim)
}

func foreignClaim(w *world) {
	w.ordinal()
	w.foreign()
	w.told()
	for range 3 {
		result := w.settle(aServer, "survival-0")
		w.Expect(result.RequeueAfter).To(gomega.Equal(30*time.Second), "a claim that is none of ours makes no sign")
		w.Expect(w.serverCondition("survival-0", "Accepted")).To(gomega.And(
			gomega.HavePrefix("False ClaimNotOurs: claim survival-0-data "),
			gomega.ContainSubstring("spawnery.cloud/managed-by=spawnery-operator to hand it over")))
		w.Expect(w.serverStatus("survival-0").Phase).To(gomega.Equal(v1alpha1.ServerPending), "never Failed")
		w.Expect(w.serverStatus("survival-0").StartedAt).To(gomega.BeNil(), "the clock is suspended")
		w.clock.Step(time.Hour)
	}
	w.Expect(w.told()).To(gomega.MatchRegexp("^Warning ClaimNotOurs [^\n]*$"), "one event, however often it is looked at")
	w.settle(aGroup, "survival")
	w.Expect(w.groupStatus("survival").ConsecutiveFailures).To(gomega.HaveValue(gomega.BeZero()))
	w.Expect(w.pods(podspec.RoleServer)).To(gomega.BeEmpty())

	edit(w, theClaim, func(c *corev1.PersistentVolumeClaim) { c.Labels = podspec.ManagedLabels() })
	w.settle(aServer, "survival-0")
	w.Expect(w.serverCondition("survival-0", "Accepted")).To(gomega.HavePrefix("True Accepted"))
	w.Expect(w.pods(podspec.RoleServer)).To(gomega.HaveLen(1), "the label alone hands it over")
	w.Expect(w.serverStatus("survival-0").StartedAt.Time).To(gomega.BeTemporally("~", w.clock.Now(), time.Second))
	w.Expect(w.claim().Labels).To(gomega.Equal(podspec.ManagedLabels()), "nothing is added to it")
}

func foreignClaimGoes(w *world) {
	w.ordinal()
	w.foreign()
	w.settle(aServer, "survival-0")
	edit(w, theClaim, func(c *corev1.PersistentVolumeClaim) { c.Finalizers = nil })
	w.remove(w.claim())
	w.settle(aServer, "survival-0")
	w.Expect(w.claim().Labels).To(gomega.HaveKeyWithValue(podspec.LabelManagedBy, podspec.ManagedBy))
	w.Expect(w.serverStatus("survival-0").PodName).To(gomega.Equal("survival-0"))
}

// ownClaimAgain has a claim of another group, network, size and class: what is
// on it is the world.
func ownClaimAgain(w *world) {
	w.ordinal()
	claim := podspec.BuildDataClaim(get[v1alpha1.ServerGroup](w, "survival"), 0)
	claim.Labels[podspec.LabelGroup], claim.Labels[podspec.LabelNetwork], claim.Labels[podspec.LabelServer] = "other", "other", "other-7"
	claim.Spec.StorageClassName = new("fast")
	claim.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany}
	w.create(claim)
	before := w.claim()
	w.settle(aServer, "survival-0")
	w.Expect(w.serverStatus("survival-0").PodName).To(gomega.Equal("survival-0"))
	w.Expect(w.claim()).To(gomega.Equal(before))
}

// held makes a claim that something keeps from going, as pods that mount it do.
func (w *world) held() types.UID {
	claim := podspec.BuildDataClaim(get[v1alpha1.ServerGroup](w, "survival"), 0)
	claim.Finalizers = []string{"kubernetes.io/pvc-protection"}
	w.create(claim)
	return claim.UID
}

func (w *world) letGo() {
	edit(w, theClaim, func(c *corev1.PersistentVolumeClaim) { c.Finalizers = nil })
}

func deletedClaim(w *world) {
	w.ordinal()
	before := w.held()
	w.remove(w.claim())
	w.settle(aServer, "survival-0")
	w.clock.Step(24 * time.Hour)
	w.settle(aServer, "survival-0")
	w.Expect(w.serverCondition("survival-0", "Accepted")).To(gomega.And(
		gomega.HavePrefix("False ClaimTerminating: somebody deletes claim survival-0-data"),
		gomega.ContainSubstring("an empty one is made"), gomega.ContainSubstring("kubernetes.io/pvc-protection")))
	w.Expect(w.pods(podspec.RoleServer)).To(gomega.BeEmpty(), "nothing prolongs it")
	w.Expect(w.serverStatus("survival-0").Phase).To(gomega.Equal(v1alpha1.ServerPending), "never Failed")
	w.letGo()
	w.settle(aServer, "survival-0")
	w.Expect(w.claim().UID).NotTo(gomega.Equal(before))
	w.Expect(w.serverStatus("survival-0").PodName).To(gomega.Equal("survival-0"))
	w.Expect(w.serverCondition("survival-0", "Accepted")).To(gomega.HavePrefix("True Accepted"))
}

func deletedUnderIt(w *world) {
	w.ordinal()
	w.held()
	w.serve("survival-0", 1)
	w.remove(w.claim())
	edit(w, "survival", func(g *v1alpha1.ServerGroup) { g.Spec.Storage.Size = quantity("2Gi") })
	w.settle(aServer, "survival-0")
	w.Expect(w.serverStatus("survival-0").Phase).To(gomega.Equal(v1alpha1.ServerReady), "whoever plays plays on")
	w.Expect(w.serverCondition("survival-0", "Accepted")).To(gomega.And(
		gomega.HavePrefix("False ClaimTerminating"), gomega.ContainSubstring("as soon as pod survival-0 ends"), gomega.ContainSubstring("copy now")))
	w.Expect(w.claim().Spec.Resources.Requests.Storage().String()).To(gomega.Equal("1Gi"), "it is left alone")
}

func unlabelledUnderIt(w *world) {
	w.ordinal()
	w.serve("survival-0", 1)
	edit(w, theClaim, func(c *corev1.PersistentVolumeClaim) { c.Labels = nil })
	w.settle(aServer, "survival-0")
	w.Expect(w.serverStatus("survival-0").Phase).To(gomega.Equal(v1alpha1.ServerReady))
	w.Expect(w.claim().Labels).To(gomega.BeEmpty())
	w.exit("survival-0", 1)
	w.settle(aServer, "survival-0")
	w.Expect(w.serverStatus("survival-0").Phase).To(gomega.Equal(v1alpha1.ServerFailed))
}

func annotations(w *world) {
	w.ordinal()
	w.settle(aServer, "survival-0")
	edit(w, "survival", func(g *v1alpha1.ServerGroup) {
		g.Spec.Replicas, g.Spec.Storage.Annotations = new(int32(2)), map[string]string{"volumeType": "local"}
	})
	hash := get[v1alpha1.Server](w, "survival-0").Spec.PodHash
	w.settle(aGroup, "survival")
	for _, name := range []string{"survival-0", "survival-1"} {
		w.settle(aServer, name)
	}
	w.Expect(w.claim().Annotations).NotTo(gomega.HaveKey("volumeType"))
	w.Expect(get[corev1.PersistentVolumeClaim](w, "survival-1-data").Annotations).To(gomega.HaveKeyWithValue("volumeType", "local"))
	w.Expect(get[v1alpha1.Server](w, "survival-1").Spec.PodHash).To(gomega.Equal(hash), "storage is no part of a pod")
}

func groupLeavesClaims(w *world) {
	w.ordinal()
	w.serve("survival-0", 0)
	before := w.claim()
	w.remove(get[v1alpha1.ServerGroup](w, "survival"))
	w.remove(get[v1alpha1.Server](w, "survival-0"))
	w.settle(aServer, "survival-0")
	w.Expect(w.claim().UID).To(gomega.Equal(before.UID))
	w.Expect(w.claim().OwnerReferences).To(gomega.BeEmpty())
	w.Expect(w.claim().DeletionTimestamp).To(gomega.BeNil())
}
