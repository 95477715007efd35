// SPDX-License-Identifier: Apache-2.0

package scaling_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/fleet"
	"github.com/spawnery/spawnery-operator/internal/scaling"
)

// moves are what a plan orders, by server.
type moves struct {
	Creates                    int
	Removed, Retired, Withdrew []string
}

func movesOf(plan scaling.Plan) moves {
	m := moves{Creates: plan.Creates, Removed: removed(plan)}
	for _, r := range plan.Retirements {
		m.Retired = append(m.Retired, r.Name)
	}
	for _, w := range plan.Withdrawals {
		m.Withdrew = append(m.Withdrew, w.Name)
	}
	return m
}

func checkMoves(t *testing.T, in scaling.Input, want moves) scaling.Plan {
	t.Helper()
	plan := scaling.Decide(in)
	if diff := cmp.Diff(want, movesOf(plan), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("(-want +got):\n%s\n%s", diff, plan.LastDecision)
	}
	return plan
}

// three servers of which one is empty.
func threeServers() []fleet.Server {
	return []fleet.Server{serving("a", 7), serving("b", 0), serving("c", 3)}
}

func TestAPinIsFloorAndCeiling(t *testing.T) {
	unseen := func(n int) func(*scaling.Input) { return expecting(scaling.Expected{Creates: n}) }
	tests := map[string]struct {
		in   scaling.Input
		want moves
	}{
		"the documented pin to 0":                     {group(threeServers(), pinned(0)), moves{Removed: []string{"b"}, Retired: []string{"c", "a"}}},
		"the emptiest is retired first":               {group(threeServers(), pinned(1)), moves{Removed: []string{"b"}, Retired: []string{"c"}}},
		"an empty one is enough":                      {group(threeServers(), pinned(2)), moves{Removed: []string{"b"}}},
		"a group at its number stays":                 {group(threeServers(), pinned(3)), moves{}},
		"a group below it is built up, nobody online": {group(threeServers(), pinned(5)), moves{Creates: 2}},
		"up to maxReplicas":                           {group(threeServers(), pinned(12)), moves{Creates: 5}},
		"also at an event":                            {group(threeServers(), pinned(1), onEvent), moves{Removed: []string{"b"}, Retired: []string{"c"}}},
		"demand adds nothing":                         {group(full(2), pinned(2)), moves{}},
		"nor do players that wait":                    {group(nil, pinned(0), waiting(40)), moves{}},
		"nothing is shed above the stabilisation":     {group([]fleet.Server{serving("a", 0, emptyFor(time.Hour)), serving("b", 0, emptyFor(time.Hour)), serving("c", 0, emptyFor(time.Hour))}, pinned(3)), moves{}},
		"one on order goes before one that served":    {group([]fleet.Server{serving("a", 0), ordered("b"), serving("c", 5)}, pinned(2)), moves{Removed: []string{"b"}}},
		"one ordered and not seen goes before one with players": {
			group([]fleet.Server{serving("a", 4)}, pinned(1), unseen(1)), moves{},
		},
		"failures hold back what is built": {group(nil, pinned(2), gated(fleet.GivenUp())), moves{}},
		"and not what goes":                {group(threeServers(), pinned(0), gated(fleet.GivenUp())), moves{Removed: []string{"b"}, Retired: []string{"c", "a"}}},
		"silence goes last": {
			group([]fleet.Server{serving("a", 7), serving("b", 1, stale), serving("c", 9), serving("d", 0, unheard)}, pinned(2)),
			moves{Retired: []string{"a", "c"}},
		},
		"the old spec goes first among equals": {
			group([]fleet.Server{serving("a", 5), serving("b", 5, old), serving("c", 5)}, pinned(2)), moves{Retired: []string{"b"}},
		},
		"a player on the way is a player": {
			group([]fleet.Server{serving("a", 0, func(s *fleet.Server) { s.Roster = fleet.SomebodyThere() })}, pinned(0)),
			moves{Retired: []string{"a"}},
		},
		"those on their way out are no surplus": {
			group([]fleet.Server{serving("a", 7), serving("b", 4, retired(v1alpha1.RetireChangeover)), serving("c", 4, phased(v1alpha1.ServerDraining))}, pinned(1)),
			moves{},
		},
		"a new leader that is still blind waits": {
			group([]fleet.Server{serving("a", 7), serving("b", 0, unheard)}, pinned(0), func(in *scaling.Input) { in.LeaderSince = now }), moves{},
		},
		"and so does everything while most agents are silent": {
			group(threeServers(), pinned(0), func(in *scaling.Input) { in.Channel = fleet.ChannelDegraded }), moves{},
		},
		"a brand-new group has no extra server": {group(nil, pinned(1), brandNew), moves{Creates: 1}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) { checkMoves(t, tt.in, tt.want) })
	}
}

