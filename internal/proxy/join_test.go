// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/mcproto"
	"github.com/spawnery/spawnery-operator/internal/mctest"
)

func TestAPlayerJoinsAtEveryProtocol(t *testing.T) {
	protocols, err := mcproto.DefaultProtocols()
	if err != nil {
		t.Fatal(err)
	}
	n := newNetwork(t)
	lobby := n.add("lobby-a", rig{})
	p := n.front()
	for _, number := range protocols.Numbers() {
		b := n.bot(p, "Ada", func(s *mctest.BotSettings) { s.Protocol = number })
		n.on(b, "lobby-a")
		b.Leave()
		n.eventually("the player is gone", func() bool { return p.roster.size() == 0 && len(lobby.Players()) == 0 })
	}
	n.unharmed()
}

func TestTheServerLearnsWhoComesAsIfThereWasNoProxy(t *testing.T) {
	n := newNetwork(t)
	lobby := n.add("lobby-a", rig{})
	n.add("survival-0", rig{})
	p := n.front()
	raw := "Play.Example.org.\x00FORGE\x00"
	b := n.bot(p, "Ada", func(s *mctest.BotSettings) {
		s.Host, s.Locale, s.Intent = raw, "de_de", mcproto.IntentTransfer
	})
	n.on(b, "lobby-a")
	learns := func(server *server) {
		t.Helper()
		client, err := server.ClientOf("Ada")
		if err != nil {
			t.Fatal(err)
		}
		if client.Handshake.RawHost != raw || client.Handshake.Intent != mcproto.IntentLogin {
			t.Errorf("handshake %+v", client.Handshake)
		}
		if client.Brand != "vanilla" || client.Locale != "de_de" || client.Address != "127.0.0.1" {
			t.Errorf("brand %q, locale %q, address %q", client.Brand, client.Locale, client.Address)
		}
		if who := server.Players(); len(who) != 1 || who[0].ID != mcproto.OfflineUUID("Ada") {
			t.Errorf("got %v", who)
		}
	}
	learns(lobby)
	if err := p.player("Ada").Switch(n.ctx, "survival-0"); err != nil {
		t.Fatal(err)
	}
	n.on(b, "survival-0")
	learns(n.servers["survival-0"])
}

// sessionServer has accounts, and the network asks it.
func (n *network) sessionServer() (*mctest.SessionServer, func(*Config)) {
	n.t.Helper()
	s, err := mctest.StartSessionServer(n.ctx)
	if err != nil {
		n.t.Fatal(err)
	}
	n.settings.OnlineMode = true
	return s, func(c *Config) { c.SessionServer = s.URL() }
}

func account(s *mctest.SessionServer, who mcproto.Profile) func(*mctest.BotSettings) {
	token := s.Register(who)
	return func(b *mctest.BotSettings) {
		b.Account = &mctest.Account{Profile: who, Token: token, SessionServer: s.URL()}
	}
}

var ada = mcproto.Profile{
	ID: uuid.MustParse("01234567-89ab-cdef-0123-456789abcdef"), Name: "Ada",
	Properties: []mcproto.Property{{Name: "textures", Value: "ZmFrZQ==", Signature: "c2ln"}},
}

func TestInOnlineModeTheSessionServerSaysWhoComes(t *testing.T) {
	n := newNetwork(t)
	sessions, online := n.sessionServer()
	lobby := n.add("lobby-a", rig{})
	p := n.front(online)
	n.on(n.bot(p, "Ada", account(sessions, ada)))
	if diff := cmp.Diff([]mcproto.Profile{ada}, lobby.Players()); diff != "" {
		t.Error(diff)
	}
}

func TestVersionsThatNobodyHereSpeaksAreToldSo(t *testing.T) {
	n := newNetwork(t)
	n.add("lobby-a", rig{})
	p := n.front()
	for number, want := range map[int32]string{
		47: "This network needs Minecraft 1.20.5 or newer.", 765: "This network needs Minecraft 1.20.5 or newer.",
		10000: "This network takes Minecraft 1.20.5 to 26.3.", 1<<30 + 7: "This network takes Minecraft 1.20.5 to 26.3.",
	} {
		if got := rejection(t, p, number); got != want {
			t.Errorf("%d: got %q", number, got)
		}
	}
}

