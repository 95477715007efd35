// SPDX-License-Identifier: Apache-2.0

package commands

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/timestamppb"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/mcproto"
	"github.com/spawnery/spawnery-operator/internal/permissions"
)

// office is a manager with an answer ready.
type office struct {
	asked  *agentv1alpha1.CloudAsk
	answer *agentv1alpha1.CloudAnswer
	err    error
}

func (o *office) Ask(_ context.Context, _ permissions.Player, ask *agentv1alpha1.CloudAsk) (*agentv1alpha1.CloudAnswer, error) {
	o.asked = ask
	return o.answer, o.err
}

func (o *office) Names() []string { return []string{"Ada", "Ben"} }

const done = agentv1alpha1.Verdict_VERDICT_DONE

func group(name string) *agentv1alpha1.GroupName { return &agentv1alpha1.GroupName{Group: name} }

func scaled(name string, replicas int32, seconds int64) *agentv1alpha1.ScaleGroup {
	return &agentv1alpha1.ScaleGroup{Group: name, Replicas: replicas, Seconds: seconds}
}

// made is the answer about one boost.
func madeBoost(detail string) *agentv1alpha1.CloudAnswer {
	until := time.Date(2030, 1, 1, 18, 0, 0, 0, time.UTC)
	return &agentv1alpha1.CloudAnswer{Verdict: done, Detail: detail, Boosts: []*agentv1alpha1.OwnBoost{{Name: "lobby-x", ExpiresAt: timestamppb.New(until)}}}
}

func TestWhatStaffAsksTheManagerFor(t *testing.T) {
	refused := &agentv1alpha1.CloudAnswer{Verdict: agentv1alpha1.Verdict_VERDICT_REFUSED, Detail: "9 servers are more than maxReplicas of lobby, which is 8"}
	for name, tt := range map[string]struct {
		line   string
		asked  *agentv1alpha1.CloudAsk
		answer *agentv1alpha1.CloudAnswer
		want   []string
	}{
		"scale": {
			"cloud scale lobby 3",
			&agentv1alpha1.CloudAsk{Ask: &agentv1alpha1.CloudAsk_ScaleGroup{ScaleGroup: scaled("lobby", 3, 0)}}, madeBoost(""),
			[]string{
				"lobby is held at 3 servers until 2030-01-01 18:00 UTC.",
				"That is the boost lobby-x, and no change of the group's spec. To end it: /cloud scale lobby reset",
			},
		},
		"scale to none for two days": {
			"cloud scale lobby 0 for 2d",
			&agentv1alpha1.CloudAsk{Ask: &agentv1alpha1.CloudAsk_ScaleGroup{ScaleGroup: scaled("lobby", 0, 172800)}}, refused,
			[]string{"9 servers are more than maxReplicas of lobby, which is 8."},
		},
		"reset": {
			"cloud scale lobby reset",
			&agentv1alpha1.CloudAsk{Ask: &agentv1alpha1.CloudAsk_ResetGroup{ResetGroup: group("lobby")}},
			&agentv1alpha1.CloudAnswer{Verdict: done, Boosts: []*agentv1alpha1.OwnBoost{{Name: "lobby-x"}}, ByHand: []string{"friday"}},
			[]string{"The boost lobby-x of lobby has ended.", "The boost friday was made by hand and stays: kubectl delete scaleboost friday"},
		},
		"start": {
			"cloud start lobby 2 for 90m",
			&agentv1alpha1.CloudAsk{Ask: &agentv1alpha1.CloudAsk_StartServers{StartServers: scaled("lobby", 2, 5400)}},
			madeBoost("it adds nothing while boost friday holds the group at 1"),
			[]string{
				"lobby gets 2 servers more until 2030-01-01 18:00 UTC.",
				"That is the boost lobby-x, and no change of the group's spec. To end it: /cloud stop lobby",
				"It adds nothing while boost friday holds the group at 1.",
			},
		},
		"stop nothing": {
			"cloud stop lobby", &agentv1alpha1.CloudAsk{Ask: &agentv1alpha1.CloudAsk_StopBoosts{StopBoosts: group("lobby")}},
			&agentv1alpha1.CloudAnswer{Verdict: done},
			[]string{"lobby has no such boost that was made in the game or by a plugin."},
		},
		"retire": {
			"cloud retire lobby-a",
			&agentv1alpha1.CloudAsk{Ask: &agentv1alpha1.CloudAsk_RetireServer{RetireServer: &agentv1alpha1.ServerName{Server: "lobby-a"}}},
			&agentv1alpha1.CloudAnswer{Verdict: done},
			[]string{"lobby-a takes nobody new, and goes once it is empty. To take that back: /cloud unretire lobby-a"},
		},
		"unretire": {
			"cloud unretire lobby-a",
			&agentv1alpha1.CloudAsk{Ask: &agentv1alpha1.CloudAsk_UnretireServer{UnretireServer: &agentv1alpha1.ServerName{Server: "lobby-a"}}},
			&agentv1alpha1.CloudAnswer{Verdict: done, Detail: "lobby-a is not retired"},
			[]string{"lobby-a is not retired."},
		},
		"send one": {
			"cloud send Ben lobby", moving("lobby", &agentv1alpha1.MovePlayers_Player{Player: &agentv1alpha1.Player{Name: "Ben"}}),
			&agentv1alpha1.CloudAnswer{Verdict: done, Moved: 1},
			[]string{"Players sent to lobby: 1"},
		},
		"send who is there": {
			"send current lobby", moving("lobby", &agentv1alpha1.MovePlayers_Server{Server: "survival-0"}),
			&agentv1alpha1.CloudAnswer{Verdict: done, Moved: 3, Stayed: 1, Detail: "This round is full."},
			[]string{"Players sent to lobby: 3", "Players who stay where they are: 1 (This round is full.)"},
		},
		"send everybody": {
			"send all lobby", moving("lobby", &agentv1alpha1.MovePlayers_Everybody{Everybody: &agentv1alpha1.Everybody{}}),
			&agentv1alpha1.CloudAnswer{Verdict: done, Detail: "whoever this is about is on lobby already"},
			[]string{"Whoever this is about is on lobby already."},
		},
		"name everybody": {
			"glist all", &agentv1alpha1.CloudAsk{Ask: &agentv1alpha1.CloudAsk_NamePlayers{NamePlayers: &agentv1alpha1.NamePlayers{}}},
			&agentv1alpha1.CloudAnswer{Verdict: done, Players: []*agentv1alpha1.RosterEntry{
				{Player: &agentv1alpha1.Player{Name: "ben"}, Server: "lobby-a"}, {Player: &agentv1alpha1.Player{Name: "Ada"}, Server: "lobby-a"}, {Player: &agentv1alpha1.Player{Name: "Eve"}},
			}},
			[]string{"3 players are on this network:", "  on no server (1): Eve", "  lobby-a (2): Ada, ben"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := console(t, "spawnery.cloud.scale", "spawnery.cloud.retire", "spawnery.cloud.send", "spawnery.command.send", "spawnery.command.glist")
			manager := &office{answer: tt.answer}
			c.asks = manager
			if diff := cmp.Diff(tt.want, run(t, c, &asker{server: "survival-0"}, tt.line)); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(tt.asked, manager.asked, protocmp.Transform()); diff != "" {
				t.Errorf("asked: %s", diff)
			}
		})
	}
}

