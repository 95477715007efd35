// SPDX-License-Identifier: Apache-2.0

package passes

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
)

func growthPasses() map[string]func(*world) {
	return map[string]func(*world){
		"a claim grows by one patch of its size":             claimGrows,
		"a claim grows once it is bound":                     unboundGrowsLater,
		"a claim that grew by other hands is left alone":     grownByHand,
		"a volume that is large enough is left alone":        largeVolume,
		"a class that lets nothing grow":                     classRefuses,
		"a quota that lets nothing grow":                     quotaRefusesGrowth,
		"a storage that cannot give what was granted":        storageFails,
		"a file system that follows its volume at a restart": fileSystemFollows,
		"a file system that follows its volume never":        unresizedIsTold,
	}
}

func quantity(size string) *resource.Quantity { return new(resource.MustParse(size)) }

// recorder notes every write to a claim on its way to the API server.
type recorder struct {
	client.Client
	writes []string
}

func (r *recorder) note(verb string, object client.Object, body []byte) {
	if _, ok := object.(*corev1.PersistentVolumeClaim); ok {
		r.writes = append(r.writes, fmt.Sprintf("%s %s %s", verb, object.GetName(), body))
	}
}

func (r *recorder) Create(ctx context.Context, object client.Object, options ...client.CreateOption) error {
	r.note("create", object, nil)
	return r.Client.Create(ctx, object, options...)
}

func (r *recorder) Update(ctx context.Context, object client.Object, options ...client.UpdateOption) error {
	r.note("update", object, nil)
	return r.Client.Update(ctx, object, options...)
}

func (r *recorder) Patch(ctx context.Context, object client.Object, patch client.Patch, options ...client.PatchOption) error {
	body, err := patch.Data(object)
	if err != nil {
		return err
	}
	r.note(string(patch.Type()), object, body)
	return r.Client.Patch(ctx, object, patch, options...)
}

func (r *recorder) Delete(ctx context.Context, object client.Object, options ...client.DeleteOption) error {
	r.note("delete", object, nil)
	return r.Client.Delete(ctx, object, options...)
}

func (r *recorder) DeleteAllOf(ctx context.Context, object client.Object, options ...client.DeleteAllOfOption) error {
	r.note("delete all", object, nil)
	return r.Client.DeleteAllOf(ctx, object, options...)
}

// record begins to note what is written to claims.
func (w *world) record() *recorder {
	noted := &recorder{Client: w.cache.Client}
	w.cache.Client = noted
	return noted
}

// class makes a StorageClass, and a group of it whose one server serves.
func (w *world) class(expansion bool) *storagev1.StorageClass {
	class := &storagev1.StorageClass{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "class-"}, Provisioner: "example.test/none", AllowVolumeExpansion: &expansion,
	}
	w.Expect(w.Client.Create(w.t.Context(), class)).To(gomega.Succeed())
	w.network()
	group := survival(1)
	group.Spec.Storage.StorageClassName = new(class.Name)
	w.create(group)
	w.settle(aGroup, "survival")
	w.serve("survival-0", 0)
	return class
}

// bindClaim binds the claim as the provisioner of its class does, to a volume of a
// size.
func (w *world) bindClaim(size string) {
	w.t.Helper()
	edit(w, theClaim, func(c *corev1.PersistentVolumeClaim) { c.Spec.VolumeName = "volume-" + w.namespace })
	w.claimStatus(func(status *corev1.PersistentVolumeClaimStatus) {
		status.Phase = corev1.ClaimBound
		status.Capacity = corev1.ResourceList{corev1.ResourceStorage: *quantity(size)}
	})
}

// claimStatus is what resizers and kubelets write.
func (w *world) claimStatus(change func(*corev1.PersistentVolumeClaimStatus)) {
	w.t.Helper()
	claim := w.claim()
	change(&claim.Status)
	w.Expect(w.Client.Status().Update(w.t.Context(), claim)).To(gomega.Succeed())
}