// rejection logs in with a bare connection and returns why that failed.
func rejection(t *testing.T, p *Proxy, number int32) string {
	t.Helper()
	conn := dial(t, p)
	hello := mcproto.Handshake{Protocol: number, RawHost: "localhost", Port: 25565, Intent: mcproto.IntentLogin}
	start := mcproto.LoginStartPayload(mcproto.Profile{Name: "Ada"})
	if err := errors.Join(conn.QueuePacket(0, hello.Payload()), conn.WritePacket(0, start)); err != nil {
		t.Fatal(err)
	}
	var frame mcproto.Frame
	if err := conn.ReadFrame(&frame); err != nil || frame.ID != mcproto.LoginDisconnect {
		t.Fatalf("packet %#x, %v", frame.ID, err)
	}
	payload, err := frame.Payload()
	if err != nil {
		t.Fatal(err)
	}
	reason, err := mcproto.ParseDisconnect(mcproto.StateLogin, payload)
	if err != nil {
		t.Fatal(err)
	}
	if reason.Translate != "" && number < 766 {
		t.Errorf("%d: a client of that age has no fallbacks: %+v", number, reason)
	}
	return reason.String()
}

func TestAProxyThatKnowsNoNetworkLetsNobodyIn(t *testing.T) {
	n := newNetwork(t)
	n.silent = true
	p := n.front()
	if got := rejection(t, p, 769); !strings.Contains(got, "The network is starting") {
		t.Errorf("got %q", got)
	}
	if p.ready() == nil {
		t.Error("it is ready")
	}
}

func TestWhenTheFirstServerRefusesTheNextIsTried(t *testing.T) {
	for name, at := range map[string]mctest.Stage{
		"in its login":                  mctest.AtLogin,
		"before it has sent registries": mctest.AtConfiguration,
	} {
		t.Run(name, func(t *testing.T) {
			n := newNetwork(t)
			n.add("lobby-a", rig{}).Refuse(at, mcproto.Plain("not today"))
			n.add("lobby-b", rig{})
			p := n.front()
			n.on(n.bot(p, "Ada"), "lobby-b")
			n.unharmed()
		})
	}
}

// One with a host to go to comes again: a late refusal leads to the lobby.
func TestAClientThatHoldsRegistriesAndNamedNoHostIsToldWhy(t *testing.T) {
	n := newNetwork(t)
	n.add("lobby-a", rig{}).Refuse(mctest.AfterRegistries, mcproto.Plain("not today"))
	n.add("lobby-b", rig{})
	p := n.front()
	b := n.bot(p, "Ada", func(s *mctest.BotSettings) { s.Host = "\x00FORGE" })
	if got := n.ends(b); got != "You were disconnected from lobby-a: not today" {
		t.Errorf("got %q", got)
	}
}

func TestAPlayerWhomEveryServerRefusesIsToldAtOnce(t *testing.T) {
	n := newNetwork(t)
	n.add("lobby-a", rig{}).Refuse(mctest.AtLogin, mcproto.Text{Translate: "multiplayer.disconnect.banned", Fallback: "You are banned"})
	p := n.front()
	if got := n.ends(n.bot(p, "Eve")); got != "lobby-a could not be joined: You are banned" {
		t.Errorf("got %q", got)
	}
}

func TestServersThatAreNotSetUpForThisNetworkAreNotJoined(t *testing.T) {
	for name, tt := range map[string]struct {
		settings mctest.Settings
		want     agentv1alpha1.ForwardingState
	}{
		"it asks nobody":          {mctest.Settings{Off: mctest.ForwardingRequired}, agentv1alpha1.ForwardingState_FORWARDING_STATE_NOT_ACTIVE},
		"it authenticates itself": {mctest.Settings{Authentication: mctest.Online}, agentv1alpha1.ForwardingState_FORWARDING_STATE_ONLINE_MODE},
	} {
		t.Run(name, func(t *testing.T) {
			n := newNetwork(t)
			unsafe := n.start("lobby-a", rig{plain: true, settings: tt.settings})
			unsafe.entry.Forwarding = true
			n.servers["lobby-a"] = unsafe
			n.settings.HoldSeconds = 0
			p := n.front()
			if got := n.ends(n.bot(p, "Ada")); got != "lobby-a is not set up for this network. Please tell an administrator." {
				t.Errorf("got %q", got)
			}
			problems := p.report().GetReport().GetForwardingProblems()
			if len(problems) != 1 || problems[0].GetServer() != "lobby-a" || problems[0].GetState() != tt.want {
				t.Errorf("reported %v", problems)
			}
			if len(unsafe.Players()) != 0 || unsafe.Joins() != 0 {
				t.Error("somebody got in")
			}
			n.remove("lobby-a")
			if left := p.report().GetReport().GetForwardingProblems(); len(left) != 0 {
				t.Errorf("still reported: %v", left)
			}
		})
	}
}

