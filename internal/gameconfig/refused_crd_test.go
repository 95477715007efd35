// SPDX-License-Identifier: Apache-2.0

package gameconfig_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spawnery/spawnery-operator/internal/gameconfig"
)

// The API refuses these names by a rule of its own, which cannot import the
// list; this keeps the two the same.
func TestTheAPIRefusesEveryVariableThatIsTheOperators(t *testing.T) {
	crd, err := os.ReadFile(filepath.Join("..", "..", "config", "crd", "bases", "spawnery.cloud_servergroups.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	// YAML doubles a quote inside a quoted string, and breaks long lines.
	unquoted := strings.Join(strings.Fields(strings.ReplaceAll(string(crd), "''", "'")), " ")
	for _, refusal := range gameconfig.RefusedVariables() {
		rule := "'" + refusal.Name + "'"
		if prefix, ok := strings.CutSuffix(refusal.Name, "*"); ok {
			rule = "startsWith('" + prefix + "')"
		}
		if !strings.Contains(unquoted, rule) {
			t.Errorf("the API lets an owner set %s", refusal.Name)
		}
		if instead := "'" + refusal.Name + "': '"; !strings.HasSuffix(refusal.Name, "*") && !strings.Contains(unquoted, instead) {
			t.Errorf("the API does not say what to use instead of %s", refusal.Name)
		}
	}
}
