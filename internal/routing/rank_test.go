// SPDX-License-Identifier: Apache-2.0

package routing_test

import (
	"fmt"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/spawnery/spawnery-operator/internal/fleet"
	"github.com/spawnery/spawnery-operator/internal/routing"
)

// server has twenty slots, of which twelve are playable.
func server(name string, players int, changes ...func(*routing.Server)) routing.Server {
	s := routing.Server{Name: name, Players: players, Counts: fleet.CountsFresh, Seats: fleet.Seats{Slots: 20, Playable: 12}}
	for _, change := range changes {
		change(&s)
	}
	return s
}

func inFlight(n int) func(*routing.Server) { return func(s *routing.Server) { s.InFlight = n } }
func closed(s *routing.Server)             { s.Door = fleet.DoorClosed }
func unheard(s *routing.Server)            { s.Counts = fleet.CountsUnknown }
func stale(s *routing.Server)              { s.Counts = fleet.CountsStale }

func group(name string, servers ...routing.Server) routing.Group {
	return routing.Group{Name: name, Servers: servers}
}

func choose(groups ...routing.Group) routing.Request { return routing.Request{Groups: groups} }

func need(groups ...routing.Group) routing.Request {
	return routing.Request{Claim: routing.ByNeed, Groups: groups}
}

func named(s routing.Server) routing.Request {
	return routing.Request{Claim: routing.ByName, Groups: []routing.Group{group("g", s)}}
}

func without(r routing.Request, names ...string) routing.Request {
	r.Exclude = names
	return r
}

func privileged(r routing.Request) routing.Request {
	r.Groups[0].Privilege = routing.JoinsFull
	return r
}

func filled(r routing.Request) routing.Request {
	r.Strategy = routing.Fill
	return r
}

