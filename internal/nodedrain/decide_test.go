// SPDX-License-Identifier: Apache-2.0

package nodedrain_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/fleet"
	"github.com/spawnery/spawnery-operator/internal/nodedrain"
)

var now = time.Date(2026, 9, 18, 20, 0, 0, 0, time.UTC)

type edit = func(*fleet.Server)

// serving is a Ready server of 50 seats with players, on a node that stays.
func serving(name string, players int, edits ...edit) fleet.Server {
	s := fleet.Server{
		Name: name, Ordinal: fleet.NoOrdinal, Phase: v1alpha1.ServerReady, Pod: fleet.PodSeen,
		Seats:     fleet.Seats{Slots: 50, Playable: 50},
		Presence:  fleet.Presence{Registration: fleet.Registered, Counts: fleet.Fresh(players, now)},
		Clocks:    fleet.Clocks{ReadySince: now.Add(-time.Hour)},
		CreatedAt: now.Add(-time.Hour),
	}
	for _, change := range edits {
		change(&s)
	}
	return s
}

// leaving is serving on a node that departs.
func leaving(name string, players int, edits ...edit) fleet.Server {
	return serving(name, players, append([]edit{func(s *fleet.Server) { s.Node = fleet.NodeDeparting }}, edits...)...)
}

func deleted(s *fleet.Server) { s.Deletion = fleet.DeletionAsked }

func phased(p v1alpha1.ServerPhase) edit { return func(s *fleet.Server) { s.Phase = p } }

func retired(r v1alpha1.RetireReason) edit {
	return func(s *fleet.Server) {
		s.Retire, s.Phase, s.Registration = r, v1alpha1.ServerRetiring, fleet.Deregistered
	}
}

func starting(s *fleet.Server) {
	s.Phase, s.Presence, s.Clocks = v1alpha1.ServerStarting, fleet.Presence{}, fleet.Clocks{}
}

func silent(s *fleet.Server) { s.Counts = fleet.Stale(s.Counts.Players(), now.Add(-time.Minute)) }

func unheard(s *fleet.Server) { s.Counts = fleet.Counts{} }

func onTheWay(s *fleet.Server) { s.Roster = fleet.SomebodyThere() }

func closed(s *fleet.Server) { s.Door = fleet.DoorClosed }

func aged(d time.Duration) edit { return func(s *fleet.Server) { s.CreatedAt = now.Add(-d) } }

func group(servers []fleet.Server, changes ...func(*nodedrain.Input)) nodedrain.Input {
	in := nodedrain.Input{Now: now, Servers: servers, Floor: 1, LeaderSince: now.Add(-time.Hour)}
	for _, change := range changes {
		change(&in)
	}
	return in
}

func floor(n int) func(*nodedrain.Input) { return func(in *nodedrain.Input) { in.Floor = n } }

// moves is a plan without its words.
type moves struct{ Removed, Retired []string }

func movesOf(plan nodedrain.Plan) moves {
	names := func(orders []nodedrain.Order) []string {
		var all []string
		for _, one := range orders {
			all = append(all, one.Name)
		}
		return all
	}
	return moves{names(plan.Removals), names(plan.Retirements)}
}

type servers = []fleet.Server

