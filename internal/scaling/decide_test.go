// SPDX-License-Identifier: Apache-2.0

package scaling_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/fleet"
	"github.com/spawnery/spawnery-operator/internal/scaling"
)

func TestTheDocumentedGroupWithSeventyFivePlayers(t *testing.T) {
	in := group([]fleet.Server{serving("hub-a", 50), serving("hub-b", 25)})
	plan := scaling.Decide(in)
	if plan.Creates != 1 || plan.FreeSlots != 25 || plan.Alive != 2 || len(plan.Removals) != 0 || plan.Limit.Cause != scaling.NotLimited {
		t.Errorf("plan = %+v, want one server more", plan)
	}
	want := "provisional 25, spare 30, waiting 0, wanted 1, alive 2, floor 2, ceiling 8: create 1"
	if plan.LastDecision != want {
		t.Errorf("LastDecision = %q, want %q", plan.LastDecision, want)
	}
}

func TestCapacityIsTheUnitOfTheGap(t *testing.T) {
	small := func(s *scaling.Sizes) { s.Capacity, s.MaxReplicas = 10, 20 }
	tests := map[string]struct {
		in   scaling.Input
		want int
	}{
		"a large server covers a small gap":             {group(append(full(1), serving("hub-b", 25))), 1},
		"small servers cover the same gap by several":   {group(full(2), sized(small)), 3},
		"no gap, no server":                             {group(append(full(1), serving("hub-b", 20))), 0},
		"a gap of one seat is a gap":                    {group(append(full(1), serving("hub-b", 21))), 1},
		"an empty group comes up to its floor":          {group(nil), 2},
		"a boost raises the floor with nobody online":   {group([]fleet.Server{serving("a", 0), serving("b", 0)}, boosted(2)), 2},
		"floor and demand are not added":                {group(full(1), boosted(1)), 2},
		"the ceiling binds demand":                      {group(full(8)), 0},
		"the ceiling binds boosts":                      {group(full(7), boosted(9)), 1},
		"spare seats larger than the ceiling's":         {group(nil, sized(func(s *scaling.Sizes) { s.SpareSlots = 9999 })), 8},
		"what was ordered is not ordered again":         {group(append(full(2), ordered("c"))), 0},
		"nor what the cache does not show yet":          {group(full(2), expecting(scaling.Expected{Creates: 1})), 0},
		"a delete not seen yet counts as gone":          {group([]fleet.Server{serving("a", 50), serving("b", 0)}, expecting(scaling.Expected{Deletes: []string{"b"}})), 1},
		"sleeping at zero":                              {group(nil, sized(asleep)), 0},
		"a waiting player wakes it":                     {group(nil, sized(asleep), waiting(1)), 1},
		"a waiting crowd orders one server at a time":   {group(nil, sized(asleep), waiting(500)), 1},
		"and no second one in the same pass":            {group([]fleet.Server{ordered("a", aged(4*time.Second))}, sized(asleep), waiting(500)), 0},
		"nor beside one that is not seen yet":           {group(nil, sized(asleep), waiting(500), expecting(scaling.Expected{Creates: 1})), 0},
		"a pass later it orders the next":               {group([]fleet.Server{ordered("a", aged(pass))}, sized(asleep), waiting(500)), 1},
		"and the next, as long as it waits":             {group([]fleet.Server{ordered("a"), ordered("b"), ordered("c", aged(pass))}, sized(asleep), waiting(500)), 1},
		"until everybody has a seat on order":           {group([]fleet.Server{ordered("a"), ordered("b")}, sized(asleep), waiting(100)), 0},
		"the spare seats come on top":                   {group([]fleet.Server{ordered("a"), ordered("b")}, waiting(100)), 1},
		"who waits is covered by what is ordered":       {group([]fleet.Server{ordered("a")}, sized(asleep), waiting(40)), 0},
		"who waits needs seats beside the spare ones":   {group(append(full(1), serving("b", 20)), waiting(1)), 1},
		"creates do not wait for the pass":              {group(full(2), onEvent), 1},
		"a lost server is replaced":                     {group([]fleet.Server{serving("a", 0), serving("b", 0, phased(v1alpha1.ServerTerminating))}), 1},
		"a failed one too":                              {group([]fleet.Server{serving("a", 0), serving("b", 0, phased(v1alpha1.ServerFailed))}), 1},
		"a retiring one too":                            {group([]fleet.Server{serving("a", 0), serving("b", 9, retired(v1alpha1.RetireRequested))}), 1},
		"one on a departing node too":                   {group([]fleet.Server{serving("a", 0), serving("b", 9, departing)}), 1},
		"old specs are as good as new ones":             {group([]fleet.Server{serving("a", 0, old), serving("b", 0, old)}), 0},
		"a back-off window delays creates":              {group(full(2), gated(fleet.WaitUntil(now.Add(time.Second)))), 0},
		"a group that gave up creates nothing":          {group(full(2), gated(fleet.GivenUp())), 0},
		"spectators make a round full, not overfull":    {group([]fleet.Server{serving("a", 40, round), serving("b", 12, round)}, sized(rounds)), 1},
		"twelve in a lobby of twelve order the next":    {group([]fleet.Server{serving("a", 12, round)}, sized(rounds)), 1},
		"a fresh round is capacity enough":              {group([]fleet.Server{serving("a", 0, round)}, sized(rounds)), 0},
		"waiting below zero is nobody":                  {group(nil, sized(asleep), waiting(-3)), 0},
		"spare zero and full: nobody is served unasked": {group(full(1), sized(asleep)), 0},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			plan := scaling.Decide(tt.in)
			if plan.Creates != tt.want || len(plan.Removals) != 0 {
				t.Errorf("creates %d, removes %v; want %d and none\n%s", plan.Creates, plan.Removals, tt.want, plan.LastDecision)
			}
		})
	}
}

