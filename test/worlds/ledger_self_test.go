// SPDX-License-Identifier: Apache-2.0

package worlds

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/spawnery/spawnery-operator/internal/podspec"
	"github.com/spawnery/spawnery-operator/internal/testenv"
)

var instant = time.Date(2026, 9, 18, 20, 0, 0, 0, time.UTC)

// history is what a ledger is told.
type history struct{ *ledger }

type change func(*corev1.PersistentVolumeClaim)

// claimed tells of a claim as the operator makes it, but for the changes.
func (h history) claimed(kind watch.EventType, changes ...change) {
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{
		Name: "survival-0-data", UID: "world", Labels: podspec.ManagedLabels(), ManagedFields: []metav1.ManagedFieldsEntry{written("spawnery-server", 0)},
	}}
	claim.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("2Gi")}
	for _, change := range changes {
		change(claim)
	}
	h.claim(instant, kind, claim)
}

// written is who wrote, a number of seconds after the beginning.
func written(by string, at int) metav1.ManagedFieldsEntry {
	return metav1.ManagedFieldsEntry{
		Manager: by, Operation: metav1.ManagedFieldsOperationUpdate, Time: new(metav1.NewTime(instant.Add(time.Duration(at) * time.Second))),
		FieldsV1: metav1.NewFieldsV1(`{}`),
	}
}

func asks(size string) change {
	return func(c *corev1.PersistentVolumeClaim) {
		c.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(size)}
	}
}

func by(manager string) change {
	return func(c *corev1.PersistentVolumeClaim) { c.ManagedFields = append(c.ManagedFields, written(manager, 1)) }
}

func unlabelled(c *corev1.PersistentVolumeClaim) { c.Labels = nil }

// lives tells of a pod that mounts the claim.
func (h history) lives(kind watch.EventType, name string, phase corev1.PodPhase, changes ...func(*corev1.Pod)) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name)}}
	pod.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{
		PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "survival-0-data"},
	}}}
	pod.Status.Phase = phase
	for _, change := range changes {
		change(pod)
	}
	h.pod(instant, kind, pod)
}

func terminating(p *corev1.Pod) { p.DeletionTimestamp = new(metav1.NewTime(instant)) }

func TestTheLedgerFindsWhatMustNotBe(t *testing.T) {
	tests := map[string]struct {
		tell func(history)
		want string
	}{
		"nothing in an ordinary life": {func(h history) {
			h.claimed(watch.Added)
			h.lives(watch.Added, "survival-0", corev1.PodPending)
			h.lives(watch.Modified, "survival-0", corev1.PodRunning)
			h.claimed(watch.Modified, asks("3Gi"), by("spawnery-server"), by(person))
			h.lives(watch.Modified, "survival-0", corev1.PodRunning, terminating)
			h.lives(watch.Deleted, "survival-0", corev1.PodRunning, terminating)
			h.lives(watch.Added, "copy", corev1.PodPending)
		}, ""},
		"a claim that is gone": {func(h history) { h.claimed(watch.Added); h.claimed(watch.Deleted) }, "is gone"},
		"a claim that is to go": {func(h history) {
			h.claimed(watch.Added, func(c *corev1.PersistentVolumeClaim) { c.DeletionTimestamp = new(metav1.NewTime(instant)) })
		}, "deletionTimestamp"},
		"a claim with an owner": {func(h history) {
			h.claimed(watch.Added, func(c *corev1.PersistentVolumeClaim) {
				c.OwnerReferences = []metav1.OwnerReference{{Kind: "ServerGroup", Name: "survival"}}
			})
		}, "has an owner"},
		"another claim of the name": {func(h history) {
			h.claimed(watch.Added)
			h.claimed(watch.Modified, func(c *corev1.PersistentVolumeClaim) { c.UID = "another" })
		}, "is another one"},
		"a claim that was lowered":      {func(h history) { h.claimed(watch.Added); h.claimed(watch.Modified, asks("1Gi")) }, "was lowered"},
		"a claim that a stranger wrote": {func(h history) { h.claimed(watch.Added); h.claimed(watch.Modified, by("kubectl")) }, "written by kubectl"},
		"a claim that is none of ours": {func(h history) {
			h.claimed(watch.Added, unlabelled)
			h.claimed(watch.Modified, unlabelled, by("spawnery-server"))
		}, "not labelled"},
		"two live pods on a claim":     {func(h history) { h.lives(watch.Added, "survival-0", ""); h.lives(watch.Added, "copy", "") }, "two live pods"},
		"one beside a terminating pod": {func(h history) { h.lives(watch.Added, "survival-0", "", terminating); h.lives(watch.Added, "copy", "") }, "two live pods"},
		"nothing beside a finished pod": {func(h history) {
			h.lives(watch.Added, "survival-0", corev1.PodFailed)
			h.lives(watch.Added, "copy", "")
		}, ""},
		"a claim missing in the end":        {func(h history) { h.claimed(watch.Added); h.audit(instant, nil) }, "not there in the end"},
		"a watch that may have missed some": {func(h history) { h.blind(instant) }, "watch broke"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			h := history{newLedger(instant, newTally())}
			tt.tell(h)
			found := h.violations()
			if tt.want == "" && len(found) > 0 || tt.want != "" && !slices.ContainsFunc(found, func(v string) bool { return strings.Contains(v, tt.want) }) {
				t.Errorf("found %q, want %q; chronicle:\n%s", found, tt.want, h.chronicle())
			}
		})
	}
}

func TestTheAuditAllowsWhatAManagerMayDo(t *testing.T) {
	manager := "system:serviceaccount:test-1" + operatorSuffix + ":" + managerAccount
	tests := map[string]struct {
		call testenv.Call
		want bool
	}{
		"it makes a claim":                    {testenv.Call{User: manager, Verb: "create", Namespace: "test-1"}, true},
		"it grows a claim":                    {testenv.Call{User: manager, Verb: "patch", Namespace: "test-1"}, true},
		"it deletes none":                     {testenv.Call{User: manager, Verb: "delete", Namespace: "test-1"}, false},
		"nor all of them":                     {testenv.Call{User: manager, Verb: "deletecollection", Namespace: "test-1"}, false},
		"it replaces none":                    {testenv.Call{User: manager, Verb: "update", Namespace: "test-1"}, false},
		"it says nothing of a claim's status": {testenv.Call{User: manager, Verb: "patch", Subresource: "status", Namespace: "test-1"}, false},
		"people do what they like":            {testenv.Call{User: "admin", Verb: "delete", Namespace: "test-1"}, true},
		"the garbage collector deletes none":  {testenv.Call{User: testenv.ControllersUser, Verb: "delete", Namespace: "test-1"}, false},
		"the operator's namespace is emptied": {testenv.Call{User: testenv.ControllersUser, Verb: "deletecollection", Namespace: "test-1" + operatorSuffix}, true},
		"a stranger does nothing":             {testenv.Call{User: "system:serviceaccount:test-1:default", Verb: "patch", Namespace: "test-1"}, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := mayWrite(tt.call); got != tt.want {
				t.Errorf("%+v is allowed: %v, want %v", tt.call, got, tt.want)
			}
		})
	}
}
