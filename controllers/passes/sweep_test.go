// SPDX-License-Identifier: Apache-2.0

package passes

import (
	"context"
	"errors"
	"time"

	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/controllers/orphans"
	"github.com/spawnery/spawnery-operator/controllers/scaleboost"
	"github.com/spawnery/spawnery-operator/internal/podspec"
)

func sweepPasses() map[string]func(*world) {
	return map[string]func(*world){
		"a pod whose Server is gone goes once it is old":      podWithoutServer,
		"a proxy whose group is gone goes":                    proxyWithoutGroup,
		"a Server whose group is gone is drained":             serverWithoutGroup,
		"a Server of a group made again is drained":           serverOfAnotherGroup,
		"an owner that only the cache does not show is there": ownerUnseen,
		"what others made is left alone":                      foreignPodsStay,
		"an orphan that cannot go holds up no other":          orphanThatStays,
		"a boost that is prolonged meanwhile stays":           prolongedBoost,
		"the boost of a group that is gone goes by its time":  boostWithoutGroup,
	}
}

// failing is a client to which some deletes fail, and which changes something
// right after a list.
type failing struct {
	client.Client
	undeletable string
	listed      func()
}

var errUndeletable = errors.New("the API server is having a bad day")

func (f *failing) Delete(ctx context.Context, object client.Object, options ...client.DeleteOption) error {
	if object.GetName() == f.undeletable {
		return errUndeletable
	}
	return f.Client.Delete(ctx, object, options...)
}

func (f *failing) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	err := f.Client.List(ctx, list, options...)
	if f.listed != nil {
		f.listed()
	}
	return err
}

// own is a client that sees nothing of other tests' namespaces.
type own struct {
	client.Client
	namespace string
}

func (o own) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	return o.Client.List(ctx, list, append(options, client.InNamespace(o.namespace))...)
}

func (w *world) sweepOrphans(c client.Client) error {
	sweeper := orphans.Sweeper{Client: own{c, w.namespace}, Live: w.Client, Clock: w.clock}
	return sweeper.Sweep(w.t.Context())
}

func (w *world) sweepBoosts(c client.Client) error {
	sweeper := scaleboost.Sweeper{Client: own{c, w.namespace}, Clock: w.clock}
	return sweeper.Sweep(w.t.Context())
}

// force takes an object away whoever holds it, as somebody does who removes
// its finalizers.
func (w *world) force(object client.Object) {
	w.t.Helper()
	before := object.DeepCopyObject().(client.Object)
	object.SetFinalizers(nil)
	w.Expect(w.Client.Patch(w.t.Context(), object, client.MergeFrom(before))).To(gomega.Succeed())
	w.Expect(client.IgnoreNotFound(w.Client.Delete(w.t.Context(), object))).To(gomega.Succeed())
}

func (w *world) leaving(kind client.Object, name string) bool {
	w.t.Helper()
	object := kind.DeepCopyObject().(client.Object)
	err := w.Client.Get(w.t.Context(), client.ObjectKey{Namespace: w.namespace, Name: name}, object)
	w.Expect(client.IgnoreNotFound(err)).To(gomega.Succeed())
	return err != nil || object.GetDeletionTimestamp() != nil
}

func podWithoutServer(w *world) {
	names := w.hubs(2)
	w.force(get[v1alpha1.Server](w, names[0]))
	w.clock.Step(4 * time.Minute)
	w.Expect(w.sweepOrphans(w.cache)).To(gomega.Succeed())
	w.Expect(w.leaving(&corev1.Pod{}, names[0])).To(gomega.BeFalse(), "it is younger than five minutes")
	w.clock.Step(time.Minute + time.Second)
	w.Expect(w.sweepOrphans(w.cache)).To(gomega.Succeed())
	w.Expect(w.leaving(&corev1.Pod{}, names[0])).To(gomega.BeTrue())
	w.Expect(w.leaving(&corev1.Pod{}, names[1])).To(gomega.BeFalse(), "its Server is there")
	w.Expect(w.leaving(aServer, names[1])).To(gomega.BeFalse(), "its group is there")
}

func proxyWithoutGroup(w *world) {
	w.front(1, byAddress())
	name := w.proxyNames()[0]
	w.clock.Step(6 * time.Minute)
	w.Expect(w.sweepOrphans(w.cache)).To(gomega.Succeed())
	w.Expect(w.leaving(&corev1.Pod{}, name)).To(gomega.BeFalse())
	w.remove(get[v1alpha1.ProxyGroup](w, "front"))
	w.Expect(w.sweepOrphans(w.cache)).To(gomega.Succeed())
	w.Expect(w.leaving(&corev1.Pod{}, name)).To(gomega.BeTrue())
}

func serverWithoutGroup(w *world) {
	names := w.hubs(1)
	// As kubectl delete --cascade=orphan leaves it.
	edit(w, names[0], func(s *v1alpha1.Server) { s.OwnerReferences = nil })
	w.clock.Step(6 * time.Minute)
	w.Expect(w.sweepOrphans(w.cache)).To(gomega.Succeed())
	w.Expect(w.leaving(aServer, names[0])).To(gomega.BeFalse(), "a group of the name is there")
	w.remove(get[v1alpha1.ServerGroup](w, "hub"))
	w.Expect(w.sweepOrphans(w.cache)).To(gomega.Succeed())
	w.Expect(w.leaving(aServer, names[0])).To(gomega.BeTrue())
	w.Expect(w.gone(aServer, names[0])).To(gomega.BeFalse(), "its finalizer lets it drain")
	w.Expect(w.leaving(&corev1.Pod{}, names[0])).To(gomega.BeFalse())
}

