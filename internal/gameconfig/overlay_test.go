// SPDX-License-Identifier: Apache-2.0

package gameconfig_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spawnery/spawnery-operator/internal/agent/serverspec"
	"github.com/spawnery/spawnery-operator/internal/gameconfig"
)

// overlay is one file of the ConfigMap tuning.
func overlay(path, content string) gameconfig.Overlay {
	return gameconfig.Overlay{
		OverlayFile: serverspec.OverlayFile{ConfigMap: "tuning", Key: "file", Path: path}, Content: []byte(content),
	}
}

// overlaid merges one overlay, twice, over what exists; nil is no file.
func overlaid(t *testing.T, spec serverspec.Spec, files []gameconfig.Overlay, existing []byte) (string, error) {
	t.Helper()
	values, err := gameconfig.PlaceholderValues(spec, variables)
	if err != nil {
		t.Fatal(err)
	}
	merged, err := gameconfig.Files(spec, secrets, gameconfig.Overlays{Files: files, Values: values})
	if err != nil {
		return "", err
	}
	at := slices.IndexFunc(merged, func(file gameconfig.File) bool { return file.Path == files[0].Path })
	first, err := merged[at].Merge(existing)
	if err != nil {
		return "", err
	}
	second, err := merged[at].Merge(first)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(first), string(second)); diff != "" {
		t.Errorf("%s changes when it is merged again (-first +second):\n%s", files[0].Path, diff)
	}
	if !merged[at].Overlaid {
		t.Error("the file does not say that its path is the owner's")
	}
	return string(first), nil
}

func variables(name string) (string, bool) {
	values := map[string]string{"PASSWORD": "it's: a \"#${SPAWNERY_GROUP}\n[x]", "PORT": "3306", "EMPTY": ""}
	value, found := values[name]
	return value, found
}

// survival is a server of a persistent group whose overlays may use variables.
func survival() serverspec.Spec {
	spec := lobby()
	spec.Server, spec.Group, spec.Ordinal = "survival-2", "survival", new(int32(2))
	spec.OverlayEnv = []string{"PASSWORD", "PORT", "EMPTY"}
	return spec
}

func TestAnOverlayIsMergedByWhatTheFileIs(t *testing.T) {
	tests := map[string]struct{ path, existing, over, want string }{
		"YAML: maps merge, lists replace, comments stay": {
			"spigot.yml",
			"# mine\nsettings:\n  debug: false # quiet\n  bungeecord: false\nplayers: [a, b]\nempty: {}\n",
			"settings:\n  debug: true\n  timeout-time: 90 # slow disks\nplayers:\n- c\nempty: {a: 1}\n",
			"# mine\nsettings:\n  debug: true # quiet\n  bungeecord: false\n  timeout-time: 90 # slow disks\nplayers:\n  - c\nempty:\n  a: 1\n",
		},
		"YAML that says the same changes no byte": {
			"spigot.yml", "a:   {b: 'x', c: [1,  2]}\n", "a: {c: [1, 2], b: \"x\"}\n", "a:   {b: 'x', c: [1,  2]}\n",
		},
		"YAML: a section in the place of a value": {
			"a.yaml", "a: 1\nb: 2\n", "a:\n  c: 1\n", "a:\n  c: 1\nb: 2\n",
		},
		"YAML: what is no map is replaced whole": {"list.yml", "- a\n- b\n", "- c\n", "- c\n"},
		"TOML: tables merge, arrays replace, comments stay": {
			"config/voicechat.toml",
			"# mine\nport = 24454 # UDP\nhosts = [\n  \"a\", # first\n]\n[codec]\nkind = \"VOIP\"\n\n[limits]\nmtu = 1024\n",
			"port = 24455\nhosts = [\"b\"]\n[codec]\nrate = 48000\n[new.table]\nx = true\n",
			"# mine\nport = 24455 # UDP\nhosts = ['b']\n[codec]\nkind = \"VOIP\"\nrate = 48000\n\n[limits]\nmtu = 1024\n\n[new.table]\nx = true\n",
		},
		"TOML that says the same changes no byte": {"a.toml", "a='x' # y\n", "a = \"x\"\n", "a='x' # y\n"},
		"TOML in one line is written anew": {
			"a.toml", "# mine\na = {b = 1}\n", "[a]\nc = 2\n", "[a]\nb = 1\nc = 2\n",
		},
		"TOML: a quoted key": {"a.toml", "\"a b\" = 1 # one\n", "\"a b\" = 2\n\"c.d\" = 3\n", "\"a b\" = 2 # one\n'c.d' = 3\n"},
		"JSON: objects merge, arrays replace": {
			"config/mod.json", `{"a": {"b": 1, "c": [1, 2]}, "big": 12345678901234567890}`, `{"a": {"c": [3], "d": "<x>"}}`,
			"{\n  \"a\": {\n    \"b\": 1,\n    \"c\": [\n      3\n    ],\n    \"d\": \"<x>\"\n  },\n  \"big\": 12345678901234567890\n}\n",
		},
		"JSON that says the same changes no byte": {"a.json", `{"a":1, "b": [ ]}`, `{"b": []}`, `{"a":1, "b": [ ]}`},
		"JSON: a list is replaced whole":          {"ops.json", `[{"name": "a"}]`, `[]`, `[]`},
		"properties: key by key": {
			"config/x.properties", "# mine\na=1\nb=2\n", "b = 3\nc=${SPAWNERY_SERVER}\n", "#mine\na=1\nb=3\nc=survival-2\n",
		},
		"anything else is replaced whole": {"motd.txt", "old\n", "Welcome to ${SPAWNERY_GROUP} $${x}!", "Welcome to survival ${x}!"},
		"what is no text is left alone":   {"server-icon.png", "", "\x89PNG\x00${FOO}", "\x89PNG\x00${FOO}"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := overlaid(t, survival(), []gameconfig.Overlay{overlay(test.path, test.over)}, []byte(test.existing))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", test.path, diff)
			}
		})
	}
}

