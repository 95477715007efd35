// SPDX-License-Identifier: Apache-2.0

// Package released_test compares what the last released commit makes today
// with what is stored of it.
package released_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spawnery/spawnery-operator/hack/release/store"
)

// missing is how hack/released.sh exits when the commit is not in the clone.
const missing = 3

func TestReleasedCommitMakesTheRecordedImage(t *testing.T) {
	record := last(t)
	folder := build(t, record.Version)
	image, err := store.ReadImage(filepath.Join(folder, "operator.tar"))
	if err != nil {
		t.Fatal(err)
	}
	goVersion := read(t, filepath.Join(folder, "go"))
	if goVersion != record.Go {
		t.Logf("%s was built by %s, and here by %s: programs and digest are not compared", record.Version, record.Go, goVersion)
	}
	for _, difference := range record.Differences(image, goVersion) {
		t.Error(difference)
	}
	if digest := read(t, filepath.Join(folder, "digest")); digest != image.Digest {
		t.Errorf("digest holds %s, the image has %s", digest, image.Digest)
	}
}

func TestReleasedCommitMakesTheStoredBundle(t *testing.T) {
	record := last(t)
	// hack/released.sh compared every line; here it counts that nothing was left.
	sums, err := store.Sums(filepath.Join(build(t, record.Version), "bundle"))
	if err != nil {
		t.Fatal(err)
	}
	if len(sums) != len(record.Bundle) {
		t.Errorf("%d files are stored, %d are made", len(record.Bundle), len(sums))
	}
	for name, sum := range record.Bundle {
		if sums[name] != sum {
			t.Errorf("%s: stored %s, made %s", name, sum, sums[name])
		}
	}
}

func TestCloneWithoutTheCommitSaysHowToGetIt(t *testing.T) {
	record := last(t)
	clone := t.TempDir()
	for _, file := range []string{"hack/released.sh", "hack/rebuild.sh", "bundles/" + record.Version + ".json"} {
		content, err := os.ReadFile(filepath.Join("../..", file))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(filepath.Dir(filepath.Join(clone, file)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(clone, file), content, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if output, err := exec.CommandContext(t.Context(), "git", "-C", clone, "init", "-q").CombinedOutput(); err != nil {
		t.Fatalf("%s: %v", output, err)
	}
	output, err := released(t, clone, record.Version)
	if code := exitCode(err); code != missing {
		t.Errorf("exits with %d, want %d", code, missing)
	}
	if !strings.Contains(output, record.Commit) || !strings.Contains(output, "git fetch --unshallow") {
		t.Errorf("says %q", output)
	}
}

func TestVersionThatIsNotStoredIsRefused(t *testing.T) {
	output, err := released(t, "../..", "99.0.0")
	if code := exitCode(err); code != 1 {
		t.Errorf("exits with %d", code)
	}
	if !strings.Contains(output, "99.0.0 is not stored; there are: ") || !strings.Contains(output, last(t).Version+".json") {
		t.Errorf("says %q", output)
	}
}

// last is the record of the last stored version.
func last(t *testing.T) *store.Record {
	t.Helper()
	versions, err := store.Versions("../../bundles")
	if err != nil || len(versions) == 0 {
		t.Fatalf("%d versions are stored: %v", len(versions), err)
	}
	record, err := store.ReadRecord("../../bundles", versions[len(versions)-1])
	if err != nil {
		t.Fatal(err)
	}
	return record
}

// build makes a version again, or takes what an earlier test made.
func build(t *testing.T, version string) string {
	t.Helper()
	bin := os.Getenv("SPAWNERY_TEST_BIN")
	if bin == "" {
		t.Skip("needs built tools: make test-released")
	}
	output, err := released(t, "../..", version, "BIN="+bin)
	switch {
	case exitCode(err) == missing:
		t.Skip(strings.TrimSpace(output))
	case err != nil:
		t.Fatalf("%s: %v", output, err)
	}
	return filepath.Join(bin, "released", version)
}

// released runs hack/released.sh of a tree and returns all that it says.
func released(t *testing.T, tree, version string, env ...string) (string, error) {
	t.Helper()
	command := exec.CommandContext(t.Context(), "hack/released.sh", version)
	command.Dir = tree
	command.Env = append(os.Environ(), env...)
	output, err := command.CombinedOutput()
	return string(output), err
}

func exitCode(err error) int {
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return exit.ExitCode()
	}
	return 0
}

func read(t *testing.T, file string) string {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(content))
}
