// SPDX-License-Identifier: Apache-2.0

package rollout_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/fleet"
	"github.com/spawnery/spawnery-operator/internal/rollout"
)

type servers = []fleet.Server

func TestTheFirstServerOfTheNewSpec(t *testing.T) {
	tests := map[string]struct {
		in    rollout.Input
		surge int
		gone  []string
		note  string
	}{
		"is ordered at once":                        {group(servers{stale("a", 5), stale("b", 0)}), 1, nil, "a first server of the new spec is ordered"},
		"is ordered once":                           {group(servers{stale("a", 5)}, ordered(1)), 0, nil, "has to be Ready before"},
		"is waited for while it starts":             {group(servers{stale("a", 0), starting("b")}), 0, nil, "has to be Ready before"},
		"is waited for until it reports":            {group(servers{stale("a", 0), serving("b", 0, unheard)}), 0, nil, "has to be Ready before"},
		"is waited for after it lost readiness":     {group(servers{stale("a", 0), serving("b", 0, phased(v1alpha1.ServerStarting))}), 0, nil, "has to be Ready before"},
		"may be one whose pod is still to be made":  {group(servers{stale("a", 0), starting("b", unmade, old)}), 0, nil, "has to be Ready before"},
		"may be one that comes back":                {group(servers{stale("a", 0), serving("b", 3, going())}), 0, nil, "has to be Ready before"},
		"is not one that failed":                    {group(servers{stale("a", 0), starting("b", phased(v1alpha1.ServerFailed))}), 1, nil, "ordered"},
		"is not one that goes":                      {group(servers{stale("a", 0), serving("b", 0, deleted)}), 1, nil, "ordered"},
		"is not one on a departing node":            {group(servers{stale("a", 0), serving("b", 0, departs)}), 1, nil, "ordered"},
		"is wanted where there is no room":          {group(servers{stale("a", 0), stale("b", 0)}, ceiling(2)), 1, nil, "no room"},
		"is wanted where a ceiling was lowered":     {group(servers{stale("a", 0), stale("b", 0), starting("c", old)}, ceiling(2)), 1, nil, "no room"},
		"takes the place of one that never was":     {group(servers{stale("a", 0), starting("b", old), starting("c", old, aged(time.Second))}, ceiling(3)), 1, []string{"c"}, "takes the place"},
		"does not wait for an empty one":            {group(servers{stale("a", 5)}, whenEmpty), 1, nil, "ordered"},
		"waits after a failure":                     {group(servers{stale("a", 5)}, gated(fleet.WaitUntil(now.Add(10*time.Second)))), 0, nil, "next attempt at 2026-09-18T20:00:10Z; the old servers serve on"},
		"waits after many failures":                 {group(servers{stale("a", 5)}, gated(fleet.GivenUp())), 0, nil, "serve on until the group is edited or told to retry"},
		"waits while most agents are silent":        {group(servers{stale("a", 5)}, degraded), 0, nil, "most agents are silent"},
		"waits for a new leader's sight":            {group(servers{stale("a", 5, unheard)}, led(time.Second)), 0, nil, "new leader"},
		"is not wanted where all are of it":         {group(servers{serving("a", 5), starting("b")}), 0, nil, ""},
		"is not wanted where none is alive":         {group(servers{stale("a", 5, phased(v1alpha1.ServerFailed)), stale("b", 5, going())}), 0, nil, "the last old server is on the way out"},
		"is not wanted for one on a departing node": {group(servers{stale("a", 5, departs)}), 0, nil, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			plan := rollout.Decide(tt.in)
			if plan.Surge != tt.surge || len(plan.Retirements) > 0 {
				t.Errorf("surge %d, retires %v; want %d and none", plan.Surge, plan.Retirements, tt.surge)
			}
			if diff := cmp.Diff(tt.gone, names(plan.Removals)); diff != "" {
				t.Errorf("removals (-want +got):\n%s", diff)
			}
			if !strings.Contains(plan.Note, tt.note) || (tt.note == "") != (plan.Note == "") {
				t.Errorf("%q does not say %q", plan.Note, tt.note)
			}
		})
	}
}

