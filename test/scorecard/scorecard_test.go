// SPDX-License-Identifier: Apache-2.0

// Package scorecard_test runs the built-in tests of operator-sdk's scorecard
// on the bundle, without a cluster: they only read files.
package scorecard_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// result is what one of the scorecard's tests prints.
type result struct {
	Name        string
	State       string
	Errors      []string
	Suggestions []string
}

// noStatus begins the one suggestion that is not followed: what a boost does
// shows on its group, and a boost that a GitOps tool keeps changes never.
const noStatus = "scaleboosts.spawnery.cloud does not have status spec."

func TestBuiltInTestsPassAndSuggestNothingElse(t *testing.T) {
	root := newRoot(t)
	for _, name := range []string{
		"basic-check-spec", "olm-bundle-validation", "olm-crds-have-validation",
		"olm-crds-have-resources", "olm-spec-descriptors", "olm-status-descriptors",
	} {
		t.Run(name, func(t *testing.T) {
			got := run(t, root, name)
			if got.Name != name || got.State != "pass" || len(got.Errors) > 0 {
				t.Errorf("%q: %s %q", got.Name, got.State, got.Errors)
			}
			var want []string
			if name == "olm-status-descriptors" {
				want = []string{noStatus}
			}
			for i, suggestion := range got.Suggestions {
				if strings.HasPrefix(suggestion, noStatus) {
					got.Suggestions[i] = noStatus
				}
			}
			// It is made once for every example of a boost.
			if diff := cmp.Diff(want, slices.Compact(got.Suggestions)); diff != "" {
				t.Errorf("suggestions (-want +got):\n%s", diff)
			}
		})
	}
}

func TestMissingDescriptorFails(t *testing.T) {
	root := newRoot(t)
	files, err := filepath.Glob(filepath.Join(root, "bundle/manifests/*.clusterserviceversion.yaml"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%d CSVs: %v", len(files), err)
	}
	content, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	broken := strings.ReplaceAll(string(content), "path: maxPlayers\n", "path: elsewhere\n")
	if err := os.WriteFile(files[0], []byte(broken), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := run(t, root, "olm-spec-descriptors"); got.State != "fail" {
		t.Errorf("%s without a descriptor of maxPlayers", got.State)
	}
}

// newRoot makes a directory that holds what the scorecard expects at /.
func newRoot(t *testing.T) string {
	t.Helper()
	bin := os.Getenv("SPAWNERY_TEST_BIN")
	if bin == "" {
		t.Skip("needs built tools: make scorecard-local")
	}
	root := t.TempDir()
	if err := os.CopyFS(filepath.Join(root, "bundle"), os.DirFS("../../bundle")); err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile(filepath.Join(bin, "scorecard-test"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "scorecard-test"), program, 0o700); err != nil {
		t.Fatal(err)
	}
	return root
}

// run runs one test with root as its /: the bundle is always at /bundle.
func run(t *testing.T, root, name string) result {
	t.Helper()
	command := exec.CommandContext(t.Context(), "/scorecard-test", name)
	command.Dir = "/"
	command.SysProcAttr = &syscall.SysProcAttr{Chroot: root}
	if os.Getuid() != 0 {
		// Whoever is not root may change / in a user namespace of their own.
		command.SysProcAttr.Cloneflags = syscall.CLONE_NEWUSER
		command.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}}
		command.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}}
	}
	output, err := command.Output()
	if err != nil {
		t.Fatalf("running %s: %v", name, err)
	}
	var printed struct{ Results []result }
	if err := json.Unmarshal(output, &printed); err != nil || len(printed.Results) != 1 {
		t.Fatalf("%s printed %d results: %v", name, len(printed.Results), err)
	}
	return printed.Results[0]
}
