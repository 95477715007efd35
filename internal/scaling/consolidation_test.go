// SPDX-License-Identifier: Apache-2.0

package scaling_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/fleet"
	"github.com/spawnery/spawnery-operator/internal/scaling"
)

// spread is an evening that is over: few players, and some on every server.
func spread() []fleet.Server {
	return []fleet.Server{serving("a", 7), serving("b", 2), serving("c", 4)}
}

// consolidating has known for so long that any one server could be spared.
func consolidating(servers []fleet.Server, since time.Duration, changes ...func(*scaling.Input)) scaling.Input {
	in := group(servers, changes...)
	in.Sizes.Consolidation = v1alpha1.ConsolidationEnabled
	in.Spareable = scaling.Spareable{}
	for i := range servers {
		in.Spareable[servers[i].Name] = ago(since)
	}
	return in
}

func TestConsolidation(t *testing.T) {
	const long = 300 * time.Second
	with := func(more ...fleet.Server) []fleet.Server { return append(spread(), more...) }
	tests := map[string]struct {
		in   scaling.Input
		want []string
	}{
		"the emptiest goes":                    {consolidating(spread(), long), []string{"b"}},
		"not before it was so for long enough": {consolidating(spread(), long-time.Second), nil},
		"not when it is switched off": {consolidating(spread(), long, sized(func(*scaling.Sizes) {}), func(in *scaling.Input) {
			in.Spareable = nil
		}), nil},
		"not on an event":                             {consolidating(spread(), long, onEvent), nil},
		"not below the floor":                         {consolidating(spread()[:2], long), nil},
		"not below a floor that boosts raise":         {consolidating(spread(), long, boosted(1)), nil},
		"not below a pin":                             {consolidating(spread(), long, pinned(3)), nil},
		"not while a server is on order":              {consolidating(with(ordered("d")), long), nil},
		"not while a create is not seen yet":          {consolidating(spread(), long, expecting(scaling.Expected{Creates: 1})), nil},
		"not while one is empty: that one goes":       {consolidating(with(serving("d", 0, emptyFor(time.Minute))), long), nil},
		"not while another is only told to":           {consolidating(with(serving("d", 1, retired(v1alpha1.RetireConsolidation))), long), nil},
		"not right after another":                     {consolidating(with(serving("d", 1, emptying(long-time.Second))), long), nil},
		"a while after another, which is not awaited": {consolidating(with(serving("d", 1, emptying(long))), long), []string{"b"}},
		"not when the others lack the seats for both": {consolidating([]fleet.Server{serving("a", 34), serving("b", 34), serving("c", 2), serving("d", 1, emptying(long))}, long), nil},
		"one that goes for another reason is no bar":  {consolidating(with(serving("d", 1, retired(v1alpha1.RetireChangeover))), long), []string{"b"}},
		"not when the others lack the seats":          {consolidating([]fleet.Server{serving("a", 34), serving("b", 35), serving("c", 2)}, long), nil},
		"exactly enough seats are enough":             {consolidating([]fleet.Server{serving("a", 34), serving("b", 34), serving("c", 2)}, long), []string{"c"}},
		"not when those are for who waits":            {consolidating([]fleet.Server{serving("a", 34), serving("b", 34), serving("c", 2)}, long, waiting(1)), nil},
		"who is on the way needs a seat too":          {consolidating([]fleet.Server{serving("a", 34), serving("b", 34), serving("c", 2, seating(3))}, long), nil},
		"who is elsewhere by now needs none":          {consolidating([]fleet.Server{serving("a", 34), serving("b", 35), serving("c", 2, seating(1))}, long), []string{"c"}},
		"an infeasible one hides no feasible one":     {consolidating([]fleet.Server{serving("a", 44), serving("b", 10, playable(10)), serving("big", 5, playable(90)), serving("x", 50)}, long), []string{"b"}},
		"never one whose players are unknown":         {consolidating([]fleet.Server{serving("a", 7), serving("b", 2, stale), serving("c", 4)}, long), []string{"c"}},
		"a silent one is no place to go":              {consolidating([]fleet.Server{serving("a", 30, stale), serving("b", 22), serving("c", 2)}, long), nil},
		"one with a closed door may go itself":        {consolidating([]fleet.Server{serving("a", 7), serving("b", 2, closed), serving("c", 4)}, long), []string{"b"}},
		"among equals the old spec goes":              {consolidating([]fleet.Server{serving("a", 7), serving("b", 2), serving("c", 2, old)}, long), []string{"c"}},
		"not for a new leader still blind":            {consolidating(with(serving("d", 3, unheard)), long, func(in *scaling.Input) { in.LeaderSince = now }), nil},
		"not while most agents are silent":            {consolidating(spread(), long, func(in *scaling.Input) { in.Channel = fleet.ChannelDegraded }), nil},
		"failures hold back creates and nothing else": {consolidating(spread(), long, gated(fleet.GivenUp())), []string{"b"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if name == "not when it is switched off" {
				tt.in.Sizes.Consolidation = v1alpha1.ConsolidationDisabled
			}
			for _, r := range checkMoves(t, tt.in, moves{Retired: tt.want}).Retirements {
				if r.Reason != v1alpha1.RetireConsolidation {
					t.Errorf("retired for %s", r.Reason)
				}
			}
		})
	}
}

