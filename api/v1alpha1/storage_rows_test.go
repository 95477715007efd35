// SPDX-License-Identifier: Apache-2.0

package v1alpha1_test

import (
	"fmt"
	"strings"
)

// claimAnnotationRows are about what is copied to claims.
func claimAnnotationRows() map[string]admissionRow {
	return map[string]admissionRow{
		"an annotation of a claim has a key that one can have": {
			base:   "persistent",
			accept: `spec: {storage: {annotations: {volumeType: local, resize.example.org/limit: 100Gi}}}`,
			reject: `spec: {storage: {annotations: {"not a key": "1"}}}`,
			want:   "spec.storage.annotations: Invalid value: an annotation has a qualified name as its key, and a value of at most 1024 characters",
		},
		"an annotation of a claim has a name of at most 63 characters": {
			base:   "persistent",
			accept: `spec: {storage: {annotations: {a23456789b123456789c123456789d123456789e123456789f123456789g123: ""}}}`,
			reject: `spec: {storage: {annotations: {a23456789b123456789c123456789d123456789e123456789f123456789g1234: ""}}}`,
			want:   "spec.storage.annotations: Invalid value: an annotation has a qualified name as its key, and a value of at most 1024 characters",
		},
		"an annotation of a claim is not one of Kubernetes": {
			base:   "persistent",
			accept: `spec: {storage: {annotations: {mykubernetes.io/x: "1"}}}`,
			reject: `spec: {storage: {annotations: {volume.beta.kubernetes.io/storage-class: slow}}}`,
			want:   "spec.storage.annotations: Invalid value: annotations of kubernetes.io, k8s.io and spawnery.cloud are not an owner's to set",
		},
		"an annotation of a claim is not one of ours": {
			base:   "persistent",
			accept: `spec: {storage: {annotations: {backup.example.org/keep: "7"}}}`,
			reject: `spec: {storage: {annotations: {spawnery.cloud/keep: "7"}}}`,
			want:   "spec.storage.annotations: Invalid value: annotations of kubernetes.io, k8s.io and spawnery.cloud are not an owner's to set",
		},
		"a claim has few annotations": {
			base:   "persistent",
			accept: `spec: {storage: {annotations: {` + manyAnnotations(32) + `}}}`,
			reject: `spec: {storage: {annotations: {` + manyAnnotations(33) + `}}}`,
			want:   "spec.storage.annotations: Too many: 33: must have at most 32 items",
		},
	}
}

func manyAnnotations(n int) string {
	all := make([]string, 0, n)
	for i := range n {
		all = append(all, fmt.Sprintf(`a%d: "x"`, i))
	}
	return strings.Join(all, ", ")
}
