// SPDX-License-Identifier: Apache-2.0

package ordinals_test

import (
	"testing"
	"time"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/fleet"
	"github.com/spawnery/spawnery-operator/internal/ordinals"
)

// with changes one of the servers.
func with(servers []fleet.Server, ordinal int, changes ...func(*fleet.Server)) []fleet.Server {
	for i := range servers {
		for _, change := range changes {
			if servers[i].Ordinal == ordinal {
				change(&servers[i])
			}
		}
	}
	return servers
}

func departs(s *fleet.Server) { s.Node = fleet.NodeDeparting }

func empty(s *fleet.Server) { s.Counts = fleet.Fresh(0, now) }

func in(p v1alpha1.ServerPhase) func(*fleet.Server) {
	return func(s *fleet.Server) {
		s.Phase = p
		if p == v1alpha1.ServerReady {
			s.ReadySince = now.Add(-time.Hour)
		}
	}
}

func TestAnOrdinalLeavesItsNode(t *testing.T) {
	all := func(o ...int) []fleet.Server {
		servers := ready(o...)
		for i := range servers {
			in(v1alpha1.ServerReady)(&servers[i])
		}
		return servers
	}
	tests := map[string]struct {
		in       ordinals.Input
		want     string
		nodeWait string
	}{
		"nobody while every node stays":              {group(2, all(0, 1)), "", ""},
		"one whose node leaves":                      {group(2, with(all(0, 1), 0, departs)), "survival-0", ""},
		"one after the other, the highest first":     {group(3, with(with(all(0, 1, 2), 0, departs), 1, departs)), "survival-1", ""},
		"one that is empty before any other":         {group(3, with(with(all(0, 1, 2), 0, departs, empty), 1, departs)), "survival-0", ""},
		"not while one with players starts":          {group(2, with(with(all(0, 1), 0, departs), 1, func(s *fleet.Server) { s.Phase, s.ReadySince = v1alpha1.ServerStarting, time.Time{} })), "", "survival-0 waits for survival-1, which is starting"},
		"nobody waits for one without its claim":     {group(2, with(with(all(0, 1), 0, departs), 1, worldless)), "survival-0", ""},
		"an empty one does not wait for that":        {group(2, with(with(all(0, 1), 0, departs, empty), 1, func(s *fleet.Server) { s.Phase, s.ReadySince = v1alpha1.ServerStarting, time.Time{} })), "survival-0", ""},
		"nor does one that starts itself":            {group(1, with(all(0), 0, departs, func(s *fleet.Server) { s.Phase, s.ReadySince = v1alpha1.ServerStarting, time.Time{} })), "survival-0", ""},
		"a failed one holds nobody up":               {group(2, with(with(all(0, 1), 0, departs), 1, in(v1alpha1.ServerFailed))), "survival-0", ""},
		"a failed one there is freed by itself":      {group(2, with(all(0, 1), 0, departs, in(v1alpha1.ServerFailed))), "", ""},
		"not while another drains":                   {group(2, with(with(all(0, 1), 0, departs), 1, in(v1alpha1.ServerDraining))), "", "survival-0 waits for survival-1, which is on its way out"},
		"nor while it drains itself":                 {group(2, with(all(0, 1), 0, departs, in(v1alpha1.ServerDraining))), "", ""},
		"not while a delete is not seen":             {group(2, with(all(0, 1), 0, departs), expecting(ordinals.Expected{Deletes: []string{"survival-1"}})), "", "survival-0 waits for survival-1, which is on its way out"},
		"not while an ordinal is made":               {group(2, with(all(0), 0, departs)), "", "survival-0 waits for ordinal 1, which has no server yet"},
		"not while a create is not seen":             {group(2, with(all(0), 0, departs), expecting(ordinals.Expected{Creates: []int{1}})), "", "survival-0 waits for ordinal 1, which has no server yet"},
		"not while it could not be made again":       {group(1, with(all(0), 0, departs, empty), gate(fleet.GivenUp())), "", "survival-0 waits for the right to be made again: too many starts have failed, and nothing is made until the group is edited or told to retry"},
		"not while its claim is being deleted":       {group(1, with(all(0), 0, departs, endsWithItsPod)), "", "survival-0 stays as it is: its claim is being deleted, and its world is there only as long as its pod"},
		"a surplus goes first":                       {group(1, with(all(0, 1), 0, departs)), "survival-1", ""},
		"a surplus there goes as such":               {group(1, with(all(0, 1), 1, departs)), "survival-1", ""},
		"not while most agents are silent":           {group(1, with(all(0), 0, departs), func(in *ordinals.Input) { in.Channel = fleet.ChannelDegraded }), "", ""},
		"not for a new leader":                       {group(1, with(all(0), 0, departs, func(s *fleet.Server) { s.Counts = fleet.Counts{} }), func(in *ordinals.Input) { in.LeaderSince = now }), "", ""},
		"also one whose players are unknown by then": {group(1, with(all(0), 0, departs, func(s *fleet.Server) { s.Counts = fleet.Counts{} })), "survival-0", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			plan := ordinals.DecidePersistentSize(tt.in)
			got := ""
			if plan.TakeDown != nil {
				got = plan.TakeDown.Name
			}
			if got != tt.want || plan.NodeWait != tt.nodeWait {
				t.Errorf("takes down %q, waits %q; want %q and %q", got, plan.NodeWait, tt.want, tt.nodeWait)
			}
		})
	}
}
