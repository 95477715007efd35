// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/utils/clock"

	"github.com/spawnery/spawnery-operator/internal/agent"
	"github.com/spawnery/spawnery-operator/internal/agent/serverspec"
	"github.com/spawnery/spawnery-operator/internal/channelclient"
	"github.com/spawnery/spawnery-operator/internal/mctest"
	"github.com/spawnery/spawnery-operator/internal/seats"
)

const (
	forwardingSecret = "the network's secret"
	managementSecret = "abcdefghijklmnopqrstuvwxyz0123456789ABCD"
	patience         = 30 * time.Second
)

var pods atomic.Int32

// pod is one server's pod on an address of its own, so that every test has the
// ports of a real one.
type pod struct {
	t    *testing.T
	spec serverspec.Spec
	ip   string
	// managementSecret is what prepare gave the agent.
	managementSecret string
	// forwardingSecrets are those of the network, the one in force first.
	forwardingSecrets []string
	// clock of the agent.
	clock clock.WithTicker
	// channel is where the manager is; nowhere in most tests.
	channel channelclient.Config
	// runDir outlives an agent.
	runDir string
	// base of the agent's own port.
	base string
	// stop ends the agent, ended is closed when it has.
	stop  context.CancelFunc
	ended chan struct{}
}

func newPod(t *testing.T) *pod {
	t.Helper()
	n := pods.Add(1)
	return &pod{
		t: t, clock: clock.RealClock{}, managementSecret: managementSecret, runDir: t.TempDir(),
		forwardingSecrets: []string{forwardingSecret},
		ip:                fmt.Sprintf("127.%d.%d.%d", 60+os.Getpid()%100, n/250, n%250+1),
		spec: serverspec.Spec{
			Server: "lobby-ab2c", Group: "lobby", Flavor: serverspec.FlavorPaper,
			DataDir: "/data", Port: 25565, MaxPlayers: 50,
			Forwarding: serverspec.ForwardingVelocity, OnlineMode: true,
			GraceSeconds: 60, StopToken: "stop-token",
		},
		channel: channelclient.Config{Directory: t.TempDir(), TokenFile: "/nonexistent"},
	}
}

// game are the settings of a game that prepare has configured.
func (p *pod) game() mctest.Settings {
	settings := mctest.Settings{
		Address:    net.JoinHostPort(p.ip, "25565"),
		MaxPlayers: int(p.spec.MaxPlayers),
		Management: &mctest.ManagementSettings{Address: net.JoinHostPort(p.ip, "25585"), Secret: managementSecret},
	}
	if p.spec.Forwarding == serverspec.ForwardingVelocity {
		settings.ForwardingSecret = forwardingSecret
	}
	return settings
}

// startGame runs a game until the test ends.
func (p *pod) startGame(settings mctest.Settings) *mctest.Server {
	p.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	server, err := mctest.Start(ctx, settings)
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() {
		cancel()
		<-server.Done()
	})
	return server
}

// startAgent runs the agent until the test ends.
func (p *pod) startAgent() {
	p.t.Helper()
	listener, err := net.Listen("tcp", net.JoinHostPort(p.ip, "9357"))
	if err != nil {
		p.t.Fatal(err)
	}
	plugins, err := net.Listen("tcp", net.JoinHostPort(p.ip, "9358"))
	if err != nil {
		p.t.Fatal(err)
	}
	p.channel.Version, p.channel.Clock = "1.2.3", p.clock
	var secrets [][]byte
	for _, secret := range p.forwardingSecrets {
		secrets = append(secrets, []byte(secret))
	}
	beside, err := agent.New(agent.Config{
		Spec: p.spec, GameHost: p.ip, Listener: listener, LocalListener: plugins, RunDir: p.runDir,
		ManagementSecret: p.managementSecret, ForwardingSecrets: secrets,
		Channel: p.channel,
	})
	if err != nil {
		p.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	p.base, p.stop, p.ended = "http://"+listener.Addr().String(), cancel, make(chan struct{})
	go func() {
		defer close(p.ended)
		if err := beside.Run(ctx); err != nil {
			p.t.Error(err)
		}
	}()
	p.t.Cleanup(func() {
		cancel()
		<-p.ended
	})
}

// ready asks the readiness probe; the sentence says why it is not.
func (p *pod) ready() (bool, string) {
	p.t.Helper()
	response, err := http.Get(p.base + serverspec.ReadyPath)
	if err != nil {
		p.t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	sentence, err := io.ReadAll(response.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	return response.StatusCode == http.StatusOK, strings.TrimSpace(string(sentence))
}

func (p *pod) awaitReady() {
	p.t.Helper()
	last := ""
	p.eventually("the server is ready", func() bool {
		ready, sentence := p.ready()
		last = sentence
		return ready
	}, &last)
}

func (p *pod) awaitNotReady(because string) {
	p.t.Helper()
	last := ""
	p.eventually("the server is not ready because "+because, func() bool {
		ready, sentence := p.ready()
		last = sentence
		return !ready && strings.Contains(sentence, because)
	}, &last)
}

// eventually waits for a condition and shows the last that was seen.
func (p *pod) eventually(what string, holds func() bool, last *string) {
	p.t.Helper()
	for deadline := time.Now().Add(patience); !holds(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			p.t.Fatalf("waited %s in vain until %s; last: %s", patience, what, *last)
		}
	}
}

// ask is a question of a proxy.
func (p *pod) ask(who seats.Player) seats.Ask {
	return seats.Ask{Server: p.spec.Server, Player: who, Way: seats.ByChoice}
}

// proxy asks for seats with the network's secret.
func (p *pod) proxy() (*seats.Client, string) {
	p.t.Helper()
	client, err := seats.NewClient(p.clock, []byte(forwardingSecret))
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(client.Close)
	return client, net.JoinHostPort(p.ip, "9357")
}
