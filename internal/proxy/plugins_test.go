// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"bytes"
	"net"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/spawnery/spawnery-operator/internal/mcproto"
	"github.com/spawnery/spawnery-operator/internal/mctest"
	"github.com/spawnery/spawnery-operator/internal/proxy/bungee"
	"github.com/spawnery/spawnery-operator/internal/proxy/session"
)

// spoken is a plugin's message: its words as DataOutputStream.writeUTF writes them.
func spoken(words ...string) mcproto.PluginMessage {
	w := mcproto.NewWriter()
	for _, word := range words {
		w.JavaString(word)
	}
	return mcproto.PluginMessage{Channel: "bungeecord:main", Data: w.Bytes()}
}

// forwarded is a Forward or ForwardToPlayer, and what arrives of it.
func forwarded(subchannel, target, about, data string) (mcproto.PluginMessage, []byte) {
	inner := mcproto.NewWriter().JavaString(about).Uint16(uint16(len(data))).Raw([]byte(data)...).Bytes()
	message := spoken(subchannel, target)
	message.Data = append(message.Data, inner...)
	return message, inner
}

// plugin has a plugin send over a player's connection, which a server does only
// on a channel that was registered there.
func (n *network) plugin(on *server, player string, message mcproto.PluginMessage) {
	n.t.Helper()
	if sent, err := on.SendPluginMessage(player, message); !sent || err != nil {
		n.t.Fatalf("sent %v, %v", sent, err)
	}
}

// heard is what the plugins of a server have got over a player's connection.
func heard(on *server, player string) [][]byte {
	client, err := on.ClientOf(player)
	if err != nil {
		return nil
	}
	var all [][]byte
	for _, m := range client.Messages {
		if m.Channel == "bungeecord:main" {
			all = append(all, m.Data)
		}
	}
	return all
}

// learns waits until a server's plugins have got a message over a player's
// connection.
func (n *network) learns(on *server, player string, want []byte) {
	n.t.Helper()
	deadline := time.After(20 * time.Second)
	for !slices.ContainsFunc(heard(on, player), func(got []byte) bool { return bytes.Equal(got, want) }) {
		select {
		case <-deadline:
			n.t.Fatalf("the plugins got %q over %s's connection, want %q", heard(on, player), player, want)
		case <-time.After(2 * time.Millisecond):
		}
	}
}

// counted is how many plugin messages came to an end.
func (p *Proxy) counted(about bungee.Subchannel, became outcome) int {
	families, _ := p.metrics.registry.Gather()
	for _, family := range families {
		if family.GetName() != "spawnery_proxy_plugin_messages_total" {
			continue
		}
		for _, metric := range family.GetMetric() {
			labels := map[string]string{}
			for _, label := range metric.GetLabel() {
				labels[label.GetName()] = label.GetValue()
			}
			if labels["subchannel"] == about.String() && labels["outcome"] == string(became) {
				return int(metric.GetCounter().GetValue())
			}
		}
	}
	return 0
}

func TestALobbySelectorSendsPlayersOnFromItsJoinEvent(t *testing.T) {
	protocols, err := mcproto.DefaultProtocols()
	if err != nil {
		t.Fatal(err)
	}
	n := newNetwork(t)
	lobby := n.add("lobby-a", rig{settings: mctest.Settings{JoinMessages: []mcproto.PluginMessage{spoken("PlayerCount", "survival"), spoken("Connect", "survival")}}})
	survival := n.add("survival-0", rig{})
	p := n.front()
	for _, number := range protocols.Numbers() {
		name := "Ada" + strconv.Itoa(int(number))
		b := n.bot(p, name, func(s *mctest.BotSettings) { s.Protocol = number })
		n.on(b, "survival-0")
		if got := b.PluginMessages(); slices.ContainsFunc(got, func(m mcproto.PluginMessage) bool { return m.Channel != mcproto.BrandChannel }) {
			t.Errorf("%d: the client got %q", number, got)
		}
		client, err := survival.ClientOf(name)
		if err != nil || !slices.Contains(client.Channels, "bungeecord:main") {
			t.Errorf("%d: %v, %v", number, client.Channels, err)
		}
	}
	if want := len(protocols.Numbers()); lobby.Joins() != want || p.counted(bungee.Connect, pluginDone) != want {
		t.Errorf("%d joins of the lobby, %d were sent on", lobby.Joins(), p.counted(bungee.Connect, pluginDone))
	}
	n.unharmed()
}

