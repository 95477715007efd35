// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"testing"

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
