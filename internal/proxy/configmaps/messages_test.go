// SPDX-License-Identifier: Apache-2.0

package configmaps

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spawnery/spawnery-operator/internal/mcproto"
	"github.com/spawnery/spawnery-operator/internal/proxy/messages"
)

func TestWordsAreTakenMessageByMessage(t *testing.T) {
	const full = "spawnery.join.full: '%s ist voll.'\n"
	for name, tc := range map[string]struct {
		files    map[string]string
		fallback string
		reads    string // of a player whose game speaks German
		want     []string
	}{
		"YAML":                      {files: map[string]string{"de_de.yaml": full}, reads: "BedWars ist voll."},
		"YAML in a block":           {files: map[string]string{"de_de.yml": "spawnery.join.full: |-\n  %s\n  ist voll."}, reads: "BedWars\nist voll."},
		"JSON":                      {files: map[string]string{"de_de.json": "{\n\t\"spawnery.join.full\": \"%s ist voll.\"\n}"}, reads: "BedWars ist voll."},
		"a language":                {files: map[string]string{"de.yaml": full}, reads: "BedWars ist voll."},
		"a locale in other letters": {files: map[string]string{"de-DE.yaml": full}, reads: "BedWars ist voll."},
		"an empty key":              {files: map[string]string{"de_de.yaml": ""}, reads: "This round is full."},
		"the fallback":              {files: map[string]string{"fr_fr.yaml": full}, fallback: "fr_fr", reads: "BedWars ist voll."},
		"nothing": {
			files: map[string]string{}, reads: "This round is full.",
			want: []string{"messages : it does not exist or has no keys; create it in the group's namespace"},
		},
		"a message that is unknown": {
			files: map[string]string{"de_de.yaml": "# Deutsch\nspawnery.join.voll: x\n" + full}, reads: "BedWars ist voll.",
			want: []string{`messages de_de.yaml: line 2: there is no message "spawnery.join.voll"`},
		},
		"an unknown one in JSON": {
			files: map[string]string{"de_de.json": `{"join": "x"}`}, reads: "This round is full.",
			want: []string{`messages de_de.json: there is no message "join"`},
		},
		"arguments that it does not have": {
			files: map[string]string{"de_de.yaml": "spawnery.join.full: '%2$s'"}, reads: "This round is full.",
			want: []string{"messages de_de.yaml: line 1: spawnery.join.full: it uses argument 2, and it has group"},
		},
		"nested messages": {
			files: map[string]string{"de_de.yaml": "spawnery:\n  join.full: x\n" + full + "spawnery.join.none:\n"}, reads: "BedWars ist voll.",
			want: []string{
				"messages de_de.yaml: line 1: spawnery: there is no text; messages are written out in full, each with its words",
				"messages de_de.yaml: line 4: spawnery.join.none: there is no text; messages are written out in full, each with its words",
			},
		},
		"a message twice": {
			files: map[string]string{"de_de.yaml": full + full}, reads: "BedWars ist voll.",
			want: []string{"messages de_de.yaml: line 2: spawnery.join.full: it is there twice"},
		},
		"no YAML": {
			files: map[string]string{"de_de.yaml": "a: 'b", "de.yaml": full}, reads: "BedWars ist voll.",
			want: []string{"messages de_de.yaml: it is left out: yaml: found unexpected end of stream; it has a line for each message, such as spawnery.join.full: \"%s is full.\""},
		},
		"a list": {
			files: map[string]string{"de_de.yaml": "- a"}, reads: "This round is full.",
			want: []string{"messages de_de.yaml: it is left out: it is no mapping of messages to words; it has a line for each message, such as spawnery.join.full: \"%s is full.\""},
		},
		"a key that is no locale": {
			files: map[string]string{"README.md": "x", "german.words.yaml": full}, reads: "This round is full.",
			want: []string{
				"messages README.md: it is left out: a key is a locale as the game writes it, and .yaml or .json, such as de_de.yaml",
				"messages german.words.yaml: it is left out: a key is a locale as the game writes it, and .yaml or .json, such as de_de.yaml",
			},
		},
		"a locale twice": {
			files: map[string]string{"de_de.json": `{"spawnery.join.full": "eins"}`, "de_de.yaml": full}, reads: "eins",
			want: []string{"messages de_de.yaml: it is left out: the locale de_de is in key de_de.json already"},
		},
		"a fallback without words": {
			files: map[string]string{"de_de.yaml": full}, fallback: "nl_nl", reads: "BedWars ist voll.",
			want: []string{"messages : fallbackLocale is nl_nl, and there are no words in it; add a key nl_nl.yaml"},
		},
		"the usual fallback without words": {files: map[string]string{"de_de.yaml": full}, fallback: "en_us", reads: "BedWars ist voll."},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			put(t, dir, "messages", tc.files)
			r := reader(t, dir)
			r.look(Settings{FallbackLocale: tc.fallback})
			if diff := cmp.Diff(tc.want, said(r.Content())); diff != "" {
				t.Error(diff)
			}
			text := messages.Text(messages.JoinFull, mcproto.Plain("BedWars"))
			got := r.Content().Translations.Render(messages.Languages{Own: "de_de", Fallback: tc.fallback}, text).String()
			if got != tc.reads {
				t.Errorf("the player reads %q, want %q", got, tc.reads)
			}
		})
	}
}
