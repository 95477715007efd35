// SPDX-License-Identifier: Apache-2.0

package podspec_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/podspec"
)

func TestAClaimIsOwnedByNobodyAndCarriesFourLabels(t *testing.T) {
	claim := podspec.BuildDataClaim(load[v1alpha1.ServerGroup](t, "survival"), 0)
	if len(claim.OwnerReferences) > 0 || len(claim.Finalizers) > 0 {
		t.Errorf("owners %v and finalizers %v: a claim must survive its group", claim.OwnerReferences, claim.Finalizers)
	}
	compare(t, map[string]string{
		"spawnery.cloud/managed-by": "spawnery-operator",
		"spawnery.cloud/network":    "production",
		"spawnery.cloud/group":      "survival",
		"spawnery.cloud/server":     "survival-0",
	}, claim.Labels)
}

func TestAClaimAsksForWhatTheGroupChose(t *testing.T) {
	tests := map[string]struct {
		class *string
		modes []v1alpha1.AccessMode
		want  []corev1.PersistentVolumeAccessMode
	}{
		"the cluster's default class":        {nil, nil, []corev1.PersistentVolumeAccessMode{"ReadWriteOnce"}},
		"no class at all, which is a choice": {new(""), nil, []corev1.PersistentVolumeAccessMode{"ReadWriteOnce"}},
		"modes": {
			new("shared"),
			[]v1alpha1.AccessMode{"ReadWriteMany", "ReadWriteOnce"},
			[]corev1.PersistentVolumeAccessMode{"ReadWriteMany", "ReadWriteOnce"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			group := load[v1alpha1.ServerGroup](t, "survival")
			group.Spec.Storage.StorageClassName, group.Spec.Storage.AccessModes = test.class, test.modes
			claim := podspec.BuildDataClaim(group, 0)
			compare(t, test.class, claim.Spec.StorageClassName)
			compare(t, test.want, claim.Spec.AccessModes)
		})
	}
}

func TestAClaimSharesNothingWithItsGroup(t *testing.T) {
	group := load[v1alpha1.ServerGroup](t, "survival")
	claim := podspec.BuildDataClaim(group, 0)
	before := claim.Spec.Resources.Requests.Storage().String()
	group.Spec.Storage.Size.Add(*group.Spec.Storage.Size)
	compare(t, before, claim.Spec.Resources.Requests.Storage().String())

	group.Spec.Storage.Annotations = map[string]string{"resize.example.org/limit": "100Gi"}
	annotated := podspec.BuildDataClaim(group, 0)
	group.Spec.Storage.Annotations["resize.example.org/limit"] = "1Ti"
	compare(t, map[string]string{"resize.example.org/limit": "100Gi"}, annotated.Annotations)
}
