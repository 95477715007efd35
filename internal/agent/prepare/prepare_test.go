// SPDX-License-Identifier: Apache-2.0

package prepare_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spawnery/spawnery-operator/internal/agent/prepare"
	"github.com/spawnery/spawnery-operator/internal/agent/secret"
	"github.com/spawnery/spawnery-operator/internal/agent/serverspec"
)

// newConfig is a pod with empty volumes and a forwarding secret.
func newConfig(t *testing.T) prepare.Config {
	t.Helper()
	cfg := prepare.Config{
		Spec: serverspec.Spec{
			Server: "survival-0", Group: "survival", Flavor: serverspec.FlavorPaper,
			DataDir: t.TempDir(), DataVolume: "the claim survival-0-data",
			Port: 25565, MaxPlayers: 50,
			Forwarding: serverspec.ForwardingVelocity, OnlineMode: true,
			AcceptEULA: true, GraceSeconds: 60, StopToken: "s",
		},
		RunDir: t.TempDir(), ForwardingDir: t.TempDir(),
	}
	write(t, filepath.Join(cfg.ForwardingDir, "secret"), "hunter2\n", 0o644)
	// Tests act as other users, who must get as far as the directories.
	if err := os.Chmod(filepath.Dir(cfg.RunDir), 0o755); err != nil {
		t.Fatal(err)
	}
	return cfg
}

