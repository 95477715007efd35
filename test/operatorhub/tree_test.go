// SPDX-License-Identifier: Apache-2.0

package operatorhub_test

import (
	"bytes"
	"compress/gzip"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/version"
)

// Sizes in bytes. OLM keeps a whole bundle in one object, and a client-side
// apply keeps a whole CRD in an annotation.
const (
	maxBundleGzipped = 300_000
	maxCRD           = 200_000
)

func TestVersionIsOneEverywhere(t *testing.T) {
	b := load(t)
	content, err := os.ReadFile("../../VERSION")
	if err != nil {
		t.Fatal(err)
	}
	want := strings.TrimSpace(string(content))
	got := map[string]string{
		"directory":    filepath.Base(b.directory),
		"spec.version": b.csv.Spec.Version,
		"name":         strings.TrimPrefix(b.csv.Metadata.Name, packageName+".v"),
	}
	for place, found := range got {
		if found != want {
			t.Errorf("%s has version %q, VERSION has %q", place, found, want)
		}
	}
	if _, err := version.ParseSemantic(want); err != nil {
		t.Error(err)
	}
	if problems := validation.IsDNS1123Subdomain(b.csv.Metadata.Name); len(problems) > 0 || len(b.csv.Metadata.Name) > 63 {
		t.Errorf("%s: %q", b.csv.Metadata.Name, problems)
	}
}

func TestConfigurationOfTheCatalogIsKnown(t *testing.T) {
	var ci map[string]any
	b := load(t)
	read(t, filepath.Join(b.directory, "../ci.yaml"), &ci)
	if ci["updateGraph"] != "semver-mode" && ci["updateGraph"] != "replaces-mode" {
		t.Errorf("updateGraph %v", ci["updateGraph"])
	}
	for key := range ci {
		if !slices.Contains([]string{"updateGraph", "reviewers", "fbc"}, key) {
			t.Errorf("unknown key %s", key)
		}
	}
}

func TestGraphIsNotPruned(t *testing.T) {
	b := load(t)
	if _, ok := b.csv.Metadata.Annotations["olm.skipRange"]; ok && b.csv.Spec.Replaces == "" {
		t.Error("olm.skipRange without replaces cuts off what was before")
	}
	for key := range b.csv.Metadata.Annotations {
		if strings.EqualFold(key, "olm.skipRange") && key != "olm.skipRange" {
			t.Errorf("%s is not olm.skipRange", key)
		}
		if key == "olm.properties" {
			t.Error("properties belong into metadata/properties.yaml")
		}
	}
}

func TestLabelsOfTheImageAreTheAnnotations(t *testing.T) {
	b := load(t)
	content, err := os.ReadFile("../../bundle.Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	labels := map[string]string{}
	for _, match := range regexp.MustCompile(`(?m)^LABEL ([^=\s]+)=(.*)$`).FindAllStringSubmatch(string(content), -1) {
		labels[match[1]] = match[2]
	}
	if diff := cmp.Diff(b.annotations, labels); diff != "" {
		t.Errorf("annotations.yaml and bundle.Dockerfile differ (-annotations +labels):\n%s", diff)
	}
	bundled := "operators.operatorframework.io.bundle."
	want := map[string]string{
		bundled + "mediatype.v1": "registry+v1",
		bundled + "manifests.v1": "manifests/",
		bundled + "metadata.v1":  "metadata/",
		bundled + "package.v1":   packageName,
	}
	for key, value := range want {
		if b.annotations[key] != value {
			t.Errorf("%s is %q, want %q", key, b.annotations[key], value)
		}
	}
	channels := strings.Split(b.annotations[bundled+"channels.v1"], ",")
	for _, channel := range channels {
		if !regexp.MustCompile(`^(candidate|fast|stable)`).MatchString(channel) {
			t.Errorf("a channel of an unusual name: %q", channel)
		}
	}
	if initial := b.annotations[bundled+"channel.default.v1"]; !slices.Contains(channels, initial) {
		t.Errorf("the default channel %q is not among %q", initial, channels)
	}
}

func TestManifestsAreOfKindsThatOLMInstalls(t *testing.T) {
	b := load(t)
	// OLM knows more; what else it knows fails on clusters that lack the kind,
	// or is refused by a catalog.
	kinds := []string{"CustomResourceDefinition", "ClusterRole", "Service"}
	for file, object := range b.objects {
		if !slices.Contains(kinds, object.GetKind()) {
			t.Errorf("%s is a %s", file, object.GetKind())
		}
		if object.GetNamespace() != "" {
			t.Errorf("%s names the namespace %s; OLM chooses it", file, object.GetNamespace())
		}
	}
}

func TestSizesLeaveRoom(t *testing.T) {
	b := load(t)
	var packed bytes.Buffer
	writer := gzip.NewWriter(&packed)
	err := filepath.WalkDir(b.directory, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if len(content) > maxCRD && !strings.HasSuffix(path, ".clusterserviceversion.yaml") {
			t.Errorf("%s has %d bytes, more than %d", filepath.Base(path), len(content), maxCRD)
		}
		_, err = writer.Write(content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	if packed.Len() > maxBundleGzipped {
		t.Errorf("the bundle has %d bytes gzipped, more than %d", packed.Len(), maxBundleGzipped)
	}
	t.Logf("the bundle has %d bytes gzipped", packed.Len())
}
