// SPDX-License-Identifier: Apache-2.0

package peers

import (
	"context"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/uuid"
	"google.golang.org/protobuf/proto"
	"k8s.io/utils/clock"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/channelclient"
	"github.com/spawnery/spawnery-operator/internal/mcproto"
	"github.com/spawnery/spawnery-operator/internal/mctest"
	"github.com/spawnery/spawnery-operator/internal/proxy"
	"github.com/spawnery/spawnery-operator/internal/proxy/guard"
	proxylogin "github.com/spawnery/spawnery-operator/internal/proxy/login"
	"github.com/spawnery/spawnery-operator/internal/proxy/proxytest"
	"github.com/spawnery/spawnery-operator/internal/seats/seatstest"
)

const forwardingSecret = "a forwarding secret"

// front is our proxy between a client and servers that are not ours.
type front struct {
	t       *testing.T
	manager *proxytest.Manager
	address string
	list    *agentv1alpha1.Directory
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func startProxy(t *testing.T, settings *agentv1alpha1.ProxySettings, sessionServer string, changes ...func(*proxy.Config)) *front {
	t.Helper()
	dir := t.TempDir()
	manager, err := proxytest.StartManager(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(manager.Stop)
	players := listen(t)
	config := proxy.Config{
		Listener: players, HTTP: listen(t), Secrets: [][]byte{[]byte(forwardingSecret)},
		Channel:       channelclient.Config{Directory: dir, TokenFile: filepath.Join(dir, "token"), Clock: clock.RealClock{}},
		SessionServer: sessionServer, Sessions: proxylogin.DefaultSessionLimits(), Limits: guard.DefaultLimits(), Clock: clock.RealClock{}, DrainTimeout: time.Second,
	}
	for _, change := range changes {
		change(&config)
	}
	p, err := proxy.New(config, logr.Discard())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- p.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	settings.FallbackGroups, settings.HoldSeconds = []string{"lobby", "survival"}, 30
	// Every client comes from this machine.
	settings.RateLimits = &agentv1alpha1.RateLimits{ExemptCidrs: []string{"127.0.0.0/8"}}
	settings.Permissions = []*agentv1alpha1.PermissionGroup{{
		Name: "staff", TrustOfflineNames: true, Players: []string{"npmplayer"}, Permissions: []string{"spawnery.cloud.*"},
	}}
	f := &front{t: t, manager: manager, address: players.Addr().String(), list: &agentv1alpha1.Directory{
		Full: true, Groups: []*agentv1alpha1.DirectoryGroup{{Name: "lobby"}, {Name: "survival"}},
	}}
	manager.Tell(settings, nil)
	return f
}

// serve starts a server that is not ours and makes it known.
func (f *front) serve(name, version string) *Peer {
	f.t.Helper()
	server, address := startServer(f.t, "VERSION="+version, "SERVER_NAME="+name, "PAPER_VELOCITY_SECRET="+forwardingSecret)
	f.announce(&agentv1alpha1.DirectoryServer{Name: name, Address: address, Forwarding: true})
	return server
}

// announce makes an open server with 20 seats known, and gives it an agent.
func (f *front) announce(server *agentv1alpha1.DirectoryServer) {
	f.t.Helper()
	agent, err := seatstest.Start(seatstest.Config{Server: server.GetName(), Playable: 20, Slots: 20, Secret: []byte(forwardingSecret)})
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(agent.Close)
	server.Group, _, _ = strings.Cut(server.GetName(), "-")
	server.SeatAddress, server.Phase, server.Door = agent.Address(), "Ready", agentv1alpha1.DoorState_DOOR_STATE_OPEN
	server.Players, server.Slots, server.PlayableSlots = new(int32(0)), 20, 20
	f.list.Servers = append(f.list.Servers, server)
	f.publish()
}

func (f *front) publish() {
	f.t.Helper()
	list := &agentv1alpha1.Directory{Revision: f.list.GetRevision() + 1, Full: true, Servers: slices.Clone(f.list.GetServers()), Groups: f.list.GetGroups()}
	f.list.Revision = list.GetRevision()
	f.manager.Tell(nil, list)
	_, err := f.manager.Await(testContext(f.t), func(r *agentv1alpha1.ProxyReport) bool { return r.GetDirectoryRevision() == list.GetRevision() })
	if err != nil {
		f.t.Fatal(err)
	}
}

func (f *front) door(name string, door agentv1alpha1.DoorState) {
	f.t.Helper()
	for i, s := range f.list.GetServers() {
		if s.GetName() == name {
			changed := proto.CloneOf(s)
			changed.Door = door
			f.list.Servers[i] = changed
		}
	}
	f.publish()
}

// proxyVersions are what both the client and the server from npm speak here.
var proxyVersions = []string{"1.20.6", "1.21.4", "1.21.11", "26.1"}

func TestTheirClientPlaysOnTheirServersThroughOurProxy(t *testing.T) {
	for _, version := range proxyVersions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			f := startProxy(t, &agentv1alpha1.ProxySettings{Network: "production"}, "http://127.0.0.1:1")
			lobby := f.serve("lobby-1", version)
			survival := f.serve("survival-0", version)
			client := startClient(t, f.address, version, "npmplayer")
			sees(t, client, "chat", "Welcome to lobby-1")
			forwarded := sees(t, lobby, "forwarded", "")
			if want := mcproto.OfflineUUID("npmplayer").String(); forwarded.UUID != want || forwarded.Address != "127.0.0.1" {
				t.Errorf("forwarded %+v", forwarded)
			}
			if tree := sees(t, client, "commands", ""); !slices.Contains(tree.Names, "cloud") || !slices.Contains(tree.Names, "ping") {
				t.Errorf("the client knows the commands %v", tree.Names)
			}
			says(t, client, "/cloud list", "lobby-1: 0/20 players, 20 free seats, Ready")
			says(t, client, "/ping", "You ran /ping")
			if err := client.Send("tab /cloud list s"); err != nil {
				t.Fatal(err)
			}
			if got := sees(t, client, "suggestions", ""); !slices.Equal(got.Matches, []string{"survival"}) {
				t.Errorf("suggested %v", got.Matches)
			}

			f.connect("npmplayer", "lobby-1", "survival")
			sees(t, client, "chat", "Welcome to survival-0")
			sees(t, lobby, "leave", "")
			says(t, client, "/ping", "You ran /ping")
			f.connect("npmplayer", "survival-0", "lobby-1")
			welcomed(t, client, "lobby-1", 2)

			f.door("lobby-1", agentv1alpha1.DoorState_DOOR_STATE_MOVING)
			welcomed(t, client, "survival-0", 2)
			sees(t, client, "chat", "You were moved here from lobby-1: it is closing")
			f.door("lobby-1", agentv1alpha1.DoorState_DOOR_STATE_OPEN)
			survival.Kill()
			welcomed(t, client, "lobby-1", 3)
			sees(t, client, "chat", "You were moved here from survival-0: the connection was lost")
			for _, e := range client.Events() {
				if e.Kind == "error" || e.Kind == "disconnect" {
					t.Errorf("the client reports %+v", e)
				}
			}
		})
	}
}