// A value is put into what was parsed, so none can be taken for syntax.
func TestPlaceholdersAreReplacedWhateverTheValueHolds(t *testing.T) {
	tests := map[string]struct{ path, over, want string }{
		"YAML": {
			"plugins/LuckPerms/config.yml",
			"# kept: $${x}\nserver: ${SPAWNERY_SERVER}\n\"${SPAWNERY_GROUP}\": ${SPAWNERY_ORDINAL}\n" +
				"data:\n  password: ${env:PASSWORD}\n  port: ${env:PORT}\n  text: \"${env:PORT}\"\n  none: ${env:EMPTY}\n  raw: $${a} $1\n",
			"# kept: $${x}\nserver: survival-2\n\"survival\": 2\ndata:\n  password: |-\n    it's: a \"#${SPAWNERY_GROUP}\n    [x]\n" +
				"  port: 3306\n  text: \"3306\"\n  none: \"\"\n  raw: ${a} $1\n",
		},
		"TOML": {
			"a.toml", "# mine\nname = \"${SPAWNERY_SERVER}\" # who\npass = \"${env:PASSWORD}\"\n",
			"# mine\nname = 'survival-2' # who\npass = \"it's: a \\\"#${SPAWNERY_GROUP}\\n[x]\"\n",
		},
		"a key of TOML": {"a.toml", "\"${SPAWNERY_GROUP}\" = 1\n", "survival = 1\n"},
		"a key of JSON": {"a.json", `{"${SPAWNERY_GROUP}": 1}`, "{\n  \"survival\": 1\n}\n"},
		"JSON": {
			"a.json", `{"p": ["${env:PASSWORD}"], "n": 1}`,
			"{\n  \"n\": 1,\n  \"p\": [\n    \"it's: a \\\"#${SPAWNERY_GROUP}\\n[x]\"\n  ]\n}\n",
		},
		"properties": {"a.properties", "p=${env:PASSWORD}\n", "p=it's: a \"#${SPAWNERY_GROUP}\\n[x]\n"},
		"text":       {"a.txt", "$$${env:PORT}", "$${env:PORT}"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := overlaid(t, survival(), []gameconfig.Overlay{overlay(test.path, test.over)}, nil)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", test.path, diff)
			}
		})
	}
}

func TestOfTwoOverlaysTheLaterWins(t *testing.T) {
	got, err := overlaid(t, lobby(), []gameconfig.Overlay{
		overlay("bukkit.yml", "a: 1\nb: 1\n"), overlay("bukkit.yml", "b: 2\nc: 2\n"),
	}, []byte("b: 0\nz: 0\n"))
	if want := "b: 2\nz: 0\na: 1\nc: 2\n"; err != nil || got != want {
		t.Errorf("got %q (%v), want %q", got, err, want)
	}
}

