// SPDX-License-Identifier: Apache-2.0

package mcproto

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

var sampleTexts = map[string]Text{
	"empty":     {},
	"plain":     Plain("Welcome"),
	"beyond":    Plain("nul \x00, umlaut ü, euro €, skull 💀"),
	"coloured":  {Text: "red", Color: "red", Format: Bold | Underlined},
	"clickable": {Text: "here", Click: Click{Action: RunCommand, Value: "/cloud list"}, Hover: &Text{Text: "two servers"}},
	"link":      {Text: "site", Click: Click{Action: OpenURL, Value: "https://example.test"}},
	"several":   {Text: "a", Extra: []Text{Plain("b"), {Text: "c", Color: "#00ff00", Extra: []Text{Plain("d")}}}},
	"translated": {
		Translate: "spawnery.join.full", Fallback: "%s is full.",
		With: []Text{{Text: "Lobby", Color: "gold"}},
	},
}

func TestTextSurvivesBothEncodings(t *testing.T) {
	for name, want := range sampleTexts {
		for _, protocol := range []int32{766, 769, 770, 777} {
			fromJSON, err := ParseTextJSON(want.JSON(protocol))
			if diff := cmp.Diff(want, fromJSON); diff != "" || err != nil {
				t.Errorf("%s as JSON of %d: %v %s", name, protocol, err, diff)
			}
			fromNBT, rest, err := ParseTextNBT(append(want.NBT(protocol), 0x77))
			if diff := cmp.Diff(want, fromNBT); diff != "" || err != nil || !bytes.Equal(rest, []byte{0x77}) {
				t.Errorf("%s as NBT of %d: %v, rest %x %s", name, protocol, err, rest, diff)
			}
		}
	}
}

