// SPDX-License-Identifier: Apache-2.0

// Command trim-crds takes Kubernetes' own descriptions out of generated CRDs:
// a client-side apply must fit a whole CRD into one annotation, and what a
// toleration is stands in Kubernetes' own reference. The field that holds such
// a type keeps its description.
//
//	trim-crds config/crd/bases/*.yaml
package main

import (
	"fmt"
	"os"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

// embedded are the names of fields whose types are Kubernetes' own.
var embedded = map[string]bool{
	"affinity": true, "conditions": true, "resources": true,
	"tolerations": true, "topologySpreadConstraints": true,
}

func main() {
	for _, file := range os.Args[1:] {
		if err := trimFile(file); err != nil {
			fmt.Fprintf(os.Stderr, "trim-crds: %s: %v\n", file, err)
			os.Exit(1)
		}
	}
}

func trimFile(file string) error {
	content, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	// A CRD's own type would add an empty status: only the schema is typed.
	var crd map[string]any
	if err := yaml.Unmarshal(content, &crd); err != nil {
		return err
	}
	var typed apiextensionsv1.CustomResourceDefinition
	if err := yaml.UnmarshalStrict(content, &typed); err != nil {
		return err
	}
	for _, version := range typed.Spec.Versions {
		trim(version.Schema.OpenAPIV3Schema)
	}
	crd["spec"] = typed.Spec
	trimmed, err := yaml.Marshal(crd)
	if err != nil {
		return err
	}
	return os.WriteFile(file, append([]byte("---\n"), trimmed...), 0o644)
}

// trim looks for fields of embedded types.
func trim(schema *apiextensionsv1.JSONSchemaProps) {
	for name, property := range schema.Properties {
		if embedded[name] {
			description := property.Description
			strip(&property)
			property.Description = description
		} else {
			trim(&property)
		}
		schema.Properties[name] = property
	}
	if schema.Items != nil && schema.Items.Schema != nil {
		trim(schema.Items.Schema)
	}
}

// strip takes every description out of a schema.
func strip(schema *apiextensionsv1.JSONSchemaProps) {
	schema.Description = ""
	for name, property := range schema.Properties {
		strip(&property)
		schema.Properties[name] = property
	}
	if schema.Items != nil && schema.Items.Schema != nil {
		strip(schema.Items.Schema)
	}
	if schema.AdditionalProperties != nil && schema.AdditionalProperties.Schema != nil {
		strip(schema.AdditionalProperties.Schema)
	}
}