func TestRank(t *testing.T) {
	tests := map[string]struct {
		request routing.Request
		want    []string
		lack    routing.Lack
	}{
		"the fewest players first":             {choose(group("lobby", server("a", 5), server("b", 2), server("c", 9))), []string{"b", "a", "c"}, routing.LackNothing},
		"seats in flight count as players":     {choose(group("lobby", server("a", 5), server("b", 2, inFlight(4)))), []string{"a", "b"}, routing.LackNothing},
		"ties by name":                         {choose(group("lobby", server("b", 3), server("a", 3), server("c", 2, inFlight(1)))), []string{"a", "b", "c"}, routing.LackNothing},
		"a first join gets a playable seat":    {choose(group("lobby", server("a", 12), server("b", 11))), []string{"b"}, routing.LackNothing},
		"seats in flight fill a server":        {choose(group("lobby", server("a", 11, inFlight(1)))), nil, routing.LackSeats},
		"groups in their order, not by load":   {choose(group("lobby", server("a", 11)), group("limbo", server("z", 0))), []string{"a", "z"}, routing.LackNothing},
		"a full group is passed over":          {choose(group("lobby", server("a", 12)), group("limbo", server("z", 0))), []string{"z"}, routing.LackNothing},
		"an empty group is passed over":        {choose(group("lobby"), group("limbo", server("z", 0))), []string{"z"}, routing.LackNothing},
		"no group at all":                      {choose(), nil, routing.LackServers},
		"no server at all":                     {choose(group("lobby"), group("limbo")), nil, routing.LackServers},
		"only full ones":                       {choose(group("lobby", server("a", 12)), group("limbo")), nil, routing.LackSeats},
		"only closed ones are none":            {choose(group("lobby", server("a", 0, closed))), nil, routing.LackServers},
		"never back to the one that kicked":    {without(need(group("lobby", server("a", 0), server("b", 9))), "a"), []string{"b"}, routing.LackNothing},
		"not even when it is the only one":     {without(need(group("lobby", server("a", 0))), "a"), nil, routing.LackServers},
		"who must leave gets any seat":         {need(group("lobby", server("a", 19))), []string{"a"}, routing.LackNothing},
		"but a playable one first":             {need(group("lobby", server("a", 12), server("b", 13), server("c", 11))), []string{"c", "a", "b"}, routing.LackNothing},
		"and none beyond the slots":            {need(group("lobby", server("a", 20), server("b", 19, inFlight(1)))), nil, routing.LackSeats},
		"need opens no closed door":            {need(group("lobby", server("a", 0, closed))), nil, routing.LackServers},
		"a name opens a closed door":           {named(server("a", 0, closed)), []string{"a"}, routing.LackNothing},
		"a name gets a seat beyond playable":   {named(server("a", 15)), []string{"a"}, routing.LackNothing},
		"a name gets none beyond the slots":    {named(server("a", 20)), nil, routing.LackSeats},
		"a privilege reaches the slots":        {privileged(choose(group("lobby", server("a", 15)))), []string{"a"}, routing.LackNothing},
		"a privilege prefers playable seats":   {privileged(choose(group("lobby", server("a", 12), server("b", 11)))), []string{"b", "a"}, routing.LackNothing},
		"a privilege is one group's":           {privileged(choose(group("lobby", server("a", 20)), group("vip", server("b", 12)))), nil, routing.LackSeats},
		"a privilege opens no closed door":     {privileged(choose(group("lobby", server("a", 0, closed)))), nil, routing.LackServers},
		"those nobody hears are asked last":    {choose(group("lobby", server("a", 0, unheard), server("b", 0, stale), server("c", 11))), []string{"c", "a", "b"}, routing.LackNothing},
		"of a later group too, but before it":  {choose(group("lobby", server("a", 0, stale)), group("limbo", server("z", 0))), []string{"a", "z"}, routing.LackNothing},
		"the most players first":               {filled(choose(group("lobby", server("a", 5), server("b", 2), server("c", 9)))), []string{"c", "a", "b"}, routing.LackNothing},
		"filled only while a seat is playable": {filled(choose(group("lobby", server("a", 12), server("b", 11), server("c", 1)))), []string{"b", "c"}, routing.LackNothing},
		"seats in flight help to fill":         {filled(choose(group("lobby", server("a", 3), server("b", 2, inFlight(2))))), []string{"b", "a"}, routing.LackNothing},
		"an even fill goes by name":            {filled(choose(group("lobby", server("b", 3), server("a", 3)))), []string{"a", "b"}, routing.LackNothing},
		"who must leave fills as well":         {filled(need(group("lobby", server("a", 2), server("b", 4)))), []string{"b", "a"}, routing.LackNothing},
		"beyond playable seats none is filled": {filled(need(group("lobby", server("a", 14), server("b", 13), server("c", 1)))), []string{"c", "b", "a"}, routing.LackNothing},
		"the unheard are last, and not filled": {filled(choose(group("lobby", server("a", 9, stale), server("b", 3, stale), server("c", 1)))), []string{"c", "b", "a"}, routing.LackNothing},
		"groups are filled in their order":     {filled(choose(group("lobby", server("a", 1)), group("limbo", server("z", 9)))), []string{"a", "z"}, routing.LackNothing},
		"more players than slots are too many": {need(group("lobby", server("a", 25))), nil, routing.LackSeats},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := routing.Rank(tt.request)
			var names []string
			for _, c := range got.Candidates {
				names = append(names, c.Server)
			}
			if diff := cmp.Diff(tt.want, names, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("candidates (-want +got):\n%s", diff)
			}
			if got.Lack != tt.lack {
				t.Errorf("lack = %d, want %d", got.Lack, tt.lack)
			}
		})
	}
}

func TestACandidateNamesItsGroup(t *testing.T) {
	got := routing.Rank(choose(group("lobby", server("a", 0)), group("limbo", server("z", 0))))
	want := []routing.Candidate{{Group: "lobby", Server: "a"}, {Group: "limbo", Server: "z"}}
	if diff := cmp.Diff(want, got.Candidates); diff != "" {
		t.Errorf("candidates (-want +got):\n%s", diff)
	}
}

// Seats in flight count at once, so a crowd fills one server after the other and
// none beyond its playable seats.
func TestManyAtOnceFillOneServerAfterTheOther(t *testing.T) {
	lobbies := []routing.Server{server("lobby-0", 0), server("lobby-1", 3), server("lobby-2", 0)}
	for i := range 25 {
		ranking := routing.Rank(filled(choose(group("lobby", lobbies...))))
		if ranking.Lack != routing.LackNothing {
			t.Fatalf("player %d found no place", i)
		}
		at := slices.IndexFunc(lobbies, func(s routing.Server) bool { return s.Name == ranking.Candidates[0].Server })
		lobbies[at].InFlight++
	}
	got := []int{lobbies[0].InFlight, lobbies[1].InFlight, lobbies[2].InFlight}
	if diff := cmp.Diff([]int{12, 9, 4}, got); diff != "" {
		t.Errorf("players who came (-want +got):\n%s", diff)
	}
}