func TestAServerWithoutForwardingIsJoinedWhenItsGroupSaysSo(t *testing.T) {
	n := newNetwork(t)
	n.add("lobby-a", rig{plain: true})
	n.on(n.bot(n.front(), "Ada"), "lobby-a")
}

func TestOfTwoWithOneName(t *testing.T) {
	t.Run("the newest wins in online mode", func(t *testing.T) {
		n := newNetwork(t)
		sessions, online := n.sessionServer()
		n.add("lobby-a", rig{})
		p := n.front(online)
		older := n.bot(p, "Ada", account(sessions, ada))
		n.on(older)
		newer := n.bot(p, "Ada", account(sessions, ada))
		n.on(newer)
		if got := n.ends(older); got != "You logged in from another place." {
			t.Errorf("got %q", got)
		}
		if p.roster.size() != 1 {
			t.Errorf("%d on the roster", p.roster.size())
		}
	})
	t.Run("the older stays in offline mode, whatever the case of the name", func(t *testing.T) {
		n := newNetwork(t)
		n.add("lobby-a", rig{})
		p := n.front()
		older := n.joined(p, "Ada")
		if got := n.ends(n.bot(p, "aDA")); got != "Ada is already playing here." {
			t.Errorf("got %q", got)
		}
		if older.Err() != nil {
			t.Errorf("the older was thrown out: %v", older.Err())
		}
	})
	t.Run("a dead one makes way in offline mode", func(t *testing.T) {
		n := newNetwork(t)
		n.add("lobby-a", rig{})
		p := n.front()
		dead := dial(t, p)
		logIn(t, dead, "Ada")
		n.eventually("it is on a server", func() bool { older := p.player("Ada"); return older != nil && older.Standing().Server != "" })
		n.on(n.bot(p, "Ada"))
	})
}

func TestStatusComesFromTheProxyAlone(t *testing.T) {
	n := newNetwork(t)
	lobby := n.add("lobby-a", rig{})
	p := n.front()
	n.joined(p, "Ada")
	n.joined(p, "Ben")
	n.publish()
	lobby.Stop()
	<-lobby.Done()
	for number, want := range map[int32]int32{766: 766, 769: 769, 777: 777, 47: 777, 9999: 777} {
		got := serverList(t, p, number)
		if got.Version.Protocol != want || got.Version.Name != "1.20.5 - 26.3" {
			t.Errorf("%d: version %+v", number, got.Version)
		}
		if got.Players.Online != 2 || got.Players.Max != 500 {
			t.Errorf("%d: players %+v", number, got.Players)
		}
		motd, err := mcproto.ParseTextJSON(string(got.Description))
		if err != nil || motd.String() != "A green network" || motd.Extra[0].Color != "green" {
			t.Errorf("%d: description %s, %v", number, got.Description, err)
		}
	}
}

func TestOnlyTheRosterIsOnTheRoster(t *testing.T) {
	n := newNetwork(t)
	n.add("lobby-a", rig{})
	p := n.front()
	n.joined(p, "Ben")
	n.joined(p, "Ada").Leave()
	n.eventually("Ada has left", func() bool { return p.roster.size() == 1 })
	report := p.report().GetReport()
	var names []string
	for _, entry := range report.GetRoster() {
		names = append(names, entry.GetPlayer().GetName()+"@"+entry.GetServer()+">"+entry.GetDestination())
	}
	if !slices.Equal(names, []string{"Ben@lobby-a>"}) {
		t.Errorf("got %v", names)
	}
	if report.GetSampledAt() == nil || report.GetDirectoryRevision() == 0 || report.GetWithdrawn() {
		t.Errorf("got %v", report)
	}
}
