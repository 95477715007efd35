// SPDX-License-Identifier: Apache-2.0

package agentserver

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
	"github.com/spawnery/spawnery-operator/api/agent/v1alpha1/released"
	"github.com/spawnery/spawnery-operator/internal/channeltest"
	"github.com/spawnery/spawnery-operator/internal/sessions"
)

// eachRelease runs a test with every released version on the other end.
func eachRelease(t *testing.T, test func(*testing.T, *channeltest.Speech)) {
	t.Helper()
	versions, err := released.Versions()
	if err != nil || len(versions) == 0 {
		t.Fatalf("%d versions are kept: %v", len(versions), err)
	}
	for _, version := range versions {
		t.Run(version, func(t *testing.T) {
			speech, err := channeltest.Of(version)
			if err != nil {
				t.Fatal(err)
			}
			test(t, speech)
		})
	}
}

// talk is a session of a released version with the manager of today.
type talk struct {
	*fixture
	*channeltest.Session
}

func (f *fixture) talk(speech *channeltest.Speech, session, token string) talk {
	f.Helper()
	conn, err := grpc.NewClient("passthrough:///"+f.address, grpc.WithTransportCredentials(credentials.NewTLS(f.tls())))
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = conn.Close() })
	ctx, cancel := context.WithTimeout(f.Context(), time.Minute)
	f.Cleanup(cancel)
	opened, err := speech.Dial(withToken(ctx, token), conn, session)
	if err != nil {
		f.Fatal(err)
	}
	return talk{f, opened}
}

func (c talk) says(text string) {
	c.Helper()
	if err := c.Say(text); err != nil {
		c.Fatal(err)
	}
}

// hears takes orders until one of a kind holds the words. One that the version
// does not know is more than it announced.
func (c talk) hears(kind string, words ...string) string {
	c.Helper()
	for {
		word, err := c.Hear()
		if err != nil {
			c.Fatalf("waiting for %s with %q: %v", kind, words, err)
		}
		if word.Kind == "" {
			c.Fatalf("an order came that the version does not know; so far it knows %s", word.Text)
		}
		if word.Fits(kind, words...) {
			return word.Text
		}
	}
}

func TestAgentsOfReleasedVersionsAreServed(t *testing.T) {
	eachRelease(t, func(t *testing.T, speech *channeltest.Speech) {
		f := newFixture(t, Limits{}, clock.RealClock{})
		f.store.SetServerSettings("a", &agentv1alpha1.ServerSettings{
			Server: "pod-a", Group: "lobby", DisplayName: "The Lobby", MaxPlayers: 20, PlayableSlots: new(int32(12)), EnforcePlayableSlots: true,
		})
		agent := f.talk(speech, channeltest.ServerSession, "spawnery-server/a")
		agent.says(`{"hello":{"version":"0.1.0"}}`)
		agent.hears("welcome", `"version":"test"`, `"reportIntervalSeconds":5`)
		agent.hears("settings", `"server":"pod-a"`, `"group":"lobby"`, `"displayName":"The Lobby"`, `"maxPlayers":20`, `"playableSlots":12`)
		now := time.Now().UTC().Format(time.RFC3339Nano)
		agent.says(`{"report":{"sampledAt":"` + now + `","sentAt":"` + now + `","gameState":"GAME_STATE_READY","forwarding":"FORWARDING_STATE_ACTIVE",
			"online":2,"players":[{"name":"Ada"},{"name":"Ben"}],"slots":20,"joinsOpen":true,"seatsPending":1}}`)
		f.eventually("the report", func() bool { return f.store.Server("a").Freshness == sessions.Fresh })
		state, census := f.store.Server("a"), f.store.Census(types.NamespacedName{Namespace: "minecraft", Name: "lobby"}, map[string]types.UID{"pod-a": "a"})
		if state.Version != "0.1.0" || state.Report.GetSlots() != 20 || !state.Report.GetJoinsOpen() || census.Seated["pod-a"] != 2 {
			t.Errorf("heard %+v, census %+v", state, census)
		}

		// A watcher, and whatever else is new, is nothing to tell this agent.
		f.tell("Ada")
		f.eventually("the proxy", func() bool {
			return f.store.Presence(types.NamespacedName{Namespace: "minecraft", Name: "pod-a"}).On == 2
		})
		var saving sync.WaitGroup
		saving.Go(func() {
			if err := f.store.Save(t.Context(), "a"); err != nil {
				t.Error(err)
			}
		})
		var order struct {
			Save struct{ ID string }
		}
		if err := json.Unmarshal([]byte(agent.hears("save")), &order); err != nil {
			t.Fatal(err)
		}
		agent.says(`{"saveResult":{"id":"` + order.Save.ID + `"}}`)
		saving.Wait()
	})
}

