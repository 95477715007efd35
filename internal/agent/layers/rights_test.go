// SPDX-License-Identifier: Apache-2.0

package layers_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/spawnery/spawnery-operator/internal/agent/layers"
)

// asUser calls f as another user, on a thread of its own that ends with it.
func asUser(t *testing.T, id int, f func()) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("run as root: the test takes the place of other users")
	}
	done := make(chan error)
	go func() {
		runtime.LockOSThread()
		err := syscall.Setfsgid(id)
		if err == nil {
			err = syscall.Setfsuid(id)
		}
		if err == nil {
			f()
		}
		done <- err
	}()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

func TestWhatTheUserMayNotDoIsNamed(t *testing.T) {
	tests := map[string]struct {
		close func(cfg layers.Config) error
		want  string
	}{
		"read a file": {
			func(cfg layers.Config) error { return os.Chmod(filepath.Join(cfg.Spec.Layers[0].Root, "a/key"), 0o600) },
			"server.template, layer 1 (claim maps-1): a/key cannot be read by user 0, group 0: change its mode in the layer, or set spec.server.user",
		},
		"read a directory": {
			func(cfg layers.Config) error { return os.Chmod(filepath.Join(cfg.Spec.Layers[0].Root, "a"), 0o700) },
			"server.template, layer 1 (claim maps-1): a cannot be read by user 0, group 0: change its mode in the layer, or set spec.server.user",
		},
		"write the volume": {
			func(cfg layers.Config) error { return os.Chmod(cfg.DataDir, 0o755) },
			"the claim survival-0-data cannot be written by user 0, group 0: change the owner there, or set spec.server.user",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			cfg := configOf(t, nil, layer{always, tree{"a/key": "k"}})
			for _, directory := range []string{cfg.DataDir, cfg.Spec.Layers[0].Root} {
				if err := os.Chmod(filepath.Dir(directory), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.Chmod(cfg.DataDir, 0o777); err != nil {
				t.Fatal(err)
			}
			if err := test.close(cfg); err != nil {
				t.Fatal(err)
			}
			var err error
			asUser(t, 1000, func() { err = layers.Run(t.Context(), cfg) })
			if err == nil || !strings.HasPrefix(err.Error(), test.want) {
				t.Errorf("%v\nwant %s", err, test.want)
			}
		})
	}
}

func TestTheProgramIsInstalledForAnyUserAndAgain(t *testing.T) {
	directory := t.TempDir()
	for range 2 {
		if err := layers.Install(directory); err != nil {
			t.Fatal(err)
		}
	}
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	want, errWant := os.Stat(own)
	got, errGot := os.Stat(filepath.Join(directory, "agent"))
	if errWant != nil || errGot != nil || got.Size() != want.Size() || got.Mode() != 0o555 {
		t.Errorf("%v (%v), want %v (%v) with mode 0555", got, errGot, want, errWant)
	}
}
