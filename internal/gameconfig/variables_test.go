// SPDX-License-Identifier: Apache-2.0

package gameconfig_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spawnery/spawnery-operator/internal/agent/serverspec"
	"github.com/spawnery/spawnery-operator/internal/gameconfig"
)

func lobby() serverspec.Spec {
	return serverspec.Spec{
		Server: "lobby-ab2c", Group: "lobby", Flavor: serverspec.FlavorPaper,
		DataDir: "/data", Port: 25565, MaxPlayers: 50,
		Forwarding: serverspec.ForwardingVelocity, OnlineMode: true,
		GraceSeconds: 60, StopToken: "s",
	}
}

func TestEveryGameContainerGetsTheSettingsAsVariables(t *testing.T) {
	spec := lobby()
	spec.AcceptEULA = true
	got := gameconfig.Variables(spec, gameconfig.Memory{Limited: true})
	want := []gameconfig.Variable{
		{"SERVER_PORT", "25565"},
		{"ONLINE_MODE", "FALSE"},
		{"MAX_PLAYERS", "50"},
		{"ENABLE_STATUS", "TRUE"},
		{"MANAGEMENT_SERVER_ENABLED", "TRUE"},
		{"MANAGEMENT_SERVER_HOST", "127.0.0.1"},
		{"MANAGEMENT_SERVER_PORT", "25585"},
		{"MANAGEMENT_SERVER_TLS_ENABLED", "FALSE"},
		{"STOP_DURATION", "50"},
		{"EULA", "TRUE"},
		{"INIT_MEMORY", "50%"},
		{"MAX_MEMORY", "75%"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("variables (-want +got):\n%s", diff)
	}
}

func TestVariablesFollowTheSpec(t *testing.T) {
	tests := map[string]struct {
		change     func(*serverspec.Spec)
		memory     gameconfig.Memory
		name, want string
	}{
		"the EULA is accepted by nobody but the owner": {func(*serverspec.Spec) {}, gameconfig.Memory{}, "EULA", ""},
		"a heap without a limit is the image's":        {func(*serverspec.Spec) {}, gameconfig.Memory{}, "MAX_MEMORY", ""},
		"a heap the owner sized stays": {
			func(*serverspec.Spec) {},
			gameconfig.Memory{Limited: true, OwnerVariables: []string{"TYPE", "MEMORY"}},
			"MAX_MEMORY", "",
		},
		"a short grace leaves a second": {func(s *serverspec.Spec) { s.GraceSeconds = 5 }, gameconfig.Memory{}, "STOP_DURATION", "1"},
		"the management port gives way": {
			func(s *serverspec.Spec) { s.Port = 25585 },
			gameconfig.Memory{},
			"MANAGEMENT_SERVER_PORT", "25586",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			spec := lobby()
			test.change(&spec)
			got := ""
			for _, variable := range gameconfig.Variables(spec, test.memory) {
				if variable.Name == test.name {
					got = variable.Value
				}
			}
			if got != test.want {
				t.Errorf("%s = %q, want %q", test.name, got, test.want)
			}
		})
	}
}

func TestNoOwnerCanSetWhatWePass(t *testing.T) {
	spec := lobby()
	spec.AcceptEULA = true
	for _, variable := range gameconfig.Variables(spec, gameconfig.Memory{}) {
		refused := false
		for _, refusal := range gameconfig.RefusedVariables() {
			prefix, wildcard := strings.CutSuffix(refusal.Name, "*")
			refused = refused || variable.Name == refusal.Name || wildcard && strings.HasPrefix(variable.Name, prefix)
		}
		if !refused {
			t.Errorf("%s is passed to the game but not refused in env", variable.Name)
		}
	}
}
