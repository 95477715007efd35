// SPDX-License-Identifier: Apache-2.0

package commands

import (
	"context"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/mcproto"
	"github.com/spawnery/spawnery-operator/internal/permissions"
	"github.com/spawnery/spawnery-operator/internal/proxy/directory"
)

// granted are nodes that everybody holds; a leading - denies one.
type granted []string

func (g granted) Check(_ permissions.Player, node string) permissions.Answer {
	switch {
	case slices.Contains(g, "-"+node):
		return permissions.Denied
	case slices.Contains(g, node):
		return permissions.Granted
	}
	return permissions.Unknown
}

// MayJoin is a yes for every group but those whose joining is denied.
func (g granted) MayJoin(who permissions.Player, group string) bool {
	return g.Check(who, "spawnery.join."+group) != permissions.Denied
}

// asker is a player who types, and where they were sent.
type asker struct {
	server string
	stays  *mcproto.Text
	sent   []Target
}

func (a *asker) Identity() permissions.Player { return permissions.Player{Name: "Ada"} }

func (a *asker) Server() string { return a.server }

func (a *asker) Send(_ context.Context, to Target) *mcproto.Text {
	a.sent = append(a.sent, to)
	return a.stays
}

// run is all that a line comes to.
func run(t *testing.T, c *Console, by Asker, line string) []string {
	t.Helper()
	reply, ours := c.Run(by, line)
	if !ours {
		t.Fatalf("%q was left to the server", line)
	}
	lines := reply.Lines
	if reply.Later != nil {
		lines = append(lines, reply.Later(t.Context())...)
	}
	return plain(lines)
}

func console(t *testing.T, nodes ...string) *Console {
	t.Helper()
	store := directory.NewStore()
	store.Apply(&agentv1alpha1.Directory{
		Revision: 1, Full: true,
		Groups: []*agentv1alpha1.DirectoryGroup{{Name: "survival"}, {Name: "lobby"}, {Name: "events"}},
		Servers: []*agentv1alpha1.DirectoryServer{
			{Name: "lobby-a", Group: "lobby", Door: agentv1alpha1.DoorState_DOOR_STATE_OPEN, Players: new(int32(3)), Slots: 20, PlayableSlots: 12, Phase: "Ready"},
			{Name: "lobby-b", Group: "lobby", Door: agentv1alpha1.DoorState_DOOR_STATE_MOVING, Players: new(int32(2)), Slots: 20, PlayableSlots: 12, Phase: "Draining"},
			{Name: "lobby-c", Group: "lobby", Door: agentv1alpha1.DoorState_DOOR_STATE_OPEN, Players: new(int32(15)), Slots: 20, PlayableSlots: 12, Phase: "Ready"},
			{Name: "survival-0", Group: "survival", Door: agentv1alpha1.DoorState_DOOR_STATE_OPEN, Slots: 100, PlayableSlots: 100, Phase: "Starting"},
		},
	})
	return NewConsole(store, granted(nodes), &office{})
}

func plain(lines []mcproto.Text) []string {
	list := []string{}
	for _, line := range lines {
		list = append(list, line.String())
	}
	return list
}

func TestCloud(t *testing.T) {
	lobby := []string{
		"lobby: 20 players, 9 free seats, 3 servers",
		"  lobby-a: 3/20 players, 9 free seats, Ready",
		"  lobby-b: 2/20 players, 0 free seats, Draining",
		"  lobby-c: 15/20 players, 0 free seats, Ready",
	}
	help := []string{
		"Commands of this network:", "/cloud list [group] - groups and their servers",
		"/cloud info <group or server> - all about one", "/cloud status - the network in a few lines",
	}
	for name, tt := range map[string]struct {
		line string
		want []string
	}{
		"bare":             {"cloud", help},
		"help":             {"cloud help", help},
		"one group":        {"cloud list lobby", lobby},
		"no such group":    {"cloud list bedwars", []string{"There is no group bedwars."}},
		"no such command":  {"cloud explode", []string{"There is no command /cloud explode. /cloud help lists them."}},
		"a group of none":  {"cloud list events", []string{"events: 0 players, 0 free seats, 0 servers"}},
		"unknown counts":   {"cloud list survival", []string{"survival: 0 players, 0 free seats, 1 servers", "  survival-0: unknown/100 players, Starting"}},
		"all, with spaces": {"cloud  list ", slices.Concat([]string{"events: 0 players, 0 free seats, 0 servers"}, lobby, []string{"survival: 0 players, 0 free seats, 1 servers", "  survival-0: unknown/100 players, Starting"})},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, run(t, console(t, "spawnery.cloud.read"), &asker{}, tt.line)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestANetworkWithoutGroupsSaysSo(t *testing.T) {
	c := NewConsole(directory.NewStore(), granted{"spawnery.cloud.read"}, &office{})
	if diff := cmp.Diff([]string{"There are no groups yet."}, run(t, c, &asker{}, "cloud list")); diff != "" {
		t.Error(diff)
	}
}

func TestWithoutAnyPermissionCloudBelongsToTheServers(t *testing.T) {
	c := console(t)
	if _, ours := c.Run(&asker{}, "cloud list"); ours {
		t.Error("the command was answered")
	}
	if _, ours := c.Suggest(permissions.Player{}, "/cloud "); ours {
		t.Error("the command was completed")
	}
	if names := c.Literals(permissions.Player{}); slices.Contains(names, "cloud") {
		t.Errorf("shown: %v", names)
	}
}

func TestOtherCommandsAreNotOurs(t *testing.T) {
	c := console(t, "spawnery.cloud.read")
	for _, line := range []string{"", "clouds list", "msg Ada cloud list", "list"} {
		if _, ours := c.Run(&asker{}, line); ours {
			t.Errorf("%q was answered", line)
		}
		if _, ours := c.Suggest(permissions.Player{}, "/"+line); ours {
			t.Errorf("%q was completed", line)
		}
	}
}

func TestSuggestions(t *testing.T) {
	c := console(t, "spawnery.cloud.read")
	for line, want := range map[string][]string{
		"/cloud ":                {"help", "info", "list", "status"},
		"/cloud l":               {"list"},
		"/cloud x":               {},
		"/cloud list ":           {"events", "lobby", "survival"},
		"/cloud list s":          {"survival"},
		"/cloud list survival x": nil,
		"/cloud explode ":        nil,
		"/cloud LI":              {"list"},
	} {
		got, ours := c.Suggest(permissions.Player{}, line)
		if !ours {
			t.Errorf("%q was left to the server", line)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q: %s", line, diff)
		}
	}
}
