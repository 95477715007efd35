// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestVersionMustBeHigherThanEveryReleasedOne(t *testing.T) {
	cases := map[string]struct {
		wanted   string
		existing []string
		refusal  string
	}{
		"the first":                    {wanted: "0.1.0"},
		"the next minor":               {wanted: "0.2.0", existing: []string{"0.1.0"}},
		"numbers, not letters":         {wanted: "0.10.0", existing: []string{"0.9.0", "0.2.0"}},
		"the same again":               {wanted: "0.1.0", existing: []string{"0.1.0"}, refusal: "0.1.0 is not higher than 0.1.0"},
		"a patch of what is not last":  {wanted: "0.1.1", existing: []string{"0.1.0", "0.2.0"}, refusal: "0.1.1 is not higher than 0.2.0"},
		"with a v":                     {wanted: "v0.2.0", refusal: "no version"},
		"two numbers":                  {wanted: "0.2", refusal: "no version"},
		"with a suffix":                {wanted: "0.2.0-rc.1", refusal: "no version"},
		"with a zero in front":         {wanted: "0.02.0", refusal: "no version"},
		"a line more than the version": {wanted: "0.2.0\n", refusal: "no version"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			wantRefusal(t, follows(c.wanted, c.existing), c.refusal)
		})
	}
}

func TestUnreleasedEntriesBecomeThoseOfTheVersion(t *testing.T) {
	const before = "# Changelog\n\nWords.\n\n## Unreleased\n\n### Added\n\n- One thing.\n\n## 0.1.0 - 2026-01-02\n\n- Old.\n"
	const want = "# Changelog\n\nWords.\n\n## Unreleased\n\n## 0.2.0 - 2026-03-04\n\n### Added\n\n- One thing.\n\n## 0.1.0 - 2026-01-02\n\n- Old.\n"
	got, err := released(before, "0.2.0", "2026-03-04")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("changelog (-want +got):\n%s", diff)
	}
	_, err = released(got, "0.3.0", "2026-03-05")
	wantRefusal(t, err, "no entry under Unreleased")
}

func TestChangelogWithoutNewsIsRefused(t *testing.T) {
	cases := map[string]struct{ changelog, refusal string }{
		"no heading":         {"# Changelog\n", `no heading "## Unreleased"`},
		"nothing under it":   {"## Unreleased\n", "no entry under Unreleased"},
		"headings only":      {"## Unreleased\n\n### Added\n", "no entry under Unreleased"},
		"entries of another": {"## Unreleased\n\n## 0.1.0 - 2026-01-02\n\n- Old.\n", "no entry under Unreleased"},
		"released twice":     {"## Unreleased\n\n- New.\n\n## 0.2.0 - 2026-01-02\n\n- Old.\n", "a section of 0.2.0 already"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := released(c.changelog, "0.2.0", "2026-03-04")
			wantRefusal(t, err, c.refusal)
		})
	}
}

func TestChangesThatAreNotCommittedAreRefused(t *testing.T) {
	wantRefusal(t, clean(""), "")
	wantRefusal(t, clean(" M main.go\n?? new.go\n"), "not committed; commit or stash them first:\n M main.go\n?? new.go")
}

func TestStoredVersionsAreTheFoldersInTheirOrder(t *testing.T) {
	store := t.TempDir()
	for _, name := range []string{"0.10.0", "0.9.0", "other"} {
		if err := os.Mkdir(filepath.Join(store, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(store, "0.11.0"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	got, err := storedVersions(store)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"0.9.0", "0.10.0"}, got); diff != "" {
		t.Errorf("versions (-want +got):\n%s", diff)
	}
	if got, err = storedVersions(filepath.Join(store, "nowhere")); err != nil || len(got) > 0 {
		t.Errorf("without a store: %v, %v", got, err)
	}
}

// wantRefusal wants an error with the words, or none without words.
func wantRefusal(t *testing.T, err error, words string) {
	t.Helper()
	switch {
	case words == "" && err != nil:
		t.Errorf("refused: %v", err)
	case words != "" && (err == nil || !strings.Contains(err.Error(), words)):
		t.Errorf("got error %v, want one with %q", err, words)
	}
}
