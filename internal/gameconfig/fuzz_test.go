// SPDX-License-Identifier: Apache-2.0

package gameconfig

import (
	"testing"

	"github.com/spawnery/spawnery-operator/internal/agent/serverspec"
)

// FuzzOverlay lays an owner's file over one of the game's. What comes out can be
// laid over again, and changes nothing then.
func FuzzOverlay(f *testing.F) {
	for _, seed := range []struct{ path, under, over string }{
		{"server.properties", "motd=a\nmax-players=20\n", "motd=\\u00a7b ${SPAWNERY_SERVER}\n"},
		{"config/paper.yml", "a:\n  b: 1 # why\n", "a:\n  b: [1, 2]\n"},
		{"config/x.yaml", "", "a: &x 1\nb: *x\n"},
		{"mods/x.toml", "[a]\nb = 1\n", "a.b = \"2\"\n"},
		{"ops.json", "[]", "{\"a\": {\"b\": 1e3}}"},
		{"motd.txt", "x", "${SPAWNERY_SERVER}"},
	} {
		f.Add(seed.path, []byte(seed.under), []byte(seed.over))
	}
	f.Fuzz(func(t *testing.T, path string, under, over []byte) {
		o := Overlay{OverlayFile: serverspec.OverlayFile{Path: path, Key: "k", ConfigMap: "c", UnknownKeys: serverspec.UnknownKeysAllow}, Content: over}
		if o.check() != nil {
			return
		}
		values := Values{"SPAWNERY_SERVER": "lobby-a"}
		merged, err := o.over(under, values, fileRules{})
		if err != nil {
			return
		}
		if _, err := o.over(merged, values, fileRules{}); err != nil {
			t.Fatalf("%q over %q is %q, which cannot be read: %v", over, under, merged, err)
		}
	})
}