func TestClearingANode(t *testing.T) {
	tests := map[string]struct {
		in      nodedrain.Input
		want    moves
		missing string
	}{
		"nothing follows while every node stays":        {group(servers{serving("a", 5), serving("b", 0)}), moves{}, ""},
		"empty ones go at once, all of them":            {group(servers{leaving("a", 0), leaving("b", 0), serving("c", 0)}), moves{Removed: []string{"a", "b"}}, ""},
		"empty ones go before there is another":         {group(servers{leaving("a", 0)}), moves{Removed: []string{"a"}}, ""},
		"one that starts there goes":                    {group(servers{leaving("a", 0, starting), serving("b", 0)}), moves{Removed: []string{"a"}}, ""},
		"one that failed stands in nobody's way":        {group(servers{leaving("a", 0, phased(v1alpha1.ServerFailed)), serving("b", 0)}), moves{}, ""},
		"one that ends is left to it":                   {group(servers{leaving("a", 0, phased(v1alpha1.ServerTerminating)), leaving("b", 0, deleted), leaving("c", 0, retired(v1alpha1.RetirePin)), serving("d", 0)}), moves{}, ""},
		"one with players goes when its place is taken": {group(servers{leaving("a", 5), serving("b", 0)}), moves{Removed: []string{"a"}}, ""},
		"exactly enough seats are enough":               {group(servers{leaving("a", 5), serving("b", 45)}), moves{Removed: []string{"a"}}, ""},
		"it takes nobody new while seats are missing":   {group(servers{leaving("a", 5), serving("b", 46)}), moves{Retired: []string{"a"}}, "a waits for free seats on other nodes: 4 of 5"},
		"it stays open while it is the only one":        {group(servers{leaving("a", 5), serving("b", 0, starting)}), moves{}, "a waits for ready servers on other nodes: 0 of 1"},
		"it waits for the floor":                        {group(servers{leaving("a", 5), serving("b", 0)}, floor(2)), moves{Retired: []string{"a"}}, "a waits for ready servers on other nodes: 1 of 2"},
		"also in a group without a floor":               {group(servers{leaving("a", 5)}, floor(0)), moves{}, "a waits for ready servers on other nodes: 0 of 1"},
		"a silent server is no place to go":             {group(servers{leaving("a", 5), serving("b", 0, silent)}), moves{}, "a waits for free seats on other nodes: 0 of 5"},
		"nor is one with a closed door":                 {group(servers{leaving("a", 5), serving("b", 0, closed)}), moves{}, "a waits for free seats on other nodes: 0 of 5"},
		"nor one that goes itself":                      {group(servers{leaving("a", 5), serving("b", 0, deleted)}), moves{}, "a waits for ready servers on other nodes: 0 of 1"},
		"one at a time, the fewest players first":       {group(servers{leaving("a", 9), leaving("b", 5), leaving("c", 7), serving("d", 0)}), moves{Removed: []string{"b"}}, ""},
		"then the oldest":                               {group(servers{leaving("a", 5), leaving("b", 5, aged(2*time.Hour)), serving("d", 0)}), moves{Removed: []string{"b"}}, ""},
		"then by name":                                  {group(servers{leaving("b", 5), leaving("a", 5), serving("d", 0)}), moves{Removed: []string{"a"}}, ""},
		"nobody while one drains":                       {group(servers{leaving("a", 5), leaving("b", 9, deleted), serving("c", 0)}), moves{}, ""},
		"who was told to go is next":                    {group(servers{leaving("a", 5), leaving("b", 9, retired(v1alpha1.RetireNodeDraining)), serving("c", 0)}), moves{Removed: []string{"b"}}, ""},
		"and is told once":                              {group(servers{leaving("a", 5), leaving("b", 9, retired(v1alpha1.RetireNodeDraining)), serving("c", 45)}), moves{}, "b waits for free seats on other nodes: 5 of 9"},
		"who goes for another reason goes too":          {group(servers{leaving("a", 5), leaving("b", 9, retired(v1alpha1.RetireChangeover)), serving("c", 0)}), moves{Removed: []string{"b"}}, ""},
		"somebody on the way is a player":               {group(servers{leaving("a", 0, onTheWay), serving("b", 50)}), moves{}, "a waits for free seats on other nodes: 0 of 1"},
		"a silent one has those it had":                 {group(servers{leaving("a", 5, silent), serving("b", 46)}), moves{Retired: []string{"a"}}, "a waits for free seats on other nodes: 4 of 5"},
		"one never heard may be full":                   {group(servers{leaving("a", 0, unheard), serving("b", 1)}), moves{Retired: []string{"a"}}, "a waits for free seats on other nodes: 49 of 50"},
		"empty ones go while one with players waits":    {group(servers{leaving("a", 5), leaving("b", 0), serving("c", 50)}), moves{Removed: []string{"b"}}, "a waits for free seats on other nodes: 0 of 5"},
		"nobody moves while most agents are silent":     {group(servers{leaving("a", 0), leaving("b", 5), serving("c", 0)}, func(in *nodedrain.Input) { in.Channel = fleet.ChannelDegraded }), moves{}, "most agents are silent, and nobody is moved meanwhile"},
		"nobody moves for a new leader":                 {group(servers{leaving("a", 0), leaving("b", 5), serving("c", 0, unheard)}, func(in *nodedrain.Input) { in.LeaderSince = now }), moves{}, "the servers have not all reported to this manager yet"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			plan := nodedrain.Decide(tt.in)
			if diff := cmp.Diff(tt.want, movesOf(plan), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("moves (-want +got):\n%s", diff)
			}
			if plan.Missing != tt.missing {
				t.Errorf("missing %q, want %q", plan.Missing, tt.missing)
			}
		})
	}
}

