// SPDX-License-Identifier: Apache-2.0

package scaling_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/fleet"
	"github.com/spawnery/spawnery-operator/internal/scaling"
)

func leaving(s *fleet.Server) { s.Retire, s.Phase = v1alpha1.RetireChangeover, v1alpha1.ServerRetiring }

func available(n int) func(*scaling.Input) { return func(in *scaling.Input) { in.MinAvailable = n } }

func surging(in *scaling.Input) { in.Surge = 1 }

func TestAChangeoverIsGrantedWithinTheCeiling(t *testing.T) {
	const long = 300 * time.Second
	idle := func(name string, changes ...func(*fleet.Server)) fleet.Server {
		return serving(name, 0, append([]func(*fleet.Server){emptyFor(long)}, changes...)...)
	}
	three := sized(func(s *scaling.Sizes) { s.MinReplicas, s.MaxReplicas = 1, 3 })
	tests := map[string]struct {
		in   scaling.Input
		want moves
	}{
		"one more where there is room":               {group([]fleet.Server{serving("a", 20, old), serving("b", 0, old)}, surging), moves{Creates: 1}},
		"it is not added to demand":                  {group([]fleet.Server{serving("a", 50, old), serving("b", 50, old)}, surging), moves{Creates: 1}},
		"nor to the floor":                           {group([]fleet.Server{serving("a", 0, old)}, surging), moves{Creates: 1}},
		"nothing at the ceiling":                     {group(full(8), surging), moves{}},
		"nothing after a failure":                    {group([]fleet.Server{serving("a", 0, old), serving("b", 0, old)}, surging, gated(fleet.WaitUntil(now.Add(time.Second)))), moves{}},
		"nothing while most agents are silent":       {group([]fleet.Server{serving("a", 0, old), serving("b", 0, old)}, surging, func(in *scaling.Input) { in.Channel = fleet.ChannelDegraded }), moves{}},
		"one below a pin":                            {group([]fleet.Server{serving("a", 0, old)}, surging, pinned(2)), moves{Creates: 1}},
		"nothing at a pin":                           {group([]fleet.Server{serving("a", 0, old), serving("b", 0, old)}, surging, pinned(2)), moves{}},
		"what is granted keeps the others":           {group([]fleet.Server{idle("a", old), idle("b", old), idle("c", old)}, surging), moves{Creates: 1}},
		"what is refused makes room by lack of need": {group([]fleet.Server{idle("a", old), idle("b", old), serving("c", 9, old)}, surging, three), moves{Removed: []string{"a"}}},
		"a failure does not pin an evening's size":   {group([]fleet.Server{idle("a", old), idle("b", old), serving("c", 9, old)}, surging, gated(fleet.GivenUp())), moves{Removed: []string{"a"}}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) { checkMoves(t, tt.in, tt.want) })
	}
}

func TestAPlanSaysThatItCreatesForAChangeover(t *testing.T) {
	calm := []fleet.Server{serving("a", 20, old), serving("b", 0, old)}
	for says, in := range map[string]scaling.Input{
		"provisional 80, spare 30, waiting 0, wanted 0, alive 2, floor 2, ceiling 8: create 1 for a changeover": group(calm, surging),
		"provisional 0, spare 30, waiting 0, wanted 1, alive 2, floor 2, ceiling 8: create 1":                   group(full(2), surging),
	} {
		if got := scaling.Decide(in).LastDecision; got != says {
			t.Errorf("%q, want %q", got, says)
		}
	}
}