func TestAnOverlayWinsOverPropertiesAndTheOperatorOverBoth(t *testing.T) {
	spec := lobby()
	spec.Properties = map[string]string{"difficulty": "easy", "view-distance": "6"}
	got, err := overlaid(t, spec, []gameconfig.Overlay{overlay("server.properties", "difficulty=hard\nmotd=Lobby ${SPAWNERY_SERVER}\n")}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"difficulty=hard\n", "view-distance=6\n", "motd=Lobby lobby-ab2c\n", "online-mode=false\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("server.properties lacks %q:\n%s", want, got)
		}
	}
}

func TestAnOverlayOfAPreparedFileKeepsWhatWasPrepared(t *testing.T) {
	fabric := lobby()
	fabric.Flavor = serverspec.FlavorFabric
	tests := map[string]struct {
		spec             serverspec.Spec
		path, over, want string
	}{
		"Paper": {
			lobby(), "config/paper-global.yml", "proxies:\n  bungee-cord: {online-mode: false}\nwatchdog: {early-warning-every: 1}\n",
			"proxies:\n  velocity:\n    enabled: true\n    online-mode: true\n    secret: \"for\\\"war:ding #secret\"\n  bungee-cord: {online-mode: false}\nwatchdog: {early-warning-every: 1}\n",
		},
		"Fabric": {
			fabric, "config/FabricProxy-Lite.toml", "hackEarlySend = true\n",
			"secret = 'for\"war:ding #secret'\nhackEarlySend = true\n",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := overlaid(t, test.spec, []gameconfig.Overlay{overlay(test.path, test.over)}, nil)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", test.path, diff)
			}
		})
	}
}

func TestAFaultOfAnOverlayIsNamedWithFileKeyAndLine(t *testing.T) {
	tests := map[string]struct{ path, existing, over, want string }{
		"an unknown placeholder": {
			"spigot.yml", "", "a: 1\nb: ${SERVER}\n",
			"spigot.yml (key file of the ConfigMap tuning): line 2: ${SERVER} is no placeholder; " +
				"there are ${SPAWNERY_GROUP}, ${SPAWNERY_SERVER}; write $${ for the characters themselves",
		},
		"one in a comment": {"a.toml", "", "a = 1\n\n# ${x}\n", "a.toml (key file of the ConfigMap tuning): line 3: ${x} is no placeholder"},
		"a variable that is not listed": {
			"a.json", "", "{\n\"a\": \"${env:HOME}\"}",
			"a.json (key file of the ConfigMap tuning): line 2: ${env:HOME}: list HOME in spec.server.overlayEnv",
		},
		"an ordinal in an ephemeral group": {
			"a.txt", "", "${SPAWNERY_ORDINAL}", "a.txt (key file of the ConfigMap tuning): line 1: ${SPAWNERY_ORDINAL} has a value in Persistent groups only",
		},
		"one without an end": {
			"a.properties", "", "a=1\nb=${SPAWNERY_SERVER\nc=}", "a.properties (key file of the ConfigMap tuning): line 2: ${ begins a placeholder that does not end",
		},
		"one that an escape hides": {
			"a.json", "", `{"a": "\u0024{FOO}"}`, "a.json (key file of the ConfigMap tuning): a: ${FOO} is no placeholder",
		},
		"YAML that is none": {"a.yml", "", "a: [\n", "a.yml (key file of the ConfigMap tuning): it is not valid YAML: "},
		"TOML that is none": {"a.toml", "", "a = 1\nb\n", "a.toml (key file of the ConfigMap tuning): it is not valid TOML in line 2: "},
		"JSON that is none": {"a.json", "", "{\n\"a\": 1,\n}\n", "a.json (key file of the ConfigMap tuning): it is not valid JSON in line 3: "},
		"JSON with more behind it": {
			"a.json", "", "{} {}", "a.json (key file of the ConfigMap tuning): it is not valid JSON: something follows its end",
		},
		"an existing file that cannot be read": {
			"a.json", "// JSON5\n{}", "{}", "a.json (key file of the ConfigMap tuning): the file that exists: it is not valid JSON",
		},
		"several documents": {
			"a.yml", "a: 1\n---\nb: 1\n", "a: 2\n", "a.yml (key file of the ConfigMap tuning): the file that exists: a file of several documents cannot be merged",
		},
		"an anchor": {"a.yml", "", "a: &x 1\nb: *x\n", "a.yml (key file of the ConfigMap tuning): line 1: anchors and aliases are not merged; write the values out"},
		"an alias that exists": {
			"a.yml", "a: &x {b: 1}\nc: *x\n", "c: {b: 2}\n", "a.yml (key file of the ConfigMap tuning): line 2 of the file that exists is an alias, which cannot be merged into",
		},
		"a key of several words": {"a.yml", "", "? [a]\n: 1\n", "a.yml (key file of the ConfigMap tuning): line 1: a key must be one word"},
		"the EULA":               {"eula.txt", "", "eula=true", "configOverlay: eula.txt belongs to the operator: use spec.server.acceptEula"},
		"a path that leads out":  {"../x", "", "", "configOverlay: ../x must be a path within the data directory"},
		"a path by detours":      {"./server.properties", "", "", "configOverlay: ./server.properties must be a path within"},
		"an absolute path":       {"/etc/passwd", "", "", "configOverlay: /etc/passwd must be a path within"},
		"the directory itself":   {".", "", "", "configOverlay: . must be a path within"},
		"our own files":          {".spawnery-write-test", "", "", "configOverlay: .spawnery-write-test: names with .spawnery- belong to the operator"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var existing []byte
			if test.existing != "" {
				existing = []byte(test.existing)
			}
			got, err := overlaid(t, lobby(), []gameconfig.Overlay{overlay(test.path, test.over)}, existing)
			if err == nil || !strings.HasPrefix(err.Error(), test.want) {
				t.Errorf("got %q, %v, want %q", got, err, test.want)
			}
		})
	}
}

