// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/agent/serverspec"
	"github.com/spawnery/spawnery-operator/internal/mctest"
	"github.com/spawnery/spawnery-operator/internal/seats"
)

func TestAServerIsReadyOnceItForwards(t *testing.T) {
	p := newPod(t)
	p.startAgent()
	p.awaitNotReady("nothing listens on port 25565 yet")
	p.startGame(p.game())
	p.awaitReady()
}

func TestAServerIsNotReadyBeforeItsWorldIsLoaded(t *testing.T) {
	p := newPod(t)
	settings := p.game()
	clk := clocktesting.NewFakeClock(time.Now())
	settings.StartupDelay, settings.Clock = time.Minute, clk
	p.startGame(settings)
	p.startAgent()
	p.awaitNotReady("the game is loading")
	clk.Step(time.Minute)
	p.awaitReady()
}

func TestAGameThatPreparedFilesDidNotReachIsNotReady(t *testing.T) {
	tests := map[string]struct {
		change func(*mctest.Settings)
		want   string
	}{
		"forwarding is off": {
			func(s *mctest.Settings) { s.ForwardingSecret = "" },
			"set proxies.velocity.enabled to true in config/paper-global.yml",
		},
		"it authenticates by itself": {
			func(s *mctest.Settings) { s.ForwardingSecret, s.Authentication = "", mctest.Online },
			"set online-mode to false in server.properties",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			p := newPod(t)
			settings := p.game()
			test.change(&settings)
			p.startGame(settings)
			p.startAgent()
			p.awaitNotReady(test.want)
		})
	}
}

func TestForwardingIsProvenAnewAfterARestart(t *testing.T) {
	p := newPod(t)
	first := p.startGame(p.game())
	p.startAgent()
	p.awaitReady()
	first.Stop()
	p.awaitNotReady("nothing listens")
	changed := p.game()
	changed.ForwardingSecret = ""
	second := p.startGame(changed)
	p.awaitNotReady("does not ask for forwarding")
	second.Stop()
	p.awaitNotReady("nothing listens")
	p.startGame(p.game())
	p.awaitReady()
}

func TestAGameWithoutForwardingNeedsNoProof(t *testing.T) {
	p := newPod(t)
	p.spec.Forwarding, p.spec.Flavor = serverspec.ForwardingNone, serverspec.FlavorVanilla
	p.startGame(p.game())
	p.startAgent()
	p.awaitReady()
}

func TestAGameWithoutManagementProtocolIsPinged(t *testing.T) {
	p := newPod(t)
	settings := p.game()
	settings.Management = nil
	game := p.startGame(settings)
	p.startAgent()
	p.awaitReady()
	game.Stop()
	p.awaitNotReady("nothing listens")
}

func TestTheAgentIsAliveWhateverTheGameIs(t *testing.T) {
	p := newPod(t)
	p.startAgent()
	response, err := http.Get(p.base + serverspec.LivePath)
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	if response.StatusCode != http.StatusOK {
		t.Errorf("%s answered %s", serverspec.LivePath, response.Status)
	}
}

func TestTheAgentEndsWithinTwoSeconds(t *testing.T) {
	p := newPod(t)
	p.startGame(p.game())
	p.startAgent()
	p.awaitReady()
	began := time.Now()
	p.stop()
	<-p.ended
	if took := time.Since(began); took > 2*time.Second {
		t.Errorf("the agent took %s to end", took)
	}
}

// hangable is a game that can be made to hang, on its two ports one by one.
type hangable struct {
	server           *mctest.Server
	game, management *relay
	// clock of the agent.
	clock *clocktesting.FakeClock
}

// startHangable starts a game behind relays, and the agent on a clock of its
// own.
func startHangable(p *pod) hangable {
	p.t.Helper()
	settings := p.game()
	settings.Address, settings.Management.Address = "127.0.0.1:0", "127.0.0.1:0"
	server := p.startGame(settings)
	h := hangable{
		server:     server,
		game:       newRelay(p.t, net.JoinHostPort(p.ip, "25565"), server.Address()),
		management: newRelay(p.t, net.JoinHostPort(p.ip, "25585"), server.ManagementAddress()),
		clock:      clocktesting.NewFakeClock(time.Now()),
	}
	p.clock = h.clock
	p.startAgent()
	return h
}

// awaitStale lets time pass until the server is not ready any more, and longer.
func awaitStale(p *pod, clk *clocktesting.FakeClock) {
	p.t.Helper()
	last := ""
	p.eventually("the samples are stale", func() bool {
		ready, sentence := p.ready()
		last = sentence
		clk.Step(time.Second)
		return !ready
	}, &last)
	for range 30 {
		clk.Step(time.Second)
		if ready, sentence := p.ready(); ready || !strings.Contains(sentence, "the game has not answered since") {
			p.t.Fatalf("ready %t while the game hangs: %s", ready, sentence)
		}
	}
}

func TestAGameThatHangsIsNotReadyAndItsSeatsAreUnknown(t *testing.T) {
	both := func(h hangable, do func(*relay)) { do(h.game); do(h.management) }
	tests := map[string]struct{ hang, recover func(hangable) }{
		"and answers nobody": {
			func(h hangable) { both(h, (*relay).freeze) }, func(h hangable) { both(h, (*relay).resume) },
		},
		// Network threads answer pings long after the game itself hangs.
		"and still answers pings": {
			func(h hangable) { h.management.freeze() }, func(h hangable) { h.management.resume() },
		},
		"with its main thread alone": {
			func(h hangable) { h.server.Hang() }, func(h hangable) { h.server.Recover() },
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			p := newPod(t)
			h := startHangable(p)
			p.awaitReady()
			t.Cleanup(h.server.Recover)
			test.hang(h)
			awaitStale(p, h.clock)
			client, address := p.proxy()
			p.wantRefused(client, address, seats.UnknownCounts)
			test.recover(h)
			last := ""
			p.eventually("the server is ready again", func() bool {
				h.clock.Step(time.Second)
				ready, sentence := p.ready()
				last = sentence
				return ready
			}, &last)
		})
	}
}

func TestAWrongManagementSecretIsToldAndPlayersAreCountedByPing(t *testing.T) {
	p := newPod(t)
	p.spec.Forwarding = serverspec.ForwardingNone
	manager := p.startManager()
	settings := p.game()
	settings.Management.Secret = strings.Repeat("x", 40)
	p.startGame(settings)
	p.startAgent()
	p.awaitReady()
	p.join("Alice")
	manager.awaitReport("the ping counts one player and the secret is told", func(r *agentv1alpha1.ServerReport) bool {
		return r.GetOnline() == 1 && strings.Contains(r.GetDetail(), "management-server-secret in server.properties")
	})
}
