// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/mcproto"
	"github.com/spawnery/spawnery-operator/internal/mctest"
	"github.com/spawnery/spawnery-operator/internal/proxy/session"
)

// player finds somebody on the roster.
func (p *Proxy) player(name string) *session.Player {
	for _, player := range p.roster.all() {
		if player.Profile().Name == name {
			return player
		}
	}
	return nil
}

// switched is why a switch did not happen; empty: it did.
func (n *network) switched(p *Proxy, name, target string) string {
	n.t.Helper()
	err := p.player(name).Switch(n.ctx, target)
	if refused, ok := errors.AsType[*session.Switched](err); ok {
		return refused.Reason.String()
	}
	if err != nil {
		n.t.Fatal(err)
	}
	return ""
}

func TestAPlayerSwitchesThereAndBackAndChatsAtEveryProtocol(t *testing.T) {
	protocols, err := mcproto.DefaultProtocols()
	if err != nil {
		t.Fatal(err)
	}
	n := newNetwork(t)
	n.add("lobby-a", rig{})
	n.add("survival-0", rig{})
	p := n.front()
	for _, number := range protocols.Numbers() {
		name := fmt.Sprint("Ada", number)
		b := n.bot(p, name, func(s *mctest.BotSettings) { s.Protocol, s.Moves, s.Locale = number, 200, "de_de" })
		n.on(b, "lobby-a")
		for _, target := range []string{"survival-0", "lobby-a", "survival", "lobby"} {
			if refused := n.switched(p, name, target); refused != "" {
				t.Fatalf("%d to %s: %s", number, target, refused)
			}
			group, _, _ := strings.Cut(target, "-")
			on := n.on(b, "lobby-a", "survival-0")
			if !strings.HasPrefix(on, group) {
				t.Fatalf("%d: on %s, not on %s", number, on, target)
			}
			client, err := n.servers[on].ClientOf(name)
			if err != nil || client.Brand != "vanilla" || client.Locale != "de_de" {
				t.Errorf("%d: %s knows %+v, %v", number, on, client, err)
			}
			said := "hello " + target
			if err := b.Chat(said); err != nil {
				t.Fatal(err)
			}
			n.hears(b, "<"+name+"> "+said)
		}
	}
	n.unharmed()
}

func TestARefusedSwitchLeavesThePlayerWhereTheyAre(t *testing.T) {
	for name, tt := range map[string]struct {
		prepare func(n *network, s *server)
		target  string
		want    string
	}{
		"the server refuses": {func(_ *network, s *server) { s.Refuse(mctest.AtLogin, mcproto.Plain("VIPs only")) }, "survival-0", "survival-0 could not be joined: VIPs only"},
		"the server is down": {func(_ *network, s *server) { s.Stop(); <-s.Done() }, "survival-0", "survival-0 could not be joined: it does not answer"},
		"it has no slot":     {func(_ *network, s *server) { s.agent.Refuse(fullUp) }, "survival-0", "This round is full."},
		"its group has none": {func(_ *network, s *server) { s.agent.Refuse(fullUp) }, "survival", "This round is full."},
		"its door is shut":   {func(n *network, _ *server) { n.door("survival-0", agentv1alpha1.DoorState_DOOR_STATE_CLOSED) }, "survival-0", "No server is available right now. Please try again in a moment."},
		"nobody asked":       {func(n *network, _ *server) { n.door("survival-0", agentv1alpha1.DoorState_DOOR_STATE_BY_NAME) }, "survival", "No server is available right now. Please try again in a moment."},
		"it does not exist":  {func(*network, *server) {}, "survival-7", "There is no server or group survival-7."},
		"they are there":     {func(*network, *server) {}, "lobby-a", "You are already on lobby-a."},
	} {
		t.Run(name, func(t *testing.T) {
			n := newNetwork(t)
			n.add("lobby-a", rig{})
			tt.prepare(n, n.add("survival-0", rig{}))
			p := n.front()
			b := n.joined(p, "Ada", "lobby-a")
			if got := n.switched(p, "Ada", tt.target); got != tt.want {
				t.Errorf("got %q", got)
			}
			if b.Server() != "lobby-a" || len(b.Stats().Switches) != 0 || p.player("Ada").Standing() != (session.Standing{Server: "lobby-a"}) {
				t.Errorf("on %q, standing %+v", b.Server(), p.player("Ada").Standing())
			}
			n.eventually("no seat is left behind", func() bool { return n.servers["survival-0"].agent.Pending() == 0 })
			n.unharmed()
		})
	}
}

func TestANamedServerIsJoinedBehindItsDoor(t *testing.T) {
	n := newNetwork(t)
	n.add("lobby-a", rig{})
	n.add("survival-0", rig{})
	n.door("survival-0", agentv1alpha1.DoorState_DOOR_STATE_BY_NAME)
	p := n.front()
	b := n.joined(p, "Ada", "lobby-a")
	if refused := n.switched(p, "Ada", "survival-0"); refused != "" {
		t.Fatal(refused)
	}
	n.on(b, "survival-0")
}

