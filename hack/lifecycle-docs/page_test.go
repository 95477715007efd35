// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spawnery/spawnery-operator/internal/phase"
)

func TestTheReferenceIsWhatTheRulesSay(t *testing.T) {
	written, err := os.ReadFile("../../docs/reference/server-lifecycle.md")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(page(), string(written)); diff != "" {
		t.Errorf("run go generate ./internal/phase (-rules +file):\n%s", diff)
	}
}

func TestEveryRuleIsInTheReference(t *testing.T) {
	text := page()
	for _, r := range phase.Rules() {
		for _, from := range r.From {
			_, chapter, found := strings.Cut(text, "\n## "+string(from)+"\n")
			chapter, _, _ = strings.Cut(chapter, "\n## ")
			if !found || !strings.Contains(chapter, "| "+r.Name+" |") {
				t.Errorf("the chapter on %s lacks %q", from, r.Name)
			}
		}
	}
}
