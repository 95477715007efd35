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
		"§zodd":  {Text: "odd"},
		"end§":   {Text: "end"},
		"§§a":    {Text: "a"},
	} {
		if diff := cmp.Diff(want, Markup(text)); diff != "" {
			t.Errorf("%q: %s", text, diff)
		}
	}
}

func TestTagsBecomeComponents(t *testing.T) {
	for text, want := range map[string]mcproto.Text{
		"<gold>A network":        {Extra: []mcproto.Text{{Text: "A network", Color: "gold"}}},
		"a<red>b</red>c":         {Text: "a", Extra: []mcproto.Text{{Text: "b", Color: "red"}, {Text: "c"}}},
		"<RED>b</Red>":           {Extra: []mcproto.Text{{Text: "b", Color: "red"}}},
		"<#12ABef>b":             {Extra: []mcproto.Text{{Text: "b", Color: "#12abef"}}},
		"<color:dark_grey>b":     {Extra: []mcproto.Text{{Text: "b", Color: "dark_gray"}}},
		"<c:#000000>b":           {Extra: []mcproto.Text{{Text: "b", Color: "#000000"}}},
		"<b><i>x</b>y":           {Extra: []mcproto.Text{{Text: "x", Format: mcproto.Bold | mcproto.Italic}, {Text: "y"}}},
		"<red><bold>x</bold>y":   {Extra: []mcproto.Text{{Text: "x", Color: "red", Format: mcproto.Bold}, {Text: "y", Color: "red"}}},
		"<red><bold>x<reset>y":   {Extra: []mcproto.Text{{Text: "x", Color: "red", Format: mcproto.Bold}, {Text: "y"}}},
		"one<newline>two<br>3":   {Text: "one\ntwo\n3"},
		`\<red>x`:                {Text: "<red>x"},
		"1 < 2 > 0 <3":           {Text: "1 < 2 > 0 <3"},
		"<gradient:red:blue>x":   {Text: "<gradient:red:blue>x"},
		"</red>x":                {Text: "</red>x"},
		"<#12345>x<>":            {Text: "<#12345>x<>"},
		"§a<bold>x":              {Extra: []mcproto.Text{{Text: "x", Color: "green", Format: mcproto.Bold}}},
		"<red>a§lb</red>c":       {Extra: []mcproto.Text{{Text: "a", Color: "red"}, {Text: "b", Color: "red", Format: mcproto.Bold}, {Text: "c"}}},
		"back\\slash":            {Text: "back\\slash"},
		"<red></red>":            {},
		"<yellow>Grüße <b>ß</b>": {Extra: []mcproto.Text{{Text: "Grüße ", Color: "yellow"}, {Text: "ß", Color: "yellow", Format: mcproto.Bold}}},
	} {
		if diff := cmp.Diff(want, Markup(text)); diff != "" {
			t.Errorf("%q: %s", text, diff)
		}
	}
}

func FuzzMarkupLosesNoPlainText(f *testing.F) {
	for _, seed := range []string{"<gold>A", "§", "\\<", "<", "a<b>", "\xff<red>§"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got := Markup(text).String()
		if !strings.ContainsAny(text, "<§") && got != text {
			t.Errorf("%q became %q", text, got)
		}
		if len(got) > len(text) {
			t.Errorf("%q grew to %q", text, got)
		}
	})
}