func TestAGroupSwitchTriesTheOthersOfTheGroup(t *testing.T) {
	n := newNetwork(t)
	n.add("lobby-a", rig{})
	n.add("survival-0", rig{}).Refuse(mctest.AtLogin, mcproto.Plain("no"))
	n.add("survival-1", rig{})
	p := n.front()
	b := n.joined(p, "Ada", "lobby-a")
	if refused := n.switched(p, "Ada", "survival"); refused != "" {
		t.Fatal(refused)
	}
	n.on(b, "survival-1")
}

func TestARefusalAfterTheOldServerWasLeftLeadsToTheFallback(t *testing.T) {
	for name, at := range map[string]mctest.Stage{
		"before registries":                  mctest.AtConfiguration,
		"as the first word of the world":     mctest.AtConfigurationEnd,
		"right after the player is in there": mctest.AtPlay,
	} {
		t.Run(name, func(t *testing.T) {
			n := newNetwork(t)
			n.add("lobby-a", rig{})
			n.add("survival-0", rig{}).Refuse(at, mcproto.Plain("no mods here"))
			p := n.front()
			b := n.joined(p, "Ada", "lobby-a")
			b.ForgetLines()
			if refused := n.switched(p, "Ada", "survival-0"); refused != "" {
				t.Fatal(refused)
			}
			n.hears(b, "Welcome to lobby-a")
			n.hears(b, "You were moved here from survival-0: no mods here")
			n.unharmed()
		})
	}
}

func TestAKickOrCrashLeadsToTheFallbackGroupsWithTheReason(t *testing.T) {
	for name, tt := range map[string]struct {
		end  func(s *server)
		want string
	}{
		"kicked":  {func(s *server) { _ = s.Kick("Ada", mcproto.Text{Text: "AFK", Color: "red"}) }, "You were moved here from survival-0: AFK"},
		"crashed": {func(s *server) { _ = s.Cut("Ada") }, "You were moved here from survival-0: the connection was lost"},
		"stopped": {func(s *server) { s.Stop() }, "You were moved here from survival-0: Server closed"},
	} {
		t.Run(name, func(t *testing.T) {
			n := newNetwork(t)
			survival := n.add("survival-0", rig{})
			n.add("lobby-a", rig{})
			p := n.front()
			b := n.joined(p, "Ada", "lobby-a")
			if refused := n.switched(p, "Ada", "survival-0"); refused != "" {
				t.Fatal(refused)
			}
			n.on(b, "survival-0")
			tt.end(survival)
			n.on(b, "lobby-a")
			n.hears(b, tt.want)
			n.unharmed()
		})
	}
}

func TestNobodyIsSentBackToTheServerThatKickedThem(t *testing.T) {
	n := newNetwork(t)
	lobby := n.add("lobby-a", rig{})
	n.settings.HoldSeconds = 1
	p := n.front()
	b := n.joined(p, "Ada", "lobby-a")
	if err := lobby.Kick("Ada", mcproto.Plain("AFK")); err != nil {
		t.Fatal(err)
	}
	if got := n.ends(b); got != "You were disconnected from lobby-a: AFK" {
		t.Errorf("got %q", got)
	}
	if lobby.Joins() != 1 {
		t.Errorf("%d joins", lobby.Joins())
	}
}

func TestAPlayerWhoseOnlyServerCrashedIsHeldUntilThereIsAnother(t *testing.T) {
	n := newNetwork(t)
	lobby := n.add("lobby-a", rig{})
	p := n.front()
	b := n.joined(p, "Ada", "lobby-a")
	lobby.Stop()
	n.eventually("the player waits", func() bool { return len(p.report().GetReport().GetWaiting()) == 1 })
	if err := b.WaitState(n.ctx, mcproto.StateConfiguration); err != nil {
		t.Fatal(err)
	}
	n.add("lobby-b", rig{})
	n.on(b, "lobby-b")
	n.hears(b, "You were moved here from lobby-a: Server closed")
}

// What opens again under the name of a lost server is another server.
func TestARestartedServerTakesBackThePlayersItLost(t *testing.T) {
	n := newNetwork(t)
	lobby := n.add("lobby-a", rig{})
	p := n.front()
	b := n.joined(p, "Ada", "lobby-a")
	lobby.Stop()
	n.eventually("the player waits", func() bool { return len(p.report().GetReport().GetWaiting()) == 1 })
	n.door("lobby-a", agentv1alpha1.DoorState_DOOR_STATE_CLOSED)
	time.Sleep(50 * time.Millisecond) // time in which nothing must happen
	if b.Err() != nil {
		t.Fatal(b.Err())
	}
	n.add("lobby-a", rig{})
	n.on(b, "lobby-a")
}