func TestAPinThatIsRaisedOrEndsTakesServersBack(t *testing.T) {
	held := retired(v1alpha1.RetirePin)
	two := []fleet.Server{serving("a", 7, held), serving("b", 3, held)}
	both := []string{"a", "b"}
	tests := map[string]struct {
		in   scaling.Input
		want moves
	}{
		"while it stands nobody comes back":      {group(two, pinned(0)), moves{}},
		"raised by one, the fullest comes back":  {group(two, pinned(1)), moves{Withdrew: []string{"a"}}},
		"raised further, both do":                {group(two, pinned(2)), moves{Withdrew: both}},
		"and what is missing is built":           {group(two, pinned(3)), moves{Withdrew: both, Creates: 1}},
		"ended, all of them do":                  {group(two), moves{Withdrew: both}},
		"and nobody is built in their place":     {group(two, sized(func(s *scaling.Sizes) { s.SpareSlots = 90 })), moves{Withdrew: both}},
		"at an event too":                        {group(two, onEvent), moves{Withdrew: both}},
		"also while failures hold creates back":  {group(two, gated(fleet.GivenUp())), moves{Withdrew: both}},
		"also for a new leader":                  {group(append(slices.Clone(two), serving("c", 0, unheard)), func(in *scaling.Input) { in.LeaderSince = now }), moves{Withdrew: both}},
		"not while most agents are silent":       {group(two, func(in *scaling.Input) { in.Channel = fleet.ChannelDegraded }), moves{}},
		"a ceiling lowered meanwhile keeps none": {group(two, sized(func(s *scaling.Sizes) { s.MinReplicas, s.MaxReplicas = 1, 1 })), moves{Withdrew: both}},
		"one that just emptied goes":             {group([]fleet.Server{serving("a", 0, held)}, sized(asleep)), moves{}},
		"and another is built for the floor":     {group([]fleet.Server{serving("a", 0, held)}, sized(func(s *scaling.Sizes) { s.MinReplicas, s.SpareSlots = 1, 0 })), moves{Creates: 1}},
		"one already draining goes":              {group([]fleet.Server{serving("a", 7, held, phased(v1alpha1.ServerDraining))}, sized(asleep)), moves{}},
		"one deleted by hand goes":               {group([]fleet.Server{serving("a", 7, held, func(s *fleet.Server) { s.Deletion = fleet.DeletionAsked })}, sized(asleep)), moves{}},
		"other retirements stand":                {group([]fleet.Server{serving("a", 7, retired(v1alpha1.RetireConsolidation))}, sized(asleep)), moves{}},
		"one told to retire and still Ready":     {group([]fleet.Server{serving("a", 7, func(s *fleet.Server) { s.Retire = v1alpha1.RetirePin }), serving("b", 0)}), moves{Withdrew: []string{"a"}}},
		"one taken back is not given up at once": {
			group([]fleet.Server{serving("a", 0, emptyFor(time.Hour), func(s *fleet.Server) { s.Retire = v1alpha1.RetirePin }), serving("b", 5), serving("c", 5)}),
			moves{Withdrew: []string{"a"}},
		},
		"one on a departing node has to go again": {group([]fleet.Server{serving("a", 7, held, departing)}, pinned(1)), moves{Creates: 1}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) { checkMoves(t, tt.in, tt.want) })
	}
}

// A server whose reason was taken back is still Retiring until its own
// controller has looked; the group counts on it meanwhile.
func TestNothingIsBuiltInPlaceOfAServerThatComesBack(t *testing.T) {
	back := func(s *fleet.Server) { retired(v1alpha1.RetireNone)(s) }
	in := group([]fleet.Server{serving("a", 10, back), serving("b", 10, back)})
	in.Sizes.SpareSlots = 80
	checkMoves(t, group([]fleet.Server{serving("a", 10, back), serving("b", 10, back, seating(11))},
		sized(func(s *scaling.Sizes) { s.SpareSlots = 80 })), moves{Creates: 1}) // a seat less is free there
	if plan := checkMoves(t, in, moves{}); plan.Alive != 2 || plan.FreeSlots != 0 {
		t.Errorf("alive %d with %d seats free, want 2 and none: %s", plan.Alive, plan.FreeSlots, plan.LastDecision)
	}
	in.Servers[0].Counts = fleet.Fresh(0, now) // its last player left: it goes
	checkMoves(t, in, moves{Creates: 1})
}

