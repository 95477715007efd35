// SPDX-License-Identifier: Apache-2.0

package catalogue_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spawnery/spawnery-operator/internal/catalogue"
)

func TestCatalogueHoldsExactlyTheConstantsOfTheAPI(t *testing.T) {
	types, reasons := map[string]bool{}, map[string]bool{}
	for _, entry := range catalogue.Conditions() {
		types[entry.Type], reasons[entry.Reason] = true, true
	}
	constants := constantsOf(t, "../../api/v1alpha1/conditions.go")
	for prefix, listed := range map[string]map[string]bool{"Condition": types, "Reason": reasons} {
		if diff := cmp.Diff(slices.Sorted(maps.Keys(constants[prefix])), slices.Sorted(maps.Keys(listed))); diff != "" {
			t.Errorf("%s… (-API +catalogue):\n%s", prefix, diff)
		}
	}
}

func TestDeedsHoldExactlyTheConstantsOfTheAPI(t *testing.T) {
	reasons, actions := map[string]bool{}, map[string]bool{}
	for _, deed := range catalogue.Deeds() {
		if reasons[deed.Reason] || !strings.HasSuffix(deed.Means, ".") || deed.Kind == "" {
			t.Errorf("listed twice, or not whole: %+v", deed)
		}
		reasons[deed.Reason], actions[deed.Action] = true, true
	}
	constants := constantsOf(t, "../../api/v1alpha1/events.go")
	for prefix, listed := range map[string]map[string]bool{"EventAction": actions, "Event": reasons} {
		if diff := cmp.Diff(slices.Sorted(maps.Keys(constants[prefix])), slices.Sorted(maps.Keys(listed))); diff != "" {
			t.Errorf("%s… (-API +catalogue):\n%s", prefix, diff)
		}
	}
}

func TestEveryEntryIsWhole(t *testing.T) {
	seen := map[catalogue.Entry]bool{}
	for _, entry := range catalogue.Conditions() {
		if !strings.HasSuffix(entry.Means, ".") {
			t.Errorf("%s %s %s: %q is no sentence", entry.Kind, entry.Type, entry.Reason, entry.Means)
		}
		key := catalogue.Entry{Kind: entry.Kind, Type: entry.Type, Status: entry.Status, Reason: entry.Reason}
		if seen[key] {
			t.Errorf("listed twice: %+v", key)
		}
		seen[key] = true
	}
}

// constantsOf returns the values of a file's constants by the prefix of their
// names.
func constantsOf(t *testing.T, path string) map[string]map[string]bool {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	prefixes := []string{"Condition", "Reason", "EventAction", "Event"}
	values := map[string]map[string]bool{}
	for _, prefix := range prefixes {
		values[prefix] = map[string]bool{}
	}
	ast.Inspect(file, func(node ast.Node) bool {
		spec, ok := node.(*ast.ValueSpec)
		if !ok {
			return true
		}
		literal, ok := spec.Values[0].(*ast.BasicLit)
		if !ok {
			t.Fatalf("%s is no literal", spec.Names[0])
		}
		value, err := strconv.Unquote(literal.Value)
		if err != nil {
			t.Fatal(err)
		}
		for _, prefix := range prefixes {
			if strings.HasPrefix(spec.Names[0].Name, prefix) {
				values[prefix][value] = true
				return false
			}
		}
		t.Errorf("%s begins with none of %s", spec.Names[0], prefixes)
		return false
	})
	return values
}

// TestEveryConstantIsWritten keeps promises out of the API: what no code ever
// writes tells an owner of a thing that never happens.
func TestEveryConstantIsWritten(t *testing.T) {
	code := &strings.Builder{}
	for _, root := range []string{"../../controllers", "../../internal"} {
		err := filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
			goes := strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") && !strings.Contains(path, "/catalogue/")
			if err != nil || !goes {
				return err
			}
			content, err := os.ReadFile(path)
			code.Write(content)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{"conditions.go", "events.go"} {
		for prefix, values := range constantsOf(t, "../../api/v1alpha1/"+file) {
			for value := range values {
				if !regexp.MustCompile(`v1alpha1\.` + prefix + value + `\b`).MatchString(code.String()) {
					t.Errorf("nothing uses %s%s", prefix, value)
				}
			}
		}
	}
}
