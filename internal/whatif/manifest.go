// SPDX-License-Identifier: Apache-2.0

package whatif

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kube-openapi/pkg/validation/strfmt"
	"k8s.io/kube-openapi/pkg/validation/validate"
	"sigs.k8s.io/yaml"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/config/crd"
)

const kind = "ServerGroup"

// ReadGroup finds the ServerGroup in a manifest, with the defaults that the API
// server would set. The name picks one of several; empty takes the only one.
// Errors name the file and the field.
func ReadGroup(file string, content []byte, name string) (*v1alpha1.ServerGroup, error) {
	var found []map[string]any
	var names []string
	for _, text := range documents(content) {
		object, err := parse(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		if object["kind"] != kind {
			continue
		}
		if version := object["apiVersion"]; version != v1alpha1.GroupVersion.String() {
			return nil, fmt.Errorf("%s: apiVersion of a ServerGroup is %v; this program knows %s", file, version, v1alpha1.GroupVersion)
		}
		metadata, _ := object["metadata"].(map[string]any)
		called := fmt.Sprint(metadata["name"])
		if name == "" || name == called {
			found = append(found, object)
		}
		names = append(names, called)
	}
	switch {
	case len(names) == 0:
		return nil, fmt.Errorf("%s: no ServerGroup in it", file)
	case len(found) == 0:
		return nil, fmt.Errorf("%s: no ServerGroup %q in it, but %s", file, name, strings.Join(names, ", "))
	case len(found) > 1:
		return nil, fmt.Errorf("%s: %d ServerGroups in it (%s); say which with --group", file, len(found), strings.Join(names, ", "))
	}
	group, err := decode(found[0])
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return group, nil
}

// documents splits a manifest. Each keeps the line numbers of the whole.
func documents(content []byte) [][]byte {
	var all [][]byte
	var now []byte
	for i, line := range bytes.SplitAfter(content, []byte("\n")) {
		if bytes.HasPrefix(line, []byte("---")) {
			all = append(all, now)
			now = bytes.Repeat([]byte("\n"), i+1)
			continue
		}
		now = append(now, line...)
	}
	return append(all, now)
}

func parse(text []byte) (map[string]any, error) {
	asJSON, err := yaml.YAMLToJSONStrict(text)
	if err != nil {
		return nil, fmt.Errorf("not YAML: %s", strings.TrimPrefix(err.Error(), "yaml: "))
	}
	if string(asJSON) == "null" {
		return map[string]any{}, nil
	}
	object := map[string]any{}
	if err := utiljson.Unmarshal(asJSON, &object); err != nil {
		return nil, errors.New("not a Kubernetes object: the document is no map")
	}
	return object, nil
}

// decode judges an object as the API server would, as far as its size goes.
func decode(object map[string]any) (*v1alpha1.ServerGroup, error) {
	schema, err := groupSchema()
	if err != nil {
		return nil, err
	}
	group := &v1alpha1.ServerGroup{}
	setDefaults(object, schema)
	err = runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(object, group, true)
	if runtime.IsStrictDecodingError(err) {
		return nil, errors.New(strings.TrimPrefix(err.Error(), "strict decoding error: "))
	}
	if wrong := validate.NewSchemaValidator(schema, nil, "", strfmt.Default).Validate(object); !wrong.IsValid() {
		var texts []string
		for _, one := range wrong.Errors {
			texts = append(texts, strings.ReplaceAll(one.Error(), " in body", ""))
		}
		slices.Sort(texts)
		return nil, errors.New(strings.Join(slices.Compact(texts), "; "))
	}
	if err != nil {
		return nil, fmt.Errorf("reading the ServerGroup: %w", err)
	}
	return group, judge(&group.Spec)
}

// judge checks the rules between fields that a size depends on.
func judge(spec *v1alpha1.ServerGroupSpec) error {
	switch scaling := &spec.Scaling; {
	case spec.Type != v1alpha1.GroupEphemeral:
		return fmt.Errorf("spec.type is %s: only Ephemeral groups are sized by minReplicas, maxReplicas and spareSlots", spec.Type)
	case scaling.MinReplicas == nil || scaling.SpareSlots == nil:
		return errors.New("spec.scaling is required for type Ephemeral")
	case *scaling.MinReplicas > scaling.MaxReplicas:
		return fmt.Errorf("spec.scaling.minReplicas is %d: minReplicas must not exceed maxReplicas, which is %d", *scaling.MinReplicas, scaling.MaxReplicas)
	case spec.Update.MinAvailable >= scaling.MaxReplicas:
		return fmt.Errorf("spec.update.minAvailable is %d: update.minAvailable must be less than scaling.maxReplicas, which is %d", spec.Update.MinAvailable, scaling.MaxReplicas)
	case spec.PlayableSlots > spec.MaxPlayers:
		return fmt.Errorf("spec.playableSlots is %d: playableSlots must not exceed maxPlayers, which is %d", spec.PlayableSlots, spec.MaxPlayers)
	}
	return nil
}

// groupSchema is the schema that the API server has.
var groupSchema = sync.OnceValues(func() (*spec.Schema, error) {
	var definition struct {
		Spec struct {
			Versions []struct {
				Schema struct {
					OpenAPIV3Schema json.RawMessage `json:"openAPIV3Schema"`
				} `json:"schema"`
			} `json:"versions"`
		} `json:"spec"`
	}
	schema := &spec.Schema{}
	if err := yaml.Unmarshal(crd.ServerGroups, &definition); err != nil {
		return nil, fmt.Errorf("reading the definition of ServerGroup: %w", err)
	}
	if err := json.Unmarshal(definition.Spec.Versions[0].Schema.OpenAPIV3Schema, schema); err != nil {
		return nil, fmt.Errorf("reading the schema of ServerGroup: %w", err)
	}
	return schema, nil
})

// setDefaults fills in what is absent, from the outside in, as the API server
// does.
func setDefaults(value any, schema *spec.Schema) {
	switch value := value.(type) {
	case map[string]any:
		for name := range schema.Properties {
			property := schema.Properties[name]
			if _, set := value[name]; !set && property.Default != nil {
				value[name] = runtime.DeepCopyJSONValue(whole(property.Default))
			}
			if inner, set := value[name]; set {
				setDefaults(inner, &property)
			}
		}
	case []any:
		if schema.Items != nil && schema.Items.Schema != nil {
			for _, item := range value {
				setDefaults(item, schema.Items.Schema)
			}
		}
	}
}

// whole turns numbers without a fraction into integers, as objects have them.
func whole(value any) any {
	switch value := value.(type) {
	case float64:
		if value == float64(int64(value)) {
			return int64(value)
		}
	case map[string]any:
		for name := range value {
			value[name] = whole(value[name])
		}
	case []any:
		for i := range value {
			value[i] = whole(value[i])
		}
	}
	return value
}