func TestAVariableThatIsMissingIsNamed(t *testing.T) {
	spec := lobby()
	spec.OverlayEnv = []string{"MISSING"}
	_, err := gameconfig.PlaceholderValues(spec, variables)
	if err == nil || err.Error() != "spec.server.overlayEnv lists MISSING, which the container does not have: spec.env must set it" {
		t.Errorf("got %v", err)
	}
}

func TestOperationalKeysAreNotOverlaid(t *testing.T) {
	tests := map[string]struct {
		flavor           serverspec.Flavor
		path, over, want string
	}{
		"the secret of Paper":     {serverspec.FlavorPaper, "config/paper-global.yml", "proxies: {velocity: {secret: a}}", "proxies.velocity.secret cannot be set by spec.configOverlay: use forwardingSecretRef of the Network"},
		"the mode of Paper":       {serverspec.FlavorPaper, "config/paper-global.yml", "proxies: {velocity: {online-mode: true}}", "proxies.velocity.online-mode cannot be set by spec.configOverlay: use onlineMode of the Network"},
		"forwarding of Paper":     {serverspec.FlavorPaper, "config/paper-global.yml", "proxies: {velocity: {enabled: true}}", "proxies.velocity.enabled cannot be set by spec.configOverlay: use spec.server.forwarding"},
		"its section, emptied":    {serverspec.FlavorPaper, "config/paper-global.yml", "proxies: {velocity: }", "proxies.velocity cannot be set by spec.configOverlay"},
		"what its section is in":  {serverspec.FlavorPaper, "config/paper-global.yml", "proxies: []", "proxies cannot be set by spec.configOverlay"},
		"something below the key": {serverspec.FlavorPaper, "config/paper-global.yml", "proxies: {velocity: {secret: {a: 1}}}", "proxies.velocity.secret.a cannot be set by spec.configOverlay"},
		"a key that stands twice": {serverspec.FlavorPaper, "config/paper-global.yml", "proxies: {bungee-cord: {online-mode: true}, velocity: {enabled: false}}", "proxies.velocity.enabled cannot be set"},
		"the whole file":          {serverspec.FlavorPaper, "config/paper-global.yml", "- a\n", "it must hold settings of its own, found something else in line 1"},
		"a merge key":             {serverspec.FlavorPaper, "config/paper-global.yml", "<<: {proxies: {velocity: {enabled: false}}}", "<<.proxies.velocity.enabled is a key of no version"},
		"the secret of Fabric":    {serverspec.FlavorFabric, "config/FabricProxy-Lite.toml", "secret = 'a'", "secret cannot be set by spec.configOverlay: use forwardingSecretRef of the Network"},
		"an escaped property":     {serverspec.FlavorPaper, "server.properties", "online\\-mode=true", "online-mode cannot be set by spec.configOverlay"},
	}
	for _, refusal := range gameconfig.RefusedProperties() {
		key := strings.ReplaceAll(refusal.Name, "*", "port")
		tests["the property "+key] = struct {
			flavor           serverspec.Flavor
			path, over, want string
		}{serverspec.FlavorVanilla, "server.properties", key + "=1", key + " cannot be set by spec.configOverlay: " + refusal.Instead}
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			spec := lobby()
			spec.Flavor = test.flavor
			got, err := overlaid(t, spec, []gameconfig.Overlay{overlay(test.path, test.over)}, nil)
			want := test.path + " (key file of the ConfigMap tuning): " + test.want
			if err == nil || !strings.HasPrefix(err.Error(), want) {
				t.Errorf("got %q, %v, want %q", got, err, want)
			}
		})
	}
}