func TestANodeThatStaysTakesItsServersBack(t *testing.T) {
	told := retired(v1alpha1.RetireNodeDraining)
	all := servers{
		serving("back", 5, told), serving("pinned", 5, retired(v1alpha1.RetirePin)), serving("deleted", 5, told, deleted),
		serving("draining", 5, told, phased(v1alpha1.ServerDraining)), serving("ending", 5, told, phased(v1alpha1.ServerTerminating)),
		leaving("leaving", 5, told), serving("unnoticed", 5, told, phased(v1alpha1.ServerReady)),
	}
	orders, after := nodedrain.TakeBack(all)
	var names []string
	for _, order := range orders {
		names = append(names, order.Name)
	}
	if diff := cmp.Diff([]string{"back", "unnoticed"}, names); diff != "" {
		t.Errorf("taken back (-want +got):\n%s", diff)
	}
	for i := range all {
		want := all[i].Retire
		if slices.Contains(names, all[i].Name) {
			want = v1alpha1.RetireNone
		}
		if after[i].Retire != want {
			t.Errorf("%s retires for %q after that, want %q", all[i].Name, after[i].Retire, want)
		}
	}
	if all[0].Retire != v1alpha1.RetireNodeDraining {
		t.Error("it changed what it was given")
	}
}

func TestSeatsForWhoIsMoved(t *testing.T) {
	tests := map[string]struct {
		servers servers
		want    int
	}{
		"none while every node stays":                 {servers{serving("a", 5)}, 0},
		"none for empty ones":                         {servers{leaving("a", 0)}, 0},
		"those of the one whose turn it is":           {servers{leaving("a", 9), leaving("b", 5)}, 5},
		"none while it drains: they are on their way": {servers{leaving("a", 9, deleted), leaving("b", 5)}, 0},
		"one for somebody on the way":                 {servers{leaving("a", 0, onTheWay)}, 1},
		"a whole server where it is silent":           {servers{leaving("a", 0, unheard)}, 50},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := nodedrain.Displaced(tt.servers, now); got != tt.want {
				t.Errorf("displaced %d, want %d", got, tt.want)
			}
		})
	}
}

func TestAnUnheardServerIsLookedAtWhenTheProxiesWillHaveAgreed(t *testing.T) {
	in := group(servers{leaving("a", 5, silent, func(s *fleet.Server) { s.Roster = fleet.NobodySince(now.Add(-40 * time.Second)) })})
	plan := nodedrain.Decide(in)
	if !plan.Recheck.Equal(now.Add(20*time.Second)) || len(plan.Removals) > 0 {
		t.Fatalf("plan %+v, want to look again in 20 s", plan)
	}
	in.Now = plan.Recheck
	if got := movesOf(nodedrain.Decide(in)).Removed; len(got) != 1 {
		t.Errorf("then removes %v, want a", got)
	}
}

