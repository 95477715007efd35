// SPDX-License-Identifier: Apache-2.0

package peers

import (
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

const project = "../.."

// tool is a program that make test-peers puts into bin/.
func tool(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join(cmp.Or(os.Getenv("SPAWNERY_TEST_BIN"), filepath.Join(project, "bin")), name))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("no %s: run make test-peers, or make tools and hack/promtool.sh", path)
	}
	return path
}

func runs(t *testing.T, folder, program string, words ...string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), program, words...)
	command.Dir = folder
	out, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", filepath.Base(program), strings.Join(words, " "), err, out)
	}
	return string(out)
}

func copied(t *testing.T, from, to string) []byte {
	t.Helper()
	content, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return content
}

// rulesOf writes the rules of a PrometheusRule as Prometheus itself reads them.
func rulesOf(t *testing.T, manifest []byte, to string) {
	t.Helper()
	var rule struct {
		Spec map[string]any `json:"spec"`
	}
	if err := yaml.Unmarshal(manifest, &rule); err != nil {
		t.Fatal(err)
	}
	content, err := yaml.Marshal(rule.Spec)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, content, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestPrometheusRaisesTheAlertsAsMeant lets Prometheus' own promtool read the
// rules, and play hours and days of metrics against them.
func TestPrometheusRaisesTheAlertsAsMeant(t *testing.T) {
	promtool, folder := tool(t, "promtool"), t.TempDir()
	manifest := copied(t, filepath.Join(project, "config/prometheus/rules.yaml"), filepath.Join(folder, "manifest.yaml"))
	rulesOf(t, manifest, filepath.Join(folder, "rules.yaml"))
	copied(t, "alerts_test.yaml", filepath.Join(folder, "alerts_test.yaml"))
	runs(t, folder, promtool, "check", "rules", "rules.yaml")
	runs(t, folder, promtool, "test", "rules", "alerts_test.yaml")
}

// TestTheComponentAddsMetricsToTheInstallation renders both: what is installed
// by default has nothing that a cluster without the Prometheus Operator would
// refuse.
func TestTheComponentAddsMetricsToTheInstallation(t *testing.T) {
	kustomize, folder := tool(t, "kustomize"), t.TempDir()
	up, err := filepath.Abs(project)
	if err != nil {
		t.Fatal(err)
	}
	config, err := filepath.Rel(folder, filepath.Join(up, "config"))
	if err != nil {
		t.Fatal(err)
	}
	overlay := "resources: [" + config + "/default]\ncomponents: [" + config + "/prometheus]\n"
	if err := os.WriteFile(filepath.Join(folder, "kustomization.yaml"), []byte(overlay), 0o600); err != nil {
		t.Fatal(err)
	}
	plain := runs(t, folder, kustomize, "build", filepath.Join(up, "config/default"))
	with := runs(t, folder, kustomize, "build", folder)
	for _, part := range []string{"monitoring.coreos.com", "--metrics-bind-address=:8080", "kind: PodMonitor", "kind: PrometheusRule", "name: metrics\n"} {
		if strings.Contains(plain, part) {
			t.Errorf("%q is in the default installation", part)
		}
		if !strings.Contains(with, part) {
			t.Errorf("%q is not in the installation with the component", part)
		}
	}
}
