// SPDX-License-Identifier: Apache-2.0

package messages

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spawnery/spawnery-operator/internal/mcproto"
)

func translations(t *testing.T, words map[string]map[Key]string) *Translations {
	t.Helper()
	all := &Translations{}
	for locale, of := range words {
		for key, text := range of {
			if err := all.Add(locale, key, text); err != nil {
				t.Fatal(err)
			}
		}
	}
	return all
}

func TestAPlayerReadsTheNearestLanguage(t *testing.T) {
	all := translations(t, map[string]map[Key]string{
		"de_DE": {JoinFull: "de_de", JoinDenied: "de_de"},
		"de-ch": {JoinFull: "de_ch"},
		"fr":    {JoinFull: "fr", JoinNone: "fr"},
		"fr_ca": {JoinFull: "fr_ca"},
		"en_us": {JoinFull: "en_us", JoinNone: "en_us"},
		"empty": {},
	})
	const builtIn = "spawnery.join.none"
	for name, tc := range map[string]struct {
		own, fallback string
		key           Key
		want          string
	}{
		"their own":                          {"de_de", "en_us", JoinFull, "de_de"},
		"their own in other letters":         {"DE_ch", "en_us", JoinFull, "de_ch"},
		"that of another region":             {"de_at", "en_us", JoinDenied, "de_de"},
		"another region for one message":     {"de_ch", "en_us", JoinDenied, "de_de"},
		"their language before a region":     {"fr_be", "en_us", JoinFull, "fr"},
		"their region before their language": {"fr_ca", "en_us", JoinFull, "fr_ca"},
		"their language where a region ends": {"fr_ca", "en_us", JoinNone, "fr"},
		"the fallback":                       {"nl_nl", "en_us", JoinFull, "en_us"},
		"the fallback for one message":       {"de_de", "en_us", JoinNone, "en_us"},
		"before it is known":                 {"", "en_us", JoinFull, "en_us"},
		"neither":                            {"nl_nl", "pt_br", JoinNone, builtIn},
		"the fallback's language":            {"nl_nl", "de_at", JoinDenied, "de_de"},
		"no fallback":                        {"nl_nl", "", JoinNone, builtIn},
	} {
		got := all.Render(Languages{Own: tc.own, Fallback: tc.fallback}, Text(tc.key))
		if shown := got.Translate + got.Text; shown != tc.want {
			t.Errorf("%s: got %q, want %q", name, shown, tc.want)
		}
	}
	if !all.Has("de_DE") || all.Has("de") || (*Translations)(nil).Has("de_de") {
		t.Error("Has is wrong")
	}
}

