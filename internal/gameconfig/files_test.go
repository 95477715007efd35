// SPDX-License-Identifier: Apache-2.0

package gameconfig_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spawnery/spawnery-operator/internal/agent/serverspec"
	"github.com/spawnery/spawnery-operator/internal/gameconfig"
)

var update = flag.Bool("update", false, "write the golden files anew")

var secrets = gameconfig.Secrets{
	Management: strings.Repeat("Ma3", 13) + "z",
	Forwarding: `for"war:ding #secret`,
}

// golden are the servers whose files are kept in testdata, each beginning with
// what its directory existing holds.
func golden() map[string]serverspec.Spec {
	paper := lobby()
	paper.AcceptEULA = true

	owned := lobby()
	owned.Server, owned.Group, owned.Ordinal = "survival-0", "survival", new(int32(0))
	owned.Port, owned.MaxPlayers, owned.AcceptEULA = 25566, 20, true
	owned.Properties = map[string]string{"difficulty": "hard", "level-seed": " 42 "}

	unforwarded := owned
	unforwarded.Forwarding, unforwarded.Properties = serverspec.ForwardingNone, nil

	vanilla := lobby()
	vanilla.Flavor, vanilla.Forwarding, vanilla.OnlineMode = serverspec.FlavorVanilla, serverspec.ForwardingNone, false

	custom := lobby()
	custom.Flavor = serverspec.FlavorCustom

	fabric := lobby()
	fabric.Flavor = serverspec.FlavorFabric
	fabricUnforwarded := fabric
	fabricUnforwarded.Forwarding = serverspec.ForwardingNone
	return map[string]serverspec.Spec{
		"paper": paper, "paper-owned": owned, "paper-unforwarded": unforwarded, "paper-1.19": lobby(),
		"purpur": lobby(), "folia": lobby(),
		"vanilla": vanilla, "custom": custom,
		"fabric": fabric, "fabric-owned": fabric, "fabric-unforwarded": fabricUnforwarded,
		"fabric-sparse": fabric, "fabric-nested": fabric,
	}
}

// render merges the files of a server over those in a directory, and returns
// all that lies there then.
func render(t *testing.T, spec serverspec.Spec, existing string) map[string]string {
	t.Helper()
	files, err := gameconfig.Files(spec, secrets, gameconfig.Overlays{})
	if err != nil {
		t.Fatal(err)
	}
	rendered := map[string]string{}
	if _, err := os.Stat(existing); err == nil {
		rendered = readTree(t, existing)
	}
	for _, file := range files {
		before, err := os.ReadFile(filepath.Join(existing, file.Path))
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		after, err := file.Merge(before)
		if err != nil {
			t.Fatal(err)
		}
		again, err := file.Merge(after)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(after), string(again)); diff != "" {
			t.Errorf("%s changes when it is merged again (-first +second):\n%s", file.Path, diff)
		}
		if after != nil {
			rendered[file.Path] = string(after)
		}
	}
	return rendered
}

func TestFilesOfEachFlavor(t *testing.T) {
	for name, spec := range golden() {
		t.Run(name, func(t *testing.T) {
			want := filepath.Join("testdata", name, "want")
			got := render(t, spec, filepath.Join("testdata", name, "existing"))
			if *update {
				writeTree(t, want, got)
			}
			if diff := cmp.Diff(readTree(t, want), got); diff != "" {
				t.Errorf("files (-want +got):\n%s", diff)
			}
		})
	}
}