func moving[W interface {
	*agentv1alpha1.MovePlayers_Player | *agentv1alpha1.MovePlayers_Server | *agentv1alpha1.MovePlayers_Everybody
}](to string, who W) *agentv1alpha1.CloudAsk {
	wish := &agentv1alpha1.MovePlayers{To: to}
	switch who := any(who).(type) {
	case *agentv1alpha1.MovePlayers_Player:
		wish.Who = who
	case *agentv1alpha1.MovePlayers_Server:
		wish.Who = who
	case *agentv1alpha1.MovePlayers_Everybody:
		wish.Who = who
	}
	return &agentv1alpha1.CloudAsk{Ask: &agentv1alpha1.CloudAsk_MovePlayers{MovePlayers: wish}}
}

func TestWhatIsTypedWronglyIsNotAskedFor(t *testing.T) {
	for _, line := range []string{
		"cloud scale", "cloud scale lobby", "cloud scale lobby many", "cloud scale lobby 3 for", "cloud scale lobby 3 for ever",
		"cloud scale lobby 3 until 9", "cloud start lobby reset", "cloud start lobby 1 for 0d", "cloud stop", "cloud retire", "cloud unretire a b",
		"cloud send Ben", "send Ben", "send a b c", "cloud info", "cloud events", "cloud events maybe",
	} {
		c := console(t, "spawnery.cloud.read", "spawnery.cloud.scale", "spawnery.cloud.retire", "spawnery.cloud.send", "spawnery.cloud.events", "spawnery.command.send")
		manager := &office{}
		c.asks = manager
		if got := run(t, c, &asker{}, line); len(got) != 1 || !strings.HasPrefix(got[0], "Usage: /") || manager.asked != nil {
			t.Errorf("%q is answered with %q, asked: %v", line, got, manager.asked)
		}
	}
}

