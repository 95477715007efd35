// SPDX-License-Identifier: Apache-2.0

package operatorhub_test

import (
	"bytes"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/version"
	yamlstream "k8s.io/apimachinery/pkg/util/yaml"

	"github.com/spawnery/spawnery-operator/hack/release/store"
)

// catalog is what OLM finds versions and edges in.
type catalog struct {
	file           string
	defaultChannel string
	// channels have their entries by the version in their names.
	channels map[string]map[string]edges
	// images of the bundles by version.
	images map[string]string
	// bundles that it was rendered from, by version.
	bundles map[string]*bundle
}

// edges say which versions an entry may be come to from.
type edges struct {
	Name, Replaces, SkipRange string
	Skips                     []string
}

// catalogs are the committed one, with the released versions, and the one in
// bin, which has the version of this tree too.
func catalogs(t *testing.T) []*catalog {
	t.Helper()
	bin := os.Getenv("SPAWNERY_TEST_BIN")
	if bin == "" {
		t.Skip("needs the rendered catalog: make operatorhub")
	}
	versions, err := store.Versions("../../bundles")
	if err != nil || len(versions) == 0 {
		t.Fatalf("%d versions are stored: %v", len(versions), err)
	}
	released := map[string]*bundle{}
	for _, version := range versions {
		released[version] = loadFrom(t, filepath.Join("../../bundles", version))
	}
	all := maps.Clone(released)
	if tree := loadFrom(t, "../../bundle"); all[tree.csv.Spec.Version] == nil {
		all[tree.csv.Spec.Version] = tree
	}
	return []*catalog{readCatalog(t, "../../catalog", released), readCatalog(t, filepath.Join(bin, "catalog"), all)}
}

func readCatalog(t *testing.T, directory string, bundles map[string]*bundle) *catalog {
	t.Helper()
	c := &catalog{
		file:     filepath.Join(directory, packageName, "catalog.yaml"),
		channels: map[string]map[string]edges{}, images: map[string]string{}, bundles: bundles,
	}
	content, err := os.ReadFile(c.file)
	if err != nil {
		t.Fatal(err)
	}
	for documents := yamlstream.NewYAMLOrJSONDecoder(bytes.NewReader(content), 4096); ; {
		var document struct {
			Schema, Name, Package, DefaultChannel, Image string

			Entries []edges
		}
		if err := documents.Decode(&document); errors.Is(err, io.EOF) {
			return c
		} else if err != nil {
			t.Fatal(err)
		}
		switch document.Schema {
		case "olm.package":
			c.defaultChannel = document.DefaultChannel
		case "olm.channel":
			c.channels[document.Name] = map[string]edges{}
			for _, entry := range document.Entries {
				c.channels[document.Name][versionOf(entry.Name)] = entry
			}
		case "olm.bundle":
			c.images[versionOf(document.Name)] = document.Image
		}
	}
}

func versionOf(name string) string { return strings.TrimPrefix(name, packageName+".v") }

func TestCatalogHasTheChannelsOfItsBundles(t *testing.T) {
	for _, c := range catalogs(t) {
		channels := slices.Sorted(maps.Keys(c.channels))
		for version, b := range c.bundles {
			annotated := strings.Split(b.annotations["operators.operatorframework.io.bundle.channels.v1"], ",")
			if diff := cmp.Diff(channels, slices.Sorted(slices.Values(annotated))); diff != "" {
				t.Errorf("%s: channels (-catalog +bundle %s):\n%s", c.file, version, diff)
			}
			if initial := b.annotations["operators.operatorframework.io.bundle.channel.default.v1"]; initial != c.defaultChannel {
				t.Errorf("%s: the default is %s, bundle %s has %s", c.file, c.defaultChannel, version, initial)
			}
		}
	}
}

func TestCatalogNamesEveryBundle(t *testing.T) {
	for _, c := range catalogs(t) {
		want := map[string]string{}
		for version := range c.bundles {
			want[version] = "ghcr.io/spawnery/spawnery-operator-bundle:v" + version
		}
		if diff := cmp.Diff(want, c.images); diff != "" {
			t.Errorf("%s: bundles (-want +got):\n%s", c.file, diff)
		}
		for name, channel := range c.channels {
			for version := range channel {
				if c.bundles[version] == nil {
					t.Errorf("%s: %s has %s, of which there is no bundle", c.file, name, version)
				}
			}
		}
	}
}