func writeTree(t *testing.T, root string, files map[string]string) {
	t.Helper()
	if err := os.RemoveAll(root); err != nil {
		t.Fatal(err)
	}
	for path, content := range files {
		target := filepath.Join(root, path)
		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(target, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func readTree(t *testing.T, root string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(root, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(root, path)
		files[filepath.ToSlash(relative)] = string(content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestAFileThatCannotBeMergedIsNamedWithItsKey(t *testing.T) {
	tests := map[string]struct {
		path, existing, want string
	}{
		"a scalar where a section belongs": {
			"config/paper-global.yml", "proxies:\n  velocity: on\n",
			"config/paper-global.yml: proxies.velocity must hold settings of its own, found something else in line 2",
		},
		"a list where a section belongs": {
			"config/paper-global.yml", "proxies:\n- a\n",
			"config/paper-global.yml: proxies must hold settings of its own, found something else in line 2",
		},
		"a file that is a list": {
			"config/paper-global.yml", "- a\n",
			"config/paper-global.yml: the file must hold settings of its own, found something else in line 1",
		},
		"a section where the mod's secret belongs": {
			"config/FabricProxy-Lite.toml", "[secret]\na = 1\n",
			"config/FabricProxy-Lite.toml: secret must be one value, found several",
		},
		"TOML that is none": {
			"config/FabricProxy-Lite.toml", "hackOnlineMode = true\nsecret = a b\n",
			"config/FabricProxy-Lite.toml: it is not valid TOML in line 2: ",
		},
		"a tab in YAML": {
			"config/paper-global.yml", "proxies:\n\tvelocity: {}\n",
			"config/paper-global.yml: it is not valid YAML: ",
		},
		"a broken escape": {
			"server.properties", "motd=\\u12\n",
			"server.properties: it cannot be read: ",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			spec := lobby()
			if strings.HasSuffix(test.path, ".toml") {
				spec.Flavor = serverspec.FlavorFabric
			}
			files, err := gameconfig.Files(spec, secrets, gameconfig.Overlays{})
			if err != nil {
				t.Fatal(err)
			}
			for _, file := range files {
				if file.Path != test.path {
					continue
				}
				if _, err := file.Merge([]byte(test.existing)); err == nil || !strings.HasPrefix(err.Error(), test.want) {
					t.Errorf("Merge() = %v, want %q", err, test.want)
				}
				return
			}
			t.Fatalf("no file %s", test.path)
		})
	}
}

func TestOperationalKeysAreRefusedWithTheFieldToUse(t *testing.T) {
	for _, refusal := range gameconfig.RefusedProperties() {
		key := strings.ReplaceAll(refusal.Name, "*", "secret")
		err := gameconfig.CheckProperties(map[string]string{"motd": "x", key: "1"})
		want := key + " cannot be set in spec.server.properties: " + refusal.Instead
		if err == nil || err.Error() != want {
			t.Errorf("CheckProperties(%s) = %v, want %q", key, err, want)
		}
	}
	if err := gameconfig.CheckProperties(map[string]string{"hide-online-players": "true"}); err != nil {
		t.Errorf("CheckProperties(hide-online-players) = %v, want none", err)
	}
}

func TestEveryFixedPropertyIsRefusedFromTheOwner(t *testing.T) {
	fresh := render(t, lobby(), t.TempDir())["server.properties"]
	for line := range strings.Lines(fresh) {
		key, _, _ := strings.Cut(line, "=")
		free := key == "motd" || key == "enforce-secure-profile"
		err := gameconfig.CheckProperties(map[string]string{key: "1"})
		if free != (err == nil) {
			t.Errorf("CheckProperties(%s) = %v", key, err)
		}
	}
}

func TestSecretsThatTheGameWouldDieOfAreRefused(t *testing.T) {
	tests := map[string]struct {
		secrets gameconfig.Secrets
		want    string
	}{
		"a short management secret": {gameconfig.Secrets{Management: "abc", Forwarding: "x"}, "server.properties: management-server-secret"},
		"no forwarding secret":      {gameconfig.Secrets{Management: secrets.Management}, "the forwarding secret is empty"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if _, err := gameconfig.Files(lobby(), test.secrets, gameconfig.Overlays{}); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("Files() = %v, want %q", err, test.want)
			}
		})
	}
}