func TestArgumentsAreKept(t *testing.T) {
	group := mcproto.Text{Text: "BedWars", Color: "gold"}
	for name, tc := range map[string]struct {
		key       Key
		words     string
		arguments []mcproto.Text
		want      mcproto.Text
	}{
		"none": {JoinNone, "Nichts frei", nil, mcproto.Text{Text: "Nichts frei"}},
		"one":  {JoinFull, "%s ist voll.", []mcproto.Text{group}, mcproto.Text{Extra: []mcproto.Text{group, {Text: " ist voll."}}}},
		"in a style": {JoinFull, "Voll: <red><b>%s</b>!", []mcproto.Text{group}, mcproto.Text{
			Text: "Voll: ", Extra: []mcproto.Text{{Color: "red", Format: mcproto.Bold, Extra: []mcproto.Text{group}}, {Text: "!", Color: "red"}},
		}},
		"in another order": {JoinFailed, "%2$s (%1$s)", []mcproto.Text{{Text: "hub-1"}, {Text: "weg"}}, mcproto.Text{
			Text: "weg", Extra: []mcproto.Text{{Text: " ("}, {Text: "hub-1"}, {Text: ")"}},
		}},
		"a message as an argument": {Fallback, "%s: %s", []mcproto.Text{{Text: "hub-1"}, Text(JoinNone)}, mcproto.Text{
			Text: "hub-1", Extra: []mcproto.Text{{Text: ": "}, {Text: "Nichts frei"}},
		}},
		"one that is missing": {JoinFull, "voll: %s", nil, mcproto.Text{Text: "voll: "}},
		"signs":               {JoinNone, "100%% oder 50 % %d", nil, mcproto.Text{Text: "100% oder 50 % %d"}},
		"lines":               {JoinNone, "eins<newline>zwei", nil, mcproto.Text{Text: "eins\nzwei"}},
	} {
		all := translations(t, map[string]map[Key]string{"de_de": {JoinNone: "Nichts frei"}})
		if err := all.Add("de_de", tc.key, tc.words); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		got := all.Render(Languages{Own: "de_de"}, Text(tc.key, tc.arguments...))
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestWhatSurroundsAMessageStays(t *testing.T) {
	all := translations(t, map[string]map[Key]string{"de_de": {JoinNone: "<red>Nichts", JoinHere: "Schon auf %s"}})
	text := mcproto.Text{Text: "> ", Color: "gray", Extra: []mcproto.Text{
		Text(JoinNone),
		{Translate: "block.stone", With: []mcproto.Text{Text(JoinHere, mcproto.Plain("hub"))}},
		{Text: "x", Click: mcproto.Click{Action: mcproto.RunCommand, Value: "/hub"}, Hover: new(Text(JoinNone))},
	}}
	want := mcproto.Text{Text: "> ", Color: "gray", Extra: []mcproto.Text{
		{Extra: []mcproto.Text{{Text: "Nichts", Color: "red"}}},
		{Translate: "block.stone", With: []mcproto.Text{{Text: "Schon auf ", Extra: []mcproto.Text{{Text: "hub"}}}}},
		{Text: "x", Click: mcproto.Click{Action: mcproto.RunCommand, Value: "/hub"}, Hover: &mcproto.Text{Extra: []mcproto.Text{{Text: "Nichts", Color: "red"}}}},
	}}
	before := text.JSON(777)
	if diff := cmp.Diff(want, all.Render(Languages{Own: "de_de"}, text)); diff != "" {
		t.Error(diff)
	}
	if text.JSON(777) != before {
		t.Error("a text that others share was changed")
	}
	if diff := cmp.Diff(text, all.Render(Languages{Own: "fr_fr"}, text)); diff != "" {
		t.Errorf("without words: %s", diff)
	}
}

func TestBadWordsAreRefused(t *testing.T) {
	for name, tc := range map[string]struct {
		key   Key
		words string
		want  string
	}{
		"of no message":         {"spawnery.join.fulll", "x", `there is no message "spawnery.join.fulll"`},
		"with too many %s":      {JoinFull, "%s %s", "spawnery.join.full: it uses argument 2, and it has group"},
		"with an argument":      {JoinNone, "%s", "spawnery.join.none: it uses argument 1, and it has none"},
		"with a number too far": {JoinFailed, "%3$s", "spawnery.join.failed: it uses argument 3, and it has server, reason"},
		"that are long":         {JoinNone, strings.Repeat("x", maxWords+1), "spawnery.join.none: it has 2049 bytes, and at most 2048 are taken"},
		"with many places":      {JoinFull, strings.Repeat("%1$s", maxPlaces+1), "spawnery.join.full: it has more than 16 places for arguments"},
	} {
		all := &Translations{}
		if err := all.Add("de_de", tc.key, tc.words); err == nil || err.Error() != tc.want {
			t.Errorf("%s: got %v, want %s", name, err, tc.want)
		}
		if all.Has("de_de") {
			t.Errorf("%s: taken all the same", name)
		}
	}
}

func TestAReasonThatRepeatsItselfStaysSmall(t *testing.T) {
	all := translations(t, map[string]map[Key]string{"de_de": {Fallback: strings.Repeat("%1$s%2$s", 8)}})
	bomb := mcproto.Plain(strings.Repeat("x", 20_000))
	for range 60 {
		bomb = Text(Fallback, bomb, bomb)
	}
	if size := len(all.Render(Languages{Own: "de_de"}, bomb).JSON(777)); size > 4<<20 {
		t.Errorf("%d bytes", size)
	}
}

func FuzzRenderKeepsPlainWords(f *testing.F) {
	for _, seed := range []string{"%s ist voll", "%1$s%%", "<red>%s</red>", "%", "%9$s", "§a%s"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, words string) {
		all := &Translations{}
		if all.Add("de_de", JoinFull, words) != nil {
			return
		}
		got := all.Render(Languages{Own: "de_de"}, Text(JoinFull, mcproto.Plain("BedWars"))).String()
		if !strings.ContainsAny(words, "%<§") && got != words {
			t.Errorf("%q became %q", words, got)
		}
	})
}
