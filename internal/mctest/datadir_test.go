// SPDX-License-Identifier: Apache-2.0

package mctest

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spawnery/spawnery-operator/internal/agent/serverspec"
	"github.com/spawnery/spawnery-operator/internal/gameconfig"
	"github.com/spawnery/spawnery-operator/internal/msmp"
)

const testSecret = "0123456789abcdefghijABCDEFGHIJ9876543210"

func dataDirectory(t *testing.T, files map[string]string) string {
	t.Helper()
	directory := t.TempDir()
	for name, content := range files {
		path := filepath.Join(directory, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return directory
}

func noVariables(string) string { return "" }

func TestServerWithoutAnEULAAsksForIt(t *testing.T) {
	directory := t.TempDir()
	for range 2 {
		if _, err := ReadSettings(directory, noVariables); !errors.Is(err, ErrEULA) {
			t.Fatalf("got %v", err)
		}
	}
	if err := os.WriteFile(filepath.Join(directory, eulaFile), []byte("eula=TRUE\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadSettings(directory, noVariables); err != nil {
		t.Fatal(err)
	}
}

func TestDefaultsAreThoseOfTheGame(t *testing.T) {
	directory := dataDirectory(t, map[string]string{eulaFile: "eula=true"})
	want := Settings{
		Address: ":25565", MaxPlayers: 20, Threshold: 256, Authentication: Online,
		Directory: filepath.Join(directory, "world"), Operators: filepath.Join(directory, operatorsFile),
	}
	for range 2 {
		got, err := ReadSettings(directory, noVariables)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Fatalf("%v %s", err, diff)
		}
	}
	written, err := readProperties(filepath.Join(directory, propertiesFile))
	if err != nil {
		t.Fatal(err)
	}
	if err := msmp.ValidSecret(written.get("management-server-secret", "")); err != nil {
		t.Fatal(err)
	}
	if written.get("server-port", "") != "25565" || written.get("management-server-tls-enabled", "") != "true" {
		t.Fatalf("got %v", written)
	}
}

func TestFilesAreUnderstoodAsARealServerDoes(t *testing.T) {
	const velocity = "proxies:\n  velocity:\n    enabled: true\n    online-mode: true\n    secret: from file\n"
	for name, tc := range map[string]struct {
		properties, paper, variable string
		want                        func(*Settings)
	}{
		"a server behind a proxy": {
			"server-port=25570\nonline-mode=false\nmax-players=50\nlevel-name=hub\nserver-ip=127.0.0.1\n", velocity, "",
			func(s *Settings) {
				s.Address, s.Authentication, s.MaxPlayers = "127.0.0.1:25570", Offline, 50
				s.Directory, s.ForwardingSecret = "hub", "from file"
			},
		},
		"the variable wins":               {"", velocity, "from variable", func(s *Settings) { s.ForwardingSecret = "from variable" }},
		"the variable alone does nothing": {"", "", "from variable", func(*Settings) {}},
		"forwarding without a secret":     {"", "proxies: {velocity: {enabled: true, secret: ''}}", "", func(*Settings) {}},
		"no number":                       {"max-players=many\nserver-port=", "", "", func(*Settings) {}},
		"everything is compressed":        {"network-compression-threshold=0", "", "", func(s *Settings) { s.Threshold = 1 }},
		"nothing is compressed":           {"network-compression-threshold=-1", "", "", func(s *Settings) { s.Threshold = -1 }},
		"no status":                       {"enable-status=false", "", "", func(s *Settings) { s.Status = IgnoreStatus }},
		"management": {
			"management-server-enabled=true\nmanagement-server-port=25585\nmanagement-server-tls-enabled=false\nmanagement-server-secret=" + testSecret, "", "",
			func(s *Settings) {
				s.Management = &ManagementSettings{Address: "localhost:25585", Secret: testSecret}
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			files := map[string]string{eulaFile: "eula=true", propertiesFile: tc.properties}
			if tc.paper != "" {
				files[paperFile] = tc.paper
			}
			directory := dataDirectory(t, files)
			want := Settings{Address: ":25565", MaxPlayers: 20, Threshold: 256, Authentication: Online, Directory: "world"}
			tc.want(&want)
			want.Directory, want.Operators = filepath.Join(directory, want.Directory), filepath.Join(directory, operatorsFile)
			got, err := ReadSettings(directory, func(name string) string {
				if name == forwardingVariable {
					return tc.variable
				}
				return ""
			})
			if diff := cmp.Diff(want, got); diff != "" || err != nil {
				t.Fatalf("%v %s", err, diff)
			}
		})
	}
}

func TestServerRefusesToStartWhereARealOneDoes(t *testing.T) {
	const enabled = "management-server-enabled=true\nmanagement-server-tls-enabled=false\nmanagement-server-secret="
	for name, tc := range map[string]struct{ properties, paper, want string }{
		"a short secret":               {enabled + "abc", "", "has 3 characters, want exactly 40"},
		"a secret with a dash":         {enabled + strings.Replace(testSecret, "a", "-", 1), "", "something other than letters and digits"},
		"TLS, the default, and no key": {"management-server-enabled=true\n", "", "management-server-tls-keystore is empty"},
		"TLS with a key":               {"management-server-enabled=true\nmanagement-server-tls-keystore=k.p12\n", "", "has no TLS"},
		"broken YAML":                  {"", "proxies: [", "read config/paper-global.yml"},
	} {
		t.Run(name, func(t *testing.T) {
			files := map[string]string{eulaFile: "eula=true", propertiesFile: tc.properties}
			if tc.paper != "" {
				files[paperFile] = tc.paper
			}
			if _, err := ReadSettings(dataDirectory(t, files), noVariables); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Fatalf("got %v, want %q", err, tc.want)
			}
		})
	}
}

// What the agent prepares is what a server must be able to start with, behind
// a proxy and managed.
func TestPreparedDirectoryStartsTheServer(t *testing.T) {
	spec := serverspec.Spec{
		Server: "lobby-abcde", Group: "lobby", Flavor: serverspec.FlavorPaper, Forwarding: serverspec.ForwardingVelocity,
		Port: 25565, MaxPlayers: 50, OnlineMode: true, AcceptEULA: true,
	}
	files, err := gameconfig.Files(spec, gameconfig.Secrets{Management: testSecret, Forwarding: "f0rward: #ing"}, gameconfig.Overlays{})
	if err != nil {
		t.Fatal(err)
	}
	contents := make(map[string]string)
	for _, file := range files {
		content, err := file.Merge(nil)
		if err != nil {
			t.Fatal(err)
		}
		if content != nil {
			contents[file.Path] = string(content)
		}
	}
	got, err := ReadSettings(dataDirectory(t, contents), noVariables)
	if err != nil {
		t.Fatal(err)
	}
	if got.Authentication != Offline || got.MaxPlayers != 50 || got.ForwardingSecret != "f0rward: #ing" || got.Threshold != gameconfig.CompressionThreshold {
		t.Fatalf("got %+v", got)
	}
	if got.Management == nil || got.Management.Secret != testSecret {
		t.Fatalf("got %+v", got.Management)
	}
}

func TestConsoleRunsTheCommandsOfAServer(t *testing.T) {
	log := &lockedLog{}
	s := startServer(t, Settings{Log: log})
	b := joinBot(t, BotSettings{Address: s.Address(), Name: "player"})
	onServer(t, b)
	for _, line := range []string{"list", "say hello", "kick nobody", "dance", "", "help", "save-all", "kick player"} {
		s.Console(line)
	}
	<-b.Done()
	if lines := strings.Join(b.Lines(), "\n"); !strings.Contains(lines, "[Server] hello") {
		t.Fatalf("the player read %s", lines)
	}
	s.Console("stop")
	<-s.Done()
	for _, want := range []string{
		"There are 1 of a max of 20 players online: player", "no player nobody is online", "Unknown or incomplete command",
		"stop, list", "Saved the game", "player left the game", "Stopping the server",
	} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log lacks %q:\n%s", want, log.String())
		}
	}
}
