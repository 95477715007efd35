// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/spawnery/spawnery-operator/internal/mcproto"
	"github.com/spawnery/spawnery-operator/internal/mctest"
	"github.com/spawnery/spawnery-operator/internal/proxy/bungee"
)

// apart is a network of two proxies that know of each other by the manager alone:
// Ada plays on lobby-a by the one, Ben on survival-0 and Cleo on survival-1 by the
// other.
type apart struct {
	*network
	manager        *wholeManager
	east, west     *Proxy
	lobby          *server
	ada, ben, cleo *mctest.Bot
}

func newApart(t *testing.T) *apart {
	n := newNetwork(t)
	a := &apart{network: n, lobby: n.add("lobby-a", rig{})}
	n.add("survival-0", rig{})
	n.add("survival-1", rig{})
	a.manager = n.managed()
	a.east, a.west = a.manager.front("east"), a.manager.front("west")
	a.ada = n.joined(a.east, "Ada", "lobby-a")
	a.ben, a.cleo = n.joined(a.west, "Ben", "lobby-a"), n.joined(a.west, "Cleo", "lobby-a")
	a.sends("Ben", a.ben, "survival-0")
	a.sends("Cleo", a.cleo, "survival-1")
	a.manager.places("lobby-a", 1)
	a.manager.publish()
	n.eventually("the proxies know the counts", func() bool { return a.east.store.View().NetworkPlayers == 3 })
	return a
}

// sends moves a player of the western proxy and waits for the world.
func (a *apart) sends(name string, b *mctest.Bot, to string) {
	a.t.Helper()
	if refused := a.switched(a.west, name, to); refused != "" {
		a.t.Fatal(refused)
	}
	a.on(b, to)
	a.eventually(name+" is in the world", func() bool { via, on := a.west.player(name).Via(); return on && via.Plays() })
	a.manager.places(to, 1)
}

func TestEachSubchannelReachesPlayersOfOtherProxies(t *testing.T) {
	a := newApart(t)
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
		{spoken("IPOther", "ben"), mcproto.NewWriter().JavaString("IPOther").JavaString("Ben").JavaString("127.0.0.1").Int32(int32(a.west.player("Ben").Remote().Port())).Bytes()},
		{spoken("PlayerCount", "ALL"), counts("ALL", 3)},
		{spoken("PlayerCount", "survival-0"), counts("survival-0", 1)},
		{spoken("PlayerCount", "survival"), counts("survival", 2)},
		{spoken("PlayerList", "ALL"), spoken("PlayerList", "ALL", "Ada, Ben, Cleo").Data},
		{spoken("PlayerList", "survival-0"), spoken("PlayerList", "survival-0", "Ben").Data},
		{spoken("PlayerList", "survival"), spoken("PlayerList", "survival", "Ben, Cleo").Data},
		{spoken("UUIDOther", "cleo"), spoken("UUIDOther", "Cleo", undashed("Cleo")).Data},
	} {
		a.plugin(a.lobby, "Ada", tt.ask)
		a.learns(a.lobby, "Ada", tt.want)
	}

	a.plugin(a.lobby, "Ada", spoken("Message", "BEN", "§chello Ben"))
	a.hears(a.ben, "hello Ben")
	a.plugin(a.lobby, "Ada", spoken("MessageRaw", "ALL", `{"text":"to ","extra":[{"text":"all","color":"red"}]}`))
	for _, b := range []*mctest.Bot{a.ada, a.ben, a.cleo} {
		a.hears(b, "to all")
	}

	zero, one := a.servers["survival-0"], a.servers["survival-1"]
	message, want := forwarded("Forward", "survival-1", "my:channel", "to one")
	a.plugin(a.lobby, "Ada", message)
	a.learns(one, "Cleo", want)
	for _, target := range []string{"survival", "ALL", "ONLINE"} {
		message, want := forwarded("Forward", target, "my:channel", "to "+target)
		a.plugin(a.lobby, "Ada", message)
		a.learns(zero, "Ben", want)
		a.learns(one, "Cleo", want)
	}
	message, want = forwarded("ForwardToPlayer", "Ben", "my:channel", "to Ben")
	a.plugin(a.lobby, "Ada", message)
	a.learns(zero, "Ben", want)
	if got := heard(one, "Cleo"); slices.ContainsFunc(got, func(m []byte) bool { return bytes.Equal(m, want) }) {
		t.Error("what was for Ben came to Cleo's server too")
	}

	a.plugin(a.lobby, "Ada", spoken("ConnectOther", "ben", "LOBBY"))
	a.on(a.ben, "lobby-a")
	a.plugin(a.lobby, "Ada", spoken("ConnectOther", "Cleo", "survival-9"))
	a.hears(a.cleo, "There is no server or group survival-9.")
	a.plugin(a.lobby, "Ada", spoken("KickPlayer", "ben", "§4out"))
	if got := a.ends(a.ben); got != "out" {
		t.Errorf("Ben was told %q", got)
	}
	a.plugin(a.lobby, "Ada", spoken("KickPlayerRaw", "Cleo", `{"text":"you too"}`))
	if got := a.ends(a.cleo); got != "you too" {
		t.Errorf("Cleo was told %q", got)
	}
	for _, about := range []bungee.Subchannel{bungee.Forward, bungee.ForwardToPlayer, bungee.IPOther, bungee.PlayerList, bungee.Message, bungee.MessageRaw, bungee.ConnectOther, bungee.KickPlayer, bungee.KickPlayerRaw, bungee.UUIDOther} {
		a.eventually(about.String()+" is counted as done", func() bool { return a.east.counted(about, pluginDone) > 0 })
	}
	for _, b := range []*mctest.Bot{a.ada, a.ben, a.cleo} {
		for _, m := range b.PluginMessages() {
			if m.Channel != mcproto.BrandChannel {
				t.Errorf("%s's client got %q", b.Name(), m)
			}
		}
	}
	a.unharmed()
}

func TestForwardsArriveInOrderAndWhole(t *testing.T) {
	a := newApart(t)
	var want [][]byte
	for i := range 40 {
		message, inner := forwarded("Forward", "survival-0", "my:channel", strings.Repeat(string(rune('a'+i%26)), 1+i*800))
		want = append(want, inner)
		a.plugin(a.lobby, "Ada", message)
	}
	got := func() [][]byte { return heard(a.servers["survival-0"], "Ben") }
	a.eventually("all arrive", func() bool { return len(got()) == len(want) })
	if !slices.EqualFunc(got(), want, bytes.Equal) {
		t.Error("they came in another order")
	}
	a.unharmed()
}

func TestWithoutAManagerAProxyAnswersForItsOwnPlayers(t *testing.T) {
	a := newApart(t)
	a.manager.stop()
	a.eventually("the proxy knows", func() bool { return !a.east.connected.Load() })
	a.plugin(a.lobby, "Ada", spoken("PlayerList", "ALL"))
	a.learns(a.lobby, "Ada", spoken("PlayerList", "ALL", "Ada").Data)
	message, _ := forwarded("Forward", "survival-0", "my:channel", "lost")
	a.plugin(a.lobby, "Ada", message)
	a.eventually("it is counted", func() bool { return a.east.counted(bungee.Forward, pluginUnreachable) == 1 })
	a.unharmed()
}
