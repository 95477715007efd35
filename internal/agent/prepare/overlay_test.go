// SPDX-License-Identifier: Apache-2.0

package prepare_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spawnery/spawnery-operator/internal/agent/prepare"
	"github.com/spawnery/spawnery-operator/internal/agent/serverspec"
)

// withOverlay mounts a ConfigMap of one key as the kubelet does, and lays it
// over path.
func withOverlay(t *testing.T, path, content string) prepare.Config {
	t.Helper()
	cfg := newConfig(t)
	cfg.OverlayDir = t.TempDir()
	cfg.Variable = func(name string) (string, bool) { return "s3cret", name == "DB" }
	cfg.Spec.Overlay = []serverspec.OverlayFile{{Directory: "0", ConfigMap: "tuning", Key: "file", Path: path}}
	mounted := filepath.Join(cfg.OverlayDir, "0")
	write(t, filepath.Join(mounted, "..2026_11_30", "file"), content, 0o444)
	for link, target := range map[string]string{"..data": "..2026_11_30", "file": "..data/file"} {
		if err := os.Symlink(target, filepath.Join(mounted, link)); err != nil {
			t.Fatal(err)
		}
	}
	return cfg
}

func TestAnOverlayIsLaidOverTheDataDirectory(t *testing.T) {
	cfg := withOverlay(t, "plugins/Shop/config.yml", "server: ${SPAWNERY_SERVER}\npassword: ${env:DB}\n")
	cfg.Spec.OverlayEnv = []string{"DB"}
	path := filepath.Join(cfg.Spec.DataDir, "plugins/Shop/config.yml")
	write(t, path, "# of the plugin\nserver: unset\nlimit: 5\n", 0o664)
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
			t.Error("the file was written again")
		}
		before = after
	}
	wantIn(t, "the file", read(t, path), "# of the plugin\nserver: survival-0\nlimit: 5\npassword: s3cret\n")
}

func TestAFileThatIsNotThereIsMade(t *testing.T) {
	cfg := withOverlay(t, "plugins/Shop/lang/en.txt", "Hello\n")
	if err := prepare.Run(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(cfg.Spec.DataDir, "plugins/Shop/lang/en.txt")
	wantIn(t, "the file", read(t, path), "Hello\n")
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o664 {
		t.Errorf("mode %v (%v), want 0664", info.Mode(), err)
	}
}

func TestWhatAnOverlayLacksIsNamed(t *testing.T) {
	tests := map[string]struct {
		spoil func(*testing.T, *prepare.Config)
		want  string
	}{
		"a ConfigMap that does not exist": {
			// The kubelet mounts an empty directory, for the volume is optional.
			func(t *testing.T, cfg *prepare.Config) {
				cfg.OverlayDir = t.TempDir()
				if err := os.MkdirAll(filepath.Join(cfg.OverlayDir, "0", "..data"), 0o755); err != nil {
					t.Fatal(err)
				}
			},
			"the ConfigMap tuning does not exist or is empty, and spec.configOverlay takes spigot.yml from its key file: create it",
		},
		"a key that does not exist": {
			func(_ *testing.T, cfg *prepare.Config) { cfg.Spec.Overlay[0].Key = "spigot.yml" },
			"the ConfigMap tuning has no key spigot.yml, from which spec.configOverlay takes spigot.yml; it has file",
		},
		"a variable": {
			func(_ *testing.T, cfg *prepare.Config) { cfg.Spec.OverlayEnv = []string{"OTHER"} },
			"spec.server.overlayEnv lists OTHER, which the container does not have",
		},
		"a mount": {
			func(t *testing.T, cfg *prepare.Config) { cfg.OverlayDir = t.TempDir() },
			"reading the ConfigMap tuning: ",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			cfg := withOverlay(t, "spigot.yml", "a: 1\n")
			test.spoil(t, &cfg)
			if err := prepare.Run(t.Context(), cfg); err == nil || !strings.HasPrefix(err.Error(), test.want) {
				t.Errorf("Run() = %v, want %q", err, test.want)
			}
			if entries, err := os.ReadDir(cfg.Spec.DataDir); err != nil || len(entries) != 0 {
				t.Errorf("the data directory was touched: %v, %v", entries, err)
			}
		})
	}
}

// A world may come from anybody, and whoever made it can leave links in it.
func TestAnOverlayDoesNotFollowLinksOfTheWorld(t *testing.T) {
	tests := map[string]struct{ link, target, path, want string }{
		"a link to a prepared file": {
			"plugins.yml", "server.properties", "plugins.yml",
			"configOverlay: plugins.yml: plugins.yml in the data directory is a link, which is not followed",
		},
		"a link to the operator's directory": {
			"plugins", "config", "plugins/paper-global.yml",
			"configOverlay: plugins/paper-global.yml: plugins in the data directory is a link",
		},
		"a link that leads out": {
			"plugins", "/etc", "plugins/Shop/passwd", "configOverlay: plugins/Shop/passwd: plugins in the data directory is a link",
		},
		"a link to nothing":          {"a.txt", "missing", "a.txt", "configOverlay: a.txt: a.txt in the data directory is a link"},
		"a link for a prepared file": {"server.properties", "old.properties", "server.properties", "configOverlay: server.properties: server.properties in the data directory is a link"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			cfg := withOverlay(t, test.path, "motd=mine\n")
			write(t, filepath.Join(cfg.Spec.DataDir, "config/old"), "", 0o664)
			write(t, filepath.Join(cfg.Spec.DataDir, "old.properties"), "a=1\n", 0o664)
			if err := os.Symlink(test.target, filepath.Join(cfg.Spec.DataDir, test.link)); err != nil {
				t.Fatal(err)
			}
			if err := prepare.Run(t.Context(), cfg); err == nil || !strings.HasPrefix(err.Error(), test.want) {
				t.Errorf("Run() = %v, want %q", err, test.want)
			}
		})
	}
}

func TestAFaultInAnOverlayEndsPrepareWithItsFileKeyAndLine(t *testing.T) {
	cfg := withOverlay(t, "server.properties", "motd=hi\nserver-port=1\n")
	err := prepare.Run(t.Context(), cfg)
	want := "server.properties (key file of the ConfigMap tuning): server-port cannot be set by spec.configOverlay: use spec.server.port"
	if err == nil || err.Error() != want {
		t.Errorf("Run() = %v, want %q", err, want)
	}
}