func says(kind corev1.PersistentVolumeClaimConditionType, message string) func(*corev1.PersistentVolumeClaimStatus) {
	return func(status *corev1.PersistentVolumeClaimStatus) {
		status.Conditions = []corev1.PersistentVolumeClaimCondition{{Type: kind, Status: corev1.ConditionTrue, Message: message}}
	}
}

// wants gives the group another size and makes a pass over its server.
func (w *world) wants(size string) {
	w.t.Helper()
	edit(w, "survival", func(g *v1alpha1.ServerGroup) { g.Spec.Storage.Size = quantity(size) })
	w.settle(aServer, "survival-0")
}

func (w *world) requested() string {
	w.t.Helper()
	return w.claim().Spec.Resources.Requests.Storage().String()
}

func claimGrows(w *world) {
	noted := w.record()
	w.class(true)
	w.bindClaim("1Gi")
	edit(w, theClaim, func(c *corev1.PersistentVolumeClaim) {
		c.Labels["mine"], c.Annotations = "yes", map[string]string{"mine": "yes"}
		c.Finalizers = append(c.Finalizers, "example.test/mine")
	})
	before := w.claim()
	w.wants("2Gi")
	w.clock.Step(time.Hour)
	w.report("survival-0", 0)
	w.settle(aServer, "survival-0")

	after := w.claim()
	w.Expect(after.Spec.Resources.Requests.Storage().String()).To(gomega.Equal("2Gi"))
	before.Spec.Resources.Requests = after.Spec.Resources.Requests
	before.ResourceVersion, before.ManagedFields = after.ResourceVersion, after.ManagedFields
	w.Expect(after).To(gomega.Equal(before), "nothing else of it has changed")
	var patch map[string]any
	w.Expect(noted.writes).To(gomega.HaveLen(2), "one create and one patch: %v", noted.writes)
	w.Expect(noted.writes[0]).To(gomega.HavePrefix("create survival-0-data"))
	w.Expect(noted.writes[1]).To(gomega.HavePrefix("application/merge-patch+json survival-0-data {"))
	body := noted.writes[1][len("application/merge-patch+json survival-0-data "):]
	w.Expect(json.Unmarshal([]byte(body), &patch)).To(gomega.Succeed())
	w.Expect(patch).To(gomega.HaveLen(2))
	w.Expect(patch["spec"]).To(gomega.Equal(map[string]any{"resources": map[string]any{"requests": map[string]any{"storage": "2Gi"}}}))
	w.Expect(patch["metadata"]).To(gomega.And(
		gomega.HaveLen(2), gomega.HaveKeyWithValue("uid", string(before.UID)), gomega.HaveKey("resourceVersion")))
	w.Expect(w.serverStatus("survival-0").StorageResizeError).To(gomega.BeEmpty())
}

func unboundGrowsLater(w *world) {
	noted := w.record()
	w.class(true)
	w.wants("2Gi")
	w.Expect(noted.writes).To(gomega.HaveLen(1), "only a bound claim may grow")
	w.Expect(w.serverStatus("survival-0").StorageResizeError).To(gomega.BeEmpty())
	w.bindClaim("1Gi")
	w.settle(aServer, "survival-0")
	w.Expect(w.requested()).To(gomega.Equal("2Gi"))
}

func grownByHand(w *world) {
	w.class(true)
	w.bindClaim("1Gi")
	edit(w, theClaim, func(c *corev1.PersistentVolumeClaim) {
		c.Spec.Resources.Requests[corev1.ResourceStorage] = *quantity("8Gi")
	})
	noted := w.record()
	for _, size := range []string{"2Gi", "7Gi", "8Gi"} {
		w.wants(size)
		w.Expect(w.requested()).To(gomega.Equal("8Gi"))
	}
	w.Expect(noted.writes).To(gomega.BeEmpty())
	w.wants("9Gi")
	w.Expect(w.requested()).To(gomega.Equal("9Gi"))
	w.settle(aGroup, "survival")
	w.Expect(condition(w.groupStatus("survival").Conditions, "StorageResize")).To(gomega.HavePrefix("True StorageResized"))
}

