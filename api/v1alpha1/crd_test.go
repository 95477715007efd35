// SPDX-License-Identifier: Apache-2.0

package v1alpha1_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/spawnery/spawnery-operator/internal/testenv"
)

// largestCRD leaves room for the rest of an annotation, which a client-side
// apply fills with the whole object.
const largestCRD = 200 * 1024

func TestEveryCRDFitsAClientSideApply(t *testing.T) {
	for file, crd := range crds(t) {
		info, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		if info.Size() > largestCRD {
			t.Errorf("%s has %d bytes, more than %d", crd.Name, info.Size(), largestCRD)
		}
	}
}

func TestEveryFieldIsDescribed(t *testing.T) {
	for _, crd := range crds(t) {
		root := crd.Spec.Versions[0].Schema.OpenAPIV3Schema
		if root.Description == "" {
			t.Errorf("%s has no description", crd.Spec.Names.Kind)
		}
		describe(t, crd.Spec.Names.Kind, "", root)
	}
}

func TestKindsAreNamedAndListedAsDocumented(t *testing.T) {
	type listing struct{ ShortNames, Columns []string }
	want := map[string]listing{
		"Network":     {[]string{"mcnet"}, []string{"Proxies", "Groups", "Players", "Accepted", "Age"}},
		"ProxyGroup":  {[]string{"mcproxy"}, []string{"Phase", "Ready", "Address", "Players", "Age"}},
		"ServerGroup": {[]string{"mcgroup"}, []string{"Type", "Phase", "Ready", "Replicas", "Players", "Free Slots", "Boosted", "Age"}},
		"Server":      {[]string{"mcsrv"}, []string{"Group", "Phase", "Players", "Slots", "Registered", "Age"}},
		"ScaleBoost":  {[]string{"boost", "boosts"}, []string{"Group", "Mode", "Replicas", "Expires", "Age"}},
	}
	got := map[string]listing{}
	for _, crd := range crds(t) {
		if !slices.Equal(crd.Spec.Names.Categories, []string{"minecraft"}) {
			t.Errorf("%s is in the categories %v", crd.Spec.Names.Kind, crd.Spec.Names.Categories)
		}
		var columns []string
		for _, column := range crd.Spec.Versions[0].AdditionalPrinterColumns {
			columns = append(columns, column.Name)
		}
		got[crd.Spec.Names.Kind] = listing{crd.Spec.Names.ShortNames, columns}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// describe complains about undescribed fields, down to Kubernetes' own types.
func describe(t *testing.T, kind, path string, schema *apiextensionsv1.JSONSchemaProps) {
	t.Helper()
	for name, property := range schema.Properties {
		field := strings.TrimPrefix(path+"."+name, ".")
		if property.Description == "" && field != "metadata" {
			t.Errorf("%s: %s has no description", kind, field)
		}
		if !slices.Contains(kubernetesOwn, name) {
			describe(t, kind, field, &property)
		}
	}
	if schema.Items != nil && schema.Items.Schema != nil {
		describe(t, kind, path+"[]", schema.Items.Schema)
	}
}

// kubernetesOwn are the fields whose types Kubernetes describes.
var kubernetesOwn = []string{"affinity", "conditions", "resources", "tolerations", "topologySpreadConstraints"}

// crds returns the generated CRDs by their file.
func crds(t *testing.T) map[string]*apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	files, err := filepath.Glob(testenv.Path(t, "config/crd/bases/*.yaml"))
	if err != nil || len(files) != 5 {
		t.Fatalf("found %d CRDs, want 5: %v", len(files), err)
	}
	found := map[string]*apiextensionsv1.CustomResourceDefinition{}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.UnmarshalStrict(content, crd); err != nil {
			t.Fatal(err)
		}
		found[file] = crd
	}
	return found
}