func TestWhatAPinHoldsBackIsTold(t *testing.T) {
	tests := map[string]struct {
		in   scaling.Input
		want scaling.Limit
	}{
		"nothing":          {group(threeServers(), pinned(3)), scaling.Limit{By: scaling.ByPin, Wanted: 3, Allowed: 3}},
		"demand":           {group(full(2), pinned(2)), scaling.Limit{Cause: scaling.Demand, By: scaling.ByPin, Wanted: 3, Allowed: 2, Note: "demand wants 3 servers, boost event holds the group at 2"}},
		"demand of nobody": {group(nil, pinned(0)), scaling.Limit{Cause: scaling.Demand, By: scaling.ByPin, Wanted: 1, Allowed: 0, Note: "demand wants 1 server, boost event holds the group at 0"}},
		"more than maxReplicas": {
			group(threeServers(), pinned(12)),
			scaling.Limit{Cause: scaling.Boost, Wanted: 12, Allowed: 8, Note: "boost event wants to hold the group at 12 servers, maxReplicas allows 8"},
		},
		"demand beyond both": {group(full(8), pinned(8)), scaling.Limit{Cause: scaling.Demand, Wanted: 9, Allowed: 8, Note: "demand wants 9 servers, maxReplicas allows 8"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, scaling.Decide(tt.in).Limit); diff != "" {
				t.Errorf("limit (-want +got):\n%s", diff)
			}
		})
	}
}

func TestPinsAreExplained(t *testing.T) {
	tests := map[string]struct {
		in   scaling.Input
		want string
	}{
		"down": {group(threeServers(), pinned(1)), "provisional 140, spare 30, waiting 0, wanted 0, alive 3, floor 1, ceiling 1: " +
			"remove 1, b is empty, and the group has 3 servers where boost event holds it at 1; " +
			"retire 1, c has 3 players, and boost event holds the group at 1 server where it has 3"},
		"raised": {
			group([]fleet.Server{serving("a", 1, retired(v1alpha1.RetirePin))}, pinned(2)),
			"take back 1, a takes players again: boost event holds the group at 2 servers; create 1",
		},
		"ended": {
			group([]fleet.Server{serving("a", 1, retired(v1alpha1.RetirePin)), serving("b", 0)}),
			"take back 1, a takes players again: no boost holds the group at a number any more",
		},
		"of an unknown number": {group([]fleet.Server{serving("a", 1, stale)}, pinned(0)), "a has an unknown number of players"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := scaling.Decide(tt.in).LastDecision; !strings.Contains(got, tt.want) {
				t.Errorf("LastDecision = %q, want in it %q", got, tt.want)
			}
		})
	}
}

func TestAPinIsLookedAtWhenItEnds(t *testing.T) {
	if plan := scaling.Decide(group(threeServers(), pinned(3))); !plan.Recheck.Equal(now.Add(time.Hour)) {
		t.Errorf("Recheck = %v, want the end of the pin", plan.Recheck)
	}
}

// Nobody hears one that comes back; it is counted on until the proxies have
// agreed long enough that it is empty, and goes then.
func TestAServerThatComesBackIsLookedAtWhenTheProxiesWillHaveAgreed(t *testing.T) {
	silent := func(s *fleet.Server) {
		s.Counts, s.Roster = fleet.Counts{}, fleet.NobodySince(ago(40*time.Second))
	}
	in := group([]fleet.Server{serving("a", 0, retired(v1alpha1.RetireNone), silent)},
		sized(func(s *scaling.Sizes) { s.MinReplicas, s.SpareSlots = 1, 0 }))
	plan := checkMoves(t, in, moves{})
	if !plan.Recheck.Equal(now.Add(20 * time.Second)) {
		t.Fatalf("Recheck = %v, want in 20 s", plan.Recheck)
	}
	in.Now = plan.Recheck
	checkMoves(t, in, moves{Creates: 1})
}