func asleep(s *scaling.Sizes) { s.MinReplicas, s.SpareSlots = 0, 0 }
func rounds(s *scaling.Sizes) { s.MinReplicas, s.SpareSlots, s.Capacity = 1, 12, 12 }
func round(s *fleet.Server)   { s.Seats = fleet.Seats{Slots: 100, Playable: 12} }
func departing(s *fleet.Server) {
	s.Node = fleet.NodeDeparting
}
func old(s *fleet.Server) { s.Spec = fleet.SpecOld }

// The credit of one server shows in how many more are wanted beside it: with
// 100 spare seats and servers of 50, two for none and one for a whole one.
func TestWhatAServerIsCredited(t *testing.T) {
	tests := map[string]struct {
		server fleet.Server
		credit int
	}{
		"Ready and reporting":              {serving("a", 10), 40},
		"Ready and reporting, old spec":    {serving("a", 10, old), 40},
		"Ready, two on the way":            {serving("a", 10, seating(12)), 38},
		"Ready, two counted elsewhere":     {serving("a", 10, seating(8)), 42},
		"Ready, overfull":                  {serving("a", 60), 0},
		"counts stale":                     {serving("a", 10, stale), 0},
		"counts unknown after a restart":   {serving("a", 10, unheard), 0},
		"door closed":                      {serving("a", 0, func(s *fleet.Server) { s.Door = fleet.DoorClosed }), 0},
		"dropped by the proxies":           {serving("a", 0, func(s *fleet.Server) { s.Registration = fleet.Deregistered }), 0},
		"Ready, registration under way":    {serving("a", 0, func(s *fleet.Server) { s.Registration = fleet.NeverRegistered }), 50},
		"pod not in the cache":             {serving("a", 0, func(s *fleet.Server) { s.Pod = fleet.PodUnseen }), 0},
		"lost readiness":                   {serving("a", 0, phased(v1alpha1.ServerStarting)), 0},
		"Pending":                          {ordered("a"), 50},
		"Starting for the first time":      {ordered("a", phased(v1alpha1.ServerStarting)), 50},
		"Starting, pod not in the cache":   {ordered("a", phased(v1alpha1.ServerStarting), func(s *fleet.Server) { s.Pod = fleet.PodUnseen }), 50},
		"Failed":                           {serving("a", 0, phased(v1alpha1.ServerFailed)), 0},
		"Retiring":                         {serving("a", 0, phased(v1alpha1.ServerRetiring)), 0},
		"Draining":                         {serving("a", 0, phased(v1alpha1.ServerDraining)), 0},
		"Terminating":                      {serving("a", 0, phased(v1alpha1.ServerTerminating)), 0},
		"on a departing node":              {serving("a", 0, departing), 0},
		"deletion asked":                   {serving("a", 0, func(s *fleet.Server) { s.Deletion = fleet.DeletionAsked }), 0},
		"a plugin took seats away":         {serving("a", 3, func(s *fleet.Server) { s.Playable = 8 }), 5},
		"asked to retire, still Ready":     {serving("a", 0, func(s *fleet.Server) { s.Retire = v1alpha1.RetireRequested }), 0},
		"counts of a server not Ready yet": {ordered("a", phased(v1alpha1.ServerStarting), emptyFor(0)), 50},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			// A second, full server keeps one server's silence from being an outage.
			in := group([]fleet.Server{tt.server, serving("z", 50)}, sized(func(s *scaling.Sizes) {
				*s = scaling.Sizes{MaxReplicas: 1000, SpareSlots: 500, Capacity: 1}
			}))
			want := 500 - tt.credit
			if tt.credit == 50 && tt.server.FirstStart() {
				want = 499 // on order, and worth one unit of this capacity
			}
			if plan := scaling.Decide(in); plan.Creates != want {
				t.Errorf("creates %d, want %d\n%s", plan.Creates, want, plan.LastDecision)
			}
		})
	}
}

