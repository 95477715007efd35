// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"strings"
	"testing"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
)

func requires(node string) *agentv1alpha1.JoinPermission {
	return &agentv1alpha1.JoinPermission{Node: node, Mode: agentv1alpha1.JoinMode_JOIN_MODE_REQUIRED}
}

// vips is a network whose group vip is for Ada.
func vips(t *testing.T) *network {
	t.Helper()
	n := newNetwork(t)
	n.joins = map[string]*agentv1alpha1.JoinPermission{"vip": requires("spawnery.join.vip")}
	n.settings.FallbackGroups = []string{"vip", "lobby"}
	n.settings.Permissions = []*agentv1alpha1.PermissionGroup{{
		Name: "vips", TrustOfflineNames: true, Players: []string{"Ada"}, Permissions: []string{"spawnery.join.vip"},
	}}
	n.add("vip-a", rig{})
	n.add("lobby-a", rig{})
	return n
}

func TestAGroupThatNeedsAPermissionIsPassedOver(t *testing.T) {
	n := vips(t)
	p := n.front()
	n.on(n.bot(p, "Ada"), "vip-a")
	n.on(n.bot(p, "Bob"), "lobby-a")
	n.unharmed()
}

func TestASwitchToAGroupThatNeedsAPermissionSaysWhy(t *testing.T) {
	n := vips(t)
	p := n.front()
	n.joined(p, "Ada", "vip-a")
	n.joined(p, "Bob", "lobby-a")
	for _, target := range []string{"vip", "vip-a"} {
		if got, want := n.switched(p, "Bob", target), "You may not join vip."; got != want {
			t.Errorf("to %s: %q, want %q", target, got, want)
		}
	}
	if got := n.switched(p, "Ada", "lobby"); got != "" {
		t.Errorf("Ada may not join the lobby: %s", got)
	}
	n.configure(func(s *agentv1alpha1.ProxySettings) { s.Permissions[0].Players = []string{"Ada", "Bob"} })
	if got := n.switched(p, "Bob", "vip-a"); got != "" {
		t.Errorf("a new grant does not hold: %s", got)
	}
}

func TestWhoMustLeaveIsNotSentToAGroupTheyMayNotJoin(t *testing.T) {
	n := vips(t)
	n.add("lobby-b", rig{})
	p := n.front()
	b := n.bot(p, "Bob")
	on := n.on(b, "lobby-a", "lobby-b")
	n.door(on, agentv1alpha1.DoorState_DOOR_STATE_MOVING)
	other := map[string]string{"lobby-a": "lobby-b", "lobby-b": "lobby-a"}[on]
	n.on(b, other)
}

func TestWhoMayJoinNoGroupIsToldSoAtOnce(t *testing.T) {
	n := vips(t)
	n.settings.FallbackGroups = []string{"vip"}
	p := n.front()
	if got, want := n.ends(n.bot(p, "Bob")), "You may not join vip."; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// Who is held waits for what they may join, and wakes nothing else.
func TestWhoIsHeldIsNoDemandOfAGroupTheyMayNotJoin(t *testing.T) {
	n := vips(t)
	n.remove("vip-a")
	n.remove("lobby-a")
	p := n.front()
	n.configure(func(s *agentv1alpha1.ProxySettings) { s.OnlineMode = false })
	n.bot(p, "Bob")
	n.eventually("Bob is demand of the lobby", func() bool {
		var groups []string
		for _, waiting := range p.report().GetReport().GetWaiting() {
			groups = append(groups, waiting.GetGroup())
		}
		return strings.Join(groups, ",") == "lobby"
	})
}

func TestADeniedForcedHostIsExplainedOnLanding(t *testing.T) {
	n := vips(t)
	n.settings.FallbackGroups = []string{"lobby"}
	n.settings.ForcedHosts = []*agentv1alpha1.ForcedHost{{Host: "vip.example.org", Groups: []string{"vip"}}}
	p := n.front()
	b := n.bot(p, "Bob", from("vip.example.org"))
	n.on(b, "lobby-a")
	n.hears(b, "You may not join vip.")
	n.on(n.bot(p, "Ada", from("vip.example.org")), "vip-a")
}