func TestNoPermissionImpliesAnother(t *testing.T) {
	lines := map[string][]string{
		"spawnery.cloud.read":   {"list", "info", "status"},
		"spawnery.cloud.scale":  {"scale", "start", "stop"},
		"spawnery.cloud.retire": {"retire", "unretire"},
		"spawnery.cloud.send":   {"send"},
		"spawnery.cloud.events": {"events"},
	}
	for node := range lines {
		c := console(t, node)
		if names := c.Literals(permissions.Player{}); !slices.Contains(names, "cloud") {
			t.Errorf("%s does not show /cloud", node)
		}
		for needed, words := range lines {
			for _, word := range words {
				reply, _ := c.Run(&asker{}, "cloud "+word)
				denied := len(reply.Lines) == 1 && reply.Lines[0].String() == "You need "+needed+" for this."
				if denied == (needed == node) {
					t.Errorf("with %s, /cloud %s is denied: %t", node, word, denied)
				}
				suggested, _ := c.Suggest(permissions.Player{}, "/cloud ")
				if slices.Contains(suggested, word) != (needed == node) {
					t.Errorf("with %s, /cloud %s is suggested: %v", node, word, suggested)
				}
			}
		}
	}
}

func TestWithoutAnAnswerStaffIsToldWhatThatMeans(t *testing.T) {
	for err, want := range map[error]string{
		ErrNoManager:             "The manager of this network cannot be reached. Nothing was done.",
		ErrOldManager:            "The manager of this network is too old for that. Nothing was done.",
		errors.New("it is late"): "The manager has not answered in time. It may be done all the same.",
	} {
		c := console(t, "spawnery.cloud.scale")
		c.asks = &office{err: err}
		if diff := cmp.Diff([]string{want}, run(t, c, &asker{}, "cloud stop lobby")); diff != "" {
			t.Error(diff)
		}
	}
}

func TestInfoAndStatus(t *testing.T) {
	c := choose(console(t, "spawnery.cloud.read"), nil)
	until := timestamppb.New(time.Date(2030, 1, 1, 18, 0, 0, 0, time.UTC))
	c.store.Apply(&agentv1alpha1.Directory{Revision: 2, NetworkPlayers: 20, Groups: []*agentv1alpha1.DirectoryGroup{
		{
			Name: "lobby", DisplayName: "Lobby", Type: "Ephemeral", MinServers: 1, MaxServers: 8, Boosted: 2, Pinned: new(int32(3)), PinnedUntil: until,
			Trouble: "maxReplicas 8 holds back 2 servers", JoinPermission: &agentv1alpha1.JoinPermission{Node: "spawnery.join.lobby", Mode: agentv1alpha1.JoinMode_JOIN_MODE_REQUIRED},
		},
		{Name: "survival", Type: "Persistent", MinServers: 1, MaxServers: 1, JoinPermission: &agentv1alpha1.JoinPermission{Node: "spawnery.join.survival", Mode: agentv1alpha1.JoinMode_JOIN_MODE_DENY_ONLY}},
	}})
	grants := "Permissions are those of the Network. What a permission plugin of the servers grants is not seen here."
	for line, want := range map[string][]string{
		"cloud info lobby": {
			"lobby: 20 players, 9 free seats, 3 servers", "  players read Lobby; ephemeral, of 1 to 8 servers",
			"  held at 3 servers by a boost until 2030-01-01 18:00 UTC", "  2 servers more by boosts",
			"  joined by who has spawnery.join.lobby", "  maxReplicas 8 holds back 2 servers.", grants,
		},
		"cloud info survival": {
			"survival: 0 players, 0 free seats, 1 servers", "  players read survival; persistent, of 1 servers",
			"  joined by all but who is denied spawnery.join.survival", grants,
		},
		"cloud info lobby-b": {"  lobby-b: 2/20 players, 0 free seats, Draining", "  of lobby, being emptied"},
		"cloud info nowhere": {"There is no server or group nowhere."},
		"cloud status":       {": 20 of 0 players, 9 free seats", "  2 groups, 4 servers: 2 Ready, 1 Draining, 1 Starting", "  lobby: maxReplicas 8 holds back 2 servers."},
	} {
		got := run(t, c, &asker{}, line)
		for i := range got {
			got[i] = strings.Replace(got[i], "  MaxReplicas", "  maxReplicas", 1)
			got[i] = strings.Replace(got[i], ": MaxReplicas", ": maxReplicas", 1)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", line, diff)
		}
	}
}