// emptying is for a server that was retired for consolidation so long ago.
func emptying(since time.Duration) func(*fleet.Server) {
	return func(s *fleet.Server) {
		retired(v1alpha1.RetireConsolidation)(s)
		s.RetiringSince = ago(since)
	}
}

func closed(s *fleet.Server) { s.Door = fleet.DoorClosed }

func playable(n int) func(*fleet.Server) {
	return func(s *fleet.Server) { s.Playable = n }
}

func TestTheClockOfConsolidation(t *testing.T) {
	was := scaling.Spareable{"b": ago(time.Minute), "gone": ago(time.Hour)}
	tests := map[string]struct {
		servers []fleet.Server
		want    scaling.Spareable
	}{
		"runs on for one that could be spared before, and begins for others": {spread(), scaling.Spareable{"a": now, "b": ago(time.Minute), "c": now}},
		"ends with the seats for its players":                                {[]fleet.Server{serving("a", 48), serving("b", 30)}, scaling.Spareable{}},
		"ends with what is known of it":                                      {[]fleet.Server{serving("a", 7), serving("b", 2, stale), serving("c", 4)}, scaling.Spareable{"a": now, "c": now}},
		"ends when it is empty":                                              {[]fleet.Server{serving("a", 7), serving("b", 0), serving("c", 4)}, scaling.Spareable{"a": now, "c": now}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			in := consolidating(tt.servers, 0)
			in.Spareable = was
			if diff := cmp.Diff(tt.want, scaling.Decide(in).Spareable); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	off := group(spread())
	off.Spareable = was
	if got := scaling.Decide(off).Spareable; len(got) > 0 {
		t.Errorf("%v runs where consolidation is off", got)
	}
}

func TestConsolidationIsLookedAtWhenItIsDueAndExplained(t *testing.T) {
	in := consolidating(spread(), 200*time.Second)
	plan := checkMoves(t, in, moves{})
	if !plan.Recheck.Equal(now.Add(100 * time.Second)) {
		t.Fatalf("Recheck = %v, want in 100 s", plan.Recheck)
	}
	in.Now, in.Spareable = plan.Recheck, plan.Spareable
	plan = checkMoves(t, in, moves{Retired: []string{"b"}})
	want := "b has 2 players, whom the others could have taken since 2026-09-18T19:56:40Z, with 87 seats left now"
	if len(plan.Retirements) != 1 || plan.Retirements[0].Note != want {
		t.Errorf("retirements = %+v, want %q", plan.Retirements, want)
	}
}

// An evening: players spread over four servers leave one after another, and
// the group comes down to what they need, although no server is empty before it
// is told to take nobody new.
func TestASpreadGroupComesDownToWhatItsPlayersNeed(t *testing.T) {
	in := consolidating([]fleet.Server{serving("a", 9), serving("b", 6), serving("c", 8), serving("d", 7)}, 0)
	in.Spareable = nil
	var went []string
	for range 600 {
		plan := scaling.Decide(in)
		for _, r := range plan.Retirements {
			went = append(went, r.Name)
		}
		in = carriedOut(in, plan)
		in.Now = in.Now.Add(5 * time.Second)
		for i := range in.Servers {
			s := &in.Servers[i]
			// Who leaves a retired server comes back to another.
			if s.Retire == v1alpha1.RetireConsolidation && s.Counts.Players() > 0 {
				s.Counts = fleet.Fresh(s.Counts.Players()-1, in.Now)
				in.Servers[0].Counts = fleet.Fresh(in.Servers[0].Counts.Players()+1, in.Now)
			}
		}
		in.Servers = slices.DeleteFunc(in.Servers, func(s fleet.Server) bool {
			return s.Retire == v1alpha1.RetireConsolidation && s.Counts.KnownEmpty()
		})
	}
	if diff := cmp.Diff([]string{"b", "d"}, went); diff != "" || len(in.Servers) != 2 {
		t.Errorf("went (-want +got):\n%s\nleft: %d", diff, len(in.Servers))
	}
}