func TestTextIsWrittenAsTheVersionReadsIt(t *testing.T) {
	text := sampleTexts["clickable"]
	for protocol, want := range map[int32]string{
		769: `{"clickEvent":{"action":"run_command","value":"/cloud list"},"hoverEvent":{"action":"show_text","contents":{"text":"two servers"}},"text":"here"}`,
		770: `{"click_event":{"action":"run_command","command":"/cloud list"},"hover_event":{"action":"show_text","value":{"text":"two servers"}},"text":"here"}`,
	} {
		if got := text.JSON(protocol); got != want {
			t.Errorf("%d:\n got %s\nwant %s", protocol, got, want)
		}
	}
	if got, want := Plain("a").NBT(777), []byte("\x0a\x08\x00\x04text\x00\x01a\x00"); !bytes.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestTextOfOtherServersIsUnderstood(t *testing.T) {
	for name, tc := range map[string]struct{ json, want string }{
		"a bare string":           {`"Server closed"`, "Server closed"},
		"a list":                  {`["one ",{"text":"two"},3,true]`, "one two3true"},
		"a translation without":   {`{"translate":"multiplayer.disconnect.kicked"}`, "multiplayer.disconnect.kicked"},
		"a translation with":      {`{"translate":"x.y","with":["a",{"text":"b"}]}`, "x.y a b"},
		"a fallback":              {`{"translate":"x","fallback":"%2$s and %s, %s: 100%% %d %9$s","with":["a","b"]}`, "b and a, b: 100% %d "},
		"a keybind":               {`{"keybind":"key.jump"}`, "key.jump"},
		"events we do not use":    {`{"text":"t","hoverEvent":{"action":"show_item","contents":"minecraft:stone"},"clickEvent":{"action":"change_page","value":"2"}}`, "t"},
		"null":                    {`null`, ""},
		"the old form of a hover": {`{"text":"t","hoverEvent":{"action":"show_text","value":"v"}}`, "t"},
	} {
		t.Run(name, func(t *testing.T) {
			text, err := ParseTextJSON(tc.json)
			if err != nil || text.String() != tc.want {
				t.Fatalf("got %q, %v", text.String(), err)
			}
		})
	}
}

func TestMixedListsOfNBTAreUnwrapped(t *testing.T) {
	wrapped := appendNBT(nil, map[string]any{"text": "a", "extra": []any{
		map[string]any{"": "b"}, map[string]any{"text": "c"},
	}})
	text, _, err := ParseTextNBT(wrapped)
	if err != nil || text.String() != "abc" {
		t.Fatalf("got %q, %v", text.String(), err)
	}
}

func TestHostileTextsAreErrors(t *testing.T) {
	deep := strings.Repeat(`{"extra":[`, 200) + `"x"` + strings.Repeat(`]}`, 200)
	many := `[` + strings.Repeat(`"x",`, 5000) + `"x"]`
	for name, s := range map[string]string{"deep": deep, "many": many, "a number of no kind": `{`, "long": `"` + strings.Repeat("x", 1<<20) + `"`} {
		if _, err := ParseTextJSON(s); !errors.Is(err, ErrMalformed) {
			t.Errorf("%s: %v", name, err)
		}
	}
	nested := bytes.Repeat([]byte{tagList, 0, 0, 0, 1}, 200)
	for name, b := range map[string][]byte{
		"nothing":             nil,
		"a tag of no kind":    {13},
		"a deep list":         append([]byte{tagList}, nested...),
		"a list that lies":    {tagList, tagByte, 0x7f, 0xff, 0xff, 0xff},
		"a list of nothing":   {tagList, tagEnd, 0, 0, 0, 9},
		"a cut compound":      {tagCompound, tagString, 0, 1},
		"a list of nine mega": append([]byte{tagByteArray, 0, 0x10, 0, 1}, make([]byte, 1<<20+1)...),
	} {
		if _, _, err := ParseTextNBT(b); !errors.Is(err, ErrMalformed) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestFallbackThatRepeatsItsArgumentsStaysSmall(t *testing.T) {
	bomb := Plain("x")
	for range 40 {
		bomb = Text{Translate: "t", Fallback: "%1$s%1$s", With: []Text{bomb}}
	}
	if n := len(bomb.String()); n > maxTextParts {
		t.Fatalf("%d bytes", n)
	}
}

func TestDisconnectIsReadInEveryState(t *testing.T) {
	for _, state := range []State{StateLogin, StateConfiguration, StatePlay} {
		reason := sampleTexts["translated"]
		got, err := ParseDisconnect(state, DisconnectPayload(state, 769, reason))
		if diff := cmp.Diff(reason, got); diff != "" || err != nil {
			t.Errorf("%s: %v %s", state, err, diff)
		}
	}
}

func TestSystemChatTellsWhereItIsShown(t *testing.T) {
	for _, position := range []ChatPosition{InChat, InActionBar} {
		text, got, err := ParseSystemChat(SystemChatPayload(775, Plain("hi"), position))
		if err != nil || got != position || text.String() != "hi" {
			t.Errorf("got %v at %v, %v", text, got, err)
		}
	}
}

func FuzzParseTextJSON(f *testing.F) {
	for _, text := range sampleTexts {
		f.Add(text.JSON(769))
		f.Add(text.JSON(777))
	}
	f.Add(`["a",1,true,null,{"translate":"x","with":[[]]}]`)
	f.Fuzz(func(t *testing.T, s string) {
		text, err := ParseTextJSON(s)
		if err == nil {
			assertStable(t, text)
		}
	})
}

func FuzzParseTextNBT(f *testing.F) {
	for _, text := range sampleTexts {
		f.Add(text.NBT(769))
		f.Add(text.NBT(777))
	}
	f.Add([]byte{tagList, tagCompound, 0, 0, 0, 2, tagEnd, tagEnd})
	f.Fuzz(func(t *testing.T, b []byte) {
		text, _, err := ParseTextNBT(b)
		if err == nil {
			assertStable(t, text)
		}
	})
}

// assertStable demands that what was understood is written and read the same.
func assertStable(t *testing.T, text Text) {
	t.Helper()
	_ = text.String()
	again, _, err := ParseTextNBT(text.NBT(777))
	if err != nil && !errors.Is(err, ErrMalformed) {
		t.Fatal(err)
	}
	if err == nil && again.String() != text.String() {
		t.Fatalf("%q became %q", text.String(), again.String())
	}
}

func TestAPlainTextStaysSmall(t *testing.T) {
	large := strings.Repeat("é", 100_000)
	tests := map[string]Text{
		"a large text":                Plain(large),
		"an argument again and again": {Translate: "x", Fallback: strings.Repeat("%1$s", 60_000), With: []Text{Plain(large)}},
		"signs and nothing else":      {Translate: "x", Fallback: strings.Repeat("%", 260_001)},
		"arguments without end":       {Translate: "x", Fallback: strings.Repeat("%1", 130_000) + "$s"},
		"empty arguments in each other": {Translate: "x", Fallback: strings.Repeat("%1$s", 60_000), With: []Text{
			{Translate: "x", Fallback: strings.Repeat("%1$s", 60_000), With: []Text{{}}},
		}},
	}
	for name, text := range tests {
		t.Run(name, func(t *testing.T) {
			began := time.Now()
			plain := text.String()
			if len(plain) > maxPlain || !utf8.ValidString(plain) {
				t.Errorf("%d bytes, valid: %t", len(plain), utf8.ValidString(plain))
			}
			if took := time.Since(began); took > 500*time.Millisecond {
				t.Errorf("it took %s", took)
			}
		})
	}
}
