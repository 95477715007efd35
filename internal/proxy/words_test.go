// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"strings"
	"testing"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/mcproto"
	"github.com/spawnery/spawnery-operator/internal/mctest"
	"github.com/spawnery/spawnery-operator/internal/proxy/messages"
)

const german = `
spawnery.fallback: "<gold>Von %s hierher gebracht:</gold> %s"
spawnery.fallback.closing: sie schließt
spawnery.join.none: Kein Server ist frei.
spawnery.shutdown: Das Netzwerk startet neu.
`

func locale(name string) func(*mctest.BotSettings) {
	return func(s *mctest.BotSettings) { s.Locale = name }
}

// known waits until the words of a message have been read.
func (n *network) known(p *Proxy, own, words string) {
	n.t.Helper()
	n.eventually("the words are known: "+words, func() bool {
		return p.world.Words.Render(own, messages.Text(messages.JoinNone)).String() == words
	})
}

func TestPlayersReadTheNetworksWordsInTheirOwnLanguage(t *testing.T) {
	n := newNetwork(t)
	n.add("lobby-a", rig{})
	dir := t.TempDir()
	give(t, dir, "messages", "de_de.yaml", []byte(german))
	p := n.front(givenFrom(dir))
	austrian, dutch := n.bot(p, "Austrian", locale("de_at")), n.bot(p, "Dutch", locale("nl_nl"))
	n.on(austrian, "lobby-a")
	n.on(dutch, "lobby-a")
	n.add("lobby-b", rig{})
	n.door("lobby-a", agentv1alpha1.DoorState_DOOR_STATE_MOVING)
	n.on(austrian, "lobby-b")
	n.on(dutch, "lobby-b")
	n.hears(austrian, "Von lobby-a hierher gebracht: sie schließt")
	n.hears(dutch, "You were moved here from lobby-a: it is closing")

	give(t, dir, "messages", "de_de.yaml", []byte(strings.Replace(german, "Kein Server ist frei.", "Nichts ist frei.", 1)))
	n.known(p, "de_de", "Nichts ist frei.")
	for _, player := range p.roster.all() {
		player.Disconnect(messages.Text(messages.JoinNone))
	}
	if got := n.ends(austrian); got != "Nichts ist frei." {
		t.Errorf("the one was told %q", got)
	}
	if got := n.ends(dutch); got != "No server is available right now. Please try again in a moment." {
		t.Errorf("the other was told %q", got)
	}
	n.unharmed()
}

func TestWhoIsSentAwayBeforeTheirLanguageIsKnownReadsTheFallbackLocale(t *testing.T) {
	n := newNetwork(t)
	n.add("lobby-a", rig{})
	n.configure(func(s *agentv1alpha1.ProxySettings) {
		s.FallbackLocale, s.PlayerLimit, s.EnforcePlayerLimit = "fr_fr", 1, true
	})
	dir := t.TempDir()
	give(t, dir, "messages", "de_de.yaml", []byte("spawnery.login.full: Voll."))
	give(t, dir, "messages", "fr_fr.yaml", []byte("spawnery.login.full: 'Complet: %s'\nspawnery.version.unknown: '<red>De %s à %s'\nspawnery.join.none: Rien."))
	p := n.front(givenFrom(dir))
	n.known(p, "", "Rien.")
	n.joined(p, "First", "lobby-a")
	if got := n.ends(n.bot(p, "Second", locale("de_de"))); got != "Complet: 1" {
		t.Errorf("in a login the player was told %q", got)
	}
	table, err := mcproto.ParseProtocols([]byte("[" + string(rowOf(t, "778")) + "]"))
	if err != nil {
		t.Fatal(err)
	}
	newer := func(s *mctest.BotSettings) { s.Protocol, s.Rows = unknownProtocol, table }
	newest := p.given.Content().Protocols.Newest()
	want := "De 1.20.5 à " + newest.Versions[len(newest.Versions)-1]
	if got := n.ends(n.bot(p, "Newer", newer)); got != want {
		t.Errorf("a newer client was told %q, want %q", got, want)
	}
	n.unharmed()
}
