// SPDX-License-Identifier: Apache-2.0

package local

import (
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

type document struct {
	Paths      map[string]map[string]any `json:"paths"`
	Components struct {
		Schemas map[string]schema `json:"schemas"`
	} `json:"components"`
}

type schema struct {
	Required   []string          `json:"required"`
	Properties map[string]schema `json:"properties"`
	Enum       []string          `json:"enum"`
}

func readDocument(t *testing.T) document {
	t.Helper()
	content, err := os.ReadFile("../../../docs/reference/plugin-api.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var read document
	if err := yaml.Unmarshal(content, &read); err != nil {
		t.Fatal(err)
	}
	return read
}

func TestTheDocumentHoldsExactlyTheOperationsThatAreServed(t *testing.T) {
	var served, described []string
	for _, one := range routes() {
		served = append(served, strings.ToLower(one.method)+" "+one.path)
	}
	for path, methods := range readDocument(t).Paths {
		for method := range methods {
			described = append(described, method+" "+path)
		}
	}
	slices.Sort(served)
	slices.Sort(described)
	if diff := cmp.Diff(served, described); diff != "" {
		t.Errorf("(-served +described):\n%s", diff)
	}
}

func TestTheDocumentHoldsExactlyTheFieldsThatAreSentAndRead(t *testing.T) {
	schemas := readDocument(t).Components.Schemas
	for name, of := range map[string]any{
		"Self": Self{}, "Wishes": Wishes{}, "PlayableSlots": PlayableSlots{}, "JoinsBody": JoinsBody{}, "Failure": Failure{},
		"Roster": Roster{}, "Person": Person{}, "NewBoost": NewBoost{}, "Boost": Boost{}, "Boosts": Boosts{}, "Move": Move{},
		"Network": Network{}, "Group": Group{}, "Server": Server{}, "Proxies": Proxies{},
	} {
		var all, required []string
		kind := reflect.TypeOf(of)
		for sent := range kind.Fields() {
			field, options, _ := strings.Cut(sent.Tag.Get("json"), ",")
			all = append(all, field)
			if options == "" {
				required = append(required, field)
			}
		}
		slices.Sort(all)
		if diff := cmp.Diff(all, slices.Sorted(maps.Keys(schemas[name].Properties))); diff != "" {
			t.Errorf("%s (-sent +described):\n%s", name, diff)
		}
		if diff := cmp.Diff(required, schemas[name].Required); diff != "" {
			t.Errorf("%s (-always +required):\n%s", name, diff)
		}
	}
	if diff := cmp.Diff([]string{string(Starting), string(Ready), string(NotAnswering), string(Stopping)}, schemas["Self"].Properties["state"].Enum); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{string(Open), string(Closed)}, schemas["Joins"].Enum); diff != "" {
		t.Error(diff)
	}
}
