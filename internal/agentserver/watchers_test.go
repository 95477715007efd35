// SPDX-License-Identifier: Apache-2.0

package agentserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"k8s.io/utils/clock"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/agent"
	"github.com/spawnery/spawnery-operator/internal/agent/serverspec"
	"github.com/spawnery/spawnery-operator/internal/channelclient"
	"github.com/spawnery/spawnery-operator/internal/mcproto"
	"github.com/spawnery/spawnery-operator/internal/mctest"
	"github.com/spawnery/spawnery-operator/internal/seats"
)

const (
	networkSecret  = "the network's secret"
	protocolSecret = "abcdefghijklmnopqrstuvwxyz0123456789ABCD"
)

// beside is the pod of one game server, with an agent that can be restarted.
type beside struct {
	*testing.T
	ip, mounted string
	seats       *seats.Client
	stop        func()
}

func newBeside(t *testing.T) *beside {
	t.Helper()
	b := &beside{T: t, ip: fmt.Sprintf("127.%d.0.1", 160+os.Getpid()%90), mounted: t.TempDir(), stop: func() {}}
	ctx, cancel := context.WithCancel(context.Background())
	game, err := mctest.Start(ctx, mctest.Settings{
		Address: net.JoinHostPort(b.ip, "25565"), MaxPlayers: 20,
		Management: &mctest.ManagementSettings{Address: net.JoinHostPort(b.ip, "25585"), Secret: protocolSecret},
	})
	if err != nil {
		t.Fatal(err)
	}
	b.seats, err = seats.NewClient(clock.RealClock{}, []byte(networkSecret))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		b.stop()
		b.seats.Close()
		cancel()
		<-game.Done()
	})
	return b
}

// mount points the pod at a manager, as the kubelet does when the namespace's
// ConfigMap changes.
func (b *beside) mount(f *fixture) {
	b.Helper()
	for name, content := range map[string]string{
		"endpoint": f.address, "ca.crt": string(f.authority.Bundle()),
		"serverName": ServiceName + "." + namespace + ".svc", "token": "spawnery-server/a",
	} {
		if err := os.WriteFile(filepath.Join(b.mounted, name), []byte(content), 0o600); err != nil {
			b.Fatal(err)
		}
	}
}

// startAgent runs the agent of the pod; it has forgotten all it knew.
func (b *beside) startAgent() {
	b.Helper()
	b.stop()
	var listeners [2]net.Listener
	for i, port := range []string{"9357", "9358"} {
		listener, err := net.Listen("tcp", net.JoinHostPort(b.ip, port))
		if err != nil {
			b.Fatal(err)
		}
		listeners[i] = listener
	}
	running, err := agent.New(agent.Config{
		Spec: serverspec.Spec{
			Server: "pod-a", Group: "lobby", Flavor: serverspec.FlavorPaper, DataDir: "/data", Port: 25565,
			MaxPlayers: 20, Forwarding: serverspec.ForwardingNone, GraceSeconds: 60, StopToken: "stop",
		},
		GameHost: b.ip, ManagementSecret: protocolSecret, ForwardingSecrets: [][]byte{[]byte(networkSecret)},
		Listener: listeners[0], LocalListener: listeners[1], RunDir: b.TempDir(),
		Channel: channelclient.Config{
			Directory: b.mounted, TokenFile: filepath.Join(b.mounted, "token"), Version: "1.2.3", Clock: clock.RealClock{},
		},
	})
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := running.Run(ctx); err != nil {
			b.Error(err)
		}
	}()
	b.stop = func() {
		cancel()
		<-ended
	}
}

func (b *beside) ask(name string, bypass bool) (seats.Seat, error) {
	return b.seats.Ask(b.Context(), net.JoinHostPort(b.ip, "9357"), seats.Ask{
		Server: "pod-a", Player: seats.Player{UUID: mcproto.OfflineUUID(name), Name: name}, Way: seats.ByName, Bypass: bypass,
	})
}

