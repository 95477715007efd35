// SPDX-License-Identifier: Apache-2.0

package peers

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/utils/clock"

	"github.com/spawnery/spawnery-operator/internal/agent"
	"github.com/spawnery/spawnery-operator/internal/agent/local"
	"github.com/spawnery/spawnery-operator/internal/agent/serverspec"
	"github.com/spawnery/spawnery-operator/internal/channelclient"
)

// beside is our agent beside a server that is not ours, on an address of their
// own, so that both have the ports of a real pod.
type beside struct {
	t           *testing.T
	ip          string
	base, local string
}

func startAgent(t *testing.T, ip string, forwarding serverspec.Forwarding) *beside {
	t.Helper()
	open := func(port string) net.Listener {
		l, err := net.Listen("tcp", net.JoinHostPort(ip, port))
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	port, plugins := open("9357"), open("9358")
	a, err := agent.New(agent.Config{
		Spec: serverspec.Spec{
			Server: "npm-ab2c", Group: "npm", Flavor: serverspec.FlavorCustom, Forwarding: forwarding,
			DataDir: "/data", Port: 25565, MaxPlayers: 20, GraceSeconds: 60, StopToken: "stop",
		},
		GameHost: ip, Listener: port, LocalListener: plugins, RunDir: t.TempDir(),
		ManagementSecret: strings.Repeat("x", 40), ForwardingSecrets: [][]byte{[]byte(forwardingSecret)},
		Channel: channelclient.Config{Directory: t.TempDir(), TokenFile: "none", Clock: clock.RealClock{}},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- a.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return &beside{t: t, ip: ip, base: "http://" + port.Addr().String(), local: "http://" + plugins.Addr().String()}
}

func (b *beside) get(url string) (int, []byte) {
	b.t.Helper()
	response, err := http.Get(url)
	if err != nil {
		b.t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	return response.StatusCode, body
}

// await waits until the kubelet's probe and the agent's own word are as wanted.
func (b *beside) await(what string, fits func(ready bool, why string, self local.Self) bool) {
	b.t.Helper()
	ctx := testContext(b.t)
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for {
		status, why := b.get(b.base + serverspec.ReadyPath)
		_, answer := b.get(b.local + "/v1/self")
		var self local.Self
		if err := json.Unmarshal(answer, &self); err != nil {
			b.t.Fatalf("%v: %s", err, answer)
		}
		if fits(status == http.StatusOK, string(why), self) {
			return
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			b.t.Fatalf("waited in vain until %s; ready %d, %s; %s", what, status, why, answer)
		}
	}
}

func (b *beside) awaitPlayers(n int) {
	b.t.Helper()
	b.await("players are counted", func(ready bool, _ string, self local.Self) bool {
		return ready && self.State == local.Ready && self.Players != nil && *self.Players == n
	})
}

func (b *beside) awaitNotReady(because string) {
	b.t.Helper()
	b.await("it is not ready because "+because, func(ready bool, why string, _ local.Self) bool {
		return !ready && strings.Contains(why, because)
	})
}

// A server that knows neither the management protocol nor any file of ours is
// ready, counted and found to hang by its answers to the server list alone.
func TestOurAgentNeedsOfTheirServersNothingButTheServerList(t *testing.T) {
	for name, tc := range map[string]struct {
		ip    string
		start func(context.Context, ...string) (*Peer, error)
	}{
		"minecraft-protocol": {"127.48.0.1", StartServer},
		"flying-squid":       {"127.48.0.2", StartSquid},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := startAgent(t, tc.ip, serverspec.ForwardingNone)
			b.awaitNotReady("nothing listens on port 25565 yet")
			server, err := tc.start(context.Background(), "SERVER_IP="+tc.ip, "SERVER_PORT=25565", "VERSION=1.21.4", "SERVER_NAME=npm-1")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(server.Stop)
			b.awaitPlayers(0)
			client := startClient(t, net.JoinHostPort(tc.ip, "25565"), "1.21.4", "npmplayer")
			b.awaitPlayers(1)
			client.Stop()
			b.awaitPlayers(0)

			must(t, server.Signal(syscall.SIGSTOP))
			b.awaitNotReady("the game has not answered since")
			must(t, server.Signal(syscall.SIGCONT))
			b.awaitPlayers(0)
			server.Kill()
			b.awaitNotReady("nothing listens on port 25565 yet")
		})
	}
}

func TestOurAgentWantsProofThatTheirServerForwards(t *testing.T) {
	t.Parallel()
	b := startAgent(t, "127.48.0.3", serverspec.ForwardingVelocity)
	at := []string{"SERVER_IP=" + b.ip, "SERVER_PORT=25565"}
	open, _ := startServer(t, at...)
	b.awaitNotReady("switch Velocity's forwarding on in the game's own settings, or set spec.server.forwarding to None")
	open.Stop()
	b.awaitNotReady("nothing listens on port 25565 yet")
	startServer(t, append(at, "PAPER_VELOCITY_SECRET="+forwardingSecret)...)
	b.awaitPlayers(0)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