func serverOfAnotherGroup(w *world) {
	names := w.hubs(1)
	w.remove(get[v1alpha1.ServerGroup](w, "hub"))
	w.create(hub())
	w.clock.Step(6 * time.Minute)
	w.Expect(w.sweepOrphans(w.cache)).To(gomega.Succeed())
	w.Expect(w.leaving(aServer, names[0])).To(gomega.BeTrue())
}

func ownerUnseen(w *world) {
	names := w.hubs(1)
	w.clock.Step(6 * time.Minute)
	blind := &hiding{Client: w.cache}
	w.Expect(w.sweepOrphans(blind)).To(gomega.Succeed())
	w.Expect(blind.asked).To(gomega.BeNumerically(">", 0), "nothing was tested")
	w.Expect(w.leaving(&corev1.Pod{}, names[0])).To(gomega.BeFalse())
}

// hiding is a cache that shows no owner.
type hiding struct {
	client.Client
	asked int
}

func (h *hiding) Get(ctx context.Context, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	h.asked++
	key.Name = "nobody"
	return h.Client.Get(ctx, key, object, options...)
}

func foreignPodsStay(w *world) {
	w.network()
	for name, owner := range map[string][]metav1.OwnerReference{
		"no-owner":  nil,
		"deployed":  {{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "gone", UID: "1", Controller: new(true)}},
		"lookalike": {{APIVersion: "example.test/v1", Kind: "Server", Name: "gone", UID: "1", Controller: new(true)}},
		"referred":  {{APIVersion: v1alpha1.GroupVersion.String(), Kind: "Server", Name: "gone", UID: "1"}},
		"network":   {{APIVersion: v1alpha1.GroupVersion.String(), Kind: "Network", Name: "gone", UID: "1", Controller: new(true)}},
	} {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: podspec.ManagedLabels(), OwnerReferences: owner}}
		pod.Spec.Containers = []corev1.Container{{Name: "other", Image: "example.test/other"}}
		w.create(pod)
	}
	unlabelled := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "unlabelled", OwnerReferences: []metav1.OwnerReference{
		{APIVersion: v1alpha1.GroupVersion.String(), Kind: "Server", Name: "gone", UID: "1", Controller: new(true)},
	}}}
	unlabelled.Spec.Containers = []corev1.Container{{Name: "other", Image: "example.test/other"}}
	w.create(unlabelled)
	w.clock.Step(time.Hour)
	w.Expect(w.sweepOrphans(w.cache)).To(gomega.Succeed())
	for _, name := range []string{"no-owner", "deployed", "lookalike", "referred", "network", "unlabelled"} {
		w.Expect(w.leaving(&corev1.Pod{}, name)).To(gomega.BeFalse(), name)
	}
}

func orphanThatStays(w *world) {
	names := w.hubs(3)
	for _, name := range names {
		w.force(get[v1alpha1.Server](w, name))
	}
	w.clock.Step(6 * time.Minute)
	err := w.sweepOrphans(&failing{Client: w.cache, undeletable: names[1]})
	w.Expect(err).To(gomega.MatchError(errUndeletable))
	w.Expect(err.Error()).To(gomega.ContainSubstring(names[1]))
	for i, name := range names {
		w.Expect(w.leaving(&corev1.Pod{}, name)).To(gomega.Equal(i != 1), name)
	}
}

func (w *world) boost(name, group string, ago time.Duration) {
	boost := &v1alpha1.ScaleBoost{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: podspec.ManagedLabels()}}
	boost.Spec = v1alpha1.ScaleBoostSpec{
		GroupRef: v1alpha1.GroupReference{Name: group}, Replicas: new(int32(2)), ExpiresAt: new(metav1.NewTime(w.clock.Now().Add(-ago))),
	}
	w.create(boost)
}

func prolongedBoost(w *world) {
	w.boost("friday", "hub", time.Minute)
	w.boost("saturday", "hub", time.Minute)
	w.boost("sunday", "hub", time.Minute)
	meddled := &failing{Client: w.cache, undeletable: "sunday", listed: func() {
		edit(w, "friday", func(b *v1alpha1.ScaleBoost) { b.Spec.ExpiresAt = new(metav1.NewTime(w.clock.Now().Add(time.Hour))) })
	}}
	w.Expect(w.sweepBoosts(meddled)).To(gomega.MatchError(errUndeletable))
	w.Expect(w.gone(&v1alpha1.ScaleBoost{}, "friday")).To(gomega.BeFalse())
	w.Expect(w.gone(&v1alpha1.ScaleBoost{}, "saturday")).To(gomega.BeTrue())
	w.Expect(w.gone(&v1alpha1.ScaleBoost{}, "sunday")).To(gomega.BeFalse())
}

func boostWithoutGroup(w *world) {
	w.boost("friday", "gone", -time.Minute)
	w.Expect(w.sweepBoosts(w.cache)).To(gomega.Succeed())
	w.Expect(w.gone(&v1alpha1.ScaleBoost{}, "friday")).To(gomega.BeFalse(), "it has not expired")
	w.clock.Step(time.Minute)
	w.Expect(w.sweepBoosts(w.cache)).To(gomega.Succeed())
	w.Expect(w.gone(&v1alpha1.ScaleBoost{}, "friday")).To(gomega.BeTrue())
}
