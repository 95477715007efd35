// SPDX-License-Identifier: Apache-2.0

package serverspec_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spawnery/spawnery-operator/internal/agent/serverspec"
)

func valid() serverspec.Spec {
	return serverspec.Spec{
		Server: "lobby-ab2c", Group: "lobby", Flavor: serverspec.FlavorPaper,
		DataDir: "/data", Port: 25565, MaxPlayers: 50,
		Forwarding: serverspec.ForwardingVelocity, OnlineMode: true,
		GraceSeconds: 60, StopToken: "s",
	}
}

func TestADocumentComesBackAsItWent(t *testing.T) {
	spec := valid()
	spec.Ordinal = new(int32(3))
	spec.Properties = map[string]string{"motd": "§aHello", "difficulty": "hard"}
	document, err := spec.Encode()
	if err != nil {
		t.Fatal(err)
	}
	got, err := serverspec.Decode([]byte(document))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(spec, got); diff != "" {
		t.Errorf("decoded spec (-want +got):\n%s", diff)
	}
}

func TestAFieldOfANewerManagerIsIgnored(t *testing.T) {
	document, err := valid().Encode()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := serverspec.Decode([]byte(strings.Replace(document, "{", `{"later":true,`, 1))); err != nil {
		t.Error(err)
	}
}

func TestASpecNoServerCanRunWithIsRefused(t *testing.T) {
	tests := map[string]struct {
		change func(*serverspec.Spec)
		want   string
	}{
		"without a name":            {func(s *serverspec.Spec) { s.Server = "" }, "server must not be empty"},
		"without a group":           {func(s *serverspec.Spec) { s.Group = "" }, "group must not be empty"},
		"a flavor of a later agent": {func(s *serverspec.Spec) { s.Flavor = "NeoForge" }, `flavor "NeoForge" is not known`},
		"an unknown forwarding":     {func(s *serverspec.Spec) { s.Forwarding = "Legacy" }, `forwarding "Legacy" is not known`},
		"vanilla with forwarding":   {func(s *serverspec.Spec) { s.Flavor = serverspec.FlavorVanilla }, "must be None with flavor Vanilla"},
		"a relative data directory": {func(s *serverspec.Spec) { s.DataDir = "data" }, "dataDir must be an absolute path"},
		"no port":                   {func(s *serverspec.Spec) { s.Port = 0 }, "port must be between"},
		"the agent's own port":      {func(s *serverspec.Spec) { s.Port = serverspec.Port }, "which are the agent's"},
		"nobody allowed in":         {func(s *serverspec.Spec) { s.MaxPlayers = 0 }, "maxPlayers must be at least 1"},
		"no time to stop":           {func(s *serverspec.Spec) { s.GraceSeconds = 0 }, "graceSeconds must be at least 1"},
		"a stop hook for everybody": {func(s *serverspec.Spec) { s.StopToken = "" }, "stopToken must not be empty"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			spec := valid()
			test.change(&spec)
			if _, err := spec.Encode(); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("Encode() = %v, want an error with %q", err, test.want)
			}
		})
	}
}

func TestTheManagementProtocolNeverTakesTheGamesPort(t *testing.T) {
	spec := valid()
	if got := spec.ManagementPort(); got != 25585 {
		t.Errorf("ManagementPort() = %d, want 25585", got)
	}
	spec.Port = 25585
	if got := spec.ManagementPort(); got == spec.Port {
		t.Errorf("ManagementPort() = %d, the game's own", got)
	}
}
