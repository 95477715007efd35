// SPDX-License-Identifier: Apache-2.0

package podspec

import (
	"path"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/agent/serverspec"
)

const (
	volumeData       = "data"
	volumeTemp       = "tmp"
	volumeRun        = "spawnery-run"
	volumeForwarding = "spawnery-forwarding"
	volumeChannel    = "spawnery-channel"
	volumeToken      = "spawnery-token"
	volumeState      = "spawnery-state"

	// TokenAudience is what the tokens of agents and proxies are good for.
	TokenAudience = "spawnery-operator"

	// tokenSeconds is the shortest life the API server gives a token.
	tokenSeconds int64 = 600

	// stateDir keeps a proxy's last directory through a container restart.
	stateDir = "/var/lib/spawnery"
)

// worldReadable lets our programs read a mounted Secret whatever user a
// namespace makes them run as: without an fsGroup its files are root's.
const worldReadable int32 = 0o444

func emptyVolume(name string) corev1.Volume {
	return corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}
}

// runVolume carries secrets from prepare to the agent and touches no disk.
func runVolume() corev1.Volume {
	return corev1.Volume{Name: volumeRun, VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{
		Medium:    corev1.StorageMediumMemory,
		SizeLimit: new(resource.MustParse("1Mi")),
	}}}
}

// claimVolume is a world that outlives its pod.
func claimVolume(claim string) corev1.Volume {
	return corev1.Volume{Name: volumeData, VolumeSource: corev1.VolumeSource{
		PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim},
	}}
}

func secretVolume(name, secret string) corev1.Volume {
	return corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{
		Secret: &corev1.SecretVolumeSource{SecretName: secret, DefaultMode: new(worldReadable)},
	}}
}

// configVolume keeps a pod from starting until the ConfigMap exists.
func configVolume(name, config string) corev1.Volume {
	return corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{
		ConfigMap: &corev1.ConfigMapVolumeSource{
			LocalObjectReference: corev1.LocalObjectReference{Name: config},
			DefaultMode:          new(worldReadable),
		},
	}}
}

// optionalConfigVolume is empty while there is no such ConfigMap, and is filled
// when there is.
func optionalConfigVolume(name, config string) corev1.Volume {
	volume := configVolume(name, config)
	volume.ConfigMap.Optional = new(true)
	return volume
}

// tokenVolume holds the one credential of a pod: bound to it, for the manager
// alone, and good for minutes.
func tokenVolume() corev1.Volume {
	return corev1.Volume{Name: volumeToken, VolumeSource: corev1.VolumeSource{
		Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{{
			ServiceAccountToken: &corev1.ServiceAccountTokenProjection{
				Audience:          TokenAudience,
				ExpirationSeconds: new(tokenSeconds),
				Path:              path.Base(serverspec.TokenFile),
			},
		}}},
	}}
}

func writable(name, target string) corev1.VolumeMount {
	return corev1.VolumeMount{Name: name, MountPath: target}
}

func readOnly(name, target string) corev1.VolumeMount {
	return corev1.VolumeMount{Name: name, MountPath: target, ReadOnly: true}
}

// ownersVolumes are what an owner mounts into the game container. Each mount has
// a volume of its own, so that one with a subPath and one without may share
// a source.
func ownersVolumes(mounts []v1alpha1.Mount) ([]corev1.Volume, []corev1.VolumeMount) {
	volumes := make([]corev1.Volume, 0, len(mounts))
	targets := make([]corev1.VolumeMount, 0, len(mounts))
	for i, mount := range mounts {
		name := "mount-" + strconv.Itoa(i)
		if mount.Secret.Name != "" {
			volumes = append(volumes, secretVolume(name, mount.Secret.Name))
		} else {
			volumes = append(volumes, configVolume(name, mount.ConfigMap.Name))
		}
		target := readOnly(name, mount.MountPath)
		target.SubPath = mount.SubPath
		targets = append(targets, target)
	}
	return volumes, targets
}
