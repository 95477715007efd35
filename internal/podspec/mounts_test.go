// SPDX-License-Identifier: Apache-2.0

package podspec_test

import (
	"strings"
	"testing"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/agent/serverspec"
	"github.com/spawnery/spawnery-operator/internal/gameconfig"
	"github.com/spawnery/spawnery-operator/internal/podspec"
)

func TestMountsNeverHideWhatIsTheOperators(t *testing.T) {
	tests := map[string]struct {
		dataDir string
		mounts  []string
		want    string
	}{
		"a plugin's settings":                    {"", []string{"/data/plugins/Greeter/config.yml"}, ""},
		"a neighbour of the data":                {"", []string{"/data2", "/database"}, ""},
		"another file beside Paper's":            {"", []string{"/data/config/paper-world-defaults.yml"}, ""},
		"a secret beside ours":                   {"", []string{"/var/run/secrets/database"}, ""},
		"something temporary":                    {"", []string{"/tmp/seed"}, ""},
		"a directory for the data":               {"/srv/world", []string{"/data/server.properties"}, ""},
		"the data":                               {"", []string{"/data"}, "mount /data: it would hide /data, which the game writes to"},
		"the data, in other words":               {"", []string{"/data/"}, "mount /data: it would hide /data, which the game writes to"},
		"what the data lies in":                  {"/srv/world", []string{"/srv"}, "mount /srv: it would hide /srv/world, which the game writes to"},
		"everything":                             {"", []string{"/"}, "mount /: /spawnery belongs to the operator"},
		"temporary files":                        {"", []string{"/tmp"}, "mount /tmp: it would hide /tmp, which the game writes to"},
		"a prepared file":                        {"", []string{"/data/server.properties"}, "mount /data/server.properties: it would hide /data/server.properties, which the operator prepares"},
		"what a prepared file lies in":           {"/srv/w", []string{"/srv/w/config"}, "mount /srv/w/config: it would hide /srv/w/config/paper-global.yml, which the operator prepares"},
		"the file of a mod that is not prepared": {"", []string{"/data/config/FabricProxy-Lite.toml"}, ""},
		"the operator's directory":               {"", []string{"/spawnery/x"}, "mount /spawnery/x: /spawnery belongs to the operator"},
		"the token":                              {"", []string{"/var/run/secrets/spawnery"}, "mount /var/run/secrets/spawnery: /var/run/secrets/spawnery belongs to the operator"},
		"what the secrets lie in":                {"", []string{"/etc"}, "mount /etc: /etc/spawnery belongs to the operator"},
		"one place twice":                        {"", []string{"/a", "/a/"}, "mount /a: something else is mounted there already"},
		"no absolute path":                       {"", []string{"data/x"}, "mount data/x: the path must be absolute"},
		"data where the agent's program is":      {"/agent", nil, "server.dataDir /agent: /agent belongs to the operator"},
		"data where secrets are":                 {"/run/spawnery/x", nil, "server.dataDir /run/spawnery/x: /run/spawnery belongs to the operator"},
		"data where temporary files are":         {"/tmp", nil, "server.dataDir /tmp: /tmp is a volume of its own"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			group := load[v1alpha1.ServerGroup](t, "lobby")
			group.Spec.Server.DataDir = test.dataDir
			for _, path := range test.mounts {
				group.Spec.Mounts = append(group.Spec.Mounts, v1alpha1.Mount{MountPath: path})
			}
			got := ""
			if err := podspec.ValidateMounts(group); err != nil {
				got = err.Error()
			}
			compare(t, test.want, got)
		})
	}
}

func TestEveryWrongMountIsNamed(t *testing.T) {
	group := load[v1alpha1.ServerGroup](t, "lobby")
	group.Spec.Mounts = []v1alpha1.Mount{{MountPath: "/tmp"}, {MountPath: "/fine"}, {MountPath: "/data"}}
	err := podspec.ValidateMounts(group)
	if err == nil || !strings.Contains(err.Error(), "mount /tmp") || !strings.Contains(err.Error(), "mount /data") {
		t.Errorf("ValidateMounts() = %v, want both wrong mounts", err)
	}
}

func TestNoFileTheAgentWritesCanBeMountedOver(t *testing.T) {
	spec := serverspec.Spec{Flavor: serverspec.FlavorPaper, Forwarding: serverspec.ForwardingVelocity, AcceptEULA: true}
	secrets := gameconfig.Secrets{Management: strings.Repeat("x", gameconfig.ManagementSecretLength), Forwarding: "x"}
	for _, spec.Flavor = range []serverspec.Flavor{serverspec.FlavorPaper, serverspec.FlavorVanilla, serverspec.FlavorFabric, serverspec.FlavorCustom} {
		files, err := gameconfig.Files(spec, secrets, gameconfig.Overlays{})
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			group := load[v1alpha1.ServerGroup](t, "lobby")
			group.Spec.Server.Flavor = v1alpha1.Flavor(spec.Flavor)
			group.Spec.Mounts = []v1alpha1.Mount{{MountPath: "/data/" + file.Path}}
			if err := podspec.ValidateMounts(group); err == nil {
				t.Errorf("%s can be mounted over", file.Path)
			}
		}
	}
}

func TestAMountDoesNotHideWhatAnOverlayWrites(t *testing.T) {
	for mount, want := range map[string]string{
		"/data/plugins/Shop/lang":       "",
		"/data/plugins/Shop":            "mount /data/plugins/Shop: it would hide /data/plugins/Shop/config.yml, which the operator prepares",
		"/data/plugins/Shop/config.yml": "mount /data/plugins/Shop/config.yml: it would hide /data/plugins/Shop/config.yml, which the operator prepares",
	} {
		group := load[v1alpha1.ServerGroup](t, "overlaid")
		group.Spec.Mounts = []v1alpha1.Mount{{MountPath: mount}}
		got := ""
		if err := podspec.ValidateMounts(group); err != nil {
			got = err.Error()
		}
		compare(t, want, got)
	}
}