func TestWhatHappensIsToldToWhoWantsToKnow(t *testing.T) {
	c := choose(console(t, "spawnery.cloud.events"), nil)
	before := c.store.View()
	c.store.Apply(&agentv1alpha1.Directory{
		Revision: 2, Removed: []string{"lobby-b"},
		Groups: []*agentv1alpha1.DirectoryGroup{{Name: "survival", Trouble: "no node has room"}, {Name: "lobby", Boosted: 2, Pinned: new(int32(3))}, {Name: "events"}},
		Servers: []*agentv1alpha1.DirectoryServer{
			{Name: "lobby-d", Group: "lobby", Phase: "Starting"}, {Name: "survival-0", Group: "survival", Phase: "Ready"},
		},
	})
	want := []string{
		"lobby-d is new: Starting", "lobby-b is gone", "Boosts add 2 servers to lobby, and added 0", "lobby is held at 3 servers",
		"survival-0 is Ready, and was Starting", "  survival: No node has room.",
	}
	if diff := cmp.Diff(want, plain(Happenings(before, c.store.View()))); diff != "" {
		t.Error(diff)
	}
	if lines := Happenings(c.store.View(), c.store.View()); lines != nil {
		t.Errorf("nothing has happened: %v", plain(lines))
	}
	who := (&asker{}).Identity()
	for _, step := range []struct {
		word  string
		wants bool
	}{{"", false}, {"on", true}, {"off", false}, {"on", true}} {
		if step.word != "" {
			run(t, c, &asker{}, "cloud events "+step.word)
		}
		if c.Wants(who) != step.wants {
			t.Errorf("after %q the player is told: %t", step.word, c.Wants(who))
		}
	}
	c.grants = granted{}
	if c.Wants(who) {
		t.Error("who lost the permission is still told")
	}
}

func TestManyHappeningsAreCounted(t *testing.T) {
	c := choose(console(t), nil)
	before := c.store.View()
	var servers []*agentv1alpha1.DirectoryServer
	for i := range 13 {
		servers = append(servers, &agentv1alpha1.DirectoryServer{Name: "lobby-1" + string(rune('a'+i)), Group: "lobby", Phase: "Ready"})
	}
	c.store.Apply(&agentv1alpha1.Directory{Revision: 2, Servers: servers, Groups: before.Groups()})
	lines := plain(Happenings(before, c.store.View()))
	if len(lines) != mostHappenings+1 || lines[mostHappenings] != "and 3 more changes" {
		t.Errorf("told: %v", lines)
	}
}

func TestArgumentsOfStaffAreCompleted(t *testing.T) {
	c := console(t, "spawnery.cloud.read", "spawnery.cloud.scale", "spawnery.cloud.retire", "spawnery.cloud.send", "spawnery.cloud.events", "spawnery.command.send", "spawnery.command.glist")
	for line, want := range map[string][]string{
		"/cloud scale lobby r":       {"reset"},
		"/cloud scale lobby 2 ":      {"for"},
		"/cloud scale lobby reset ":  nil,
		"/cloud start lobby 2 for 1": {"1d", "1h"},
		"/cloud retire surv":         {"survival-0"},
		"/cloud send a":              {"Ada"},
		"/cloud send Ada lobby-":     {"lobby-a", "lobby-c"},
		"/send ":                     {"Ada", "Ben", "all", "current"},
		"/cloud events o":            {"off", "on"},
		"/cloud info lobby":          {"lobby", "lobby-a", "lobby-b", "lobby-c"},
		"/cloud status ":             nil,
		"/glist a":                   {"all"},
	} {
		got, ours := c.Suggest(permissions.Player{}, line)
		if diff := cmp.Diff(want, got); diff != "" || !ours {
			t.Errorf("%q, ours: %t: %s", line, ours, diff)
		}
	}
}

func TestACommandInAnAnswerIsClicked(t *testing.T) {
	c := console(t, "spawnery.cloud.scale")
	c.asks = &office{answer: madeBoost("")}
	reply, _ := c.Run(&asker{}, "cloud scale lobby 3")
	end := reply.Later(t.Context())[1].With[1]
	if want := (mcproto.Click{Action: mcproto.SuggestCommand, Value: "/cloud scale lobby reset"}); end.Click != want || end.Hover == nil {
		t.Errorf("the click is %+v", end.Click)
	}
}