func write(t *testing.T, path, content string, mode os.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

func wantIn(t *testing.T, what, content string, wanted ...string) {
	t.Helper()
	for _, want := range wanted {
		if !strings.Contains(content, want) {
			t.Errorf("%s lacks %q:\n%s", what, want, content)
		}
	}
}

func TestAnEmptyDirectoryIsMadeFitForTheGame(t *testing.T) {
	cfg := newConfig(t)
	if err := prepare.Run(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	management, err := secret.ReadManagement(cfg.RunDir)
	if err != nil {
		t.Fatal(err)
	}
	data := cfg.Spec.DataDir
	wantIn(t, "server.properties", read(t, filepath.Join(data, "server.properties")), "management-server-secret="+management+"\n", "server-port=25565\n")
	wantIn(t, "paper-global.yml", read(t, filepath.Join(data, "config/paper-global.yml")), `secret: "hunter2"`)
	wantIn(t, "eula.txt", read(t, filepath.Join(data, "eula.txt")), "eula=true")
	entries, err := os.ReadDir(data)
	if err != nil || len(entries) != 3 {
		t.Errorf("the directory holds %v (%v), want three entries", entries, err)
	}
	info, err := os.Stat(filepath.Join(data, "server.properties"))
	if err != nil || info.Mode().Perm() != 0o664 {
		t.Errorf("server.properties has mode %v (%v), want 0664", info.Mode(), err)
	}
}

func TestASecondRunChangesNothing(t *testing.T) {
	cfg := newConfig(t)
	path := filepath.Join(cfg.Spec.DataDir, "server.properties")
	var before os.FileInfo
	for run := range 2 {
		if err := prepare.Run(t.Context(), cfg); err != nil {
			t.Fatal(err)
		}
		after, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if run > 0 && !os.SameFile(before, after) {
			t.Error("server.properties was written again")
		}
		before = after
	}
}

func TestWhatTheOwnerWroteIsKept(t *testing.T) {
	cfg := newConfig(t)
	path := filepath.Join(cfg.Spec.DataDir, "server.properties")
	write(t, path, "# mine\nlevel-name=old world\nonline-mode=true\n", 0o640)
	if err := prepare.Run(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	wantIn(t, "server.properties", read(t, path), "#mine\n", "level-name=old world\n", "online-mode=false\n")
}

func TestPrepareRefusesWhatItWouldHaveToGuess(t *testing.T) {
	tests := map[string]struct {
		spoil func(*testing.T, *prepare.Config)
		want  string
	}{
		"an operational key of the owner": {
			func(_ *testing.T, cfg *prepare.Config) {
				cfg.Spec.Properties = map[string]string{"server-port": "1"}
			},
			"server.properties: server-port cannot be set in spec.server.properties: use spec.server.port",
		},
		"a section that is none": {
			func(t *testing.T, cfg *prepare.Config) {
				write(t, filepath.Join(cfg.Spec.DataDir, "config/paper-global.yml"), "proxies: no\n", 0o664)
			},
			"config/paper-global.yml: proxies must hold settings of its own",
		},
		"no forwarding secret": {
			func(t *testing.T, cfg *prepare.Config) { cfg.ForwardingDir = t.TempDir() },
			"reading the forwarding secret",
		},
		"no data directory": {
			func(_ *testing.T, cfg *prepare.Config) { cfg.Spec.DataDir += "/missing" },
			"opening the data directory",
		},
		"a directory in a file's place": {
			func(t *testing.T, cfg *prepare.Config) {
				write(t, filepath.Join(cfg.Spec.DataDir, "server.properties/x"), "", 0o664)
			},
			"server.properties: reading it: it is not a file",
		},
		"a link that leads out": {
			func(t *testing.T, cfg *prepare.Config) {
				if err := os.Symlink(filepath.Join(cfg.RunDir, "management-secret"), filepath.Join(cfg.Spec.DataDir, "eula.txt")); err != nil {
					t.Fatal(err)
				}
			},
			"eula.txt: reading it: ",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			cfg := newConfig(t)
			test.spoil(t, &cfg)
			if err := prepare.Run(t.Context(), cfg); err == nil || !strings.HasPrefix(err.Error(), test.want) {
				t.Errorf("Run() = %v, want %q", err, test.want)
			}
		})
	}
}

// Plugins write where they like in the data directory, and a persistent world
// is prepared again and again.
func TestWhatAPluginLeavesInTheWayIsNotFollowed(t *testing.T) {
	tests := map[string]struct {
		plant   func(path string) error
		refused string
	}{
		"a link to the world":   {plant: func(path string) error { return os.Symlink("level.dat", path) }},
		"a link that leads out": {plant: func(path string) error { return os.Symlink("/etc/hostname", path) }},
		"a link to nothing":     {plant: func(path string) error { return os.Symlink("missing", path) }},
		"a pipe":                {plant: func(path string) error { return syscall.Mkfifo(path, 0o666) }},
		"a file":                {plant: func(path string) error { return os.WriteFile(path, []byte("old"), 0o444) }},
		"a directory":           {plant: func(path string) error { return os.MkdirAll(path+"/full", 0o777) }, refused: "cannot be written"},
	}
	for _, name := range []string{".spawnery-write-test", "server.properties.spawnery-new"} {
		for what, test := range tests {
			t.Run(what+" at "+name, func(t *testing.T) {
				cfg := newConfig(t)
				world := filepath.Join(cfg.Spec.DataDir, "level.dat")
				write(t, world, "the world", 0o664)
				if err := test.plant(filepath.Join(cfg.Spec.DataDir, name)); err != nil {
					t.Fatal(err)
				}
				done := make(chan error, 1)
				go func() { done <- prepare.Run(t.Context(), cfg) }()
				select {
				case err := <-done:
					if test.refused == "" && err != nil || test.refused != "" && (err == nil || !strings.Contains(err.Error(), test.refused)) {
						t.Errorf("Run() = %v, want %q", err, test.refused)
					}
				case <-time.After(10 * time.Second):
					t.Fatal("it never ends")
				}
				if got := read(t, world); got != "the world" {
					t.Errorf("the world is now %q", got)
				}
			})
		}
	}
}

func TestAPipeInAFilesPlaceIsNotWaitedFor(t *testing.T) {
	cfg := newConfig(t)
	if err := syscall.Mkfifo(filepath.Join(cfg.Spec.DataDir, "server.properties"), 0o666); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- prepare.Run(t.Context(), cfg) }()
	select {
	case err := <-done:
		if err == nil || !strings.HasPrefix(err.Error(), "server.properties: reading it: it is not a file") {
			t.Errorf("Run() = %v", err)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("it never ends")
	}
}

// asUser runs f with the rights to files of another user. Only the goroutine's
// thread changes, and it ends with the goroutine.
func asUser(t *testing.T, id int, f func()) {
	t.Helper()
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

func TestTheVolumeIsNamedWhenTheUserCannotWriteIt(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("run as root: the test takes the place of other users")
	}
	tests := map[string]struct {
		owner int
		mode  os.FileMode
		want  string
	}{
		"its own volume":            {1000, 0o755, ""},
		"a volume of root":          {0, 0o755, "belongs to user 0, group 0"},
		"a volume of somebody else": {65532, 0o755, "belongs to user 65532, group 65532"},
		"a volume of anybody":       {65532, 0o777, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			cfg := newConfig(t)
			for dir, owner := range map[string]int{cfg.Spec.DataDir: test.owner, cfg.RunDir: 1000} {
				if err := os.Chown(dir, owner, owner); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.Chmod(cfg.Spec.DataDir, test.mode); err != nil {
				t.Fatal(err)
			}
			asUser(t, 1000, func() {
				err := prepare.Run(t.Context(), cfg)
				if test.want == "" {
					if err != nil {
						t.Error(err)
					}
					return
				}
				if err == nil {
					t.Error("Run() succeeded")
					return
				}
				wantIn(t, "the error", err.Error(), cfg.Spec.DataDir, "the claim survival-0-data is the cause", "fsGroup", test.want)
			})
		})
	}
}

func TestAFileOfAnotherUserIsReplacedByOneTheGameCanWrite(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("run as root: the test takes the place of other users")
	}
	cfg := newConfig(t)
	path := filepath.Join(cfg.Spec.DataDir, "server.properties")
	write(t, path, "motd=mine\n", 0o644)
	for _, dir := range []string{cfg.Spec.DataDir, cfg.RunDir} {
		if err := os.Chown(dir, 1000, 1000); err != nil {
			t.Fatal(err)
		}
	}
	asUser(t, 1000, func() {
		if err := prepare.Run(t.Context(), cfg); err != nil {
			t.Error(err)
		}
	})
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if stat := info.Sys().(*syscall.Stat_t); stat.Uid != 1000 {
		t.Errorf("server.properties belongs to %d, want 1000", stat.Uid)
	}
	wantIn(t, "server.properties", read(t, path), "motd=mine\n")
}
