// SPDX-License-Identifier: Apache-2.0

package operatorhub_test

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
)

// digested is an image by its digest.
var digested = regexp.MustCompile(`^[a-z0-9.-]+(/[a-z0-9-]+)+@sha256:[0-9a-f]{64}$`)

func TestRelatedImagesAreTheImagesByDigest(t *testing.T) {
	b := load(t)
	used := map[string]bool{b.csv.Metadata.Annotations["containerImage"]: true}
	for _, container := range b.pod(t).Containers {
		used[container.Image] = true
		for _, variable := range container.Env {
			if strings.HasSuffix(variable.Name, "_IMAGE") || strings.HasPrefix(variable.Name, "RELATED_IMAGE_") {
				used[variable.Value] = true
			}
		}
	}
	related := map[string]bool{}
	for _, image := range b.csv.Spec.RelatedImages {
		related[image.Image] = true
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(used)), slices.Sorted(maps.Keys(related))); diff != "" {
		t.Errorf("images (-used +related):\n%s", diff)
	}
	for image := range used {
		if !digested.MatchString(image) {
			t.Errorf("%q is no image by digest", image)
		}
	}
}

func TestPlatformsOfLabelsAreThoseOfThePod(t *testing.T) {
	b := load(t)
	labelled := map[string][]string{}
	for label, value := range b.csv.Metadata.Labels {
		platform, ok := strings.CutPrefix(label, "operatorframework.io/")
		if !ok || value != "supported" {
			t.Errorf("label %s: %s", label, value)
			continue
		}
		key, name, _ := strings.Cut(platform, ".")
		labelled["kubernetes.io/"+key] = append(labelled["kubernetes.io/"+key], name)
	}
	affinity := b.pod(t).Affinity
	if affinity == nil || affinity.NodeAffinity == nil {
		t.Fatal("the pod may run on any node")
	}
	scheduled := map[string][]string{}
	for _, term := range affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
		for _, expression := range term.MatchExpressions {
			scheduled[expression.Key] = append(scheduled[expression.Key], expression.Values...)
		}
	}
	if diff := cmp.Diff(labelled, scheduled); diff != "" {
		t.Errorf("platforms (-labels +affinity):\n%s", diff)
	}
}

func TestPodIsRestrictedAndAsksForResources(t *testing.T) {
	pod := load(t).pod(t)
	want := &corev1.PodSecurityContext{
		RunAsNonRoot:   new(true),
		SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
	}
	if diff := cmp.Diff(want, pod.SecurityContext); diff != "" {
		t.Errorf("security context of the pod (-want +got):\n%s", diff)
	}
	for _, container := range pod.Containers {
		requests := container.Resources.Requests
		if requests.Cpu().IsZero() || requests.Memory().IsZero() {
			t.Errorf("%s requests %v", container.Name, requests)
		}
		want := &corev1.SecurityContext{
			AllowPrivilegeEscalation: new(false),
			ReadOnlyRootFilesystem:   new(true),
			Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
		}
		if diff := cmp.Diff(want, container.SecurityContext); diff != "" {
			t.Errorf("security context of %s (-want +got):\n%s", container.Name, diff)
		}
	}
}

func TestAccountOfTheManagerIsLeftToOLM(t *testing.T) {
	b := load(t)
	account := b.pod(t).ServiceAccountName
	if account != "spawnery-manager" {
		t.Errorf("the account is %q", account)
	}
	for file, object := range b.objects {
		if object.GetKind() == "ServiceAccount" && object.GetName() == account {
			t.Errorf("%s is made by OLM already", file)
		}
	}
}
