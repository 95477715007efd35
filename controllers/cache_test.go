// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// A claim that was handed over has this one label, and must be seen.
func TestTheCacheOfClaimsIsNarrowedByOneLabelAndNothingElse(t *testing.T) {
	narrowed := 0
	for kind, by := range CacheOptions().ByObject {
		if _, ok := kind.(*corev1.PersistentVolumeClaim); !ok {
			continue
		}
		narrowed++
		if got, want := by.Label.String(), "spawnery.cloud/managed-by=spawnery-operator"; got != want {
			t.Errorf("narrowed by %q, want %q", got, want)
		}
		if by.Field != nil || by.Namespaces != nil || by.Transform != nil {
			t.Errorf("narrowed by more than a label: %+v", by)
		}
	}
	if narrowed != 1 {
		t.Errorf("%d rules for claims, want one", narrowed)
	}
	if all := CacheOptions(); all.DefaultLabelSelector != nil || all.DefaultFieldSelector != nil || all.DefaultNamespaces != nil {
		t.Errorf("every cache is narrowed: %+v", all)
	}
}
