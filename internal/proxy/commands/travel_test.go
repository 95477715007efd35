// SPDX-License-Identifier: Apache-2.0

package commands

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/mcproto"
	"github.com/spawnery/spawnery-operator/internal/permissions"
)

// choose has the owner of the console's proxy choose commands and fallbacks.
func choose(c *Console, names []string, fallbacks ...string) *Console {
	settings := &agentv1alpha1.ProxySettings{FallbackGroups: fallbacks}
	if names != nil {
		settings.Commands = &agentv1alpha1.Commands{Names: names}
	}
	c.store.SetSettings(settings)
	return c
}

func TestWhichCommandsAPlayerHas(t *testing.T) {
	for name, tt := range map[string]struct {
		chosen []string
		nodes  []string
		want   []string
	}{
		"nothing is granted":           {nil, nil, []string{"server", "hub", "lobby"}},
		"everything is granted":        {nil, []string{"spawnery.cloud.read", "spawnery.command.glist"}, []string{"cloud", "server", "glist", "hub", "lobby"}},
		"granted by Velocity's name":   {nil, []string{"velocity.command.glist"}, []string{"server", "glist", "hub", "lobby"}},
		"our name has the first word":  {nil, []string{"velocity.command.glist", "-spawnery.command.glist"}, []string{"server", "hub", "lobby"}},
		"server is denied":             {nil, []string{"-spawnery.command.server"}, []string{"hub", "lobby"}},
		"server is denied as Velocity": {nil, []string{"-velocity.command.server"}, []string{"hub", "lobby"}},
		"the owner takes one":          {[]string{"lobby"}, []string{"spawnery.command.glist"}, []string{"lobby"}},
		"the owner takes none":         {[]string{}, []string{"spawnery.cloud.read", "spawnery.command.glist"}, []string{"cloud"}},
	} {
		t.Run(name, func(t *testing.T) {
			c := choose(console(t, tt.nodes...), tt.chosen)
			if diff := cmp.Diff(tt.want, c.Literals(permissions.Player{})); diff != "" {
				t.Error(diff)
			}
			for _, word := range []string{"cloud", "server", "glist", "hub", "lobby"} {
				if _, ours := c.Run(&asker{}, word); ours != slices.Contains(tt.want, word) {
					t.Errorf("/%s is answered: %t", word, ours)
				}
				if _, ours := c.Suggest(permissions.Player{}, "/"+word+" "); ours != slices.Contains(tt.want, word) {
					t.Errorf("/%s is completed: %t", word, ours)
				}
			}
		})
	}
}

func TestServerListsWhereAPlayerMayGo(t *testing.T) {
	all := []string{"You are on lobby-a. You may go to:", "lobby: lobby-a lobby-c", "survival: survival-0"}
	for name, tt := range map[string]struct {
		nodes []string
		at    string
		want  []string
	}{
		"everywhere":             {nil, "lobby-a", all},
		"not where it is denied": {[]string{"-spawnery.join.survival"}, "lobby-a", all[:2]},
		"from nowhere":           {[]string{"-spawnery.join.lobby"}, "", []string{"You may go to:", "survival: survival-0"}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, run(t, console(t, tt.nodes...), &asker{server: tt.at}, "server")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAPlaceInTheListLeadsThere(t *testing.T) {
	reply, _ := console(t).Run(&asker{}, "server")
	group := reply.Lines[1].With
	for want, got := range map[string]mcproto.Text{"/server lobby": group[0], "/server lobby-a": group[1].Extra[0]} {
		if got.Click != (mcproto.Click{Action: mcproto.RunCommand, Value: want}) || got.Hover.String() == "" {
			t.Errorf("%q leads by %+v, and shows %q", got.Text, got.Click, got.Hover)
		}
	}
}

func TestALongListIsCut(t *testing.T) {
	c := console(t)
	var servers []*agentv1alpha1.DirectoryServer
	for i := range 33 {
		servers = append(servers, &agentv1alpha1.DirectoryServer{Name: "game-" + string(rune('A'+i)), Group: "game", Door: agentv1alpha1.DoorState_DOOR_STATE_OPEN})
	}
	c.store.Apply(&agentv1alpha1.Directory{Revision: 2, Full: true, Servers: servers, Groups: []*agentv1alpha1.DirectoryGroup{{Name: "game"}}})
	got := run(t, c, &asker{}, "server")[1]
	if want := "game-]" + " game-^ and 3 more"; got[len(got)-len(want):] != want {
		t.Errorf("got %q", got)
	}
}

func TestWherePlayersAreSent(t *testing.T) {
	full := mcproto.Plain("This round is full.")
	for name, tt := range map[string]struct {
		by    asker
		nodes []string
		line  string
		sent  []Target
		want  []string
	}{
		"to a server":                 {asker{}, nil, "server lobby-b", []Target{{Place: "lobby-b"}}, []string{}},
		"to a server that is full":    {asker{stays: &full}, nil, "server lobby-b", []Target{{Place: "lobby-b"}}, []string{"This round is full."}},
		"home":                        {asker{server: "survival-0"}, nil, "hub", []Target{{Groups: []string{"lobby", "events"}}}, []string{}},
		"home, by its other name":     {asker{server: "survival-0"}, nil, "lobby", []Target{{Groups: []string{"lobby", "events"}}}, []string{}},
		"home from home":              {asker{server: "lobby-a"}, nil, "hub", nil, []string{"You are already on lobby."}},
		"home from nowhere":           {asker{}, nil, "hub", []Target{{Groups: []string{"lobby", "events"}}}, []string{}},
		"home without a permission":   {asker{server: "survival-0"}, []string{"-spawnery.join.lobby"}, "hub", []Target{{Groups: []string{"events"}}}, []string{}},
		"home without any permission": {asker{server: "survival-0"}, []string{"-spawnery.join.lobby", "-spawnery.join.events"}, "hub", nil, []string{"No server is available right now. Please try again in a moment."}},
	} {
		t.Run(name, func(t *testing.T) {
			c := choose(console(t, tt.nodes...), nil, "gone", "lobby", "events")
			if diff := cmp.Diff(tt.want, run(t, c, &tt.by, tt.line)); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(tt.sent, tt.by.sent); diff != "" {
				t.Errorf("sent: %s", diff)
			}
		})
	}
}

func TestGlistCountsPlayers(t *testing.T) {
	c := console(t, "spawnery.command.glist")
	want := []string{"0 players are on this network:", "  events: 0", "  lobby: 20", "  survival: 0"}
	if diff := cmp.Diff(want, run(t, c, &asker{}, "glist")); diff != "" {
		t.Error(diff)
	}
}

func TestPlacesAreCompleted(t *testing.T) {
	c := console(t, "-spawnery.join.survival")
	for line, want := range map[string][]string{
		"/server ":        {"events", "lobby", "lobby-a", "lobby-c"},
		"/server lobby-":  {"lobby-a", "lobby-c"},
		"/server LOBBY-a": {"lobby-a"},
		"/server lobby x": nil,
		"/hub ":           nil,
	} {
		got, ours := c.Suggest(permissions.Player{}, line)
		if diff := cmp.Diff(want, got); diff != "" || !ours {
			t.Errorf("%q, ours: %t: %s", line, ours, diff)
		}
	}
}