func TestTheOldSpecGoesBeforeTheNew(t *testing.T) {
	const long = 300 * time.Second
	idle := func(name string, age time.Duration, changes ...func(*fleet.Server)) fleet.Server {
		return serving(name, 0, append([]func(*fleet.Server){emptyFor(long), neverServed, aged(age)}, changes...)...)
	}
	had := func(s *fleet.Server) { s.ServedAt = ago(time.Minute) }
	one := sized(func(s *scaling.Sizes) { s.MinReplicas = 1 })
	tests := map[string]struct {
		in   scaling.Input
		want moves
	}{
		"for lack of demand":                                 {group([]fleet.Server{idle("new", time.Minute), idle("old", time.Hour, old, had), serving("b", 5)}, one), moves{Removed: []string{"old"}}},
		"above a lowered ceiling":                            {group([]fleet.Server{idle("new", time.Minute), idle("old", time.Hour, old, had)}, sized(func(s *scaling.Sizes) { s.MinReplicas, s.MaxReplicas = 1, 1 })), moves{Removed: []string{"old"}}},
		"the only new one stays":                             {group([]fleet.Server{idle("new", time.Minute), serving("old", 5, old), serving("older", 5, old)}, one), moves{}},
		"also while the last old one is on its way out":      {group([]fleet.Server{idle("new", time.Minute), serving("old", 5, old, leaving)}, sized(asleep)), moves{}},
		"who may go does not, where none else can be joined": {group([]fleet.Server{idle("new", time.Minute), serving("newer", 5), serving("old", 5, old, leaving)}, one, available(2)), moves{}},
		"who may go goes, where enough others can be joined": {group([]fleet.Server{idle("new", time.Minute), serving("newer", 5), serving("newest", 5), serving("old", 5, old, leaving)}, one, available(2)), moves{Removed: []string{"new"}}},
		"and where nothing is changed over":                  {group([]fleet.Server{idle("new", time.Minute), serving("newer", 5)}, one, available(2)), moves{Removed: []string{"new"}}},
		"one of two new ones does not":                       {group([]fleet.Server{idle("new", time.Minute), serving("newer", 5), serving("old", 5, old)}, one), moves{Removed: []string{"new"}}},
		"nor the only new one of a settled time":             {group([]fleet.Server{idle("new", time.Minute), serving("b", 5)}, one), moves{Removed: []string{"new"}}},
		"nor one above a ceiling":                            {group([]fleet.Server{idle("new", time.Minute), serving("old", 5, old), serving("older", 5, old)}, sized(func(s *scaling.Sizes) { s.MinReplicas, s.MaxReplicas = 1, 2 })), moves{Removed: []string{"new"}}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) { checkMoves(t, tt.in, tt.want) })
	}
}

func TestConsolidationLeavesTheOnlyServerOfANewSpec(t *testing.T) {
	all := []fleet.Server{serving("a", 1), serving("b", 2), serving("c", 3, old)}
	checkMoves(t, consolidating(all, time.Hour), moves{Retired: []string{"a"}})
	all[1].Spec = fleet.SpecOld
	checkMoves(t, consolidating(all, time.Hour), moves{Retired: []string{"b"}})
}

func TestWhatACeilingHoldsBackOfAChangeover(t *testing.T) {
	tests := map[string]struct {
		in   scaling.Input
		want scaling.Limit
	}{
		"nothing where there is room": {group([]fleet.Server{serving("a", 0, old), serving("b", 9, old)}, surging), scaling.Limit{Wanted: 2, Allowed: 8}},
		"the first server": {
			group([]fleet.Server{serving("a", 0, old), serving("b", 9, old)}, surging, sized(func(s *scaling.Sizes) { s.MaxReplicas = 2 })),
			scaling.Limit{
				Cause: scaling.Changeover, Wanted: 3, Allowed: 2,
				Note: "a changeover wants 3 servers, maxReplicas allows 2; it needs room for one new server before an old one can retire",
			},
		},
		"under a pin": {
			group([]fleet.Server{serving("a", 0, old), serving("b", 9, old)}, surging, pinned(2)),
			scaling.Limit{
				Cause: scaling.Changeover, By: scaling.ByPin, Wanted: 3, Allowed: 2,
				Note: "a changeover wants 3 servers, boost event holds the group at 2; it needs room for one new server before an old one can retire",
			},
		},
		"and demand": {
			group(full(8), surging),
			scaling.Limit{
				Cause: scaling.Demand, Wanted: 9, Allowed: 8,
				Note: "demand wants 9 servers, maxReplicas allows 8; a changeover needs room for one new server too",
			},
		},
		"and a boost": {
			group([]fleet.Server{serving("a", 0, old), serving("b", 0, old)}, surging, boosted(3), sized(func(s *scaling.Sizes) { s.MaxReplicas = 2 })),
			scaling.Limit{
				Cause: scaling.Boost, Wanted: 5, Allowed: 2,
				Note: "minReplicas and boosts want 5 servers, maxReplicas allows 2; a changeover needs room for one new server too",
			},
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

func TestTheCeilingAndTheSeatsToKeep(t *testing.T) {
	sizes := scaling.Sizes{MaxReplicas: 4, SpareSlots: 30, Capacity: 50}
	if got := sizes.Ceiling(scaling.Pin{}); got != 4 {
		t.Errorf("ceiling %d, want 4", got)
	}
	if got := sizes.Ceiling(scaling.Pin{Boost: "event", Replicas: 2}); got != 2 {
		t.Errorf("ceiling %d under a pin to 2", got)
	}
	if got := sizes.Ceiling(scaling.Pin{Boost: "event", Replicas: 9}); got != 4 {
		t.Errorf("ceiling %d under a pin above it, want 4", got)
	}
	for waiting, want := range map[int]int{-1: 30, 0: 30, 7: 37, 50: 80, 9000: 80} {
		if got := sizes.Keep(waiting); got != want {
			t.Errorf("keeps %d seats for %d who wait, want %d", got, waiting, want)
		}
	}
}
