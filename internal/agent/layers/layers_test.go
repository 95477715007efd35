// SPDX-License-Identifier: Apache-2.0

package layers_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"

	"github.com/spawnery/spawnery-operator/internal/agent/layers"
	"github.com/spawnery/spawnery-operator/internal/agent/serverspec"
)

// tree is files by path and content. A path that ends in a slash is a directory,
// and a content that begins with "-> " is the target of a link.
type tree map[string]string

func plant(t *testing.T, at string, files tree) {
	t.Helper()
	for name, content := range files {
		path := filepath.Join(at, name)
		directory := filepath.Dir(path)
		if strings.HasSuffix(name, "/") {
			directory = path
		}
		err := os.MkdirAll(directory, 0o755)
		if target, link := strings.CutPrefix(content, "-> "); link {
			err = errors.Join(err, os.Symlink(target, path))
		} else if !strings.HasSuffix(name, "/") {
			err = errors.Join(err, os.WriteFile(path, []byte(content), 0o644))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// found reads a directory back, empty directories included.
func found(t *testing.T, at string) tree {
	t.Helper()
	files := tree{}
	err := filepath.WalkDir(at, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || path == at {
			return err
		}
		name := strings.TrimPrefix(path, at+"/")
		switch {
		case entry.IsDir():
			if below, err := os.ReadDir(path); err != nil || len(below) > 0 {
				return err
			}
			files[name+"/"] = ""
		case entry.Type() == fs.ModeSymlink:
			target, err := os.Readlink(path)
			files[name] = "-> " + target
			return err
		case entry.Type() == 0:
			content, err := os.ReadFile(path)
			files[name] = string(content)
			return err
		default:
			files[name] = entry.Type().String()
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// layer is one layer of a test: a directory that a claim would be.
type layer struct {
	mode  serverspec.LayerMode
	files tree
}

const (
	ifMissing = serverspec.LayerIfMissing
	always    = serverspec.LayerAlways
)

// configOf has the layers in directories, and a data directory with a world.
func configOf(t *testing.T, world tree, all ...layer) layers.Config {
	t.Helper()
	cfg := layers.Config{DataDir: t.TempDir(), Spec: serverspec.Spec{
		Server: "survival-0", Ordinal: new(int32(0)), DataVolume: "the claim survival-0-data",
	}}
	plant(t, cfg.DataDir, world)
	for i, one := range all {
		root := t.TempDir()
		plant(t, root, one.files)
		cfg.Spec.Layers = append(cfg.Spec.Layers, serverspec.Layer{
			Origin: fmt.Sprintf("claim maps-%d", i+1), Root: root, Path: "/", Mode: one.mode,
		})
	}
	return cfg
}

func TestLayersComeIntoTheDataDirectory(t *testing.T) {
	tests := map[string]struct {
		world  tree
		layers []layer
		want   tree
	}{
		"into an empty one": {
			layers: []layer{{always, tree{"plugins/a.jar": "a", "plugins/A/config.yml": "x: 1", "maps/": "", "bukkit.yml": ""}}},
			want:   tree{"plugins/a.jar": "a", "plugins/A/config.yml": "x: 1", "maps/": "", "bukkit.yml": ""},
		},
		"an owner's edit survives IfMissing": {
			world:  tree{"plugins/A/config.yml": "x: 2"},
			layers: []layer{{ifMissing, tree{"plugins/A/config.yml": "x: 1", "plugins/A/lang.yml": "en"}}},
			want:   tree{"plugins/A/config.yml": "x: 2", "plugins/A/lang.yml": "en"},
		},
		"Always replaces its own files and deletes nothing": {
			world:  tree{"plugins/a.jar": "old", "plugins/mine.jar": "mine", "world/level.dat": "played"},
			layers: []layer{{always, tree{"plugins/a.jar": "new"}}},
			want:   tree{"plugins/a.jar": "new", "plugins/mine.jar": "mine", "world/level.dat": "played"},
		},
		"of a file that several have the last layer's is taken": {
			layers: []layer{
				{always, tree{"motd.txt": "first", "first.txt": ""}},
				{ifMissing, tree{"motd.txt": "second", "second.txt": ""}},
				{ifMissing, tree{"motd.txt": "third"}},
			},
			want: tree{"motd.txt": "third", "first.txt": "", "second.txt": ""},
		},
		"the last layer's mode is taken with it": {
			world:  tree{"motd.txt": "edited"},
			layers: []layer{{always, tree{"motd.txt": "first"}}, {ifMissing, tree{"motd.txt": "second"}}},
			want:   tree{"motd.txt": "edited"},
		},
		"a file of a later layer takes the place of a directory": {
			layers: []layer{{always, tree{"a/b.txt": "", "a/c/d.txt": ""}}, {always, tree{"a": "file"}}},
			want:   tree{"a": "file"},
		},
		"a directory of a later layer takes the place of a file": {
			layers: []layer{{always, tree{"a": "file"}}, {always, tree{"a/b.txt": ""}}},
			want:   tree{"a/b.txt": ""},
		},
		"links that stay in the layer remain links": {
			layers: []layer{{always, tree{"plugins/a-1.0.jar": "a", "plugins/a.jar": "-> a-1.0.jar", "maps": "-> worlds/../worlds"}}},
			want:   tree{"plugins/a-1.0.jar": "a", "plugins/a.jar": "-> a-1.0.jar", "maps": "-> worlds/../worlds"},
		},
		"a link in the data directory is replaced and not written through": {
			world:  tree{"motd.txt": "-> secret.txt", "secret.txt": "kept"},
			layers: []layer{{always, tree{"motd.txt": "new"}}},
			want:   tree{"motd.txt": "new", "secret.txt": "kept"},
		},
		"a link in the data directory counts as there": {
			world:  tree{"motd.txt": "-> /nowhere"},
			layers: []layer{{ifMissing, tree{"motd.txt": "new"}}},
			want:   tree{"motd.txt": "-> /nowhere"},
		},
		"a link to a directory of the data directory serves as one": {
			world:  tree{"shared/x.txt": "", "plugins": "-> shared"},
			layers: []layer{{always, tree{"plugins/a.jar": "a"}}},
			want:   tree{"shared/x.txt": "", "shared/a.jar": "a", "plugins": "-> shared"},
		},
		"what a killed start left behind is removed": {
			world:  tree{".spawnery-template/plugins/a.jar": "hal"},
			layers: []layer{{ifMissing, tree{"plugins/a.jar": "half"}}},
			want:   tree{"plugins/a.jar": "half"},
		},
		"a link in the place of our own directory is not followed": {
			world:  tree{".spawnery-template": "-> world", "world/level.dat": "played"},
			layers: []layer{{always, tree{"level.dat": "no"}}},
			want:   tree{"world/level.dat": "played", "level.dat": "no"},
		},
		"what the file system of a claim has for itself is left out": {
			layers: []layer{{always, tree{"lost+found/#1": "lost", "a.txt": "", "deep/lost+found/b": ""}}},
			want:   tree{"a.txt": "", "deep/lost+found/b": ""},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			cfg := configOf(t, test.world, test.layers...)
			// Whatever a start does, the next one leaves it so.
			for range 2 {
				if err := layers.Run(t.Context(), cfg); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(test.want, found(t, cfg.DataDir)); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			}
		})
	}
}

func TestALayerThatCannotBeCopiedChangesNothingAndSaysWhich(t *testing.T) {
	good := layer{always, tree{"first.txt": "1"}}
	tests := map[string]struct {
		world tree
		layer layer
		path  string
		want  string
	}{
		"a path that is not there": {
			path: "/plugins", want: "layer 2 (claim maps-2, path /plugins): there is no such directory",
		},
		"a path that is a file": {
			layer: layer{always, tree{"a.jar": ""}}, path: "/a.jar", want: "it is no directory: name the one that it lies in",
		},
		"a path that leads out": {
			layer: layer{always, tree{"etc": "-> /etc"}}, path: "/etc", want: "it is a link to /etc, which is not in it",
		},
		"a link that leads out": {
			layer: layer{always, tree{"plugins/a.jar": "-> ../../a.jar"}},
			want:  "layer 2 (claim maps-2): plugins/a.jar is a link to ../../a.jar, which leads out of the layer: put the file itself there",
		},
		"an absolute link": {
			layer: layer{always, tree{"a": "-> /etc/passwd"}}, want: "a is a link to /etc/passwd, which leads out of the layer",
		},
		"a directory of the world that leads out": {
			world: tree{"plugins": "-> /etc"},
			layer: layer{always, tree{"plugins/a.jar": ""}},
			want:  "plugins in the data directory is a link to /etc, and leads out of it or nowhere: remove it there",
		},
		"a directory of the world that leads up": {
			world: tree{"a/b": "-> ../../..", "a/x": ""},
			layer: layer{ifMissing, tree{"a/b/c/d.txt": ""}},
			want:  "a/b in the data directory is a link to ../../.., and leads out of it or nowhere",
		},
		"a directory of the world that leads nowhere": {
			world: tree{"plugins": "-> gone"},
			layer: layer{ifMissing, tree{"plugins/a.jar": ""}},
			want:  "plugins in the data directory is a link to gone, and leads out of it or nowhere",
		},
		"a file in the place of a directory": {
			world: tree{"plugins": "no directory"},
			layer: layer{ifMissing, tree{"plugins/a.jar": ""}},
			want:  "plugins is a directory in the layer, and none in the data directory: remove it there",
		},
		"a directory in the place of a file": {
			world: tree{"a.jar/x": ""},
			layer: layer{always, tree{"a.jar": ""}},
			want:  "a.jar is no directory in the layer, and one in the data directory: remove it there",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			cfg := configOf(t, test.world, good, test.layer)
			if test.path != "" {
				cfg.Spec.Layers[1].Path = test.path
			}
			err := layers.Run(t.Context(), cfg)
			if err == nil || !strings.Contains(err.Error(), test.want) || !strings.HasPrefix(err.Error(), "server.template, layer 2 (claim maps-2") {
				t.Errorf("%v\nwant %s", err, test.want)
			}
			want := tree{}
			maps.Copy(want, test.world)
			if diff := cmp.Diff(want, found(t, cfg.DataDir)); diff != "" {
				t.Errorf("the data directory changed (-want +got):\n%s", diff)
			}
		})
	}
}

func TestALinkOfAPathMayBeAbsoluteInsideTheImage(t *testing.T) {
	cfg := configOf(t, nil, layer{always, tree{"opt/pack-1.2/a.jar": "a"}})
	root := cfg.Spec.Layers[0].Root
	if err := os.Symlink(filepath.Join(root, "opt/pack-1.2"), filepath.Join(root, "opt/pack")); err != nil {
		t.Fatal(err)
	}
	cfg.Spec.Layers[0].Path = "/opt/pack"
	if err := layers.Run(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(tree{"a.jar": "a"}, found(t, cfg.DataDir)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestWhatAContainerAddsToItsImageIsNoLayer(t *testing.T) {
	for _, path := range []string{"/proc/self", "/sys", "/dev"} {
		cfg := configOf(t, nil, layer{mode: always})
		cfg.Spec.Layers[0].Root, cfg.Spec.Layers[0].Path = "/", path
		if err := layers.Run(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), "which is not in it") {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestModesLetGameAndAgentWrite(t *testing.T) {
	cfg := configOf(t, nil, layer{always, tree{"start.sh": "", "key.pem": "", "a.yml": "", "suid": "", "sub/b.yml": ""}})
	root := cfg.Spec.Layers[0].Root
	for name, mode := range map[string]fs.FileMode{
		"start.sh": 0o555, "key.pem": 0o400, "a.yml": 0o644, "suid": 0o755 | fs.ModeSetuid | fs.ModeSetgid,
	} {
		if err := os.Chmod(filepath.Join(root, name), mode); err != nil {
			t.Fatal(err)
		}
	}
	built := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	if err := os.Chtimes(filepath.Join(root, "a.yml"), built, built); err != nil {
		t.Fatal(err)
	}
	defer syscall.Umask(syscall.Umask(0o002))
	if err := layers.Run(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	want := map[string]fs.FileMode{
		"start.sh": 0o775, "key.pem": 0o660, "a.yml": 0o664, "suid": 0o775, "sub": fs.ModeDir | 0o775, "sub/b.yml": 0o664,
	}
	got := map[string]fs.FileMode{}
	for name := range want {
		info, err := os.Lstat(filepath.Join(cfg.DataDir, name))
		if err != nil {
			t.Fatal(err)
		}
		got[name] = info.Mode()
		if name == "a.yml" && !info.ModTime().Equal(built) {
			t.Errorf("a.yml is of %s, want %s", info.ModTime(), built)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestSpecialFilesAreLeftOutAndTold(t *testing.T) {
	cfg := configOf(t, nil, layer{always, tree{"a.txt": "1"}})
	root := cfg.Spec.Layers[0].Root
	if err := syscall.Mkfifo(filepath.Join(root, "pipe"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Link(filepath.Join(root, "a.txt"), filepath.Join(root, "b.txt")); err != nil {
		t.Fatal(err)
	}
	log, told := recorder()
	if err := layers.Run(logr.NewContext(t.Context(), log), cfg); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(tree{"a.txt": "1", "b.txt": "1"}, found(t, cfg.DataDir)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if !strings.Contains(told.String(), `"left out what is neither file, directory nor link" "layer"=1 "of"=1 "origin"="claim maps-1" "path"="pipe"`) {
		t.Errorf("the log does not name the pipe:\n%s", told)
	}
	// A game that writes to one of two names must not change the other.
	a, errA := os.Stat(filepath.Join(cfg.DataDir, "a.txt"))
	b, errB := os.Stat(filepath.Join(cfg.DataDir, "b.txt"))
	if err := errors.Join(errA, errB); err != nil || os.SameFile(a, b) {
		t.Errorf("a hard link of the layer is one of the data directory (%v)", err)
	}
}

func recorder() (logr.Logger, *strings.Builder) {
	told := &strings.Builder{}
	return funcr.New(func(_, args string) { fmt.Fprintln(told, args) }, funcr.Options{}), told
}

func TestALargeTreeShowsHowFarItIs(t *testing.T) {
	many := tree{}
	for i := range 2500 {
		many[fmt.Sprintf("world/region/r.%d.mca", i)] = "x"
	}
	cfg := configOf(t, nil, layer{always, many})
	cfg.Spec.Ordinal = nil // nobody's world waits for the disk
	log, told := recorder()
	if err := layers.Run(logr.NewContext(t.Context(), log), cfg); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`"copying a layer" "layer"=1 "of"=1 "origin"="claim maps-1" "files"=1000 "bytes"=1000`, `"files"=2000`,
		`"copied a layer" "layer"=1 "of"=1 "origin"="claim maps-1" "files"=2500 "bytes"=2500 "leftAlone"=0`,
	} {
		if !strings.Contains(told.String(), want) {
			t.Errorf("the log lacks %s:\n%s", want, told)
		}
	}
}

func TestWhatIsTheSameIsNotWrittenAgain(t *testing.T) {
	large := strings.Repeat("0123456789abcdef", 20_000)
	cfg := configOf(t, nil, layer{always, tree{"map.bin": large, "empty": "", "link": "-> map.bin"}})
	path := filepath.Join(cfg.DataDir, "map.bin")
	var infos []os.FileInfo
	run := func() {
		t.Helper()
		if err := layers.Run(t.Context(), cfg); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		infos = append(infos, info)
	}
	run()
	run()
	if !os.SameFile(infos[0], infos[1]) {
		t.Error("a file that is the same was written again")
	}
	// One byte near the end, and the time put back: what is compared is content.
	changed := large[:len(large)-3] + "x" + large[len(large)-2:]
	plant(t, cfg.DataDir, tree{"map.bin": changed})
	if err := os.Chtimes(path, infos[0].ModTime(), infos[0].ModTime()); err != nil {
		t.Fatal(err)
	}
	run()
	if diff := cmp.Diff(large, found(t, cfg.DataDir)["map.bin"]); diff != "" {
		t.Error("an edited file was not replaced")
	}
}

func TestAFullVolumeIsNamedAndLeftAsItWas(t *testing.T) {
	cfg := configOf(t, nil, layer{always, tree{"small.txt": "1"}}, layer{ifMissing, tree{"world/big.mca": strings.Repeat("x", 300<<10)}})
	if err := syscall.Mount("tmpfs", cfg.DataDir, "tmpfs", 0, "size=128k"); err != nil {
		t.Skipf("a volume that can be full needs the right to mount: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(cfg.DataDir, 0); err != nil {
			t.Error(err)
		}
	})
	err := layers.Run(t.Context(), cfg)
	want := "server.template, layer 2 (claim maps-2): world/big.mca: the claim survival-0-data is full: raise spec.storage.size"
	if !errors.Is(err, syscall.ENOSPC) || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("%v\nwant %s", err, want)
	}
	if diff := cmp.Diff(tree{}, found(t, cfg.DataDir)); diff != "" {
		t.Errorf("something was left (-want +got):\n%s", diff)
	}
}

func TestAnInterruptedStartIsMadeGoodByTheNext(t *testing.T) {
	cfg := configOf(t, tree{"mine.txt": "mine"}, layer{ifMissing, tree{"a.txt": "a", "b.txt": "b"}})
	stopped, stop := context.WithCancelCause(t.Context())
	stop(errors.New("told to stop"))
	if err := layers.Run(stopped, cfg); err == nil || !strings.Contains(err.Error(), "interrupted: told to stop") {
		t.Errorf("%v, want to be interrupted", err)
	}
	if diff := cmp.Diff(tree{"mine.txt": "mine"}, found(t, cfg.DataDir)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if err := layers.Run(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(tree{"mine.txt": "mine", "a.txt": "a", "b.txt": "b"}, found(t, cfg.DataDir)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
