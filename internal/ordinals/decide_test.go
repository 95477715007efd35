// SPDX-License-Identifier: Apache-2.0

package ordinals_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/fleet"
	"github.com/spawnery/spawnery-operator/internal/ordinals"
)

var now = time.Date(2026, 9, 18, 20, 0, 0, 0, time.UTC)

func server(ordinal int, p v1alpha1.ServerPhase) fleet.Server {
	return fleet.Server{
		Name: fmt.Sprintf("survival-%d", ordinal), Ordinal: ordinal, Phase: p,
		Presence: fleet.Presence{Registration: fleet.Registered, Counts: fleet.Fresh(3, now)},
	}
}

func ready(ordinals ...int) []fleet.Server {
	var servers []fleet.Server
	for _, o := range ordinals {
		servers = append(servers, server(o, v1alpha1.ServerReady))
	}
	return servers
}

func group(replicas int, servers []fleet.Server, changes ...func(*ordinals.Input)) ordinals.Input {
	in := ordinals.Input{Now: now, Replicas: replicas, Servers: servers, LeaderSince: now.Add(-time.Hour)}
	for _, change := range changes {
		change(&in)
	}
	return in
}

func gate(g fleet.Gate) func(*ordinals.Input) { return func(in *ordinals.Input) { in.Gate = g } }

func expecting(e ordinals.Expected) func(*ordinals.Input) {
	return func(in *ordinals.Input) { in.Expected = e }
}

func TestDecidePersistentSize(t *testing.T) {
	soon := now.Add(40 * time.Second)
	degraded := func(in *ordinals.Input) { in.Channel = fleet.ChannelDegraded }
	newLeader := func(in *ordinals.Input) { in.LeaderSince, in.Servers[0].Counts = now, fleet.Counts{} }
	asked := server(1, v1alpha1.ServerReady)
	asked.Deletion = fleet.DeletionAsked
	twin := server(3, v1alpha1.ServerReady)
	twin.Name = "survival-by-hand"

	type want struct {
		create, waiting, duplicates []int
		takeDown                    string
		recheck                     time.Time
	}
	tests := map[string]struct {
		in   ordinals.Input
		want want
	}{
		"nothing to do":                        {group(2, ready(0, 1)), want{}},
		"all of a new group, lowest first":     {group(3, nil), want{create: []int{0, 1, 2}}},
		"a gap in the middle":                  {group(4, ready(3, 0)), want{create: []int{1, 2}}},
		"none wanted, none there":              {group(0, nil), want{}},
		"Failed holds its ordinal":             {group(1, []fleet.Server{server(0, v1alpha1.ServerFailed)}), want{}},
		"Terminating holds its ordinal":        {group(1, []fleet.Server{server(0, v1alpha1.ServerTerminating)}), want{}},
		"Pending holds its ordinal":            {group(1, []fleet.Server{server(0, v1alpha1.ServerPending)}), want{}},
		"a create under way holds its ordinal": {group(2, ready(0), expecting(ordinals.Expected{Creates: []int{1}})), want{}},
		"a create both remembered and seen is one": {
			group(2, ready(0, 1), expecting(ordinals.Expected{Creates: []int{1}})), want{},
		},
		"a back-off window delays creates":      {group(2, ready(0), gate(fleet.WaitUntil(soon))), want{waiting: []int{1}, recheck: soon}},
		"a window without a gap delays nothing": {group(1, ready(0), gate(fleet.WaitUntil(soon))), want{}},
		"a group that gave up creates nothing":  {group(2, ready(0), gate(fleet.GivenUp())), want{waiting: []int{1}}},
		"a surplus goes from the top, occupied or not": {
			group(1, ready(2, 0, 1)), want{takeDown: "survival-2"},
		},
		"a failed surplus goes too":           {group(1, append(ready(0), server(1, v1alpha1.ServerFailed))), want{takeDown: "survival-1"}},
		"back-off does not delay a take-down": {group(1, ready(0, 1), gate(fleet.GivenUp())), want{takeDown: "survival-1"}},
		"one at a time":                       {group(1, append(ready(0, 1), server(2, v1alpha1.ServerDraining))), want{}},
		"one at a time, deletion just asked":  {group(0, append(ready(0), asked)), want{}},
		"one at a time, delete not seen yet":  {group(1, ready(0, 1, 2), expecting(ordinals.Expected{Deletes: []string{"survival-2"}})), want{}},
		"a delete whose server is gone holds nothing up": {
			group(1, ready(0, 1), expecting(ordinals.Expected{Deletes: []string{"survival-2"}})), want{takeDown: "survival-1"},
		},
		"creates and a take-down in one pass":  {group(2, ready(0, 5)), want{create: []int{1}, takeDown: "survival-5"}},
		"duplicates are reported, not touched": {group(2, append(ready(0, 1, 3), twin)), want{duplicates: []int{3}}},
		"below a duplicate life goes on":       {group(1, append(ready(0, 2, 3), twin)), want{duplicates: []int{3}, takeDown: "survival-2"}},
		"a server without an ordinal is none":  {group(1, ready(-1, 0)), want{}},
		"most agents silent: nothing at all":   {group(1, ready(0, 1), degraded), want{}},
		"most agents silent: no create either": {group(1, nil, degraded), want{waiting: []int{0}}},
		"a new leader creates, takes nothing down yet": {
			group(2, ready(0, 5), newLeader), want{create: []int{1}, recheck: now.Add(fleet.LeaderPatience)},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			plan := ordinals.DecidePersistentSize(tt.in)
			got := want{plan.CreateOrdinals, plan.Waiting, plan.Duplicates, "", plan.Recheck}
			if plan.TakeDown != nil {
				got.takeDown = plan.TakeDown.Name
				if plan.TakeDown.Reason == "" || plan.TakeDown.Note == "" {
					t.Errorf("take-down without its reason: %+v", plan.TakeDown)
				}
			}
			if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(want{})); diff != "" {
				t.Errorf("plan (-want +got):\n%s", diff)
			}
			if plan.Note == "" {
				t.Error("the plan says nothing to a person")
			}
		})
	}
}