// A proxy that registers nothing leaves the same plugin mute.
func TestWithoutARegistrationPluginsOfAServerAreMute(t *testing.T) {
	n := newNetwork(t)
	alone, err := mctest.Start(n.ctx, mctest.Settings{Name: "alone", JoinMessages: []mcproto.PluginMessage{spoken("Connect", "survival")}})
	if err != nil {
		t.Fatal(err)
	}
	defer alone.Stop()
	b, err := mctest.Join(n.ctx, mctest.BotSettings{Address: alone.Address(), Name: "Ada"})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Leave()
	n.on(b, "alone")
	if err := b.Command("list"); err != nil {
		t.Fatal(err)
	}
	n.hears(b, "players online")
	if got := b.PluginMessages(); slices.ContainsFunc(got, func(m mcproto.PluginMessage) bool { return m.Channel == "bungeecord:main" }) {
		t.Errorf("the plugin was heard: %q", got)
	}
}

func TestTheRegistrationComesInConfigurationAndAgainInPlay(t *testing.T) {
	n := newNetwork(t)
	lobby := n.add("lobby-a", rig{})
	b := n.joined(n.front(), "Ada", "lobby-a")
	registrations := func() int {
		came := 0
		client, err := lobby.ClientOf("Ada")
		if err != nil {
			return 0
		}
		for _, m := range client.Messages {
			if m.Channel == mcproto.RegisterChannel && slices.Contains(strings.Split(string(m.Data), "\x00"), "bungeecord:main") {
				came++
			}
		}
		return came
	}
	n.eventually("it came twice", func() bool { return registrations() == 2 })
	b.ForgetLines()
	if err := lobby.Reconfigure("Ada"); err != nil {
		t.Fatal(err)
	}
	n.hears(b, "Welcome to lobby-a")
	n.eventually("it came again in either phase", func() bool { return registrations() == 4 })
	n.unharmed()
}

func TestAClientCannotTakeTheProxysChannelBack(t *testing.T) {
	n := newNetwork(t)
	lobby := n.add("lobby-a", rig{})
	p := n.front()
	b := n.joined(p, "Ada", "lobby-a")
	for _, m := range []mcproto.PluginMessage{
		{Channel: "minecraft:register", Data: []byte("mod:one\x00mod:two\x00spawnery:own")},
		{Channel: "minecraft:unregister", Data: []byte("bungeecord:main")},
		{Channel: "minecraft:unregister", Data: []byte("mod:one\x00bungeecord:main\x00BungeeCord")},
		{Channel: "BungeeCord", Data: spoken("Connect", "survival").Data},
		{Channel: "mod:two", Data: []byte("done")},
	} {
		if err := b.SendPluginMessage(m); err != nil {
			t.Fatal(err)
		}
	}
	n.eventually("all of it arrived", func() bool {
		c, err := lobby.ClientOf("Ada")
		return err == nil && slices.ContainsFunc(c.Messages, func(m mcproto.PluginMessage) bool { return m.Channel == "mod:two" })
	})
	c, err := lobby.ClientOf("Ada")
	if err != nil || !slices.Equal(c.Channels, []string{"bungeecord:main", "mod:two"}) {
		t.Errorf("registered are %q, %v", c.Channels, err)
	}
	n.plugin(lobby, "Ada", spoken("GetServer"))
	n.learns(lobby, "Ada", spoken("GetServer", "lobby-a").Data)
	n.unharmed()
}