func anyServer(t *rapid.T, i int) fleet.Server {
	phases := []v1alpha1.ServerPhase{
		v1alpha1.ServerPending, v1alpha1.ServerStarting, v1alpha1.ServerReady, v1alpha1.ServerReady, v1alpha1.ServerReady,
		v1alpha1.ServerRetiring, v1alpha1.ServerDraining, v1alpha1.ServerFailed, v1alpha1.ServerTerminating,
	}
	reasons := []v1alpha1.RetireReason{v1alpha1.RetireNone, v1alpha1.RetireNone, v1alpha1.RetireNodeDraining, v1alpha1.RetireChangeover}
	players := rapid.IntRange(0, 50).Draw(t, "players")
	s := serving(fmt.Sprint("s", i), players)
	s.Phase = rapid.SampledFrom(phases).Draw(t, "phase")
	s.Node = rapid.SampledFrom([]fleet.NodeOutlook{fleet.NodeStaying, fleet.NodeDeparting}).Draw(t, "node")
	s.Retire = rapid.SampledFrom(reasons).Draw(t, "retire")
	s.Deletion = rapid.SampledFrom([]fleet.Deletion{fleet.DeletionNone, fleet.DeletionNone, fleet.DeletionAsked}).Draw(t, "deletion")
	s.Counts = rapid.SampledFrom([]fleet.Counts{fleet.Fresh(players, now), fleet.Fresh(0, now), fleet.Stale(players, now.Add(-time.Minute)), {}}).Draw(t, "counts")
	s.Registration = rapid.SampledFrom([]fleet.Registration{fleet.Registered, fleet.Deregistered, fleet.NeverRegistered}).Draw(t, "registration")
	return s
}

func TestWhateverItSees(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := group(nil, floor(rapid.IntRange(0, 3).Draw(t, "floor")))
		for i := range rapid.IntRange(0, 6).Draw(t, "servers") {
			in.Servers = append(in.Servers, anyServer(t, i))
		}
		plan := nodedrain.Decide(in)
		removed := checkMoved(t, in.Servers, plan.Removals)
		retired := checkMoved(t, in.Servers, plan.Retirements)
		if len(removed)+len(retired) > 1 {
			t.Fatalf("moves several servers with players at once: %+v", plan)
		}
		for _, s := range removed {
			if free := seatsElsewhere(in.Servers); free < max(1, s.Counts.Players()) {
				t.Fatalf("removes %+v, with %d free seats elsewhere", s, free)
			}
		}
		checkFixed(t, in, plan)
	})
}

// checkMoved wants everybody who is moved to be there, on a node that leaves,
// and returns those who may have players.
func checkMoved(t *rapid.T, all servers, orders []nodedrain.Order) []*fleet.Server {
	var occupied []*fleet.Server
	for _, order := range orders {
		i := slices.IndexFunc(all, func(s fleet.Server) bool { return s.Name == order.Name })
		s := &all[i]
		if s.Node != fleet.NodeDeparting || s.Deletion == fleet.DeletionAsked || s.Phase == v1alpha1.ServerFailed {
			t.Fatalf("moves %+v", s)
		}
		if s.MayHavePlayers(now) {
			occupied = append(occupied, s)
		}
	}
	return occupied
}

func seatsElsewhere(all servers) int {
	free := 0
	for i := range all {
		if all[i].Alive() {
			free += all[i].FreeSeats()
		}
	}
	return free
}

// checkFixed carries a plan out and wants the next one to order nothing.
func checkFixed(t *rapid.T, in nodedrain.Input, plan nodedrain.Plan) {
	for i := range in.Servers {
		s := &in.Servers[i]
		named := func(order nodedrain.Order) bool { return order.Name == s.Name }
		if slices.ContainsFunc(plan.Removals, named) {
			s.Deletion = fleet.DeletionAsked
		}
		if slices.ContainsFunc(plan.Retirements, named) {
			s.Retire = v1alpha1.RetireNodeDraining
		}
	}
	if again := movesOf(nodedrain.Decide(in)); len(again.Removed)+len(again.Retired) > 0 {
		t.Fatalf("%+v, and then again %+v", plan, again)
	}
}
