// SPDX-License-Identifier: Apache-2.0

package ordinals

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/fleet"
)

// departing takes down an ordinal on a node that leaves, so that it is made
// again on another, which could take it. One that is known to be empty goes
// first, then the highest; one with players only while every other ordinal
// serves or has failed, so that a node drain never takes two worlds at once.
func (p *Plan) departing(in *Input, held map[int]int) {
	var there []fleet.Server
	for _, s := range in.Servers {
		stays := s.Node != fleet.NodeDeparting || s.Phase == v1alpha1.ServerFailed
		switch {
		case stays || s.Leaving() || s.Ordinal >= in.Replicas || held[s.Ordinal] != 1:
		case s.Claim == fleet.ClaimEnding:
			p.NodeWait = s.Name + worldEnds
		default:
			there = append(there, s)
		}
	}
	if len(there) == 0 || p.TakeDown != nil {
		return
	}
	next := slices.MinFunc(there, func(a, b fleet.Server) int {
		return cmp.Or(occupancy(in, a)-occupancy(in, b), cmp.Compare(b.Ordinal, a.Ordinal))
	})
	if other := unsettled(in, held, next); other != "" {
		p.NodeWait = fmt.Sprintf("%s waits for %s", next.Name, other)
		p.Recheck = fleet.Earliest(p.Recheck, in.Gate.OpensAt())
		return
	}
	p.TakeDown = &TakeDown{
		Name: next.Name, Reason: v1alpha1.ReasonNodeDraining,
		Note: next.Name + " is on a node that leaves, and another node can take it; its claim stays",
	}
}

func occupancy(in *Input, s fleet.Server) int {
	if s.MayHavePlayers(in.Now) {
		return 1
	}
	return 0
}

// unsettled names what has to be over before an ordinal goes: somebody else's
// leaving, what keeps it from being made again, and for one with players any
// ordinal that is on its way.
func unsettled(in *Input, held map[int]int, next fleet.Server) string {
	if name := leaver(in); name != "" {
		return name + ", which is on its way out"
	}
	if why := shut(in); why != "" {
		return "the right to be made again: " + why
	}
	if occupancy(in, next) == 0 {
		return ""
	}
	for _, s := range in.Servers {
		if s.Name != next.Name && s.Ordinal < in.Replicas && s.FirstStart() && !worldHeld(&s) {
			return s.Name + ", which is starting"
		}
	}
	for ordinal := range in.Replicas {
		if held[ordinal] == 0 || slices.Contains(in.Expected.Creates, ordinal) {
			return fmt.Sprintf("ordinal %d, which has no server yet", ordinal)
		}
	}
	return ""
}