func TestEachSubchannelIsAnsweredByOneProxyAlone(t *testing.T) {
	n := newNetwork(t)
	lobby := n.add("lobby-a", rig{})
	survival := n.add("survival-0", rig{})
	n.add("survival-1", rig{})
	p := n.front()
	ada := n.joined(p, "Ada", "lobby-a")
	ben := n.joined(p, "Ben", "lobby-a")
	if refused := n.switched(p, "Ben", "survival-0"); refused != "" {
		t.Fatal(refused)
	}
	n.on(ben, "survival-0")
	n.eventually("Ben is in the world", func() bool { via, on := p.player("Ben").Via(); return on && via.Plays() })
	n.publish()
	remote := p.player("Ada").Remote()
	host, text, err := net.SplitHostPort(survival.Address())
	if err != nil || remote.Port() == 0 {
		t.Fatal(remote, err)
	}
	port, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	undashed := func(name string) string {
		return strings.ReplaceAll(mcproto.OfflineUUID(name).String(), "-", "")
	}
	counts := func(target string, players int32) []byte {
		return mcproto.NewWriter().JavaString("PlayerCount").JavaString(target).Int32(players).Bytes()
	}
	for _, tt := range []struct {
		ask  mcproto.PluginMessage
		want []byte
	}{
		{spoken("IP"), mcproto.NewWriter().JavaString("IP").JavaString("127.0.0.1").Int32(int32(remote.Port())).Bytes()},
		{spoken("IPOther", "ben"), mcproto.NewWriter().JavaString("IPOther").JavaString("Ben").JavaString("127.0.0.1").Int32(int32(p.player("Ben").Remote().Port())).Bytes()},
		{spoken("PlayerCount", "ALL"), counts("ALL", 2)},
		{spoken("PlayerCount", "Survival-0"), counts("survival-0", 1)},
		{spoken("PlayerCount", "survival"), counts("survival", 1)},
		{spoken("PlayerCount", "survival-1"), counts("survival-1", 0)},
		{spoken("PlayerList", "ALL"), spoken("PlayerList", "ALL", "Ada, Ben").Data},
		{spoken("PlayerList", "lobby-a"), spoken("PlayerList", "lobby-a", "Ada").Data},
		{spoken("PlayerList", "survival"), spoken("PlayerList", "survival", "Ben").Data},
		{spoken("PlayerList", "survival-1"), spoken("PlayerList", "survival-1", "").Data},
		{spoken("GetServers"), spoken("GetServers", "lobby-a, survival-0, survival-1").Data},
		{spoken("GetServer"), spoken("GetServer", "lobby-a").Data},
		{spoken("UUID"), spoken("UUID", undashed("Ada")).Data},
		{spoken("UUIDOther", "BEN"), spoken("UUIDOther", "Ben", undashed("Ben")).Data},
		{spoken("ServerIP", "survival-0"), mcproto.NewWriter().JavaString("ServerIP").JavaString("survival-0").JavaString(host).Uint16(uint16(port)).Bytes()},
	} {
		n.plugin(lobby, "Ada", tt.ask)
		n.learns(lobby, "Ada", tt.want)
	}

	n.plugin(lobby, "Ada", spoken("Message", "ben", "§cred §x§1§2§a§b§c§done"))
	n.hears(ben, "red one")
	n.plugin(lobby, "Ada", spoken("MessageRaw", "ALL", `{"text":"to ","extra":["all"]}`))
	n.hears(ada, "to all")
	n.hears(ben, "to all")

	for _, target := range []string{"survival-0", "survival", "ALL", "ONLINE"} {
		message, want := forwarded("Forward", target, "my:channel", "to "+target)
		n.plugin(lobby, "Ada", message)
		n.learns(survival, "Ben", want)
	}
	message, want := forwarded("ForwardToPlayer", "Ben", "my:channel", "to Ben")
	n.plugin(lobby, "Ada", message)
	n.learns(survival, "Ben", want)

	n.plugin(lobby, "Ada", spoken("ConnectOther", "Ben", "lobby"))
	n.on(ben, "lobby-a")
	n.plugin(lobby, "Ada", spoken("Connect", "survival-1"))
	n.on(ada, "survival-1")
	n.plugin(lobby, "Ben", spoken("Connect", "survival-9"))
	n.hears(ben, "There is no server or group survival-9.")
	n.plugin(lobby, "Ben", spoken("KickPlayer", "Ada", "§4out"))
	if got := n.ends(ada); got != "out" {
		t.Errorf("Ada was told %q", got)
	}
	n.plugin(lobby, "Ben", spoken("KickPlayerRaw", "Ben", `"you too"`))
	if got := n.ends(ben); got != "you too" {
		t.Errorf("Ben was told %q", got)
	}
	n.unharmed()
	for _, about := range bungee.Subchannels() {
		if p.counted(about, pluginDone)+p.counted(about, pluginUnreachable) == 0 {
			t.Errorf("%s was not counted", about)
		}
	}
}

