// SPDX-License-Identifier: Apache-2.0

package podspec_test

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/agent/serverspec"
	"github.com/spawnery/spawnery-operator/internal/podspec"
)

func TestAPodWithLayersIsGolden(t *testing.T) {
	golden(t, "pod-layered", serverPod(t, load[v1alpha1.Network](t, "network"), load[v1alpha1.ServerGroup](t, "layered")))
}

func TestTheCopierFindsEveryLayer(t *testing.T) {
	pod := serverPod(t, load[v1alpha1.Network](t, "network"), load[v1alpha1.ServerGroup](t, "layered"))
	spec := specOf(t, pod)
	compare(t, []serverspec.Layer{
		{Origin: "the game's image", Root: "/", Path: "/data", Mode: serverspec.LayerIfMissing},
		{
			Origin: "image images.test/plugins@sha256:4355a46b19d348dc2f57c046f8ef63d4538ebb936000f3c9ee954a27460dd865",
			Root:   "/spawnery/layers/2", Path: "/survival", Mode: serverspec.LayerAlways,
		},
		{Origin: "claim maps", Root: "/spawnery/layers/3", Path: "/base", Mode: serverspec.LayerIfMissing},
		{Origin: "claim maps", Root: "/spawnery/layers/3", Path: "/season-4", Mode: serverspec.LayerIfMissing},
	}, spec.Layers)
	compare(t, []string{"maps"}, podspec.LayerClaims(pod))
	copier := containerNamed(t, pod, podspec.ContainerTemplate)
	for i, layer := range spec.Layers {
		mounted := layer.Root == "/" || slices.ContainsFunc(copier.VolumeMounts, func(m corev1.VolumeMount) bool {
			return m.MountPath == layer.Root && m.ReadOnly
		})
		if !mounted {
			t.Errorf("layer %d is read from %s, and nothing is mounted there read-only", i+1, layer.Root)
		}
	}
}

func containerNamed(t *testing.T, pod *corev1.Pod, name string) corev1.Container {
	t.Helper()
	at := slices.IndexFunc(pod.Spec.InitContainers, func(c corev1.Container) bool { return c.Name == name })
	if at < 0 {
		t.Fatalf("no container %s in %s", name, pod.Name)
	}
	return pod.Spec.InitContainers[at]
}

func TestTheGamesImageIsUsedOnlyWhereItIsALayer(t *testing.T) {
	const claim, game = "claim", "game"
	tests := map[string]struct {
		layers []string
		want   []string
		image  string
	}{
		"no layer":               {nil, []string{"prepare", "agent"}, ""},
		"a claim":                {[]string{claim}, []string{"template", "prepare", "agent"}, operatorImage},
		"the game's image":       {[]string{game}, []string{"install", "template", "prepare", "agent"}, "images.test/purpur:26.1"},
		"the game's and a claim": {[]string{claim, game}, []string{"install", "template", "prepare", "agent"}, "images.test/purpur:26.1"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			group := load[v1alpha1.ServerGroup](t, "layered")
			group.Spec.Server.Template = nil
			for _, layer := range test.layers {
				chosen := v1alpha1.TemplateLayer{FromGameImage: "/data"}
				if layer == claim {
					chosen = v1alpha1.TemplateLayer{PersistentVolumeClaim: v1alpha1.LocalReference{Name: "maps"}}
				}
				group.Spec.Server.Template = append(group.Spec.Server.Template, chosen)
			}
			pod := serverPod(t, load[v1alpha1.Network](t, "network"), group)
			var names []string
			for _, container := range pod.Spec.InitContainers {
				names = append(names, container.Name)
				checkContainer(t, container)
			}
			compare(t, test.want, names)
			if test.image != "" {
				compare(t, test.image, containerNamed(t, pod, podspec.ContainerTemplate).Image)
			}
		})
	}
}