func TestAFileThatTheFlavorDoesNotPrepareIsTheOwners(t *testing.T) {
	unforwarded := lobby()
	unforwarded.Flavor, unforwarded.Forwarding = serverspec.FlavorFabric, serverspec.ForwardingNone
	custom := lobby()
	custom.Flavor = serverspec.FlavorCustom
	for name, test := range map[string]struct {
		spec       serverspec.Spec
		path, over string
	}{
		"a custom image's settings of forwarding": {custom, "config/paper-global.yml", "proxies:\n  velocity:\n    secret: mine\nsomething: new\n"},
		"Fabric's mod for other proxies":          {unforwarded, "config/FabricProxy-Lite.toml", "secret = 'mine'\n"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := overlaid(t, test.spec, []gameconfig.Overlay{overlay(test.path, test.over)}, nil)
			if err != nil || got != test.over {
				t.Errorf("got %q, %v, want %q", got, err, test.over)
			}
		})
	}
}

func TestAKeyThatNoVersionHasIsRefusedUnlessItIsAllowedOrThereAlready(t *testing.T) {
	fabric := lobby()
	fabric.Flavor = serverspec.FlavorFabric
	tests := map[string]struct {
		spec                       serverspec.Spec
		path, over, existing, want string
	}{
		"server.properties": {lobby(), "server.properties", "view-distnace=8\n", "view-distnace=6\n", "view-distnace"},
		"Paper": {
			lobby(), "config/paper-global.yml", "watchdog: {early-warning: 1}\n", "watchdog: {early-warning: 2}\n", "watchdog.early-warning",
		},
		"Fabric": {fabric, "config/FabricProxy-Lite.toml", "hackonlinemode = true\n", "hackonlinemode = false\n", "hackonlinemode"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			file := overlay(test.path, test.over)
			_, err := overlaid(t, test.spec, []gameconfig.Overlay{file}, nil)
			want := test.path + " (key file of the ConfigMap tuning): " + test.want + " is a key of no version of the file that this release knows: " +
				"correct it, or set unknownKeys: Allow at its item of spec.configOverlay if the game has it"
			if err == nil || err.Error() != want {
				t.Errorf("got %v, want %q", err, want)
			}
			if _, err := overlaid(t, test.spec, []gameconfig.Overlay{file}, []byte(test.existing)); err != nil {
				t.Errorf("the game wrote the key: %v", err)
			}
			file.UnknownKeys = serverspec.UnknownKeysAllow
			if _, err := overlaid(t, test.spec, []gameconfig.Overlay{file}, nil); err != nil {
				t.Errorf("the owner allowed the key: %v", err)
			}
		})
	}
}

// Folia's file and what prepare itself writes are real, and must be known.
func TestTheListsKnowTheKeysOfRealFiles(t *testing.T) {
	folia, err := os.ReadFile("testdata/folia/existing/config/paper-global.yml")
	if err != nil {
		t.Fatal(err)
	}
	files := []gameconfig.Overlay{overlay("config/paper-global.yml", string(folia))}
	properties, err := os.ReadFile("testdata/vanilla/want/server.properties")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(properties)) {
		files = append(files, overlay("server.properties", line))
	}
	for _, file := range files {
		_, err := overlaid(t, lobby(), []gameconfig.Overlay{file}, nil)
		if err != nil && !strings.Contains(err.Error(), "cannot be set by spec.configOverlay") {
			t.Error(err)
		}
	}
}

func TestTheListsOfKnownKeysAreInOrderAndSayWhereTheyAreFrom(t *testing.T) {
	files, err := filepath.Glob("known/*.txt")
	if err != nil || len(files) != 3 {
		t.Fatalf("%v, %v", files, err)
	}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var keys []string
		for line := range strings.Lines(string(content)) {
			if key, _, _ := strings.Cut(strings.TrimSpace(line), " "); key != "#" {
				keys = append(keys, key)
			}
		}
		if len(keys) != len(slices.Compact(slices.Clone(keys))) || !strings.Contains(string(content), "https://") {
			t.Errorf("%s has a key twice or no source", file)
		}
	}
}
