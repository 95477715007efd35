// SPDX-License-Identifier: Apache-2.0

package gameconfig

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/spawnery/spawnery-operator/internal/agent/serverspec"
)

// The tables of the page are written anew by UPDATE_PAGE=1, by hand.
func TestThePageOfServerFilesSaysWhatTheCodeDoes(t *testing.T) {
	const file = "../../docs/how-to/configure-server-files.md"
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	page := string(content)
	want := page
	for mark, table := range map[string]string{
		"flavors": flavorTable(t), "keys": keyTable(), "order": orderList(t), "variables": variableTable(),
	} {
		want = between(t, want, "<!-- "+mark+" -->\n", table)
	}
	if want == page {
		return
	}
	if os.Getenv("UPDATE_PAGE") == "" {
		t.Fatalf("%s is out of date; UPDATE_PAGE=1 go test writes its tables anew", file)
	}
	if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
		t.Fatal(err)
	}
}

// between puts a table behind its mark, in place of the paragraph there.
func between(t *testing.T, page, mark, table string) string {
	t.Helper()
	before, after, found := strings.Cut(page, mark)
	if !found {
		t.Fatalf("the page has no %s", mark)
	}
	after = strings.TrimLeft(after, "\n")
	if strings.HasPrefix(after, "|") || strings.HasPrefix(after, "1. ") {
		_, after, _ = strings.Cut(after, "\n\n")
	}
	return before + mark + "\n" + table + "\n" + after
}

func flavorTable(t *testing.T) string {
	t.Helper()
	var table strings.Builder
	table.WriteString("| `flavor` | Prepared files |\n|---|---|\n")
	secrets := Secrets{Management: strings.Repeat("x", ManagementSecretLength), Forwarding: "x"}
	for _, flavor := range []serverspec.Flavor{serverspec.FlavorPaper, serverspec.FlavorVanilla, serverspec.FlavorFabric, serverspec.FlavorCustom} {
		files, err := Files(serverspec.Spec{Flavor: flavor, Forwarding: serverspec.ForwardingVelocity}, secrets, Overlays{})
		if err != nil {
			t.Fatal(err)
		}
		var paths []string
		for _, file := range files {
			paths = append(paths, "`"+file.Path+"`")
		}
		_, _ = fmt.Fprintf(&table, "| `%s` | %s |\n", flavor, strings.Join(paths, ", "))
	}
	return table.String()
}

func keyTable() string {
	var table strings.Builder
	table.WriteString("| File | Key | Instead |\n|---|---|---|\n")
	for _, rules := range []struct {
		path     string
		refusals []Refusal
	}{
		{serverPropertiesPath, RefusedProperties()},
		{paperGlobalPath, refusedPaperGlobal()},
		{fabricProxyPath, refusedFabricProxy()},
	} {
		for _, refusal := range rules.refusals {
			_, _ = fmt.Fprintf(&table, "| `%s` | `%s` | %s |\n", rules.path, refusal.Name, refusal.Instead)
		}
	}
	return table.String()
}

func variableTable() string {
	var table strings.Builder
	table.WriteString("| Variable | Instead |\n|---|---|\n")
	for _, refusal := range RefusedVariables() {
		_, _ = fmt.Fprintf(&table, "| `%s` | %s |\n", refusal.Name, refusal.Instead)
	}
	return table.String()
}

func orderList(t *testing.T) string {
	t.Helper()
	content, err := os.ReadFile("testdata/itzg.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var image struct {
		Order []string `json:"order"`
	}
	if err := yaml.Unmarshal(content, &image); err != nil {
		t.Fatal(err)
	}
	var list strings.Builder
	for i, step := range image.Order {
		_, _ = fmt.Fprintf(&list, "%d. %s\n", i+1, step)
	}
	return list.String()
}