func TestWhatNamesNobodyIsNotAnswered(t *testing.T) {
	n := newNetwork(t)
	lobby := n.add("lobby-a", rig{})
	m := n.managed()
	p := m.front("east")
	n.joined(p, "Ada", "lobby-a")
	forward, _ := forwarded("Forward", "survival-9", "a", "b")
	toNobody, _ := forwarded("ForwardToPlayer", "Zoe", "a", "b")
	for about, ask := range map[bungee.Subchannel]mcproto.PluginMessage{
		bungee.IPOther: spoken("IPOther", "Zoe"), bungee.UUIDOther: spoken("UUIDOther", "Zoe"),
		bungee.PlayerCount: spoken("PlayerCount", "survival-9"), bungee.PlayerList: spoken("PlayerList", "survival-9"),
		bungee.ServerIP: spoken("ServerIP", "lobby"), bungee.Forward: forward, bungee.ForwardToPlayer: toNobody,
		bungee.ConnectOther: spoken("ConnectOther", "Zoe", "lobby"), bungee.KickPlayer: spoken("KickPlayer", "Zoe", "out"),
		bungee.Message: spoken("Message", "Zoe", "hello"),
	} {
		n.plugin(lobby, "Ada", ask)
		n.eventually(about.String()+" is counted", func() bool { return p.counted(about, pluginNobody) == 1 })
	}
	if got := heard(lobby, "Ada"); len(got) > 0 {
		t.Errorf("the plugins got %q", got)
	}
	n.unharmed()
}

func TestMessagesThatCannotBeReadDoNoHarm(t *testing.T) {
	n := newNetwork(t)
	lobby := n.add("lobby-a", rig{})
	p := n.front()
	b := n.joined(p, "Ada", "lobby-a")
	large, _ := forwarded("Forward", "ALL", "a", strings.Repeat("x", bungee.MaxMessage))
	for _, data := range [][]byte{
		nil,
		{0},
		{0, 9, 'F'},
		spoken("Forward").Data, spoken("Message", "Ada").Data, spoken("Nonsense", "x").Data,
		spoken("MessageRaw", "Ada", "{").Data, spoken("KickPlayerRaw", "Ada", "[[[").Data, make([]byte, 1<<20),
		append(spoken("Message", "ALL").Data, 0xff, 0xff),
		{0, 2, 0xc0, 0xed},
		large.Data,
	} {
		n.plugin(lobby, "Ada", mcproto.PluginMessage{Channel: "bungeecord:main", Data: data})
	}
	n.plugin(lobby, "Ada", spoken("GetServer"))
	n.learns(lobby, "Ada", spoken("GetServer", "lobby-a").Data)
	if p.counted(bungee.Forward, pluginRefused) != 1 || p.counted(bungee.Unknown, pluginMalformed) < 5 || b.Err() != nil {
		t.Errorf("%d refused, %d malformed, %v", p.counted(bungee.Forward, pluginRefused), p.counted(bungee.Unknown, pluginMalformed), b.Err())
	}
	n.unharmed()
}

func TestAPluginThatFloodsIsHeardWithinBounds(t *testing.T) {
	n := newNetwork(t)
	lobby := n.add("lobby-a", rig{})
	p := n.front()
	n.joined(p, "Ada", "lobby-a")
	for range 3000 {
		n.plugin(lobby, "Ada", spoken("UUIDOther", "Zoe"))
	}
	n.eventually("most of it is refused", func() bool { return p.counted(bungee.Unknown, pluginRefused) > 1000 })
	n.eventually("and of the rest what concerns others", func() bool { return p.counted(bungee.UUIDOther, pluginRefused) > 100 })
	if got := p.player("Ada").Standing(); got != (session.Standing{Server: "lobby-a"}) {
		t.Errorf("standing %+v", got)
	}
	n.unharmed()
}

func TestWhatEverybodyReadsIsBoundedOverAllConnections(t *testing.T) {
	n := newNetwork(t)
	lobby := n.add("lobby-a", rig{})
	p := n.front()
	p.plugins.broadcasts.SetLimit(0)
	p.plugins.broadcasts.SetBurst(1)
	ada, ben := n.joined(p, "Ada", "lobby-a"), n.joined(p, "Ben", "lobby-a")
	n.plugin(lobby, "Ada", spoken("Message", "ALL", "first"))
	n.hears(ben, "first")
	n.plugin(lobby, "Ben", spoken("Message", "ALL", "second"))
	n.eventually("one is refused", func() bool { return p.counted(bungee.Message, pluginRefused) == 1 })
	n.plugin(lobby, "Ben", spoken("Message", "Ada", "third"))
	n.hears(ada, "third")
	for _, line := range ada.Lines() {
		if strings.Contains(line, "second") {
			t.Errorf("heard %q", ada.Lines())
		}
	}
	n.unharmed()
}
