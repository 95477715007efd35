// SPDX-License-Identifier: Apache-2.0

package gameconfig_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/magiconair/properties"
	"sigs.k8s.io/yaml"

	"github.com/spawnery/spawnery-operator/internal/agent/serverspec"
	"github.com/spawnery/spawnery-operator/internal/gameconfig"
)

// itzg is what the most used image does after prepare.
type itzg struct {
	Order      []string          `json:"order"`
	Properties map[string]string `json:"properties"`
	Defaults   map[string]string `json:"defaults"`
	Heap       []string          `json:"heap"`
}

func readItzg(t *testing.T) itzg {
	t.Helper()
	content, err := os.ReadFile("testdata/itzg.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var image itzg
	if err := yaml.UnmarshalStrict(content, &image); err != nil {
		t.Fatal(err)
	}
	return image
}

// setProperties is the image's step of that name.
func (i itzg) setProperties(t *testing.T, file string, env map[string]string) map[string]string {
	t.Helper()
	parsed, err := properties.LoadString(file)
	if err != nil {
		t.Fatal(err)
	}
	result := parsed.Map()
	for property, variable := range i.Properties {
		if value, set := env[variable]; set {
			result[property] = strings.ToLower(value)
		}
	}
	return result
}

func passed(spec serverspec.Spec, memory gameconfig.Memory) map[string]string {
	env := map[string]string{}
	for _, variable := range gameconfig.Variables(spec, memory) {
		env[variable.Name] = variable.Value
	}
	return env
}

func refused(variable string) bool {
	return slices.ContainsFunc(gameconfig.RefusedVariables(), func(refusal gameconfig.Refusal) bool {
		prefix, wildcard := strings.CutSuffix(refusal.Name, "*")
		return variable == refusal.Name || wildcard && strings.HasPrefix(variable, prefix)
	})
}

func TestAnImageThatSetsPropertiesFromVariablesUndoesNothing(t *testing.T) {
	image := readItzg(t)
	for name, change := range map[string]func(*serverspec.Spec){
		"as it comes":        func(*serverspec.Spec) {},
		"another port":       func(s *serverspec.Spec) { s.Port, s.MaxPlayers = 25585, 7 },
		"without forwarding": func(s *serverspec.Spec) { s.Forwarding = serverspec.ForwardingNone },
	} {
		t.Run(name, func(t *testing.T) {
			spec := lobby()
			spec.AcceptEULA = true
			change(&spec)
			prepared := render(t, spec, t.TempDir())["server.properties"]
			want := image.setProperties(t, prepared, nil)
			if diff := cmp.Diff(want, image.setProperties(t, prepared, passed(spec, gameconfig.Memory{}))); diff != "" {
				t.Errorf("what the image leaves of server.properties (-prepared +left):\n%s", diff)
			}
		})
	}
}

func TestNoVariableOfTheImageSetsAnOperationalProperty(t *testing.T) {
	image := readItzg(t)
	operational := 0
	for property, variable := range image.Properties {
		owners := gameconfig.CheckProperties(map[string]string{property: "1"}) == nil
		if owners == refused(variable) {
			t.Errorf("%s is the owner's: %t, but the variable %s is refused: %t", property, owners, variable, refused(variable))
		}
		if !owners {
			operational++
		}
	}
	// Each property that prepare fixes is one that the image knows a variable of.
	for line := range strings.Lines(render(t, lobby(), t.TempDir())["server.properties"]) {
		property, _, _ := strings.Cut(line, "=")
		if image.Properties[property] == "" {
			t.Errorf("the fixture does not say which variable sets %s", property)
		}
	}
	if operational < 12 {
		t.Errorf("found %d operational properties", operational)
	}
}

func TestEveryVariableThatIsPassedIsOneOfTheImage(t *testing.T) {
	image := readItzg(t)
	spec := lobby()
	spec.AcceptEULA = true
	for variable, value := range passed(spec, gameconfig.Memory{Limited: true}) {
		isProperty := slices.ContainsFunc(keysOf(image.Properties), func(property string) bool { return image.Properties[property] == variable })
		if _, known := image.Defaults[variable]; !known && !isProperty {
			t.Errorf("the image documents no variable %s", variable)
		}
		if strings.Contains(value, secrets.Management) || strings.Contains(variable, "SECRET") {
			t.Errorf("%s carries a secret, which env shows to whoever may read pods", variable)
		}
	}
}

// The image's own default is a heap of 1G, whatever the container may have.
func TestAnOwnerWhoSizesTheHeapIsNotOverruled(t *testing.T) {
	image := readItzg(t)
	limited := gameconfig.Memory{Limited: true, OwnerVariables: []string{"TYPE"}}
	for variable, want := range map[string]string{"INIT_MEMORY": "50%", "MAX_MEMORY": "75%"} {
		if got := passed(lobby(), limited)[variable]; got != want {
			t.Errorf("%s = %q, want %q", variable, got, want)
		}
	}
	for _, chosen := range image.Heap {
		env := passed(lobby(), gameconfig.Memory{Limited: true, OwnerVariables: []string{chosen}})
		if env["INIT_MEMORY"] != "" || env["MAX_MEMORY"] != "" {
			t.Errorf("with %s chosen by the owner the heap is sized by %v", chosen, env)
		}
	}
}

// The kubelet kills a pod at the end of its grace; the image must not have
// killed the game before, nor still be waiting then.
func TestTheImageStopsTheGameWithinTheGrace(t *testing.T) {
	for grace, want := range map[int32]string{1: "1", 10: "1", 11: "1", 60: "50", 300: "290"} {
		spec := lobby()
		spec.GraceSeconds = grace
		if got := passed(spec, gameconfig.Memory{})["STOP_DURATION"]; got != want {
			t.Errorf("with a grace of %d s STOP_DURATION is %s, want %s", grace, got, want)
		}
	}
}

func keysOf(values map[string]string) []string {
	keys := make([]string, 0, len(values))
	for key := range values {
		keys = append(keys, key)
	}
	return keys
}