func TestAServerMaySendItsPlayersThroughConfigurationAgain(t *testing.T) {
	n := newNetwork(t)
	lobby := n.add("lobby-a", rig{})
	n.add("survival-0", rig{})
	p := n.front()
	b := n.joined(p, "Ada", "lobby-a")
	for range 3 {
		b.ForgetLines()
		if err := lobby.Reconfigure("Ada"); err != nil {
			t.Fatal(err)
		}
		n.hears(b, "Welcome to lobby-a")
	}
	if refused := n.switched(p, "Ada", "survival-0"); refused != "" {
		t.Fatal(refused)
	}
	n.on(b, "survival-0")
	n.unharmed()
}

// A slow client's answers to one server arrive when it is on the next.
func TestLateAnswersReachNobodyWhoDidNotAsk(t *testing.T) {
	n := newNetwork(t)
	lobby := n.add("lobby-a", rig{settings: mctest.Settings{KeepAlive: 20 * time.Millisecond}})
	survival := n.add("survival-0", rig{settings: mctest.Settings{KeepAlive: 20 * time.Millisecond}})
	p := n.front()
	b := n.bot(p, "Ada", func(s *mctest.BotSettings) { s.Latency, s.Moves = 60*time.Millisecond, 100 })
	n.on(b, "lobby-a")
	from, to := lobby, survival
	for i := range 6 {
		name := "Ada"
		err := errors.Join(
			from.PingPlayer(name, int32(i)), from.AskCookieOf(name, "test:late"),
			from.PushPackTo(name, mcproto.ResourcePackPush{ID: uuid.New(), URL: "http://127.0.0.1:1/pack.zip", Hash: strings.Repeat("0", 40)}),
		)
		if err != nil {
			t.Fatal(err)
		}
		if refused := n.switched(p, name, to.entry.GetName()); refused != "" {
			t.Fatal(refused)
		}
		n.on(b, to.entry.GetName())
		from, to = to, from
	}
	n.unharmed()
}

func TestChannelsAreRegisteredOnEveryServerAndOursAreTheProxys(t *testing.T) {
	n := newNetwork(t)
	lobby := n.add("lobby-a", rig{})
	survival := n.add("survival-0", rig{})
	p := n.front()
	b := n.joined(p, "Ada", "lobby-a")
	for _, m := range []mcproto.PluginMessage{
		{Channel: "minecraft:register", Data: []byte("mod:one\x00mod:two")},
		{Channel: "bungeecord:main", Data: []byte("forged")},
		{Channel: "spawnery:transfer", Data: []byte("forged")},
		{Channel: "mod:one", Data: []byte("hello")},
	} {
		if err := b.SendPluginMessage(m); err != nil {
			t.Fatal(err)
		}
	}
	n.eventually("the message arrives", func() bool {
		c, err := lobby.ClientOf("Ada")
		return err == nil && slices.ContainsFunc(c.Messages, func(m mcproto.PluginMessage) bool { return m.Channel == "mod:one" })
	})
	if refused := n.switched(p, "Ada", "survival-0"); refused != "" {
		t.Fatal(refused)
	}
	n.on(b, "survival-0")
	for _, s := range []*server{lobby, survival} {
		for _, name := range []string{"Ada"} {
			c, err := s.ClientOf(name)
			if err != nil {
				continue
			}
			if !slices.Equal(c.Channels, []string{"bungeecord:main", "mod:one", "mod:two"}) {
				t.Errorf("channels %v", c.Channels)
			}
			if slices.ContainsFunc(c.Messages, func(m mcproto.PluginMessage) bool {
				return m.Channel == "bungeecord:main" || m.Channel == "spawnery:transfer"
			}) {
				t.Errorf("a client spoke for the proxy: %v", c.Messages)
			}
		}
	}
}

func TestCloudIsAnsweredByTheProxyAndEverythingElseByTheServer(t *testing.T) {
	n := newNetwork(t)
	n.add("lobby-a", rig{playable: 12, slots: 20})
	n.settings.Permissions = []*agentv1alpha1.PermissionGroup{
		{Name: "staff", TrustOfflineNames: true, Players: []string{"Ada"}, Permissions: []string{"spawnery.cloud.read"}},
	}
	p := n.front()
	staff, guest := n.joined(p, "Ada"), n.joined(p, "Ben")
	n.publish()
	for _, b := range []*mctest.Bot{staff, guest} {
		for _, line := range []string{"cloud list", "list"} {
			if err := b.Command(line); err != nil {
				t.Fatal(err)
			}
		}
	}
	n.hears(staff, "lobby: 2 players, 10 free seats, 1 servers")
	n.hears(staff, "lobby-a: 2/20 players, 10 free seats, Ready")
	n.hears(staff, "There are 2 of a max of 20 players online")
	n.hears(guest, "Unknown or incomplete command")
	answer, err := staff.Suggest(n.ctx, "/cloud list lo")
	if err != nil || !slices.Equal(answer.Matches, []string{"lobby"}) || answer.Start != 12 || answer.Length != 2 {
		t.Errorf("got %+v, %v", answer, err)
	}
	n.unharmed()
}
