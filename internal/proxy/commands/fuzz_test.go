// SPDX-License-Identifier: Apache-2.0

package commands

import (
	"slices"
	"strings"
	"testing"

	"github.com/spawnery/spawnery-operator/internal/proxy/grants"
)

// FuzzLine runs and completes what a player types who may do much.
func FuzzLine(f *testing.F) {
	for _, line := range []string{
		"cloud", "cloud list lobby", "cloud help", "cloud info lobby-a", "cloud scale lobby 3 for 2h",
		"server lobby-a", "send Ada lobby", "glist", "hub", "cloud  list \x00", "/", "CLOUD list",
	} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		c, by := console(t, grants.CloudRead, "spawnery.command.*", "spawnery.command.glist", "spawnery.command.send"), &asker{}
		who, words := by.Identity(), strings.Fields(line)
		reply, ours := c.Run(by, line)
		if ours && (len(words) == 0 || !slices.Contains(c.Literals(who), words[0])) {
			t.Fatalf("%q was taken, and is none of %q", line, c.Literals(who))
		}
		if reply.Later != nil {
			_ = reply.Later(t.Context())
		}
		_, _ = c.Suggest(who, line)
		_, _ = c.Suggest(who, "/"+line)
	})
}
