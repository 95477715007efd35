// SPDX-License-Identifier: Apache-2.0

package scaling

import (
	"time"

	"github.com/spawnery/spawnery-operator/internal/fleet"
)

// Decide sizes one group. A group that is short of capacity, granted or
// refused, gives nothing up in the same pass but what a lowered ceiling takes.
func Decide(in Input) Plan {
	g := survey(&in)
	plan := Plan{
		Alive:     g.count,
		Floor:     g.floor,
		Ceiling:   g.ceiling,
		Sight:     g.sight,
		FreeSlots: g.freeSlots(),
		Boosted:   in.Boosts.Added,
	}
	wanted := g.wanted()
	short := max(wanted, g.floor-g.count)
	plan.Limit = g.limit(wanted)
	plan.Recheck = g.recheck()
	if in.Channel == fleet.ChannelHealthy {
		plan.Creates = g.creates(short)
		plan.Removals = g.removals(short)
	}
	plan.LastDecision = g.line(wanted, short, &plan)
	return plan
}

func (g *group) creates(short int) int {
	if g.Gate.State() != fleet.GateOpen {
		return 0
	}
	return max(0, min(short, g.ceiling-g.count))
}

func (g *group) removals(short int) []Removal {
	switch {
	case g.sight == fleet.SightForming:
		return nil
	case g.count > g.ceiling:
		return g.aboveCeiling()
	case short > 0 || g.Trigger == OnEvent:
		return nil
	}
	return g.lackOfDemand()
}

// limit compares what is wanted in all with what the ceiling allows. A floor
// above the ceiling is the work of boosts: minReplicas alone never is.
func (g *group) limit(wanted int) Limit {
	byDemand := 0
	if wanted > 0 {
		byDemand = g.count + wanted
	}
	l := Limit{Wanted: max(byDemand, g.floor), Allowed: g.ceiling}
	switch {
	case l.Wanted <= l.Allowed:
	case byDemand > g.floor:
		l.Cause = Demand
	default:
		l.Cause = Boost
	}
	l.Note = l.note()
	return l
}

// recheck is the first instant ahead that changes an input of the plan.
func (g *group) recheck() time.Time {
	var first time.Time
	consider := func(t time.Time) {
		if t.After(g.Now) {
			first = fleet.Earliest(first, t)
		}
	}
	consider(g.Boosts.NextExpiry)
	consider(g.Gate.OpensAt())
	consider(g.sightEnds)
	for _, s := range g.alive {
		if g.count > g.ceiling {
			consider(s.ClearsAt(g.Now))
		}
		if g.Trigger == OnTick && s.Counts.KnownEmpty() && !s.EmptySince.IsZero() {
			consider(s.EmptySince.Add(g.Sizes.Stabilization))
		}
	}
	return first
}
