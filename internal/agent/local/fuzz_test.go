// SPDX-License-Identifier: Apache-2.0

package local

import (
	"encoding/json"
	"testing"
)

// FuzzDecode takes what a plugin sends, at every place that takes a body.
func FuzzDecode(f *testing.F) {
	bodies := func() []body {
		return []body{&PlayableSlots{}, &JoinsBody{}, &NewBoost{}, &Move{}, &Roster{}}
	}
	for _, b := range bodies() {
		f.Add([]byte(b.example()))
	}
	f.Add([]byte(`{"playableSlots":12,"playableSlots":13}`))
	f.Add([]byte(`{"PLAYABLESLOTS":12} {}`))
	f.Add([]byte(`{"players":[{"name":"Ada","uuid":"x"}]}`))
	f.Add([]byte(`{"replicas":1e400,"for":"1d"}`))
	f.Fuzz(func(t *testing.T, content []byte) {
		for _, b := range bodies() {
			if err := decode(content, b); err == nil && !json.Valid(content) {
				t.Fatalf("%T took %q", b, content)
			}
		}
	})
}

func FuzzParseTime(f *testing.F) {
	for _, seed := range []string{"90m", "2h30m", "3d", "65536d", "-1d", "d", "1e3h", "9999999h"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if d, err := parseTime(text); err == nil && len(text) > 0 && text[0] != '-' && d < 0 {
			t.Fatalf("%q is %s", text, d)
		}
	})
}