func largeVolume(w *world) {
	w.class(true)
	w.bindClaim("5Gi")
	noted := w.record()
	w.wants("5Gi")
	w.Expect(noted.writes).To(gomega.BeEmpty(), "the volume has that already")
	w.wants("6Gi")
	w.Expect(w.requested()).To(gomega.Equal("6Gi"))
}

func classRefuses(w *world) {
	class := w.class(false)
	w.bindClaim("1Gi")
	edit(w, "survival", func(g *v1alpha1.ServerGroup) { g.Spec.Storage.Size = quantity("2Gi") })
	result := w.settle(aServer, "survival-0")
	w.Expect(w.serverStatus("survival-0").StorageResizeError).To(gomega.And(
		gomega.ContainSubstring(`persistentvolumeclaims "survival-0-data" is forbidden: only dynamically provisioned pvc can be resized`),
		gomega.HaveSuffix(fmt.Sprintf(`What to do: set allowVolumeExpansion: true on StorageClass %q if its storage can grow volumes; `+
			`otherwise copy the world to a larger claim.`, class.Name))))
	w.Expect(w.serverStatus("survival-0").Phase).To(gomega.Equal(v1alpha1.ServerReady), "it runs on what it has")
	w.Expect(result.RequeueAfter).To(gomega.BeNumerically("~", 15*time.Second, 15*time.Second), "what allows it makes no sign")
	w.Expect(result.RequeueAfter).NotTo(gomega.BeZero())
	w.settle(aGroup, "survival")
	w.Expect(condition(w.groupStatus("survival").Conditions, "StorageResize")).To(gomega.And(
		gomega.HavePrefix("False StorageResizeRefused: "), gomega.ContainSubstring("survival-0"), gomega.ContainSubstring("What to do: ")))
	class.AllowVolumeExpansion = new(true)
	w.Expect(w.Client.Update(w.t.Context(), class)).To(gomega.Succeed())
	w.asksUntilGranted()
	w.Expect(w.requested()).To(gomega.Equal("2Gi"))
	w.settle(aGroup, "survival")
	w.Expect(condition(w.groupStatus("survival").Conditions, "StorageResize")).To(gomega.HavePrefix("True StorageResized"))
}

// asksUntilGranted lets time pass: the API server may learn late of what
// allows it.
func (w *world) asksUntilGranted() {
	w.t.Helper()
	w.Eventually(func() string {
		w.clock.Step(30 * time.Second)
		w.report("survival-0", 0)
		w.pass(aServer, "survival-0")
		return w.serverStatus("survival-0").StorageResizeError
	}, 10*time.Second).Should(gomega.BeEmpty())
}

func quotaRefusesGrowth(w *world) {
	w.class(true)
	w.bindClaim("1Gi")
	quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "small"}}
	quota.Spec.Hard = corev1.ResourceList{corev1.ResourceRequestsStorage: *quantity("1Gi")}
	w.create(quota)
	quota.Status.Hard, quota.Status.Used = quota.Spec.Hard, quota.Spec.Hard
	w.Expect(w.Client.Status().Update(w.t.Context(), quota)).To(gomega.Succeed())
	// The API server may learn of a quota a moment later.
	w.Eventually(func() error {
		larger := w.claim()
		larger.Spec.Resources.Requests[corev1.ResourceStorage] = *quantity("2Gi")
		return w.Client.Update(w.t.Context(), larger, client.DryRunAll)
	}, 10*time.Second).Should(gomega.MatchError(gomega.ContainSubstring("exceeded quota")))
	w.wants("2Gi")
	w.Expect(w.serverStatus("survival-0").StorageResizeError).To(gomega.And(
		gomega.ContainSubstring("exceeded quota: small"), gomega.HaveSuffix("What to do: raise that quota.")))
	w.remove(quota)
	w.asksUntilGranted()
	w.Expect(w.requested()).To(gomega.Equal("2Gi"))
}

