// SPDX-License-Identifier: Apache-2.0

package compat

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/spawnery/spawnery-operator/hack/release/store"
)

// accepted are breaks that hurt nobody, with the reason.
var accepted = map[string]string{
	`servergroups.spawnery.cloud v1alpha1 .spec: the rule "self.server.flavor != 'Fabric' || self.server.forwarding != 'Velocity' || ` +
		`!has(self.env) || !self.env.exists(variable, variable.name.startsWith('FABRIC_PROXY_SECRET'))" is new`: "no release knew the flavor Fabric",
}

func TestKindsAcceptWhatTheLastReleaseAccepted(t *testing.T) {
	versions, err := store.Versions("../../../bundles")
	if err != nil || len(versions) == 0 {
		t.Fatalf("%d versions are stored: %v", len(versions), err)
	}
	last := versions[len(versions)-1]
	older := definitions(t, "../../../bundles/"+last+"/manifests")
	newer := definitions(t, "../../../config/crd/bases")
	if len(older) == 0 {
		t.Fatalf("%s has no definitions", last)
	}
	found := map[string]bool{}
	for name, definition := range older {
		if newer[name] == nil {
			t.Errorf("%s of %s is gone", name, last)
			continue
		}
		for _, broken := range Breaks(definition, newer[name]) {
			found[broken] = true
			if accepted[broken] == "" {
				t.Errorf("objects of %s may no longer be valid: %s", last, broken)
			}
		}
	}
	for broken := range accepted {
		if !found[broken] {
			t.Errorf("accepted, and not so: %s", broken)
		}
	}
}

// definitions are the CRDs in a folder by name.
func definitions(t *testing.T, folder string) map[string]*apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]*apiextensionsv1.CustomResourceDefinition{}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var definition apiextensionsv1.CustomResourceDefinition
		if err := yaml.Unmarshal(content, &definition); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if definition.Kind == "CustomResourceDefinition" {
			found[definition.Name] = &definition
		}
	}
	return found
}

// sample has a bit of everything that is compared.
const sample = `
metadata: {name: things.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Thing, plural: things}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          size: {type: integer, minimum: 1, maximum: 9}
          ratio: {type: integer}
          name: {type: string, maxLength: 20}
          mode: {type: string, enum: [A, B]}
          ports: {type: array, maxItems: 4, x-kubernetes-list-type: atomic, items: {type: integer, maximum: 100}}
          labels: {type: object, additionalProperties: {type: string, maxLength: 8}}
          amount: {x-kubernetes-int-or-string: true, anyOf: [{type: integer}, {type: string}]}
          inner:
            type: object
            required: [a]
            properties: {a: {type: string}, b: {type: string, default: x}, c: {type: string}}
            x-kubernetes-validations: [{rule: "self.a != self.c"}]
  - name: v0
    served: true
    schema: {openAPIV3Schema: {type: object}}
`

