// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/spawnery/spawnery-operator/internal/agent/serverspec"
)

// owned gives a directory of the program to somebody.
func (p program) owned(t *testing.T, name string, uid, gid int, mode os.FileMode) {
	t.Helper()
	path := filepath.Join(p.dir, name)
	if err := os.MkdirAll(path, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(path, uid, gid); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

// prepareAs runs prepare as a pod's user, whose fsGroup is 2000, and returns
// the termination message.
func (p program) prepareAs(t *testing.T, uid uint32) string {
	t.Helper()
	for directory := p.dir; directory != os.TempDir(); directory = filepath.Dir(directory) {
		if err := os.Chmod(directory, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	// Every pod has a fresh one.
	if err := os.RemoveAll(filepath.Join(p.dir, "run")); err != nil {
		t.Fatal(err)
	}
	p.owned(t, "run", int(uid), int(uid), 0o750)
	for _, name := range []string{"why", "forwarding/secret"} {
		path := filepath.Join(p.dir, name)
		if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chown(path, int(uid), int(uid)); err != nil {
			t.Fatal(err)
		}
	}
	cmd := p.command(t, "prepare")
	// The way to the test's own program leads through directories of root.
	cmd.Path = "/proc/self/exe"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid, Groups: []uint32{2000}}}
	out, err := cmd.CombinedOutput()
	if err == nil {
		return ""
	}
	why, unread := os.ReadFile(filepath.Join(p.dir, "why"))
	if unread != nil || string(why) == "x" {
		t.Fatalf("no termination message: %v, %v\n%s", err, unread, out)
	}
	return string(why)
}

func asRoot(t *testing.T) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("run as root: the program is started as other users")
	}
}

func TestPrepareSaysWhoseTheVolumeIsThatItCannotWrite(t *testing.T) {
	asRoot(t)
	tests := map[string]struct {
		uid, gid int
		mode     os.FileMode
		want     string
	}{
		"its own volume":                   {1000, 1000, 0o755, ""},
		"a volume that fsGroup was set on": {0, 2000, os.ModeSetgid | 0o775, ""},
		"a volume of anybody":              {65532, 65532, 0o777, ""},
		"a volume of root":                 {0, 0, 0o755, "it belongs to user 0, group 0, mode -rwxr-xr-x"},
		"a volume of somebody else":        {65532, 65532, 0o775, "it belongs to user 65532, group 65532, mode -rwxrwxr-x"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			p := newProgram(t)
			p.spec.DataVolume = "the claim survival-0-data"
			p.owned(t, "data", test.uid, test.gid, test.mode)
			got := p.prepareAs(t, 1000)
			if test.want == "" {
				if got != "" {
					t.Errorf("it refused: %s", got)
				}
				return
			}
			want := "the data directory " + p.spec.DataDir + " cannot be written by user 1000, group 1000, and the claim survival-0-data is the cause: " +
				"its storage ignores fsGroup, as NFS and hostPath do; change the owner there or set spec.server.user (" + test.want + ")"
			if !strings.HasPrefix(got, want) {
				t.Errorf("the termination message is\n%s\nwant\n%s", got, want)
			}
		})
	}
}

func TestPrepareSaysWhatInTheVolumeIsSomebodyElses(t *testing.T) {
	asRoot(t)
	tests := map[string]struct {
		plant func(t *testing.T, p program)
		want  string
	}{
		"a directory": {
			func(t *testing.T, p program) { p.owned(t, "data/config", 65532, 65532, 0o755) },
			"config/paper-global.yml: writing it: user 1000, group 1000 may not, and DATA/config is why " +
				"(it belongs to user 65532, group 65532, mode -rwxr-xr-x): change its owner, or set spec.server.user: ",
		},
		"a file": {
			func(t *testing.T, p program) {
				if err := os.WriteFile(filepath.Join(p.spec.DataDir, "server.properties"), nil, 0o600); err != nil {
					t.Fatal(err)
				}
			},
			"server.properties: reading it: user 1000, group 1000 may not, and DATA/server.properties is why " +
				"(it belongs to user 0, group 2000, mode -rw-------): change its owner, or set spec.server.user: ",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			p := newProgram(t)
			p.owned(t, "data", 0, 2000, os.ModeSetgid|0o775)
			test.plant(t, p)
			want := strings.ReplaceAll(test.want, "DATA", p.spec.DataDir)
			if got := p.prepareAs(t, 1000); !strings.HasPrefix(got, want) {
				t.Errorf("the termination message is\n%s\nwant\n%s", got, want)
			}
		})
	}
}

// Game and agent may be of one group and of different users: what one wrote the
// other must be able to write.
func TestWhatPrepareWroteIsForItsGroupToo(t *testing.T) {
	asRoot(t)
	p := newProgram(t)
	p.owned(t, "data", 0, 2000, os.ModeSetgid|0o775)
	if why := p.prepareAs(t, 1000); why != "" {
		t.Fatal(why)
	}
	for path, mode := range map[string]os.FileMode{
		"server.properties": 0o664, "config": os.ModeDir | os.ModeSetgid | 0o775, "config/paper-global.yml": 0o664,
	} {
		info, err := os.Stat(filepath.Join(p.spec.DataDir, path))
		if err != nil {
			t.Fatal(err)
		}
		owner := info.Sys().(*syscall.Stat_t)
		if info.Mode() != mode || owner.Uid != 1000 || owner.Gid != 2000 {
			t.Errorf("%s is %v of user %d, group %d, want %v of user 1000, group 2000", path, info.Mode(), owner.Uid, owner.Gid, mode)
		}
	}
	// A second start as another user of the group, as after spec.server.user.
	p.spec.Forwarding = serverspec.ForwardingNone
	if why := p.prepareAs(t, 10001); why != "" {
		t.Errorf("another user of the group: %s", why)
	}
}
