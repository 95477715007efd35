// SPDX-License-Identifier: Apache-2.0

package podspec

import (
	"fmt"
	"path"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/version"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/agent/serverspec"
)

const volumeProgram = "spawnery-program"

// mountsImages is the first version of Kubernetes that mounts images without
// having been told to.
var mountsImages = version.MajorMinor(1, 35)

// HasImageLayer is true for a group whose template asks more of Kubernetes than
// the operator does: a layer that is an image.
func HasImageLayer(group *v1alpha1.ServerGroup) bool { return imageLayer(group) >= 0 }

func imageLayer(group *v1alpha1.ServerGroup) int {
	return slices.IndexFunc(group.Spec.Server.Template, func(l v1alpha1.TemplateLayer) bool { return l.Image != "" })
}

// ValidateTemplate reports a layer that this Kubernetes cannot mount, for the
// group's Accepted condition, reason TemplateUnsupported. kubernetes is what the
// API server says of itself, such as v1.34.2; a version that nobody can read is
// taken for one that can do it.
func ValidateTemplate(group *v1alpha1.ServerGroup, kubernetes string) error {
	at := imageLayer(group)
	if at < 0 {
		return nil
	}
	if seen, err := version.ParseGeneric(kubernetes); err == nil && seen.LessThan(mountsImages) {
		return fmt.Errorf("server.template, layer %d is an image, and Kubernetes %s mounts none: that begins with %s. "+
			"Put the files into the game's image and name them with fromGameImage, or onto a claim and name it with persistentVolumeClaim",
			at+1, kubernetes, mountsImages)
	}
	return nil
}

// LayerClaims are the claims that a pod copies files from, as it was made.
func LayerClaims(pod *corev1.Pod) []string {
	var claims []string
	for _, volume := range pod.Spec.Volumes {
		if claim := volume.PersistentVolumeClaim; claim != nil && claim.ReadOnly {
			claims = append(claims, claim.ClaimName)
		}
	}
	return claims
}

// templating is what copies the layers: one container for all of them, because
// of a file that several have only the last one's counts.
func (p serverPod) templating() []corev1.Container {
	if len(p.template) == 0 {
		return nil
	}
	copying := corev1.Container{
		Name:                     ContainerTemplate,
		Image:                    p.OperatorImage,
		Command:                  []string{agentProgram},
		Args:                     []string{"template"},
		Env:                      []corev1.EnvVar{{Name: serverspec.Variable, Value: p.document}},
		Resources:                copyingResources(),
		SecurityContext:          ownContainer(),
		TerminationMessagePath:   serverspec.TerminationLog,
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
		VolumeMounts:             p.layerMounts(),
	}
	if !p.copiesFromGame() {
		return []corev1.Container{copying}
	}
	// The game's image may have no shell and no cp. Our program needs neither,
	// and what it is shown of the image is all that is run of it: nothing.
	copying.Image, copying.WorkingDir = p.image, "/"
	copying.Command = []string{path.Join(serverspec.ProgramDir, path.Base(agentProgram))}
	copying.VolumeMounts = append(copying.VolumeMounts, readOnly(volumeProgram, serverspec.ProgramDir))
	return []corev1.Container{p.install(), copying}
}

func (p serverPod) install() corev1.Container {
	return corev1.Container{
		Name:                     ContainerInstall,
		Image:                    p.OperatorImage,
		Command:                  []string{agentProgram},
		Args:                     []string{"install"},
		Resources:                agentResources(),
		SecurityContext:          ownContainer(),
		TerminationMessagePath:   serverspec.TerminationLog,
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
		VolumeMounts:             []corev1.VolumeMount{writable(volumeProgram, serverspec.ProgramDir)},
	}
}

// copyingResources has room for what the kernel counts as the copier's while
// files go through it.
func copyingResources() corev1.ResourceRequirements {
	resources := agentResources()
	resources.Limits[corev1.ResourceMemory] = resource.MustParse("256Mi")
	return resources
}

func (p serverPod) copiesFromGame() bool {
	return slices.ContainsFunc(p.template, func(l v1alpha1.TemplateLayer) bool { return l.FromGameImage != "" })
}

// layerMounts keep the data directory out of the place where the game has it:
// what the image has there is what an owner may want copied.
func (p serverPod) layerMounts() []corev1.VolumeMount {
	mounts := []corev1.VolumeMount{writable(volumeData, serverspec.LayersDataDir)}
	for i := range p.template {
		if p.template[i].FromGameImage == "" && firstOf(p.template, i) == i {
			mounts = append(mounts, readOnly(layerVolume(i), layerDir(i)))
		}
	}
	return mounts
}

func (p serverPod) layerVolumes() []corev1.Volume {
	var volumes []corev1.Volume
	for i, layer := range p.template {
		switch {
		case firstOf(p.template, i) != i:
		case layer.Image != "":
			volumes = append(volumes, corev1.Volume{Name: layerVolume(i), VolumeSource: corev1.VolumeSource{
				Image: &corev1.ImageVolumeSource{Reference: layer.Image, PullPolicy: corev1.PullIfNotPresent},
			}})
		case layer.PersistentVolumeClaim.Name != "":
			volumes = append(volumes, corev1.Volume{Name: layerVolume(i), VolumeSource: corev1.VolumeSource{
				PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{
					ClaimName: layer.PersistentVolumeClaim.Name, ReadOnly: true,
				},
			}})
		}
	}
	if p.copiesFromGame() {
		volumes = append(volumes, emptyVolume(volumeProgram))
	}
	return volumes
}

// firstOf is the first layer from the same image or claim: a kubelet mounts one
// claim into one pod once, and waits for ever for the second.
func firstOf(template []v1alpha1.TemplateLayer, i int) int {
	return slices.IndexFunc(template, func(l v1alpha1.TemplateLayer) bool {
		return l.Image == template[i].Image && l.PersistentVolumeClaim == template[i].PersistentVolumeClaim &&
			(l.FromGameImage == "") == (template[i].FromGameImage == "")
	})
}

// layerVolume and layerDir count from 1, as the messages to an owner do.
func layerVolume(i int) string { return "layer-" + strconv.Itoa(i+1) }

func layerDir(i int) string { return path.Join(serverspec.LayersDir, strconv.Itoa(i+1)) }

// agentLayers tell the copier where it finds what.
func agentLayers(template []v1alpha1.TemplateLayer) []serverspec.Layer {
	var layers []serverspec.Layer
	for i, chosen := range template {
		layer := serverspec.Layer{
			Root: layerDir(firstOf(template, i)), Path: path.Join("/", chosen.Path), Mode: serverspec.LayerMode(chosen.Mode),
		}
		switch {
		case chosen.FromGameImage != "":
			layer.Origin, layer.Root, layer.Path = "the game's image", "/", chosen.FromGameImage
		case chosen.Image != "":
			layer.Origin = "image " + chosen.Image
		default:
			layer.Origin = "claim " + chosen.PersistentVolumeClaim.Name
		}
		layers = append(layers, layer)
	}
	return layers
}
