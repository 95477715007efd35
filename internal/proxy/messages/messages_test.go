// SPDX-License-Identifier: Apache-2.0

package messages

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spawnery/spawnery-operator/internal/mcproto"
)

// constants reads the keys declared in messages.go, so that none can be
// forgotten in the catalogue.
func constants(t *testing.T) map[Key]bool {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "messages.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	keys := map[Key]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || len(spec.Values) != 1 {
			return true
		}
		if typ, ok := spec.Type.(*ast.Ident); ok && typ.Name == "Key" {
			value, _ := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
			keys[Key(value)] = true
		}
		return true
	})
	return keys
}

func TestCatalogueAndConstantsHoldTheSameKeys(t *testing.T) {
	want := constants(t)
	if len(want) < 30 {
		t.Fatalf("only %d constants were found", len(want))
	}
	got := map[Key]bool{}
	for _, m := range All() {
		if got[m.Key] {
			t.Errorf("%s is listed twice", m.Key)
		}
		got[m.Key] = true
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("constants (-) and messages.json (+):\n%s", diff)
	}
}

func TestEveryFallbackUsesAtMostItsArguments(t *testing.T) {
	for _, m := range All() {
		if m.Fallback == "" || !strings.HasPrefix(string(m.Key), "spawnery.") {
			t.Errorf("%s: no fallback, or a key of somebody else", m.Key)
		}
		if used := strings.Count(m.Fallback, "%s"); used > len(m.Arguments) {
			t.Errorf("%s uses %d arguments of %d", m.Key, used, len(m.Arguments))
		}
	}
}

func TestTheSeedsWordsForAFullRound(t *testing.T) {
	got := Text(JoinFull, mcproto.Plain("BedWars"))
	want := mcproto.Text{Translate: "spawnery.join.full", Fallback: "This round is full.", With: []mcproto.Text{{Text: "BedWars"}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestLegacyCodesBecomeComponents(t *testing.T) {
	for text, want := range map[string]mcproto.Text{
		"A plain text & more": {Text: "A plain text & more"},
		"":                    {},
		"§aGreen §lbold§r no": {Extra: []mcproto.Text{
			{Text: "Green ", Color: "green"}, {Text: "bold", Color: "green", Format: mcproto.Bold}, {Text: " no"},
		}},
		"x§Cred": {Text: "x", Extra: []mcproto.Text{{Text: "red", Color: "red"}}},
		"§zodd":  {Extra: []mcproto.Text{{Text: "odd"}}},
		"end§":   {Text: "end"},
		"§§a":    {Extra: []mcproto.Text{{Text: "a"}}},
	} {
		if diff := cmp.Diff(want, Legacy(text)); diff != "" {
			t.Errorf("%q: %s", text, diff)
		}
	}
}