// Two hundred players leave one server; five lobbies have room for all of
// them. Seats in flight count at once, so none is refused and none is crowded.
func TestManyAtOnceAreSpreadEvenly(t *testing.T) {
	var lobbies []routing.Server
	for i := range 5 {
		lobbies = append(lobbies, server(fmt.Sprint("lobby-", i), 0, func(s *routing.Server) { s.Seats = fleet.Seats{Slots: 50, Playable: 50} }))
	}
	for i := range 200 {
		ranking := routing.Rank(need(group("lobby", lobbies...)))
		if ranking.Lack != routing.LackNothing {
			t.Fatalf("player %d found no place", i)
		}
		at := slices.IndexFunc(lobbies, func(s routing.Server) bool { return s.Name == ranking.Candidates[0].Server })
		lobbies[at].InFlight++
	}
	for _, s := range lobbies {
		if s.InFlight != 40 {
			t.Errorf("%s got %d players, want 40", s.Name, s.InFlight)
		}
	}
}

func anyRequest(t *rapid.T) routing.Request {
	r := routing.Request{
		Claim:    rapid.SampledFrom([]routing.Claim{routing.ByChoice, routing.ByNeed, routing.ByName}).Draw(t, "claim"),
		Strategy: rapid.SampledFrom([]routing.Strategy{routing.Spread, routing.Fill}).Draw(t, "strategy"),
		Exclude:  []string{"0-1", "1-0"},
	}
	for g := range rapid.IntRange(0, 3).Draw(t, "groups") {
		var servers []routing.Server
		for i := range rapid.IntRange(0, 5).Draw(t, "servers") {
			playable := rapid.IntRange(0, 6).Draw(t, "playable")
			servers = append(servers, routing.Server{
				Name:  fmt.Sprintf("%d-%d", g, i),
				Seats: fleet.Seats{Playable: playable, Slots: playable + rapid.IntRange(0, 4).Draw(t, "more")},
				// Sometimes more than there are slots.
				Players: rapid.IntRange(0, 11).Draw(t, "players"), InFlight: rapid.IntRange(0, 2).Draw(t, "flying"),
				Counts: rapid.SampledFrom([]fleet.CountState{fleet.CountsFresh, fleet.CountsStale, fleet.CountsUnknown}).Draw(t, "counts"),
				Door:   rapid.SampledFrom([]fleet.Door{fleet.DoorOpen, fleet.DoorClosed}).Draw(t, "door"),
			})
		}
		r.Groups = append(r.Groups, routing.Group{
			Name: strconv.Itoa(g), Servers: servers,
			Privilege: rapid.SampledFrom([]routing.Privilege{routing.Ordinary, routing.JoinsFull}).Draw(t, "privilege"),
		})
	}
	return r
}

func TestExactlyThoseWithASeatAreRanked(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := anyRequest(t)
		ranked := map[string]bool{}
		for _, c := range routing.Rank(r).Candidates {
			ranked[c.Server] = true
		}
		for _, g := range r.Groups {
			for _, s := range g.Servers {
				free := s.Seats.Slots - s.Players - s.InFlight
				if r.Claim == routing.ByChoice && g.Privilege == routing.Ordinary {
					free = s.Seats.Playable - s.Players - s.InFlight
				}
				shut := s.Door == fleet.DoorClosed && r.Claim != routing.ByName
				want := free > 0 && !shut && s.Name != "0-1" && s.Name != "1-0"
				if ranked[s.Name] != want {
					t.Fatalf("%+v: ranked %v, want %v", s, ranked[s.Name], want)
				}
			}
		}
	})
}

func TestTheOrderOfServersDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := anyRequest(t)
		want := routing.Rank(r)
		for i := range r.Groups {
			r.Groups[i].Servers = rapid.Permutation(r.Groups[i].Servers).Draw(t, "shuffled")
		}
		if diff := cmp.Diff(want, routing.Rank(r)); diff != "" {
			t.Fatalf("the ranking changed with the order:\n%s", diff)
		}
	})
}

func BenchmarkRankTenServers(b *testing.B)      { benchmark(b, 10) }
func BenchmarkRankThousandServers(b *testing.B) { benchmark(b, 1000) }

func benchmark(b *testing.B, servers int) {
	var lobby []routing.Server
	for i := range servers {
		lobby = append(lobby, server(fmt.Sprint("lobby-", i), (i*7)%12))
	}
	request := without(choose(group("lobby", lobby...)), "lobby-3")
	b.ReportAllocs()
	for b.Loop() {
		_ = routing.Rank(request)
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "placements/s")
}