func (b *beside) joins(name string) {
	b.Helper()
	bot, err := mctest.Join(b.Context(), mctest.BotSettings{Address: net.JoinHostPort(b.ip, "25565"), Name: name})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(bot.Leave)
	if err := bot.WaitState(b.Context(), mcproto.StatePlay); err != nil {
		b.Fatal(err)
	}
}

// refusedAs is the reason of a refusal, empty when there was none.
func refusedAs(err error) seats.Reason {
	if refused, ok := errors.AsType[*seats.Refusal](err); ok {
		return refused.Reason
	}
	return ""
}

// enforcing is a manager that asks the agent for two playable seats as a door.
func enforcing(t *testing.T) *fixture {
	t.Helper()
	f := newFixture(t, Limits{}, clock.RealClock{})
	f.store.SetServerSettings("a", &agentv1alpha1.ServerSettings{
		Server: "pod-a", Group: "lobby", MaxPlayers: 20, PlayableSlots: new(int32(2)), EnforcePlayableSlots: true,
	})
	return f
}

// tell is a proxy that names one watcher on the server, in a session of its own.
func (f *fixture) tell(watcher string) {
	f.Helper()
	stream, err := f.dial().ProxySession(withToken(f.Context(), "spawnery-proxy/p"))
	if err != nil {
		f.Fatal(err)
	}
	report := &agentv1alpha1.ProxyReport{Roster: []*agentv1alpha1.RosterEntry{
		{Player: &agentv1alpha1.Player{Name: watcher}, Server: "pod-a", Watches: true},
		{Player: &agentv1alpha1.Player{Name: "Player1"}, Server: "pod-a"},
	}}
	for _, message := range []*agentv1alpha1.ProxyMessage{proxyHello(), {Message: &agentv1alpha1.ProxyMessage_Report{Report: report}}} {
		if err := stream.Send(message); err != nil {
			f.Fatal(err)
		}
	}
}

// knows is true once the agent has counted its game and has the manager's
// limits: a question asked before would be answered by others.
func (b *beside) knows(players int) bool {
	b.Helper()
	answer, err := http.Get("http://" + net.JoinHostPort(b.ip, "9358") + "/v1/self")
	if err != nil {
		return false
	}
	defer func() { _ = answer.Body.Close() }()
	var self struct {
		Players       *int
		PlayableSlots int
	}
	err = json.NewDecoder(answer.Body).Decode(&self)
	return err == nil && self.PlayableSlots == 2 && self.Players != nil && *self.Players == players
}

// TestWhoWatchesIsKnownAgainAfterARestart goes the whole way from a proxy's
// roster to the door. Of two playable seats one is taken, and a watcher takes
// none. What the agent and then the manager knew of that is lost.
func TestWhoWatchesIsKnownAgainAfterARestart(t *testing.T) {
	first, b := enforcing(t), newBeside(t)
	b.mount(first)
	b.startAgent()
	admitted := func(name string) func() bool {
		return func() bool {
			_, err := b.ask(name, false)
			return err == nil
		}
	}
	refused := func(name, because string) {
		t.Helper()
		if _, err := b.ask(name, false); refusedAs(err) != seats.PlayableSeatsTaken {
			t.Errorf("%s, so %s is refused: %v", because, name, err)
		}
	}
	first.eventually("the limits", func() bool { return b.knows(0) })
	if _, err := b.ask("Watcher", true); err != nil {
		t.Fatal(err)
	}
	b.joins("Watcher")
	if _, err := b.ask("Player1", false); err != nil {
		t.Fatal(err)
	}
	b.joins("Player1")

	b.startAgent()
	first.eventually("the limits again", func() bool { return b.knows(2) })
	refused("Player2", "nobody has said who watches")
	first.tell("Watcher")
	first.eventually("the watcher is known again", admitted("Player2"))

	second := enforcing(t)
	b.mount(second)
	b.startAgent()
	second.eventually("the limits of the new manager", func() bool { return b.knows(2) })
	refused("Player3", "the new manager knows of no watcher yet")
	second.tell("Watcher")
	second.eventually("the proxies said it again", admitted("Player3"))
	refused("Player4", "two play")
}