func TestWhoIsToldToGo(t *testing.T) {
	spare := serving("new", 0)
	tests := map[string]struct {
		in    rollout.Input
		want  []string
		surge int
		note  string
	}{
		"the oldest":                                {group(servers{spare, stale("a", 5), stale("b", 5, aged(2*time.Hour))}), []string{"b"}, 0, "1 server is on the way out, as many as maxUnavailable allows"},
		"by name, where all are of an age":          {group(servers{spare, stale("b", 5), stale("a", 5)}), []string{"a"}, 0, ""},
		"one known to be empty before any other":    {group(servers{spare, stale("a", 5, aged(2*time.Hour)), stale("b", 0)}), []string{"b"}, 0, ""},
		"one somebody is on the way to is not":      {group(servers{spare, stale("a", 0, aged(2*time.Hour), onTheWay), stale("b", 0)}), []string{"b"}, 0, ""},
		"one that is silent may have players":       {group(servers{spare, stale("a", 0, aged(2*time.Hour), silent), stale("b", 0)}), []string{"b"}, 0, ""},
		"as many as the owner allows":               {group(servers{spare, stale("a", 0), stale("b", 0), stale("c", 5)}, unavailable(2)), []string{"a", "b"}, 0, "2 servers are on the way out, as many"},
		"not more than are left":                    {group(servers{spare, stale("a", 0), stale("b", 0)}, unavailable(9)), []string{"a", "b"}, 0, "2 servers are on the way out"},
		"nobody while the budget is used":           {group(servers{spare, stale("a", 0), stale("b", 5, going())}), nil, 0, "1 server is on the way out, as many"},
		"nobody while one still has to notice":      {group(servers{spare, stale("a", 0), stale("b", 5, told(v1alpha1.RetireChangeover, v1alpha1.ServerReady))}), nil, 0, "1 server is on the way out"},
		"nobody while one drains":                   {group(servers{spare, stale("a", 0), stale("b", 5, told(v1alpha1.RetireChangeover, v1alpha1.ServerDraining))}), nil, 0, "1 server is on the way out"},
		"nobody while one stops":                    {group(servers{spare, stale("a", 0), stale("b", 0, told(v1alpha1.RetireChangeover, v1alpha1.ServerTerminating))}), nil, 0, "1 server is on the way out"},
		"a failed one holds nobody up":              {group(servers{spare, stale("a", 0), stale("b", 0, told(v1alpha1.RetireChangeover, v1alpha1.ServerFailed))}), []string{"a"}, 0, ""},
		"who goes for another reason neither":       {group(servers{spare, stale("a", 0), stale("b", 3, told(v1alpha1.RetirePin, v1alpha1.ServerRetiring)), stale("c", 3, deleted)}), []string{"a"}, 0, ""},
		"nobody before a new one is Ready":          {group(servers{starting("new"), stale("a", 0), stale("b", 0)}), nil, 0, "has to be Ready"},
		"nobody while the new one is silent":        {group(servers{serving("new", 0, silent), stale("a", 0), stale("b", 0)}), nil, 0, "has to be Ready"},
		"nobody while starts fail":                  {group(servers{spare, stale("a", 0)}, gated(fleet.WaitUntil(now.Add(time.Second)))), nil, 0, "next attempt"},
		"nobody while most agents are silent":       {group(servers{spare, stale("a", 0)}, degraded), nil, 0, "most agents"},
		"nobody for a new leader":                   {group(servers{spare, stale("a", 0), stale("b", 0, unheard)}, led(10*time.Second)), nil, 0, "new leader"},
		"an empty one, where only those may":        {group(servers{spare, stale("a", 5, aged(2*time.Hour)), stale("b", 0)}, whenEmpty), []string{"b"}, 0, ""},
		"nobody, where all have players":            {group(servers{spare, stale("a", 5), stale("b", 0, silent)}, whenEmpty), nil, 0, "goes when it is empty (strategy WhenEmpty)"},
		"one all proxies have confirmed":            {group(servers{spare, stale("a", 0, silent, func(s *fleet.Server) { s.Roster = fleet.NobodySince(ago(time.Minute)) })}, whenEmpty), []string{"a"}, 0, ""},
		"who never started makes room for one more": {group(servers{serving("new", 50), stale("a", 5), starting("b", old)}, ceiling(3)), nil, 1, "before a goes"},
		"who has not started goes beside":           {group(servers{spare, stale("a", 0, going()), starting("b", old)}), nil, 0, ""},
		"seats are missing: one more comes first":   {group(servers{serving("new", 30), stale("a", 5), stale("b", 45)}), nil, 1, "one more server of the new spec is ordered before a goes"},
		"seats are missing: it is waited for":       {group(servers{serving("new", 30), stale("a", 5), stale("b", 45), starting("c")}), nil, 0, "a server on order has to be Ready before a goes"},
		"nor is it ordered twice":                   {group(servers{serving("new", 30), stale("a", 5)}, ordered(1)), nil, 0, "on order"},
		"seats are missing at the ceiling":          {group(servers{serving("new", 50), stale("a", 5), stale("b", 45)}, ceiling(3)), []string{"a"}, 0, ""},
		"and then one more comes before the next":   {group(servers{serving("new", 50), stale("a", 5), stale("b", 45)}, ceiling(3), unavailable(2)), []string{"a"}, 1, "one more server of the new spec is ordered before b goes"},
		"exactly the spare seats are left":          {group(servers{serving("new", 20), stale("a", 5)}), []string{"a"}, 0, ""},
		"one seat fewer is left":                    {group(servers{serving("new", 21), stale("a", 5)}), nil, 1, ""},
		"a seat that is taken is not free":          {group(servers{serving("new", 20, seated(21)), stale("a", 5)}), nil, 1, ""},
		"the seats of old ones count":               {group(servers{serving("new", 50), stale("a", 50), stale("b", 20, aged(time.Minute))}), []string{"a"}, 0, ""},
		"the seats of those that go do not":         {group(servers{serving("new", 50), stale("a", 50), stale("b", 0, going())}, unavailable(2)), nil, 1, ""},
		"the seats behind a closed door do not":     {group(servers{serving("new", 0, closed), stale("a", 50)}), nil, 1, ""},
		"two at once share the spare seats":         {group(servers{serving("new", 21), stale("a", 10), stale("b", 10)}, unavailable(2)), []string{"a"}, 1, "before b goes"},
		"few enough can be joined":                  {group(servers{spare, stale("a", 0), stale("b", 0)}, twoAvailable), []string{"a"}, 0, ""},
		"too few could be joined without it":        {group(servers{spare, stale("a", 0)}, twoAvailable), nil, 1, "one more server of the new spec is ordered before a goes"},
		"too few could be joined, at the ceiling":   {group(servers{spare, stale("a", 0), stale("b", 0, closed)}, twoAvailable, ceiling(3)), nil, 0, "minAvailable wants 2 servers that can be joined without a"},
		"minAvailable holds without spare seats":    {group(servers{spare, stale("a", 0), stale("b", 0)}, twoAvailable, ceiling(3), keep(999)), []string{"a"}, 0, ""},
		"and for all that go at once":               {group(servers{spare, stale("a", 0), stale("b", 0)}, twoAvailable, unavailable(2)), []string{"a"}, 1, "before b goes"},
		"one that lost readiness":                   {group(servers{spare, stale("a", 5, phased(v1alpha1.ServerStarting))}), []string{"a"}, 0, ""},
		"nobody, where all are of the new spec":     {group(servers{spare, serving("a", 0)}), nil, 0, ""},
		"the door of the new one may be closed":     {group(servers{serving("new", 0, closed), stale("a", 50), stale("b", 0, aged(time.Minute)), serving("c", 0)}), []string{"b"}, 0, ""},
		"a group that asks for no spare seats":      {group(servers{serving("new", 50), stale("a", 0)}, keep(0)), []string{"a"}, 0, ""},
		"an empty one at the ceiling, WhenEmpty":    {group(servers{serving("new", 50), stale("a", 0), stale("b", 50)}, whenEmpty, ceiling(3)), []string{"a"}, 0, ""},
		"no room is asked for while all have some":  {group(servers{serving("new", 50), stale("a", 1), stale("b", 50)}, whenEmpty), nil, 0, "when it is empty"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			plan := rollout.Decide(tt.in)
			if diff := cmp.Diff(tt.want, names(plan.Retirements)); diff != "" {
				t.Errorf("retirements (-want +got):\n%s\n%s", diff, plan.Note)
			}
			if plan.Surge != tt.surge || !strings.Contains(plan.Note, tt.note) {
				t.Errorf("surge %d, %q; want %d, %q", plan.Surge, plan.Note, tt.surge, tt.note)
			}
		})
	}
}