func TestStableVersionsWereCandidates(t *testing.T) {
	for _, c := range catalogs(t) {
		for version := range c.channels["stable-v0"] {
			if _, ok := c.channels["candidate-v0"][version]; !ok {
				t.Errorf("%s: %s is stable and no candidate", c.file, version)
			}
		}
	}
}

func TestCatalogHasTheEdgesOfItsBundles(t *testing.T) {
	for _, c := range catalogs(t) {
		for name, channel := range c.channels {
			for version, entry := range channel {
				csv := c.bundles[version].csv
				if entry.SkipRange != csv.Metadata.Annotations["olm.skipRange"] {
					t.Errorf("%s: %s: %s has the range %q, its CSV %q", c.file, name, version, entry.SkipRange, csv.Metadata.Annotations["olm.skipRange"])
				}
				if !follows(channel, entry, csv.Spec.Replaces) {
					t.Errorf("%s: %s: %s replaces %q, its CSV %q", c.file, name, version, entry.Replaces, csv.Spec.Replaces)
				}
			}
		}
	}
}

// follows says whether an entry comes after what its CSV replaces, as far as
// the template makes edges: a channel may lack that version, and a patch skips
// what it mends, which then has no edges of its own.
func follows(channel map[string]edges, entry edges, replaced string) bool {
	if _, ok := channel[versionOf(replaced)]; replaced != "" && !ok {
		return true
	}
	for _, other := range channel {
		if slices.Contains(other.Skips, entry.Name) {
			return true
		}
	}
	return entry.Replaces == replaced || slices.Contains(entry.Skips, replaced)
}

func TestEveryVersionLeadsToTheHighest(t *testing.T) {
	for _, c := range catalogs(t) {
		for name, channel := range c.channels {
			versions := slices.SortedFunc(maps.Keys(channel), func(a, b string) int {
				order, err := version.MustParseSemantic(a).Compare(b)
				if err != nil {
					t.Fatal(err)
				}
				return order
			})
			head := versions[len(versions)-1]
			reached := reach(channel, head)
			for _, v := range versions {
				if !slices.Contains(reached, v) {
					t.Errorf("%s: %s: nothing leads from %s to %s", c.file, name, v, head)
				}
			}
			for v, entry := range channel {
				for _, older := range append(slices.Clone(entry.Skips), entry.Replaces) {
					if older != "" && channel[versionOf(older)].Name == "" {
						t.Errorf("%s: %s: %s follows %s, which is not there", c.file, name, v, older)
					}
				}
			}
		}
	}
}

// reach lists a version and all that lead to it.
func reach(channel map[string]edges, version string) []string {
	entry := channel[version]
	reached := []string{version}
	for _, older := range append(slices.Clone(entry.Skips), entry.Replaces) {
		if older != "" && older != entry.Name {
			reached = append(reached, reach(channel, versionOf(older))...)
		}
	}
	return reached
}

func TestVersionOfThisTreeFollowsTheLastReleased(t *testing.T) {
	b := load(t)
	versions, err := store.Versions("../../bundles")
	if err != nil {
		t.Fatal(err)
	}
	below := slices.DeleteFunc(versions, func(v string) bool {
		return !version.MustParseSemantic(v).LessThan(version.MustParseSemantic(b.csv.Spec.Version))
	})
	var replaces, skipRange string
	if len(below) > 0 {
		replaces = packageName + ".v" + below[len(below)-1]
		skipRange = ">=" + below[0] + " <" + b.csv.Spec.Version
	}
	if b.csv.Spec.Replaces != replaces || b.csv.Metadata.Annotations["olm.skipRange"] != skipRange {
		t.Errorf("replaces %q and %q, want %q and %q", b.csv.Spec.Replaces, b.csv.Metadata.Annotations["olm.skipRange"], replaces, skipRange)
	}
}