func anyGroup(t *rapid.T) ordinals.Input {
	phases := []v1alpha1.ServerPhase{
		v1alpha1.ServerPending, v1alpha1.ServerStarting, v1alpha1.ServerReady, v1alpha1.ServerRetiring,
		v1alpha1.ServerDraining, v1alpha1.ServerTerminating, v1alpha1.ServerFailed,
	}
	servers := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) fleet.Server {
		return server(rapid.IntRange(0, 6).Draw(t, "ordinal"), rapid.SampledFrom(phases).Draw(t, "phase"))
	}), 0, 8).Draw(t, "servers")
	for i := range servers {
		servers[i].Name = fmt.Sprint("s", i)
	}
	gates := []fleet.Gate{{}, fleet.WaitUntil(now.Add(time.Second)), fleet.GivenUp()}
	return group(rapid.IntRange(0, 6).Draw(t, "replicas"), servers, gate(rapid.SampledFrom(gates).Draw(t, "gate")))
}

func TestAPlanCarriedOutLeavesNothingToDo(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := anyGroup(t)
		plan := ordinals.DecidePersistentSize(in)
		in.Expected.Creates = plan.CreateOrdinals
		if plan.TakeDown != nil {
			in.Expected.Deletes = []string{plan.TakeDown.Name}
		}
		again := ordinals.DecidePersistentSize(in)
		if len(again.CreateOrdinals) > 0 || again.TakeDown != nil {
			t.Fatalf("after %+v came %+v", plan, again)
		}
	})
}

func TestNoOrdinalIsEverServedTwice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := anyGroup(t)
		plan := ordinals.DecidePersistentSize(in)
		for _, created := range plan.CreateOrdinals {
			for _, s := range in.Servers {
				if s.Ordinal == created {
					t.Fatalf("ordinal %d is created beside %s in %s", created, s.Name, s.Phase)
				}
			}
		}
		if plan.TakeDown == nil {
			return
		}
		for _, s := range in.Servers {
			if s.Name == plan.TakeDown.Name && s.Ordinal < in.Replicas {
				t.Fatalf("required ordinal %d is taken down", s.Ordinal)
			}
		}
	})
}

func TestTheOrderOfServersDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := anyGroup(t)
		want := ordinals.DecidePersistentSize(in)
		in.Servers = rapid.Permutation(in.Servers).Draw(t, "shuffled")
		if diff := cmp.Diff(want, ordinals.DecidePersistentSize(in)); diff != "" {
			t.Fatalf("the plan changed with the order:\n%s", diff)
		}
	})
}
