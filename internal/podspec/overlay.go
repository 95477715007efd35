// SPDX-License-Identifier: Apache-2.0

package podspec

import (
	"path"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/agent/serverspec"
)

// overlayFiles tells prepare which files lie where. An overlay's place in the
// list is the name of its directory.
func overlayFiles(overlays []v1alpha1.ConfigOverlay) []serverspec.OverlayFile {
	var files []serverspec.OverlayFile
	for i, overlay := range overlays {
		for _, item := range overlay.Items {
			files = append(files, serverspec.OverlayFile{
				Directory: strconv.Itoa(i), ConfigMap: overlay.ConfigMap.Name,
				Key: item.Key, Path: item.Path, UnknownKeys: serverspec.UnknownKeys(item.UnknownKeys),
			})
		}
	}
	return files
}

// overlayVolumes are optional: the kubelet would wait for a missing ConfigMap
// without a word in the pod's status, whereas prepare names it.
func overlayVolumes(overlays []v1alpha1.ConfigOverlay) []corev1.Volume {
	volumes := make([]corev1.Volume, 0, len(overlays))
	for i, overlay := range overlays {
		volume := configVolume(overlayVolume(i), overlay.ConfigMap.Name)
		volume.ConfigMap.Optional = new(true)
		volumes = append(volumes, volume)
	}
	return volumes
}

func overlayMounts(overlays []v1alpha1.ConfigOverlay) []corev1.VolumeMount {
	mounts := make([]corev1.VolumeMount, 0, len(overlays))
	for i := range overlays {
		mounts = append(mounts, readOnly(overlayVolume(i), path.Join(serverspec.OverlayDir, strconv.Itoa(i))))
	}
	return mounts
}

func overlayVolume(i int) string { return "overlay-" + strconv.Itoa(i) }