func TestProxiesOfReleasedVersionsAreServed(t *testing.T) {
	eachRelease(t, func(t *testing.T, speech *channeltest.Speech) {
		f := newFixture(t, Limits{}, clock.RealClock{})
		f.store.SetProxySettings("p", &agentv1alpha1.ProxySettings{
			Network: "production", OnlineMode: true, FallbackGroups: []string{"lobby"}, HoldSeconds: 120, Motd: "Hello", PlayerLimit: 500,
			Strategy: agentv1alpha1.RoutingStrategy_ROUTING_STRATEGY_SPREAD, DrainSeconds: 300,
			Permissions: []*agentv1alpha1.PermissionGroup{{Name: "staff", Players: []string{"Ada"}, Permissions: []string{"spawnery.cloud.*"}}},
		})
		server := &agentv1alpha1.DirectoryServer{
			Name: "pod-a", Group: "lobby", Address: "10.0.0.7:25565", SeatAddress: "10.0.0.7:9357",
			Door: agentv1alpha1.DoorState_DOOR_STATE_OPEN, Players: new(int32(2)), Slots: 20, PlayableSlots: 12, Forwarding: true, Phase: "Ready",
		}
		production := types.NamespacedName{Namespace: "minecraft", Name: "production"}
		groups := []*agentv1alpha1.DirectoryGroup{{Name: "lobby", DisplayName: "The Lobby"}}
		f.store.SetDirectory(production, sessions.Directory{Servers: []*agentv1alpha1.DirectoryServer{server}, Groups: groups, Players: 2})
		proxy := f.talk(speech, channeltest.ProxySession, "spawnery-proxy/p")
		proxy.says(`{"hello":{"version":"0.1.0"}}`)
		proxy.hears("welcome", `"version":"test"`)
		proxy.hears("settings", `"onlineMode":true`, `"fallbackGroups":["lobby"]`, `"strategy":"ROUTING_STRATEGY_SPREAD"`, `"holdSeconds":120`, `"permissions":["spawnery.cloud.*"]`)
		proxy.hears("directory", `"full":true`, `"door":"DOOR_STATE_OPEN"`, `"address":"10.0.0.7:25565"`, `"seatAddress":"10.0.0.7:9357"`, `"players":2`,
			`"playableSlots":12`, `"forwarding":true`, `"networkPlayers":2`)
		f.store.SetDirectory(production, sessions.Directory{Groups: groups})
		proxy.hears("directory", `"removed":["pod-a"]`)

		now := time.Now().UTC().Format(time.RFC3339Nano)
		proxy.says(`{"report":{"sampledAt":"` + now + `","sentAt":"` + now + `","withdrawn":true,
			"roster":[{"player":{"name":"Ada"},"server":"pod-a"},{"player":{"name":"Ben"},"destination":"pod-a"}],
			"waiting":[{"group":"lobby","players":1}],"moves":[{"server":"pod-a","remaining":1,"withoutSeat":1}]}}`)
		f.eventually("the report", func() bool { return f.store.Proxy("p").Freshness == sessions.Fresh })
		on := types.NamespacedName{Namespace: "minecraft", Name: "pod-a"}
		move, _ := f.store.Moving(on)
		if state := f.store.Proxy("p"); state.Players != 2 || !state.Withdrawn || f.store.Presence(on) != (sessions.Presence{On: 1, Coming: 1}) || move.WithoutSeat != 1 {
			t.Errorf("heard %+v, present %+v, moving %+v", state, f.store.Presence(on), move)
		}
		if waiting := f.store.Census(types.NamespacedName{Namespace: "minecraft", Name: "lobby"}, nil).Waiting; waiting != 1 {
			t.Errorf("%d wait", waiting)
		}
	})
}

// TestTheAgentServesUnderManagersOfReleasedVersions is the agent of today, with
// a game beside it, whose manager is older: it is ready, gives out seats, saves,
// and says nothing that such a manager does not know.
func TestTheAgentServesUnderManagersOfReleasedVersions(t *testing.T) {
	eachRelease(t, func(t *testing.T, speech *channeltest.Speech) {
		f, b := newFixture(t, Limits{}, clock.RealClock{}), newBeside(t)
		manager := speech.NewManager(
			`{"welcome":{"version":"0.1.0","reportIntervalSeconds":1}}`,
			`{"settings":{"server":"pod-a","group":"lobby","maxPlayers":20,"playableSlots":1}}`,
			`{"save":{"id":"one"}}`,
		)
		f.address = f.servedBy(manager.Option())
		b.mount(f)
		b.startAgent()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		await := func(kind string, words ...string) {
			t.Helper()
			if err := manager.Await(ctx, kind, words...); err != nil {
				t.Fatal(err)
			}
		}
		await("hello", `"version":"1.2.3"`)
		await("save_result", `"id":"one"`)
		await("report", `"gameState":"GAME_STATE_READY"`, `"slots":20`, `"joinsOpen":true`, `"sampledAt":`, `"sentAt":`)
		f.eventually("a seat", func() bool {
			_, err := b.ask("Ada", false)
			return err == nil
		})
		await("report", `"seatsPending":1`)
		b.joins("Ada")
		await("report", `"online":1`, `"name":"Ada"`)
		b.closes()
		await("report", `"online":1`, `!"joinsOpen"`)
	})
}

// closes is a plugin that closes the door.
func (b *beside) closes() {
	b.Helper()
	request, err := http.NewRequestWithContext(b.Context(), http.MethodPut, "http://"+net.JoinHostPort(b.ip, "9358")+"/v1/joins", strings.NewReader(`{"joins":"Closed"}`))
	if err != nil {
		b.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode != http.StatusOK {
		b.Errorf("closing the door: %s", answer.Status)
	}
}

// servedBy serves in place of the fixture's own manager, under its certificate,
// and returns where.
func (f *fixture) servedBy(manager grpc.ServerOption) string {
	f.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		f.Fatal(err)
	}
	server := grpc.NewServer(manager, grpc.Creds(credentials.NewTLS(&tls.Config{MinVersion: tls.VersionTLS13, GetCertificate: f.authority.Certificate})))
	go func() { _ = server.Serve(listener) }()
	f.Cleanup(server.Stop)
	return listener.Addr().String()
}
