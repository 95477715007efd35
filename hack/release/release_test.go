// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	channels "github.com/spawnery/spawnery-operator/api/agent/v1alpha1/released"
	"github.com/spawnery/spawnery-operator/hack/release/store"
)

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

func TestReleaseIsRefusedUntilTheTreeIsReady(t *testing.T) {
	r := newRepository(t)
	wantRefusal(t, check(t.Context(), "0.2.0"), "")
	wantRefusal(t, check(t.Context(), "0.1.0"), "0.1.0 is not higher than 0.1.0, which is released")
	r.write("main.go", "package main\n")
	wantRefusal(t, check(t.Context(), "0.2.0"), "not committed; commit or stash them first:\n?? main.go")
	r.commit("main.go")
	wantRefusal(t, check(t.Context(), "0.2.0"), "")
	if err := cut("0.2.0", "2026-03-04"); err != nil {
		t.Fatal(err)
	}
	r.commit(versionFile, changelogFile)
	wantRefusal(t, check(t.Context(), "0.3.0"), "no entry under Unreleased")
}

func TestBundleIsStoredOnlyOfAReleaseOnTheMainBranch(t *testing.T) {
	r := newRepository(t)
	before := r.git("rev-parse", "HEAD")
	wantRefusal(t, checkCommit(t.Context(), "0.2.0", before), "no section of 0.2.0")
	r.git("switch", "-q", "-c", "side")
	if err := cut("0.2.0", "2026-03-04"); err != nil {
		t.Fatal(err)
	}
	r.commit(versionFile, changelogFile)
	release := r.git("rev-parse", "HEAD")
	wantRefusal(t, checkCommit(t.Context(), "0.2.0", release), "is not on the main branch")
	r.git("branch", "-f", "main", "side")
	wantRefusal(t, checkCommit(t.Context(), "0.2.0", release), "")
	r.write(filepath.Join(storeFolder, "0.2.0", "file"), "")
	r.commit(storeFolder)
	wantRefusal(t, checkCommit(t.Context(), "0.2.0", release), "0.2.0 is not higher than 0.2.0, which is released")
}

func TestNextVersionIsHigherThanTheStoredOnes(t *testing.T) {
	newRepository(t)
	wantRefusal(t, open("0.1.0"), "not higher")
	if err := open("0.2.0"); err != nil {
		t.Fatal(err)
	}
	if content, err := os.ReadFile(versionFile); err != nil || string(content) != "0.2.0\n" {
		t.Errorf("%q, %v", content, err)
	}
}

// repository is the working directory of a test, with 0.1.0 in the store.
type repository struct{ t *testing.T }

func newRepository(t *testing.T) repository {
	t.Helper()
	t.Chdir(t.TempDir())
	r := repository{t}
	r.git("init", "-q", "-b", "main")
	r.write(versionFile, "0.1.0\n")
	r.write(changelogFile, "# Changelog\n\n## Unreleased\n\n- New.\n\n## 0.1.0 - 2026-01-02\n\n- Old.\n")
	r.write(filepath.Join(storeFolder, "0.1.0", "file"), "")
	r.commit(".")
	return r
}

func (r repository) write(file, content string) {
	r.t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
		r.t.Fatal(err)
	}
}

func (r repository) commit(files ...string) {
	r.t.Helper()
	r.git(append([]string{"add"}, files...)...)
	r.git("-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false", "commit", "-q", "-m", "message")
}

func (r repository) git(args ...string) string {
	r.t.Helper()
	output, err := git(r.t.Context(), args...)
	if err != nil {
		r.t.Fatal(err)
	}
	return strings.TrimSpace(output)
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

func TestTheChannelOfEveryStoredVersionIsKept(t *testing.T) {
	stored, err := store.Versions("../../" + storeFolder)
	if err != nil {
		t.Fatal(err)
	}
	kept, err := channels.Versions()
	if err != nil {
		t.Fatal(err)
	}
	for _, version := range stored {
		if !slices.Contains(kept, version) {
			t.Errorf("%s was released, and how it speaks is not in %s", version, channelFolder)
		}
	}
}

func TestAReleaseKeepsTheChannelOfItsTree(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.MkdirAll(channelFolder, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := run(t.Context(), []string{"channel", "0.2.0"}); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(filepath.Join(channelFolder, "0.2.0.json"))
	if err != nil || !strings.Contains(string(content), `"ProxySession"`) {
		t.Errorf("kept %q: %v", content, err)
	}
}