func TestOldServersThatNeverStartedGoOnceANewOneServes(t *testing.T) {
	in := group(servers{
		serving("new", 50), starting("a", old), starting("b", old, phased(v1alpha1.ServerPending)),
		starting("c", old, unmade), stale("d", 5, phased(v1alpha1.ServerStarting)), stale("e", 5, going()),
	}, unavailable(9), keep(0))
	plan := rollout.Decide(in)
	if diff := cmp.Diff([]string{"a", "b"}, names(plan.Removals)); diff != "" {
		t.Errorf("removals (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"d"}, names(plan.Retirements)); diff != "" {
		t.Errorf("retirements (-want +got):\n%s", diff)
	}
	in.Servers[0].Phase = v1alpha1.ServerStarting
	if plan := rollout.Decide(in); len(plan.Removals) > 0 {
		t.Errorf("removes %v before a new server serves", plan.Removals)
	}
}

func TestPuttingTheOldSpecBackTakesRetirementsBack(t *testing.T) {
	changeover := func(p v1alpha1.ServerPhase) change { return told(v1alpha1.RetireChangeover, p) }
	plan := rollout.Decide(group(servers{
		serving("retiring", 3, going()),
		serving("not-yet", 3, changeover(v1alpha1.ServerReady)),
		serving("recovering", 3, changeover(v1alpha1.ServerStarting)),
		serving("draining", 3, changeover(v1alpha1.ServerDraining)),
		serving("stopping", 0, changeover(v1alpha1.ServerTerminating)),
		serving("deleted", 3, going(), deleted),
		serving("departing", 3, going(), departs),
		serving("empty", 0, going()),
		serving("pinned", 3, told(v1alpha1.RetirePin, v1alpha1.ServerRetiring)),
		serving("taken-back", 3, told(v1alpha1.RetireNone, v1alpha1.ServerRetiring)),
		serving("serving", 3),
		stale("broken", 0, phased(v1alpha1.ServerFailed)),
		starting("never", old),
	}))
	if diff := cmp.Diff([]string{"not-yet", "recovering", "retiring"}, names(plan.Withdrawals)); diff != "" {
		t.Errorf("withdrawals (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"never"}, names(plan.Removals)); diff != "" {
		t.Errorf("removals (-want +got):\n%s", diff)
	}
	if len(plan.Retirements) > 0 || plan.Surge > 0 {
		t.Errorf("retires %v and wants %d more", plan.Retirements, plan.Surge)
	}
}

func TestProgress(t *testing.T) {
	plan := rollout.Decide(group(servers{
		serving("a", 0), starting("b"), stale("c", 5), stale("d", 0), stale("e", 5, going()), starting("f", old),
		stale("g", 0, phased(v1alpha1.ServerFailed)), stale("h", 4, told(v1alpha1.RetirePin, v1alpha1.ServerRetiring)),
	}, unavailable(2), ordered(1)))
	want := rollout.Progress{Updated: 3, Old: 1, Leaving: 2}
	if diff := cmp.Diff(want, plan.Progress); diff != "" {
		t.Errorf("progress (-want +got):\n%s", diff)
	}
	if !plan.Progress.RollingOut() || plan.Progress.Total() != 6 {
		t.Errorf("rolling out %v, of %d", plan.Progress.RollingOut(), plan.Progress.Total())
	}
	if settled := rollout.Decide(group(servers{serving("a", 0)})).Progress; settled.RollingOut() {
		t.Errorf("%+v is rolling out", settled)
	}
}

func TestWhatIsDecidedCountsForTheRestOfThePass(t *testing.T) {
	in := group(servers{
		serving("new", 0), stale("a", 0), starting("b", old), serving("c", 3, told(v1alpha1.RetireChangeover, v1alpha1.ServerReady)),
	})
	plan := rollout.Decide(in)
	after := plan.After(in.Servers)
	want := map[string]bool{"new": true, "a": false, "b": false, "c": true}
	for i := range after {
		if s := &after[i]; s.Alive() != want[s.Name] {
			t.Errorf("%s is alive: %v, want %v", s.Name, s.Alive(), want[s.Name])
		}
	}
	if !in.Servers[1].Alive() {
		t.Error("the servers that were passed in changed")
	}
}

func TestWhenTimeAloneChangesThePlan(t *testing.T) {
	agreed := func(s *fleet.Server) { s.Roster = fleet.NobodySince(ago(20 * time.Second)) }
	tests := map[string]struct {
		in   rollout.Input
		want time.Time
	}{
		"never":                               {group(servers{serving("new", 0), stale("a", 5)}), time.Time{}},
		"when the delay of a failure ends":    {group(servers{stale("a", 5)}, gated(fleet.WaitUntil(now.Add(time.Minute)))), now.Add(time.Minute)},
		"when a new leader waits no longer":   {group(servers{stale("a", 5, unheard)}, led(10*time.Second)), now.Add(50 * time.Second)},
		"when all proxies agree long enough":  {group(servers{serving("new", 0), stale("a", 5, silent, agreed)}, whenEmpty), now.Add(40 * time.Second)},
		"never, where there is no changeover": {group(servers{serving("a", 5, silent, agreed)}, gated(fleet.WaitUntil(now.Add(time.Minute)))), time.Time{}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := rollout.Decide(tt.in).Recheck; !got.Equal(tt.want) {
				t.Errorf("recheck at %v, want %v", got, tt.want)
			}
		})
	}
}
