// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"testing"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/mctest"
)

func from(host string) func(*mctest.BotSettings) {
	return func(s *mctest.BotSettings) { s.Host = host }
}

// What mods, Floodgate and protection services append to the host reaches the
// server byte for byte, and does not keep the host from being recognised.
func TestAHostLeadsToItsGroupAndReachesTheServerAsItCame(t *testing.T) {
	n := newNetwork(t)
	n.settings.ForcedHosts = []*agentv1alpha1.ForcedHost{
		{Host: "duels.example.org", Groups: []string{"misspelt", "duels"}},
		{Host: "*.m\u00fcnchen.example", Groups: []string{"bavaria"}},
	}
	n.add("lobby-a", rig{})
	duels, bavaria := n.add("duels-a", rig{}), n.add("bavaria-a", rig{})
	p := n.front()
	for name, row := range map[string]struct {
		host string
		on   string
	}{
		"Plain":     {"duels.example.org", "duels-a"},
		"Capitals":  {"Duels.Example.ORG", "duels-a"},
		"Srv":       {"duels.example.org.", "duels-a"},
		"Forge":     {"duels.example.org\x00FORGE\x00", "duels-a"},
		"Floodgate": {"duels.example.org\x00^Floodgate^>Zm9v!YmFy", "duels-a"},
		"Shield":    {"duels.example.org///203.0.113.9:51234///1700000000", "duels-a"},
		"Idn":       {"play.xn--mnchen-3ya.example", "bavaria-a"},
		"Above":     {"xn--mnchen-3ya.example", "lobby-a"},
		"Other":     {"evilduels.example.org", "lobby-a"},
		"Hidden":    {"play.example.org\x00duels.example.org", "lobby-a"},
	} {
		on := n.on(n.bot(p, name, from(row.host)), "lobby-a", "duels-a", "bavaria-a")
		if on != row.on {
			t.Errorf("%s by %q is on %s, want %s", name, row.host, on, row.on)
			continue
		}
		if server := n.servers[on]; server == duels || server == bavaria {
			client, err := server.ClientOf(name)
			if err != nil {
				t.Fatal(err)
			}
			if client.Handshake.RawHost != row.host {
				t.Errorf("%s: the server got host %q of %q", name, client.Handshake.RawHost, row.host)
			}
		}
	}
	n.unharmed()
}

func TestAFullForcedGroupIsPassedOver(t *testing.T) {
	n := newNetwork(t)
	n.settings.ForcedHosts = []*agentv1alpha1.ForcedHost{{Host: "duels.example.org", Groups: []string{"duels", "lobby"}}}
	n.add("lobby-a", rig{})
	n.add("duels-a", rig{playable: 1})
	p := n.front()
	n.on(n.bot(p, "Ada", from("duels.example.org")), "duels-a")
	n.publish()
	n.on(n.bot(p, "Bob", from("duels.example.org")), "lobby-a")
}

func TestWhoIsHeldByAHostWaitsForItsGroup(t *testing.T) {
	n := newNetwork(t)
	n.settings.ForcedHosts = []*agentv1alpha1.ForcedHost{{Host: "duels.example.org", Groups: []string{"duels"}}}
	n.add("duels-a", rig{playable: 1})
	p := n.front()
	n.on(n.bot(p, "Ada", from("duels.example.org")), "duels-a")
	n.bot(p, "Bob", from("duels.example.org"))
	n.eventually("Bob is demand of the duels", func() bool {
		waiting := p.report().GetReport().GetWaiting()
		return len(waiting) == 1 && waiting[0].GetGroup() == "duels"
	})
}

// Who must leave a server goes to the fallback groups, whatever their host.
func TestAForcedHostIsForTheFirstJoin(t *testing.T) {
	n := newNetwork(t)
	n.settings.ForcedHosts = []*agentv1alpha1.ForcedHost{{Host: "duels.example.org", Groups: []string{"duels"}}}
	n.add("duels-a", rig{})
	n.add("duels-b", rig{})
	n.add("lobby-a", rig{})
	p := n.front()
	b := n.bot(p, "Ada", from("duels.example.org"))
	on := n.on(b, "duels-a", "duels-b")
	n.door(on, agentv1alpha1.DoorState_DOOR_STATE_MOVING)
	n.on(b, "lobby-a")
}
