// SPDX-License-Identifier: Apache-2.0

package podspec_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/podspec"
)

var update = flag.Bool("update", false, "write the golden objects anew; never the golden digests")

func TestNamespaceObjectsAreGolden(t *testing.T) {
	objects := []any{
		podspec.BuildChannelConfig("minecraft", podspec.Channel{Endpoint: "manager.test:9443", CA: []byte("PEM\n")}),
		podspec.BuildForwardingSecret("minecraft", "production", []byte("not-so-secret")),
	}
	for _, account := range podspec.BuildServiceAccounts("minecraft") {
		objects = append(objects, account)
	}
	golden(t, "namespace", objects...)
}

func TestGroupObjectsAreGolden(t *testing.T) {
	golden(t, "server-groups",
		podspec.BuildDataClaim(load[v1alpha1.ServerGroup](t, "survival"), 1),
		podspec.BuildServerBudget(load[v1alpha1.ServerGroup](t, "lobby"), 3),
	)
	golden(t, "proxy-groups",
		podspec.BuildService(load[v1alpha1.ProxyGroup](t, "front")),
		podspec.BuildProxyBudget(load[v1alpha1.ProxyGroup](t, "front"), 0),
		podspec.BuildService(load[v1alpha1.ProxyGroup](t, "edge")),
		podspec.BuildService(load[v1alpha1.ProxyGroup](t, "gate")),
		podspec.BuildService(load[v1alpha1.ProxyGroup](t, "balanced")),
	)
}

// load reads a manifest as its owner would have written it: what the API
// server fills in is absent.
func load[T any](t *testing.T, name string) *T {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("testdata", "manifests", name+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	object := new(T)
	if err := yaml.UnmarshalStrict(content, object); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return object
}

// golden compares objects with testdata/objects, or writes them there.
func golden(t *testing.T, name string, objects ...any) {
	t.Helper()
	documents := make([][]byte, 0, len(objects))
	for _, object := range objects {
		document, err := yaml.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}
		documents = append(documents, document)
	}
	got := bytes.Join(documents, []byte("---\n"))
	file := filepath.Join("testdata", "objects", name+".yaml")
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	compare(t, string(want), string(got))
}
