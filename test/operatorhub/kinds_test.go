// SPDX-License-Identifier: Apache-2.0

package operatorhub_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestOwnedKindsAreTheBundledOnes(t *testing.T) {
	b := load(t)
	var owned []string
	for _, kind := range b.csv.Spec.CustomResourceDefinitions.Owned {
		owned = append(owned, kind.Name)
	}
	slices.Sort(owned)
	if diff := cmp.Diff(slices.Sorted(maps.Keys(b.crds())), owned); diff != "" {
		t.Errorf("owned kinds (-bundled +owned):\n%s", diff)
	}
	if len(owned) != 5 {
		t.Errorf("%d kinds are owned, want 5", len(owned))
	}
	if required := b.csv.Spec.CustomResourceDefinitions.Required; len(required) > 0 {
		t.Errorf("kinds of other operators are required: %v", required)
	}
}

func TestKindsAreDescribed(t *testing.T) {
	for _, kind := range load(t).csv.Spec.CustomResourceDefinitions.Owned {
		t.Run(kind.Kind, func(t *testing.T) {
			if kind.DisplayName == "" || kind.Description == "" {
				t.Errorf("displayName %q, description %q", kind.DisplayName, kind.Description)
			}
			if len(kind.Resources) == 0 {
				t.Error("no resources")
			}
		})
	}
}

func TestEveryTopLevelFieldHasADescriptor(t *testing.T) {
	b := load(t)
	crds := b.crds()
	for _, kind := range b.csv.Spec.CustomResourceDefinitions.Owned {
		t.Run(kind.Kind, func(t *testing.T) {
			var spec, status []string
			for _, descriptor := range kind.SpecDescriptors {
				spec = append(spec, descriptor.Path)
				if descriptor.DisplayName == "" || descriptor.Description == "" {
					t.Errorf("%s is not described", descriptor.Path)
				}
			}
			for _, descriptor := range kind.StatusDescriptors {
				status = append(status, descriptor.Path)
				if descriptor.DisplayName == "" || descriptor.Description == "" {
					t.Errorf("%s is not described", descriptor.Path)
				}
			}
			for part, got := range map[string][]string{"spec": spec, "status": status} {
				if diff := cmp.Diff(fields(t, crds[kind.Name], part), slices.Sorted(slices.Values(got))); diff != "" {
					t.Errorf("descriptors of %s (-schema +descriptors):\n%s", part, diff)
				}
			}
		})
	}
}

// fields are the names of the fields of spec or status in the schema.
func fields(t *testing.T, crd unstructured.Unstructured, part string) []string {
	t.Helper()
	versions, _, err := unstructured.NestedSlice(crd.Object, "spec", "versions")
	if err != nil || len(versions) != 1 {
		t.Fatalf("%s has %d versions: %v", crd.GetName(), len(versions), err)
	}
	served, ok := versions[0].(map[string]any)
	if !ok {
		t.Fatalf("a version is a %T", versions[0])
	}
	properties, _, err := unstructured.NestedMap(served, "schema", "openAPIV3Schema", "properties", part, "properties")
	if err != nil {
		t.Fatal(err)
	}
	return slices.Sorted(maps.Keys(properties))
}

func TestEveryOwnedVersionHasAnExample(t *testing.T) {
	b := load(t)
	known := map[string]bool{}
	for _, kind := range b.csv.Spec.CustomResourceDefinitions.Owned {
		known["spawnery.cloud/"+kind.Version+" "+kind.Kind] = false
	}
	for _, example := range b.examples(t) {
		name := example.GetAPIVersion() + " " + example.GetKind()
		if _, ok := known[name]; !ok {
			t.Errorf("an example of %s, which is not owned", name)
		}
		known[name] = true
		if _, ok := example.Object["spec"]; !ok {
			t.Errorf("the example of %s has no spec", name)
		}
	}
	for name, found := range known {
		if !found {
			t.Errorf("no example of %s", name)
		}
	}
}