// welcomed waits until a server has welcomed the client so often.
func welcomed(t *testing.T, client *Peer, server string, times int) {
	t.Helper()
	if _, err := client.WaitNth(testContext(t), times, func(e Event) bool { return e.Text == "Welcome to "+server }); err != nil {
		t.Fatalf("%v; the client saw %s", err, client.Story())
	}
}

// connect has the manager order that a player of offline mode be moved.
func (f *front) connect(name, from, to string) {
	who := mcproto.OfflineUUID(name)
	f.manager.Order(&agentv1alpha1.ProxyOrder{Order: &agentv1alpha1.ProxyOrder_Connect{Connect: &agentv1alpha1.ConnectOrder{
		Id: uuid.NewString(), Player: &agentv1alpha1.Player{Uuid: who[:], Name: name}, From: from, To: to,
	}}})
}

func says(t *testing.T, client *Peer, line, answer string) {
	t.Helper()
	if err := client.Send(line); err != nil {
		t.Fatal(err)
	}
	sees(t, client, "chat", answer)
}

func TestTheirClientAuthenticatesAtOurProxy(t *testing.T) {
	for _, version := range []string{"1.21.4", "26.1"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			sessions, err := mctest.StartSessionServer(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			who := mcproto.Profile{ID: uuid.New(), Name: "Premium", Properties: []mcproto.Property{{Name: "textures", Value: "ZmFrZQ==", Signature: "c2ln"}}}
			token := sessions.Register(who)
			f := startProxy(t, &agentv1alpha1.ProxySettings{Network: "production", OnlineMode: true}, sessions.URL())
			lobby := f.serve("lobby-1", version)
			client := startClient(t, f.address, version, who.Name,
				"SESSION_SERVER="+sessions.URL(), "ACCESS_TOKEN="+token, "PROFILE_ID="+strings.ReplaceAll(who.ID.String(), "-", ""))
			sees(t, client, "chat", "Welcome to lobby-1")
			if forwarded := sees(t, lobby, "forwarded", ""); forwarded.UUID != who.ID.String() || forwarded.Username != who.Name {
				t.Errorf("forwarded %+v", forwarded)
			}
		})
	}
}

// A client that joins before there is a server waits in its configuration.
func TestTheirClientIsHeldByOurProxy(t *testing.T) {
	for _, version := range []string{"1.21.4", "26.1"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			f := startProxy(t, &agentv1alpha1.ProxySettings{Network: "production"}, "http://127.0.0.1:1")
			f.publish()
			client := startClient(t, f.address, version, "npmplayer")
			_, err := f.manager.Await(testContext(t), func(r *agentv1alpha1.ProxyReport) bool {
				return len(r.GetWaiting()) == 1 && r.GetWaiting()[0].GetGroup() == "lobby" && r.GetWaiting()[0].GetPlayers() == 1
			})
			if err != nil {
				t.Fatalf("%v; the client saw %s", err, client.Story())
			}
			f.serve("lobby-1", version)
			sees(t, client, "chat", "Welcome to lobby-1")
		})
	}
}
