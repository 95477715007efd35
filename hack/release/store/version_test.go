// SPDX-License-Identifier: Apache-2.0

package store

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
			wantRefusal(t, Follows(c.wanted, c.existing), c.refusal)
		})
	}
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
	got, err := Versions(store)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"0.9.0", "0.10.0"}, got); diff != "" {
		t.Errorf("versions (-want +got):\n%s", diff)
	}
	if got, err = Versions(filepath.Join(store, "nowhere")); err != nil || len(got) > 0 {
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
