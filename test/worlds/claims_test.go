// SPDX-License-Identifier: Apache-2.0

package worlds

import (
	"encoding/json"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/podspec"
)

// sizeOf is what a claim asks for.
func sizeOf(claim *corev1.PersistentVolumeClaim) *resource.Quantity {
	size := claim.Spec.Resources.Requests[corev1.ResourceStorage]
	return &size
}

func (t *trial) claims() []corev1.PersistentVolumeClaim {
	var all corev1.PersistentVolumeClaimList
	must(t, "listing claims", t.people.List(t.Context(), &all, client.InNamespace(t.namespace)))
	return all.Items
}

// makeClaim takes the name of an ordinal's claim before the operator does, with
// its label or without.
func (t *trial) makeClaim() {
	ordinal, labelled, size := t.random.Int32N(mostReplicas), t.random.IntN(2) == 0, t.size()
	claim := &corev1.PersistentVolumeClaim{
		ObjectMeta: t.named(podspec.DataClaimName(podspec.PersistentServerName(groupName, ordinal))),
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}, StorageClassName: new(elastic),
			Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: size}},
		},
	}
	if labelled {
		claim.Labels = podspec.ManagedLabels()
	}
	t.says(t.people.Create(t.Context(), claim), "make claim %s of %s, with the operator's label: %v", claim.Name, &size, labelled)
}

// patchClaim writes as a person does, on the claim that was looked at.
func (t *trial) patchClaim(claim *corev1.PersistentVolumeClaim, change map[string]any) error {
	if change["metadata"] == nil {
		change["metadata"] = map[string]any{}
	}
	change["metadata"].(map[string]any)["resourceVersion"] = claim.ResourceVersion
	patch, err := json.Marshal(change)
	if err != nil {
		return err
	}
	_, err = t.kube.CoreV1().PersistentVolumeClaims(t.namespace).Patch(
		t.Context(), claim.Name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: person})
	return err
}

// stripClaim takes a claim from the operator, and then often wants more of it.
func (t *trial) stripClaim() {
	claim, found := one(t, t.claims())
	further := t.random.IntN(2) == 0
	if !found {
		return
	}
	t.says(t.label(&claim, nil), "take the operator's label off claim %s", claim.Name)
	if further {
		most := resource.MustParse("3Gi")
		t.edit(func(g *v1alpha1.ServerGroup) { g.Spec.Storage.Size = &most }, "%s wants %s", groupName, &most)
		server := &v1alpha1.Server{ObjectMeta: t.named(strings.TrimSuffix(claim.Name, "-data"))}
		t.says(t.people.Delete(t.Context(), server), "delete Server %s", server.Name)
	}
}

func (t *trial) label(claim *corev1.PersistentVolumeClaim, value any) error {
	return t.patchClaim(claim, map[string]any{"metadata": map[string]any{"labels": map[string]any{podspec.LabelManagedBy: value}}})
}

// growClaim asks for more by hand, and never for less.
func (t *trial) growClaim() {
	claim, found := one(t, t.claims())
	size := t.size()
	if !found || size.Cmp(*sizeOf(&claim)) <= 0 {
		return
	}
	err := t.patchClaim(&claim, map[string]any{"spec": map[string]any{"resources": map[string]any{
		"requests": map[string]any{string(corev1.ResourceStorage): size.String()},
	}}})
	t.says(err, "grow claim %s to %s", claim.Name, &size)
}

// uninstall takes the operator away while it works, or stops it first.
func (t *trial) uninstall() {
	stopped := t.random.IntN(2) == 0
	if t.gone {
		return
	}
	t.tally.count(uninstalls)
	t.says(nil, "uninstall the operator, its manager stopped first: %v", stopped)
	if stopped {
		t.stopManager()
	}
	for _, object := range []client.Object{
		&v1alpha1.ServerGroup{ObjectMeta: t.named(groupName)}, &v1alpha1.ServerGroup{ObjectMeta: t.named(lobbyName)},
		&v1alpha1.ProxyGroup{ObjectMeta: t.named(frontName)}, &v1alpha1.Network{ObjectMeta: t.named(networkName)},
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: t.operator}}, t.clusterBinding(nil),
	} {
		if err := client.IgnoreNotFound(t.people.Delete(t.Context(), object)); err != nil {
			t.says(err, "delete %T %s", object, object.GetName())
		}
	}
	for _, server := range t.servers() {
		_ = t.people.Delete(t.Context(), &server)
	}
	if !stopped {
		// The kubelet takes a while to end the manager.
		wait(t.Context(), time.Duration(t.random.IntN(300))*time.Millisecond)
	}
	t.stopManager()
	t.gone = true
}

func (t *trial) restartManager() {
	if t.manager != nil {
		t.stopManager()
		wait(t.Context(), time.Duration(t.random.IntN(100))*time.Millisecond)
		t.startManager()
	}
}

func (t *trial) crashManager() {
	if writes := 1 + t.random.IntN(12); t.manager != nil {
		t.manager.wire.crash(writes)
	}
}

func (t *trial) failCalls() {
	if calls := 10 + t.random.IntN(60); t.manager != nil {
		t.ledger.note(time.Now(), "wire: fails some of %d calls", calls)
		t.manager.wire.fail(calls)
	}
}

func (t *trial) holdWatches() {
	resource, _ := one(t, []string{"pods", "servers", "persistentvolumeclaims", "servergroups", "networks"})
	held := time.Duration(100+t.random.IntN(900)) * time.Millisecond
	if t.manager != nil {
		t.tally.count(staleCaches)
		t.ledger.note(time.Now(), "wire: the cache of %s stands still for %s", resource, held)
		t.manager.wire.hold(resource, time.Now().Add(held))
	}
}

func (t *trial) loseNode() {
	silent, stuck := t.random.IntN(2) == 0, t.random.IntN(3) == 0
	t.ledger.note(time.Now(), "node: cannot be reached: %v, volumes do not attach: %v", silent, stuck)
	t.node.set(silent, stuck)
}