func TestEveryWayToTakeSomethingAwayIsFound(t *testing.T) {
	cases := map[string]struct {
		old, new string
		want     []string
	}{
		"nothing changed":          {"", "", nil},
		"a field more":             {"ratio:", "more: {type: string}\n          ratio:", nil},
		"a wider limit":            {"maximum: 9", "maximum: 10", nil},
		"no limit":                 {", maximum: 9", "", nil},
		"a value more":             {"[A, B]", "[A, B, C]", nil},
		"a required field less":    {"required: [a]", "required: []", nil},
		"required with a default":  {"required: [a]", "required: [a, b]", nil},
		"a rule less":              {`[{rule: "self.a != self.c"}]`, "[]", nil},
		"another group":            {"group: example.com", "group: example.org", []string{`things.example.com: group was "example.com", is "example.org"`}},
		"another scope":            {"Namespaced", "Cluster", []string{`things.example.com: scope was "Namespaced", is "Cluster"`}},
		"a version less":           {"name: v0", "name: v2", []string{"things.example.com v0: the version is gone"}},
		"a version not served":     {"name: v0\n    served: true", "name: v0\n    served: false", []string{"things.example.com v0: the version is no longer served"}},
		"a subresource less":       {"subresources: {status: {}}", "subresources: {}", []string{`things.example.com v1: subresources were ["status"], are []`}},
		"a field less":             {"          ratio: {type: integer}\n", "", []string{"things.example.com v1 : the field ratio is gone"}},
		"another type":             {"ratio: {type: integer}", "ratio: {type: string}", []string{`things.example.com v1 .ratio: type was "integer", is "string"`}},
		"a lower maximum":          {"maximum: 9", "maximum: 8", []string{"things.example.com v1 .size: maximum was 9, is 8"}},
		"a higher minimum":         {"minimum: 1", "minimum: 2", []string{"things.example.com v1 .size: minimum was 1, is 2"}},
		"a new minimum":            {"ratio: {", "ratio: {minimum: -5, ", []string{"things.example.com v1 .ratio: minimum -5 is new"}},
		"an exclusive minimum":     {"minimum: 1", "minimum: 1, exclusiveMinimum: true", []string{"things.example.com v1 .size: exclusiveMinimum is new"}},
		"a shorter text":           {"maxLength: 20", "maxLength: 19", []string{"things.example.com v1 .name: maxLength was 20, is 19"}},
		"a text that is not empty": {"maxLength: 20", "maxLength: 20, minLength: 1", []string{"things.example.com v1 .name: minLength 1 is new"}},
		"a text that may be empty": {"maxLength: 20", "maxLength: 20, minLength: 0", nil},
		"a pattern":                {"maxLength: 20", "maxLength: 20, pattern: x", []string{`things.example.com v1 .name: pattern was "", is "x"`}},
		"a format":                 {"maxLength: 20", "maxLength: 20, format: date", []string{`things.example.com v1 .name: format was "", is "date"`}},
		"a value less":             {"[A, B]", "[A]", []string{`things.example.com v1 .mode: the value "B" is gone`}},
		"a list of values":         {"maxLength: 20", "maxLength: 20, enum: [x]", []string{`things.example.com v1 .name: only the values "x" are left`}},
		"fewer elements":           {"maxItems: 4", "maxItems: 3", []string{"things.example.com v1 .ports: maxItems was 4, is 3"}},
		"another kind of list":     {"atomic", "set", []string{`things.example.com v1 .ports: kind of list was "atomic", is "set"`}},
		"a lower element":          {"maximum: 100", "maximum: 99", []string{"things.example.com v1 .ports[]: maximum was 100, is 99"}},
		"no keys of one's own":     {", additionalProperties: {type: string, maxLength: 8}", "", []string{"things.example.com v1 .labels: keys of one's own are refused"}},
		"a shorter value of a key": {"maxLength: 8", "maxLength: 7", []string{"things.example.com v1 .labels.*: maxLength was 8, is 7"}},
		"not a number or a string": {"x-kubernetes-int-or-string: true, ", "", []string{"things.example.com v1 .amount: is no longer a number or a string"}},
		"another choice":           {"anyOf: [{type: integer}, ", "anyOf: [", []string{"things.example.com v1 .amount: anyOf is another"}},
		"a required field more":    {"required: [a]", "required: [a, c]", []string{"things.example.com v1 .inner: the field c is required"}},
		"a rule more":              {`[{rule: "`, `[{rule: "self.a != self.b"}, {rule: "`, []string{`things.example.com v1 .inner: the rule "self.a != self.b" is new`}},
		"another rule":             {"self.a != self.c", "self.a < self.c", []string{`things.example.com v1 .inner: the rule "self.a < self.c" is new`}},
		"a rule about a field more": {
			"c: {type: string}}\n            x-kubernetes-validations: [{",
			"c: {type: string}, d: {type: string}}\n            x-kubernetes-validations: [{rule: '!has(self.d)'}, {", nil,
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if !strings.Contains(sample, c.old) {
				t.Fatalf("the sample has no %q", c.old)
			}
			older, newer := parse(t, sample), parse(t, strings.Replace(sample, c.old, c.new, 1))
			if diff := cmp.Diff(c.want, Breaks(older, newer)); diff != "" {
				t.Errorf("breaks (-want +got):\n%s", diff)
			}
		})
	}
}

func parse(t *testing.T, text string) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	var definition apiextensionsv1.CustomResourceDefinition
	if err := yaml.Unmarshal([]byte(text), &definition); err != nil {
		t.Fatal(err)
	}
	return &definition
}
