// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/proxy/proxytest"
)

// led is a proxy that hears from a manager only by the channel.
func (n *network) led() (*Proxy, *proxytest.Manager) {
	n.t.Helper()
	dir := n.t.TempDir()
	manager, err := proxytest.StartManager(dir)
	if err != nil {
		n.t.Fatal(err)
	}
	n.t.Cleanup(manager.Stop)
	n.silent = true
	p := n.front(func(c *Config) {
		c.Channel.Directory, c.Channel.TokenFile, c.Channel.Version = dir, filepath.Join(dir, "token"), "1.2.3"
	})
	return p, manager
}

func TestAManagerLeadsTheProxyByTheChannel(t *testing.T) {
	n := newNetwork(t)
	lobby := n.start("lobby-a", rig{})
	survival := n.start("survival-0", rig{})
	n.servers["lobby-a"], n.servers["survival-0"] = lobby, survival
	p, manager := n.led()
	if p.ready() == nil {
		t.Error("ready before a word from the manager")
	}
	list := &agentv1alpha1.Directory{
		Revision: 1700, Full: true, Servers: []*agentv1alpha1.DirectoryServer{lobby.entry, survival.entry},
		Groups: []*agentv1alpha1.DirectoryGroup{{Name: "lobby"}, {Name: "survival"}},
	}
	manager.Tell(n.settings, list)
	await := func(what string, fits func(*agentv1alpha1.ProxyReport) bool) {
		t.Helper()
		if report, err := manager.Await(n.ctx, fits); err != nil {
			t.Fatalf("%s: %v, last %v", what, err, report)
		}
	}
	await("the list is confirmed", func(r *agentv1alpha1.ProxyReport) bool { return r.GetDirectoryRevision() == 1700 })
	if p.ready() != nil || manager.Hello().GetVersion() != "1.2.3" {
		t.Errorf("ready: %v, hello %v", p.ready(), manager.Hello())
	}

	b := n.joined(p, "Ada", "lobby-a")
	await("the player is reported", func(r *agentv1alpha1.ProxyReport) bool {
		return len(r.GetRoster()) == 1 && r.GetRoster()[0].GetServer() == "lobby-a" && r.GetSampledAt() != nil && r.GetSentAt() != nil
	})
	moving := proto.CloneOf(lobby.entry)
	moving.Door = agentv1alpha1.DoorState_DOOR_STATE_MOVING
	manager.Tell(nil, &agentv1alpha1.Directory{Revision: 1800, Servers: []*agentv1alpha1.DirectoryServer{moving}, Groups: list.GetGroups()})
	await("nobody can be moved", func(r *agentv1alpha1.ProxyReport) bool {
		want := &agentv1alpha1.MoveProgress{Server: "lobby-a", Remaining: 1, WithoutSeat: 1}
		return len(r.GetMoves()) == 1 && proto.Equal(r.GetMoves()[0], want)
	})
	wider := proto.CloneOf(n.settings)
	wider.FallbackGroups = []string{"lobby", "survival"}
	manager.Tell(wider, nil)
	n.on(b, "survival-0")
	await("everybody was moved", func(r *agentv1alpha1.ProxyReport) bool {
		return len(r.GetMoves()) == 1 && r.GetMoves()[0].GetRemaining() == 0 && r.GetRoster()[0].GetServer() == "survival-0"
	})
	manager.Stop()
	n.on(n.bot(p, "Ben"), "survival-0")
	if names := p.names(); !cmp.Equal(names, []string{"Ada", "Ben"}) {
		t.Errorf("without a manager: %v", names)
	}
}

func (p *Proxy) names() []string {
	var names []string
	for _, entry := range p.report().GetReport().GetRoster() {
		names = append(names, entry.GetPlayer().GetName())
	}
	return names
}

func TestTheRosterSaysWhoCameByThePermissionToJoinFullRounds(t *testing.T) {
	n := newNetwork(t)
	n.configure(func(s *agentv1alpha1.ProxySettings) {
		s.Permissions = []*agentv1alpha1.PermissionGroup{{
			Name: "staff", TrustOfflineNames: true, Players: []string{"Ada"}, Permissions: []string{"spawnery.join.full.lobby"},
		}}
	})
	n.add("lobby-a", rig{})
	p := n.front()
	n.joined(p, "Ada", "lobby-a")
	n.joined(p, "Ben", "lobby-a")
	watches := map[string]bool{}
	for _, entry := range p.report().GetReport().GetRoster() {
		watches[entry.GetPlayer().GetName()] = entry.GetWatches()
	}
	if want := map[string]bool{"Ada": true, "Ben": false}; !cmp.Equal(watches, want) {
		t.Errorf("who watches: %v, want %v", watches, want)
	}
}
