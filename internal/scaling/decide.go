// SPDX-License-Identifier: Apache-2.0

package scaling

import (
	"time"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/fleet"
)

// Decide sizes one group. A group that is short of capacity, granted or
// refused, gives nothing up in the same pass but what a lowered ceiling or a pin
// takes.
func Decide(in Input) Plan {
	g := survey(&in)
	plan := Plan{
		Alive:     g.count,
		Floor:     g.floor,
		Ceiling:   g.ceiling,
		Sight:     g.sight,
		FreeSlots: g.freeSlots(),
		Boosted:   in.Boosts.Added,
		Spareable: g.spareable(),
	}
	wanted := g.wanted()
	short := g.floor - g.count
	if !in.Boosts.Pin.Holds() {
		short = max(short, wanted)
	}
	plan.Limit = g.limit(wanted)
	plan.Recheck = g.recheck(plan.Spareable)
	if in.Channel == fleet.ChannelHealthy {
		plan.Withdrawals = g.withdrawals()
		plan.Creates = g.creates(max(short, g.Surge))
		g.shrink(short, &plan)
	}
	plan.LastDecision = g.line(wanted, short, &plan)
	return plan
}

func (g *group) creates(wanted int) int {
	if g.Gate.State() != fleet.GateOpen {
		return 0
	}
	return max(0, min(wanted, g.ceiling-g.count))
}

// shrink decides what goes. For lack of demand one server goes in a pass, and on
// the tick only.
func (g *group) shrink(short int, plan *Plan) {
	switch {
	case g.sight == fleet.SightForming:
	case g.count > g.ceiling:
		plan.Removals = g.aboveCeiling()
		plan.Retirements = g.abovePin(len(plan.Removals))
	case short > 0 || plan.Creates > 0 || g.Trigger == OnEvent || g.count <= g.floor || g.outstanding():
	default:
		if plan.Removals = g.lackOfDemand(); len(plan.Removals) == 0 {
			plan.Retirements = g.consolidation(plan.Spareable)
		}
	}
}

// limit compares what is wanted in all with what the ceiling allows. A floor
// above the ceiling is the work of boosts: minReplicas alone never is.
func (g *group) limit(wanted int) Limit {
	byDemand, byBoosts := 0, g.floor
	if wanted > 0 {
		byDemand = g.count + wanted
	}
	l := Limit{Allowed: g.ceiling}
	if pin := g.Boosts.Pin; pin.Holds() {
		byBoosts = pin.Replicas
		if pin.Replicas < g.Sizes.MaxReplicas {
			l.By = ByPin
		}
	}
	l.Wanted = max(byDemand, byBoosts)
	refused := g.Surge > 0 && g.count+g.Surge > g.ceiling
	switch {
	case l.Wanted <= l.Allowed && refused:
		l.Cause, l.Wanted = Changeover, g.count+g.Surge
	case l.Wanted <= l.Allowed:
	case byDemand > byBoosts:
		l.Cause = Demand
	default:
		l.Cause = Boost
	}
	l.Note = l.note(g.Boosts.Pin)
	if refused && l.Cause != Changeover {
		l.Note += "; a changeover needs room for one new server too"
	}
	return l
}

// recheck is the first instant ahead that changes an input of the plan.
func (g *group) recheck(spareable Spareable) time.Time {
	var first time.Time
	consider := func(t time.Time) {
		if t.After(g.Now) {
			first = fleet.Earliest(first, t)
		}
	}
	consider(g.Boosts.NextExpiry)
	consider(g.Gate.OpensAt())
	consider(g.sightEnds)
	if g.Trigger == OnTick {
		for _, since := range spareable {
			consider(since.Add(g.Sizes.Stabilization))
		}
	}
	for i := range g.Servers {
		if s := &g.Servers[i]; s.Phase == v1alpha1.ServerRetiring {
			consider(s.ClearsAt(g.Now))
		}
	}
	for _, s := range g.alive {
		for _, t := range g.turns(s) {
			consider(t)
		}
	}
	return first
}

// turns are the instants at which a server that is alive comes to count for
// something else by itself.
func (g *group) turns(s *fleet.Server) []time.Time {
	var all []time.Time
	if g.count > g.ceiling {
		all = append(all, s.ClearsAt(g.Now))
	}
	if s.FirstStart() && g.Waiting > g.waiting {
		all = append(all, s.CreatedAt.Add(pass))
	}
	if g.Trigger == OnTick && s.Counts.KnownEmpty() && !s.EmptySince.IsZero() {
		all = append(all, s.EmptySince.Add(g.Sizes.Stabilization))
	}
	return all
}
