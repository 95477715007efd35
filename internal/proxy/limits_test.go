// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"testing"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/mctest"
)

func TestAFullNetworkRefusesAllButThoseWhoMayJoinIt(t *testing.T) {
	n := newNetwork(t)
	n.settings.PlayerLimit, n.settings.EnforcePlayerLimit = 2, true
	n.settings.Permissions = []*agentv1alpha1.PermissionGroup{{
		Name: "staff", TrustOfflineNames: true, Players: []string{"Eve"}, Permissions: []string{"spawnery.join.limit"},
	}}
	n.add("lobby-a", rig{})
	p := n.front()
	n.joined(p, "Ada", "lobby-a")
	n.joined(p, "Bob", "lobby-a")
	const why = "The network is full: 2 players are online. Please try again later."
	if got := n.ends(n.bot(p, "Cid")); got != why {
		t.Errorf("got %q", got)
	}
	n.joined(p, "Eve", "lobby-a")
	other := n.front() // and with it the directory of now
	other.connected.Store(true)
	if got := n.ends(n.bot(other, "Dan")); got != why {
		t.Errorf("another proxy says %q", got)
	}
	other.connected.Store(false)
	n.joined(other, "Dan", "lobby-a") // what the manager said last may be long over
	n.configure(func(s *agentv1alpha1.ProxySettings) { s.EnforcePlayerLimit = false })
	n.joined(p, "Cid", "lobby-a")
}

func TestMoreThanAProxyHoldsAreRefusedAtOnce(t *testing.T) {
	n := newNetwork(t)
	n.settings.MaxHeld = new(int32(2))
	p := n.front()
	waiting := func() int {
		held := 0
		for _, player := range p.roster.all() {
			if player.Standing().Waiting != "" {
				held++
			}
		}
		return held
	}
	bots := []*mctest.Bot{n.bot(p, "Ada"), n.bot(p, "Bob")}
	n.eventually("two are held", func() bool { return waiting() == 2 })
	want := "lobby is full, and too many players wait for it already. Please try again in a moment."
	if got := n.ends(n.bot(p, "Cid")); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	bots[0].Leave()
	n.eventually("one has left", func() bool { return waiting() == 1 })
	n.bot(p, "Dan")
	n.eventually("another is held in their place", func() bool { return waiting() == 2 })
	n.add("lobby-a", rig{})
	n.on(bots[1], "lobby-a")
	n.eventually("nobody is counted as held", func() bool { return p.held.Count() == 0 })
}