func TestCopyingSeesNoCredential(t *testing.T) {
	pod := serverPod(t, load[v1alpha1.Network](t, "network"), load[v1alpha1.ServerGroup](t, "layered"))
	var mounted []string
	for _, name := range []string{podspec.ContainerInstall, podspec.ContainerTemplate} {
		for _, mount := range containerNamed(t, pod, name).VolumeMounts {
			mounted = append(mounted, name+" "+mount.MountPath)
		}
	}
	compare(t, []string{
		"install /spawnery/bin",
		"template /spawnery/data", "template /spawnery/layers/2", "template /spawnery/layers/3", "template /spawnery/bin",
	}, mounted)
}

func TestTheModeOfALayerFollowsTheTypeOfItsGroup(t *testing.T) {
	network := load[v1alpha1.Network](t, "network")
	for name, row := range map[string]struct {
		group          string
		same, another  v1alpha1.TemplateMode
		wantInTheAgent serverspec.LayerMode
	}{
		"Persistent": {"survival", v1alpha1.TemplateIfMissing, v1alpha1.TemplateAlways, serverspec.LayerIfMissing},
		"Ephemeral":  {"lobby", v1alpha1.TemplateAlways, v1alpha1.TemplateIfMissing, serverspec.LayerAlways},
	} {
		t.Run(name, func(t *testing.T) {
			digest := func(mode v1alpha1.TemplateMode) string {
				group := load[v1alpha1.ServerGroup](t, row.group)
				group.Spec.Server.Template = []v1alpha1.TemplateLayer{{FromGameImage: "/data", Mode: mode}}
				if mode == "" {
					compare(t, row.wantInTheAgent, specOf(t, serverPod(t, network, group)).Layers[0].Mode)
				}
				return podspec.Digest(podspec.ResolveServer(network, group))
			}
			if digest("") != digest(row.same) {
				t.Error("the default, written down, replaces the servers")
			}
			if digest("") == digest(row.another) {
				t.Error("another mode does not replace the servers")
			}
		})
	}
}

func TestTheOrderOfLayersMatters(t *testing.T) {
	network, group := load[v1alpha1.Network](t, "network"), load[v1alpha1.ServerGroup](t, "layered")
	before := podspec.Digest(podspec.ResolveServer(network, group))
	slices.Reverse(group.Spec.Server.Template)
	if before == podspec.Digest(podspec.ResolveServer(network, group)) {
		t.Error("layers in another order make the same servers")
	}
}

func TestOnlyAnImageNeedsAKubernetesThatMountsImages(t *testing.T) {
	group := load[v1alpha1.ServerGroup](t, "layered")
	compare(t, true, podspec.HasImageLayer(group))
	const refused = "server.template, layer 2 is an image, and Kubernetes v1.34.2+k3s1 mounts none: that begins with 1.35. " +
		"Put the files into the game's image and name them with fromGameImage, or onto a claim and name it with persistentVolumeClaim"
	for seen, want := range map[string]string{
		"v1.34.2+k3s1": refused, "v1.35.0": "", "v1.35.0-rc.1": "", "v1.37.2-gke.100": "", "v2.0": "", "": "", "unknown": "",
	} {
		got := ""
		if err := podspec.ValidateTemplate(group, seen); err != nil {
			got = err.Error()
		}
		compare(t, want, got)
	}
	group.Spec.Server.Template = slices.DeleteFunc(group.Spec.Server.Template, func(l v1alpha1.TemplateLayer) bool { return l.Image != "" })
	compare(t, false, podspec.HasImageLayer(group))
	compare(t, nil, podspec.ValidateTemplate(group, "v1.33.0"))
}

// specOf is what the copier of a pod is told.
func specOf(t *testing.T, pod *corev1.Pod) serverspec.Spec {
	t.Helper()
	value := variable(t, containerNamed(t, pod, podspec.ContainerTemplate), serverspec.Variable)
	spec, err := serverspec.Decode([]byte(value))
	if err != nil {
		t.Fatal(err)
	}
	return spec
}
