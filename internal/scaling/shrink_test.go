// SPDX-License-Identifier: Apache-2.0

package scaling_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/fleet"
	"github.com/spawnery/spawnery-operator/internal/scaling"
)

func removed(plan scaling.Plan) []string {
	var names []string
	for _, r := range plan.Removals {
		names = append(names, r.Name)
	}
	return names
}

func TestRemovalForLackOfDemand(t *testing.T) {
	const long = 300 * time.Second
	two := []fleet.Server{serving("a", 0, emptyFor(time.Minute)), serving("b", 5)}
	with := func(more ...fleet.Server) []fleet.Server { return append(append([]fleet.Server{}, two...), more...) }
	tests := map[string]struct {
		in   scaling.Input
		want []string
	}{
		"empty for the stabilisation time":         {group(with(serving("c", 0, emptyFor(long)))), []string{"c"}},
		"not yet":                                  {group(with(serving("c", 0, emptyFor(long-time.Second)))), nil},
		"without a stabilisation time, at once":    {group(with(serving("c", 0, emptyFor(0), aged(time.Minute))), sized(func(s *scaling.Sizes) { s.Stabilization = 0 })), []string{"c"}},
		"not on an event":                          {group(with(serving("c", 0, emptyFor(long))), onEvent), nil},
		"not below the floor":                      {group([]fleet.Server{serving("a", 0, emptyFor(long)), serving("b", 5)}), nil},
		"not below a floor that boosts raise":      {group(with(serving("c", 0, emptyFor(long))), boosted(1)), nil},
		"not while a server is on order":           {group(with(serving("c", 0, emptyFor(long)), ordered("d"))), nil},
		"not while a create is not seen yet":       {group(with(serving("c", 0, emptyFor(long))), expecting(scaling.Expected{Creates: 1})), nil},
		"a crash-looping sibling holds nothing up": {group(with(serving("c", 0, emptyFor(long)), ordered("d")), gated(fleet.WaitUntil(now.Add(time.Minute)))), []string{"c"}},
		"nor does a failed one":                    {group(with(serving("c", 0, emptyFor(long)), ordered("d", phased(v1alpha1.ServerFailed)))), []string{"c"}},
		"nor a group that gave up":                 {group(with(serving("c", 0, emptyFor(long)), ordered("d")), gated(fleet.GivenUp())), []string{"c"}},
		"capacity on order is no seat to rely on":  {group([]fleet.Server{serving("c", 0, emptyFor(long)), serving("a", 45), ordered("d")}, gated(fleet.GivenUp())), nil},
		"never one with a player":                  {group(with(serving("c", 1, func(s *fleet.Server) { s.EmptySince = ago(time.Hour) }))), nil},
		"never one with a player on the way":       {group(with(serving("c", 0, emptyFor(long), func(s *fleet.Server) { s.Roster = fleet.SomebodyThere() }))), nil},
		"never one whose counts are stale":         {group(with(serving("c", 0, emptyFor(long), stale))), nil},
		"never one whose counts are unknown": {
			group(with(serving("c", 0, emptyFor(long), unheard, func(s *fleet.Server) { s.Roster = fleet.NobodySince(ago(time.Hour)) }))), nil,
		},
		"not when the rest lacks the spare seats": {group([]fleet.Server{serving("a", 30), serving("b", 41), serving("c", 0, emptyFor(long))}), nil},
		"not when those are for who waits":        {group([]fleet.Server{serving("a", 30), serving("b", 40), serving("c", 0, emptyFor(long))}, waiting(1)), nil},
		"exactly the spare seats are enough":      {group([]fleet.Server{serving("a", 30), serving("b", 40), serving("c", 0, emptyFor(long))}), []string{"c"}},
		"one in a pass":                           {group(with(serving("c", 0, emptyFor(long)), serving("d", 0, emptyFor(long)))), []string{"c"}},
		"one that never served first":             {group(with(serving("c", 0, emptyFor(long)), serving("d", 0, emptyFor(long), neverServed))), []string{"d"}},
		"then the youngest":                       {group(with(serving("c", 0, emptyFor(long)), serving("d", 0, emptyFor(long), aged(20*time.Minute)))), []string{"d"}},
		"an infeasible one hides no feasible one": {
			group([]fleet.Server{
				serving("a", 30), serving("tiny", 50), serving("z", 0, emptyFor(long), neverServed),
				serving("y", 0, emptyFor(long), func(s *fleet.Server) { s.Playable = 5 }),
			}, sized(func(s *scaling.Sizes) { s.SpareSlots = 60 })), []string{"y"},
		},
		"not while the group is short":     {group([]fleet.Server{serving("a", 50), serving("b", 50), serving("c", 0, emptyFor(long), func(s *fleet.Server) { s.Playable = 5 })}), nil},
		"not for a new leader still blind": {group(with(serving("c", 0, emptyFor(long)), serving("d", 0, unheard)), func(in *scaling.Input) { in.LeaderSince = now }), nil},
		"not while most agents are silent": {group(with(serving("c", 0, emptyFor(long))), func(in *scaling.Input) { in.Channel = fleet.ChannelDegraded }), nil},
		"a group may sleep":                {group([]fleet.Server{serving("c", 0, emptyFor(long))}, sized(asleep)), []string{"c"}},
		"a closed door that nobody is behind": {
			group(with(serving("c", 0, emptyFor(long), func(s *fleet.Server) { s.Door = fleet.DoorClosed }))), []string{"c"},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			plan := scaling.Decide(tt.in)
			if diff := cmp.Diff(tt.want, removed(plan), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("removals (-want +got):\n%s\n%s", diff, plan.LastDecision)
			}
		})
	}
}