func storageFails(w *world) {
	w.class(true)
	w.bindClaim("1Gi")
	w.wants("2Gi")
	w.claimStatus(says(corev1.PersistentVolumeClaimControllerResizeError, "the pool is full"))
	w.settle(aServer, "survival-0")
	w.Expect(w.serverStatus("survival-0").StorageResizeError).To(gomega.And(
		gomega.HavePrefix("claim survival-0-data asks for 2Gi and has 1Gi, and its storage says: the pool is full. What to do: ")))
	w.settle(aGroup, "survival")
	w.Expect(condition(w.groupStatus("survival").Conditions, "StorageResize")).To(gomega.HavePrefix("False StorageResizeRefused"))
	w.bindClaim("2Gi")
	w.settle(aServer, "survival-0")
	w.Expect(w.serverStatus("survival-0").StorageResizeError).To(gomega.BeEmpty(), "what is given is no failure, whatever is still written there")
}

func fileSystemFollows(w *world) {
	w.class(true)
	w.bindClaim("1Gi")
	w.wants("2Gi")
	w.Expect(w.serverStatus("survival-0").StorageResizePending).To(gomega.BeNil())
	since := get[v1alpha1.Server](w, "survival-0").CreationTimestamp.Add(time.Second)
	w.podStatus("survival-0", func(pod *corev1.Pod) { pod.Status.StartTime = new(metav1.NewTime(since)) })
	w.fileSystemPending("survival-0-data", since)
	for _, wait := range []time.Duration{time.Second, 3*time.Minute - time.Second} {
		w.clock.SetTime(since.Add(wait))
		w.settleGrowth()
		w.Expect(w.serverStatus("survival-0").StorageResizePending).To(gomega.BeNil(), "its driver may grow it under the running game")
	}
	w.clock.SetTime(since.Add(3 * time.Minute))
	w.settleGrowth()
	w.Expect(w.serverStatus("survival-0").StorageResizePending).To(gomega.HaveValue(gomega.BeTrue()))
	w.claimStatus(func(status *corev1.PersistentVolumeClaimStatus) { status.Conditions = nil })
	w.settle(aServer, "survival-0")
	w.Expect(w.serverStatus("survival-0").StorageResizePending).To(gomega.BeNil())
}

// unresizedIsTold has a driver that grows no file system, not even at a mount,
// and one that does not say since when it is waited for.
func unresizedIsTold(w *world) {
	w.class(true)
	w.bindClaim("1Gi")
	for _, since := range []time.Time{get[v1alpha1.Server](w, "survival-0").CreationTimestamp.Add(-time.Second), {}} {
		w.fileSystemPending("survival-0-data", since)
		w.podStatus("survival-0", func(pod *corev1.Pod) { pod.Status.StartTime = nil })
		w.clock.Step(time.Hour)
		w.settleGrowth()
		w.Expect(w.serverStatus("survival-0").StorageResizeError).To(gomega.BeEmpty(), "nothing has mounted it")
		w.podStatus("survival-0", func(pod *corev1.Pod) { pod.Status.StartTime = new(metav1.NewTime(w.clock.Now())) })
		w.settleGrowth()
		w.Expect(w.serverStatus("survival-0").StorageResizeError).To(gomega.BeEmpty(), "its driver may say so in a moment")
		w.clock.Step(3*time.Minute + time.Second)
		w.settleGrowth()
		w.Expect(w.serverStatus("survival-0").StorageResizePending).To(gomega.BeNil())
		w.Expect(w.serverStatus("survival-0").StorageResizeError).To(gomega.HavePrefix(
			"the file system on claim survival-0-data has not grown though it was mounted anew since. What to do: "))
		w.claimStatus(func(status *corev1.PersistentVolumeClaimStatus) { status.Conditions = nil })
		w.settleGrowth()
		w.Expect(w.serverStatus("survival-0").StorageResizeError).To(gomega.BeEmpty())
	}
}

func (w *world) settleGrowth() {
	w.t.Helper()
	w.report("survival-0", 0)
	w.settle(aServer, "survival-0")
}
