// SPDX-License-Identifier: Apache-2.0

package podspec

import (
	"maps"

	corev1 "k8s.io/api/core/v1"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
)

// BuildDataClaim renders the claim for one ordinal of a persistent group.
// Nobody owns it: a mistake with a group must cost a stray object, never a
// world. Only LabelManagedBy means anything to the operator; the other labels
// are for people who look for a world.
func BuildDataClaim(group *v1alpha1.ServerGroup, ordinal int32) *corev1.PersistentVolumeClaim {
	server := PersistentServerName(group.Name, ordinal)
	labels := ManagedLabels()
	labels[LabelNetwork] = group.Spec.NetworkRef.Name
	labels[LabelGroup] = group.Name
	labels[LabelServer] = server
	meta := unownedMeta(group.Namespace, DataClaimName(server), labels)
	meta.Annotations = maps.Clone(group.Spec.Storage.Annotations)
	return &corev1.PersistentVolumeClaim{
		ObjectMeta: meta,
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes:      accessModes(group.Spec.Storage.AccessModes),
			StorageClassName: group.Spec.Storage.StorageClassName,
			Resources:        requestedStorage(group.Spec.Storage),
		},
	}
}

// accessModes is what the API fills in, also for a group read before it did.
func accessModes(chosen []v1alpha1.AccessMode) []corev1.PersistentVolumeAccessMode {
	if len(chosen) == 0 {
		return []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	}
	modes := make([]corev1.PersistentVolumeAccessMode, 0, len(chosen))
	for _, mode := range chosen {
		modes = append(modes, corev1.PersistentVolumeAccessMode(mode))
	}
	return modes
}

func requestedStorage(storage v1alpha1.Storage) corev1.VolumeResourceRequirements {
	if storage.Size == nil {
		return corev1.VolumeResourceRequirements{}
	}
	return corev1.VolumeResourceRequirements{
		Requests: corev1.ResourceList{corev1.ResourceStorage: storage.Size.DeepCopy()},
	}
}