func TestRemovalAboveALoweredCeiling(t *testing.T) {
	lowered := func(to int) func(*scaling.Input) {
		return sized(func(s *scaling.Sizes) { s.MinReplicas, s.MaxReplicas = 1, to })
	}
	tests := map[string]struct {
		in   scaling.Input
		want []string
	}{
		"empty ones go at once, all of them":      {group([]fleet.Server{serving("a", 1), serving("b", 0), serving("c", 0), serving("d", 0)}, lowered(2)), []string{"b", "c"}},
		"only as many as are above it":            {group([]fleet.Server{serving("a", 0), serving("b", 0), serving("c", 0)}, lowered(2)), []string{"a"}},
		"those on order before those that served": {group([]fleet.Server{serving("a", 0), serving("b", 0), ordered("c")}, lowered(2)), []string{"c"}},
		"occupied ones stay":                      {group([]fleet.Server{serving("a", 1), serving("b", 1), serving("c", 1)}, lowered(1)), nil},
		"also while the group is short":           {group([]fleet.Server{serving("a", 50), serving("b", 50), serving("c", 0, round)}, lowered(2)), []string{"c"}},
		"also on an event":                        {group([]fleet.Server{serving("a", 1), serving("b", 0)}, lowered(1), onEvent), []string{"b"}},
		"also while failures hold creates back":   {group([]fleet.Server{serving("a", 1), serving("b", 0)}, lowered(1), gated(fleet.GivenUp())), []string{"b"}},
		"an order under way counts":               {group([]fleet.Server{serving("a", 1), serving("b", 0)}, lowered(2), expecting(scaling.Expected{Creates: 1})), []string{"b"}},
		"stale is not empty":                      {group([]fleet.Server{serving("a", 1), serving("b", 0, stale)}, lowered(1)), nil},
		"not for a new leader still blind":        {group([]fleet.Server{serving("a", 0, unheard), serving("b", 0)}, lowered(1), func(in *scaling.Input) { in.LeaderSince = now }), nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			plan := scaling.Decide(tt.in)
			if diff := cmp.Diff(tt.want, removed(plan), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("removals (-want +got):\n%s\n%s", diff, plan.LastDecision)
			}
			if plan.Creates != 0 {
				t.Errorf("creates %d above the ceiling", plan.Creates)
			}
		})
	}
}

func TestRemovalsAreExplained(t *testing.T) {
	lack := scaling.Decide(group([]fleet.Server{serving("a", 0), serving("b", 5), serving("c", 0, emptyFor(time.Hour))}))
	if len(lack.Removals) != 1 || lack.Removals[0].Note != "c has been empty since 2026-09-18T19:00:00Z, and 95 free seats are left without it" {
		t.Errorf("removals = %+v", lack.Removals)
	}
	if !strings.HasSuffix(lack.LastDecision, ": remove 1, "+lack.Removals[0].Note) {
		t.Errorf("LastDecision = %q", lack.LastDecision)
	}
	above := scaling.Decide(group([]fleet.Server{serving("a", 0), serving("b", 5), serving("c", 9)},
		sized(func(s *scaling.Sizes) { s.MaxReplicas = 2 })))
	if len(above.Removals) != 1 || above.Removals[0].Note != "a is empty, and the group has 3 servers where maxReplicas allows 2" {
		t.Errorf("removals = %+v", above.Removals)
	}
}

// Above a lowered ceiling a server that nobody hears goes when the proxies
// have agreed long enough that it is empty.
func TestASurplusServerIsLookedAtWhenTheProxiesWillHaveAgreed(t *testing.T) {
	agreed := func(s *fleet.Server) { s.Roster = fleet.NobodySince(ago(40 * time.Second)) }
	in := group([]fleet.Server{serving("a", 5), serving("b", 0, stale, agreed)},
		sized(func(s *scaling.Sizes) { s.MinReplicas, s.MaxReplicas = 1, 1 }))
	plan := scaling.Decide(in)
	if len(plan.Removals) != 0 || !plan.Recheck.Equal(now.Add(20*time.Second)) {
		t.Fatalf("plan = %+v, want to look again in 20 s", plan)
	}
	in.Now = plan.Recheck
	if got := removed(scaling.Decide(in)); len(got) != 1 || got[0] != "b" {
		t.Errorf("then removes %v, want b", got)
	}
}
