// SPDX-License-Identifier: Apache-2.0

package v1alpha1_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/spawnery/spawnery-operator/internal/testenv"
)

// testSamples applies every sample.
func testSamples(t *testing.T, env *testenv.Env) {
	directory := testenv.Path(t, "config/samples")
	content, err := os.ReadFile(filepath.Join(directory, "kustomization.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var kustomization struct{ Resources []string }
	if err := yaml.Unmarshal(content, &kustomization); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(directory, "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	// The lobby is there to try numbers on, and no part of the network that is
	// installed by the samples.
	want := append(slices.Clone(kustomization.Resources), "lobby.yaml", "kustomization.yaml")
	if len(files) != len(want) {
		t.Errorf("samples are %v, want %v", files, want)
	}
	var kinds []string
	for _, resource := range want[:len(want)-1] {
		for _, sample := range testenv.ReadManifests(t, filepath.Join(directory, resource)) {
			if err := apply(t, env, sample); err != nil {
				t.Errorf("%s: %v", resource, err)
			}
			kinds = append(kinds, sample.GetKind())
		}
	}
	for _, kind := range []string{"Network", "ProxyGroup", "ServerGroup", "ScaleBoost"} {
		if !slices.Contains(kinds, kind) {
			t.Errorf("no sample of a %s", kind)
		}
	}
}

// testReleased creates anew what the released versions gave as examples: an
// update would be let off where it changes nothing.
func testReleased(t *testing.T, env *testenv.Env) {
	files, err := filepath.Glob(testenv.Path(t, "bundles/*/manifests/*.clusterserviceversion.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%d bundles are stored: %v", len(files), err)
	}
	for _, file := range files {
		var examples []unstructured.Unstructured
		text := testenv.ReadManifests(t, file)[0].GetAnnotations()["alm-examples"]
		if err := json.Unmarshal([]byte(text), &examples); err != nil || len(examples) < 5 {
			t.Fatalf("%s has %d examples: %v", file, len(examples), err)
		}
		namespace := env.Namespace(t)
		for i := range examples {
			examples[i].SetNamespace(namespace)
			if err := apply(t, env, &examples[i]); err != nil {
				t.Errorf("%s: %v", file, err)
			}
		}
	}
}

// testDocumented applies the manifests that the documentation of scaling by
// free slots tells its reader to save, and looks at what they become.
func testDocumented(t *testing.T, env *testenv.Env) {
	namespace := env.Namespace(t)
	rows := map[string]map[string]any{
		"testdata/hub.yaml": {
			"networkRef":                    map[string]any{"name": "production"},
			"type":                          "Ephemeral",
			"image":                         "ghcr.io/spawnery/purpur:26.3-0.34.0",
			"maxPlayers":                    int64(50),
			"drain":                         map[string]any{"timeoutSeconds": int64(60)},
			"terminationGracePeriodSeconds": int64(60),
			"enforcePlayableSlots":          false,
			"failedRetentionSeconds":        int64(3600),
			"scaling": map[string]any{
				"minReplicas": int64(2), "maxReplicas": int64(8), "spareSlots": int64(30),
				"scaleDownStabilizationSeconds": int64(300), "consolidation": "Disabled",
			},
			"server": map[string]any{
				"flavor": "Paper", "forwarding": "Velocity", "dataDir": "/data",
				"port": int64(25565), "acceptEula": false,
			},
		},
		"testdata/boost.yaml": {
			"groupRef":  map[string]any{"name": "hub"},
			"mode":      "Add",
			"replicas":  int64(2),
			"expiresAt": "2026-09-19T23:00:00Z",
		},
	}
	for file, want := range rows {
		for _, manifest := range testenv.ReadManifests(t, file) {
			manifest.SetNamespace(namespace) // minecraft is the samples'
			if err := apply(t, env, manifest); err != nil {
				t.Errorf("%s: %v", file, err)
			}
			if diff := cmp.Diff(want, manifest.Object["spec"]); diff != "" {
				t.Errorf("%s (-want +got):\n%s", file, diff)
			}
		}
	}
}

// testPages accepts every part of a manifest on the pages that show parts, put
// over the base of its kind.
func testPages(t *testing.T, env *testenv.Env) {
	for file, base := range map[string]string{
		"docs/how-to/route-players.md": "proxygroup", "docs/how-to/let-players-in.md": "proxygroup",
	} {
		content, err := os.ReadFile(testenv.Path(t, file))
		if err != nil {
			t.Fatal(err)
		}
		parts := strings.Split(string(content), "```yaml\n")[1:]
		if len(parts) == 0 {
			t.Errorf("%s shows no manifest", file)
		}
		namespace := env.Namespace(t)
		for i, part := range parts {
			shown, _, _ := strings.Cut(part, "```\n")
			whole := object(t, namespace, base, shown)
			whole.SetName(fmt.Sprint("part-", i))
			if err := apply(t, env, whole); err != nil {
				t.Errorf("%s shows\n%s\n%v", file, shown, err)
			}
		}
	}
}

// apply refuses a field that does not exist, as kubectl does.
func apply(t *testing.T, env *testenv.Env, object *unstructured.Unstructured) error {
	t.Helper()
	return client.WithFieldValidation(env.Client, metav1.FieldValidationStrict).Create(t.Context(), object)
}