func TestWhatTheCeilingHoldsBack(t *testing.T) {
	tests := map[string]struct {
		in   scaling.Input
		want scaling.Limit
	}{
		"nothing":                            {group(full(2)), scaling.Limit{Wanted: 3, Allowed: 8}},
		"demand":                             {group(full(8)), scaling.Limit{Cause: scaling.Demand, Wanted: 9, Allowed: 8, Note: "demand wants 9 servers, maxReplicas allows 8"}},
		"demand, granted in part":            {group(full(7), sized(func(s *scaling.Sizes) { s.SpareSlots = 90 })), scaling.Limit{Cause: scaling.Demand, Wanted: 9, Allowed: 8, Note: "demand wants 9 servers, maxReplicas allows 8"}},
		"a boost":                            {group([]fleet.Server{serving("a", 0)}, boosted(9)), scaling.Limit{Cause: scaling.Boost, Wanted: 11, Allowed: 8, Note: "minReplicas and boosts want 11 servers, maxReplicas allows 8"}},
		"the minimum alone never is limited": {group(full(1), sized(func(s *scaling.Sizes) { s.MinReplicas, s.SpareSlots = 8, 0 })), scaling.Limit{Wanted: 8, Allowed: 8}},
		"a brand-new group of one, at most one, is not limited by the extra server": {
			group([]fleet.Server{ordered("a")}, brandNew, sized(func(s *scaling.Sizes) { s.MinReplicas, s.MaxReplicas = 1, 1 })),
			scaling.Limit{Wanted: 1, Allowed: 1},
		},
		"a lowered ceiling is not a limit by itself": {
			group([]fleet.Server{serving("a", 0), serving("b", 0), serving("c", 9)}, sized(func(s *scaling.Sizes) { s.MaxReplicas = 2 })),
			scaling.Limit{Wanted: 2, Allowed: 2},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, scaling.Decide(tt.in).Limit); diff != "" {
				t.Errorf("limit (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWhenCountsCannotBeTrusted(t *testing.T) {
	newLeader := func(d time.Duration) func(*scaling.Input) {
		return func(in *scaling.Input) { in.LeaderSince = ago(d) }
	}
	degraded := func(in *scaling.Input) { in.Channel = fleet.ChannelDegraded }
	blind := []fleet.Server{serving("a", 20, stale), serving("b", 20, stale)}
	greedy := sized(func(s *scaling.Sizes) { s.SpareSlots = 300 })
	tests := map[string]struct {
		in      scaling.Input
		creates int
		recheck time.Time
		says    string
	}{
		"a new leader derives no demand":         {group([]fleet.Server{serving("a", 50, unheard), serving("b", 50)}, newLeader(10*time.Second)), 0, now.Add(50 * time.Second), "waiting for the servers to report"},
		"a new leader still meets the floor":     {group([]fleet.Server{serving("a", 50, unheard)}, newLeader(0)), 1, now.Add(time.Minute), "create 1"},
		"once all have reported it decides":      {group(full(2), newLeader(time.Second)), 1, time.Time{}, "create 1"},
		"after a minute it decides without them": {group([]fleet.Server{serving("a", 50, unheard), serving("b", 50)}, newLeader(time.Minute)), 1, time.Time{}, "create 1"},
		"a new leader of blind servers orders one": {
			group([]fleet.Server{serving("a", 50, unheard), serving("b", 50, unheard)}, newLeader(time.Minute), greedy), 1, time.Time{}, "create 1",
		},
		"all stale at once orders one":          {group(blind, greedy), 1, time.Time{}, "wanted 1"},
		"and no second one, before it is seen":  {group(blind, greedy, expecting(scaling.Expected{Creates: 1})), 0, time.Time{}, "wanted 0"},
		"nor when it is":                        {group(append(blind, ordered("c")), greedy), 0, time.Time{}, "wanted 0"},
		"nor when that one failed":              {group(append(blind, ordered("c", phased(v1alpha1.ServerFailed))), greedy), 0, time.Time{}, "wanted 0"},
		"an order from before does not count":   {group(append(blind, ordered("c", aged(30*time.Second))), greedy), 1, time.Time{}, "wanted 1"},
		"one fresh server ends the outage":      {group(append(blind, serving("c", 50)), greedy), 5, time.Time{}, "wanted 6"},
		"the floor is met in an outage":         {group(blind, boosted(3)), 3, now.Add(time.Hour), "create 3"},
		"most agents silent: nothing is made":   {group(nil, degraded), 0, time.Time{}, "most agents are silent"},
		"most agents silent: boosts wait":       {group(blind, degraded, boosted(3)), 0, now.Add(time.Hour), "most agents are silent"},
		"failures: the next attempt is named":   {group(full(2), gated(fleet.WaitUntil(now.Add(40*time.Second)))), 0, now.Add(40 * time.Second), "1 short; starts have failed, next attempt at 2026-09-18T20:00:40Z"},
		"failures: the give-up is named":        {group(full(2), gated(fleet.GivenUp())), 0, time.Time{}, "1 short; the group has given up"},
		"all is well, and it says so":           {group([]fleet.Server{serving("a", 0), serving("b", 9)}), 0, time.Time{}, "ceiling 8: enough"},
		"the ceiling speaks for itself":         {group(full(8)), 0, time.Time{}, "demand wants 9 servers"},
		"a boost's end is the next look":        {group([]fleet.Server{serving("a", 0), serving("b", 9), serving("c", 1)}, boosted(1)), 0, now.Add(time.Hour), "enough"},
		"the end of a stabilisation is as well": {group([]fleet.Server{serving("a", 9, emptyFor(time.Minute)), serving("b", 9)}), 0, now.Add(4 * time.Minute), "enough"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			plan := scaling.Decide(tt.in)
			if plan.Creates != tt.creates || !plan.Recheck.Equal(tt.recheck) || len(plan.Removals) > 0 {
				t.Errorf("creates %d, recheck %v, removes %v; want %d, %v and none", plan.Creates, plan.Recheck, plan.Removals, tt.creates, tt.recheck)
			}
			if !strings.Contains(plan.LastDecision, tt.says) {
				t.Errorf("%q does not say %q", plan.LastDecision, tt.says)
			}
		})
	}
}

func TestStatusNumbers(t *testing.T) {
	in := group([]fleet.Server{
		serving("a", 10), serving("b", 20, old), serving("c", 0, stale), ordered("d"),
		serving("e", 0, func(s *fleet.Server) { s.Door = fleet.DoorClosed }),
	}, boosted(20))
	plan := scaling.Decide(in)
	if plan.FreeSlots != 70 || plan.Boosted != 20 || plan.Floor != 22 || plan.Ceiling != 8 || plan.Alive != 5 {
		t.Errorf("plan = %+v, want 70 free, 20 boosted, floor 22, ceiling 8, 5 alive", plan)
	}
}
