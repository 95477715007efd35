// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"net"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/pelletier/go-toml/v2"

	"github.com/spawnery/spawnery-operator/internal/agent/prepare"
	"github.com/spawnery/spawnery-operator/internal/agent/secret"
	"github.com/spawnery/spawnery-operator/internal/agent/serverspec"
	"github.com/spawnery/spawnery-operator/internal/mctest"
)

// prepared is a game that knows nothing but what prepare wrote.
func prepared(p *pod) mctest.Settings {
	p.t.Helper()
	runDir, forwardingDir := p.t.TempDir(), p.t.TempDir()
	p.spec.DataDir, p.spec.AcceptEULA = p.t.TempDir(), true
	if err := os.WriteFile(filepath.Join(forwardingDir, serverspec.ForwardingKey), []byte(forwardingSecret+"\n"), 0o600); err != nil {
		p.t.Fatal(err)
	}
	if err := prepare.Run(p.t.Context(), prepare.Config{Spec: p.spec, RunDir: runDir, ForwardingDir: forwardingDir}); err != nil {
		p.t.Fatal(err)
	}
	settings, err := mctest.ReadSettings(p.spec.DataDir, func(string) string { return "" })
	if err != nil {
		p.t.Fatal(err)
	}
	if p.spec.Flavor == serverspec.FlavorFabric {
		settings.ForwardingSecret = secretOfTheMod(p)
	}
	p.managementSecret, err = secret.ReadManagement(runDir)
	if err != nil {
		p.t.Fatal(err)
	}
	return settings
}

// secretOfTheMod reads what FabricProxy-Lite reads; the double is no Fabric.
func secretOfTheMod(p *pod) string {
	p.t.Helper()
	content, err := os.ReadFile(filepath.Join(p.spec.DataDir, "config/FabricProxy-Lite.toml"))
	if err != nil {
		p.t.Fatal(err)
	}
	var settings struct {
		Secret string `toml:"secret"`
	}
	if err := toml.Unmarshal(content, &settings); err != nil {
		p.t.Fatal(err)
	}
	return settings.Secret
}

func TestAGameThatReadsThePreparedFilesIsReady(t *testing.T) {
	tests := map[string]func(*serverspec.Spec){
		"Paper":   func(*serverspec.Spec) {},
		"Vanilla": func(s *serverspec.Spec) { s.Flavor, s.Forwarding = serverspec.FlavorVanilla, serverspec.ForwardingNone },
		"Custom":  func(s *serverspec.Spec) { s.Flavor, s.Forwarding = serverspec.FlavorCustom, serverspec.ForwardingNone },
		"Fabric":  func(s *serverspec.Spec) { s.Flavor = serverspec.FlavorFabric },
		"Paper that does not forward": func(s *serverspec.Spec) {
			s.Forwarding = serverspec.ForwardingNone
		},
		"Paper on the management protocol's usual port": func(s *serverspec.Spec) { s.Port = 25585 },
	}
	for name, change := range tests {
		t.Run(name, func(t *testing.T) {
			p := newPod(t)
			change(&p.spec)
			settings := prepared(p)
			for _, address := range []*string{&settings.Address, &settings.Management.Address} {
				_, port, err := net.SplitHostPort(*address)
				if err != nil {
					t.Fatal(err)
				}
				*address = net.JoinHostPort(p.ip, port)
			}
			if want := net.JoinHostPort(p.ip, strconv.Itoa(int(p.spec.Port))); settings.Address != want || settings.MaxPlayers != 50 {
				t.Errorf("the game listens on %s for %d players, want %s for 50", settings.Address, settings.MaxPlayers, want)
			}
			if forwards := settings.ForwardingSecret == forwardingSecret; forwards != (p.spec.Forwarding == serverspec.ForwardingVelocity) {
				t.Errorf("the game's forwarding secret is %q", settings.ForwardingSecret)
			}
			p.startGame(settings)
			manager := p.startManager()
			p.startAgent()
			p.awaitReady()
			// A wrong secret would be told here, and players counted by ping.
			if report := manager.awaitReport("the game is ready", isReady); report.GetDetail() != "" {
				t.Errorf("the server is ready, but %s", report.GetDetail())
			}
		})
	}
}
