// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/spawnery/spawnery-operator/internal/fleet"
)

// Decide takes the next step. Nobody is told to go before a server of the new
// spec serves, nor while failures, silence or a change of leaders make it
// doubtful what the others can carry.
func Decide(in Input) Plan {
	g := survey(&in)
	plan := Plan{Withdrawals: g.withdrawals(), Recheck: g.recheck()}
	if len(g.old) > 0 {
		g.proceed(&plan)
	} else if len(g.leaving) > 0 {
		plan.Note = are(len(g.leaving), "the last old server is", "the last %d old servers are") + " on the way out"
	}
	told := len(plan.Retirements)
	plan.Progress = Progress{
		Updated: len(g.current) + len(g.returning) + g.Ordered,
		Old:     len(g.old) - told - len(plan.Removals),
		Leaving: len(g.leaving) + told,
	}
	return plan
}

// proceed asks for the first server of the new spec, and from then on for the
// old ones to go.
func (g *group) proceed(plan *Plan) {
	if plan.Note = g.halted(); plan.Note != "" {
		return
	}
	switch {
	case !g.begun():
		g.begin(plan)
	case !g.proven():
		plan.Note = "a server of the new spec has to be Ready before an old one goes"
	default:
		for _, s := range g.unstarted() {
			plan.Removals = append(plan.Removals, Order{s.Name, s.Name + " is of an old spec and was never Ready, while others of the new one are"})
		}
		g.retire(plan)
	}
}

// halted says what makes it doubtful whether the group can spare a server.
func (g *group) halted() string {
	switch {
	case g.Channel == fleet.ChannelDegraded:
		return "most agents are silent; nothing is retired"
	case g.sight == fleet.SightForming:
		return "waiting for the servers to report to a new leader"
	}
	switch g.Gate.State() {
	case fleet.GateWaiting:
		return fmt.Sprintf("starts have failed, next attempt at %s; the old servers serve on", stamp(g.Gate.OpensAt()))
	case fleet.GateGivenUp:
		return "too many starts have failed; the old servers serve on until the group is edited or told to retry"
	case fleet.GateOpen:
	}
	return ""
}

// begin orders the first server of the new spec. Where there is no room for it,
// an old one that has not started gives way.
func (g *group) begin(plan *Plan) {
	plan.Surge = 1
	if g.count() < g.Ceiling {
		plan.Note = "a first server of the new spec is ordered"
		return
	}
	if idle := g.unstarted(); len(idle) > 0 && g.count() == g.Ceiling {
		plan.Removals = []Order{{idle[0].Name, idle[0].Name + " is of an old spec and was never Ready; it gives way to one of the new spec"}}
		plan.Note = "a first server of the new spec takes the place of one that never was Ready"
		return
	}
	plan.Note = "there is no room for a first server of the new spec"
}

// retire picks who goes now, within the budget, and otherwise says what is
// missing.
func (g *group) retire(plan *Plan) {
	candidates := g.candidates()
	budget := g.Update.MaxUnavailable - len(g.leaving)
	for i, next := range candidates {
		if len(plan.Retirements) >= budget {
			break
		}
		if !g.spare(plan, candidates[:i], next) {
			return
		}
		plan.Retirements = append(plan.Retirements, g.retirement(next))
	}
	plan.Note = g.pause(plan, len(candidates))
}

func (g *group) retirement(s *fleet.Server) Order {
	if s.MayHavePlayers(g.Now) {
		return Order{s.Name, s.Name + " is of an old spec; it takes nobody new, and its players stay until they leave"}
	}
	return Order{s.Name, s.Name + " is of an old spec, and empty"}
}

// spare says whether the group can do without one more server. When the seats
// do not suffice, one more server of the new spec comes first; at the ceiling
// there is no other way than to go ahead.
func (g *group) spare(plan *Plan, gone []*fleet.Server, next *fleet.Server) bool {
	left := g.without(append(slices.Clone(gone), next))
	count := g.count() - len(gone) - len(plan.Removals)
	switch {
	case left.joinable >= g.Update.MinAvailable && left.seats >= g.Keep:
		return true
	case g.onOrder():
		plan.Note = fmt.Sprintf("a server on order has to be Ready before %s goes", next.Name)
		return false
	case count < g.Ceiling:
		plan.Surge = 1
		plan.Note = fmt.Sprintf("one more server of the new spec is ordered before %s goes", next.Name)
		return false
	case left.joinable < g.Update.MinAvailable:
		plan.Note = fmt.Sprintf("minAvailable wants %d servers that can be joined without %s", g.Update.MinAvailable, next.Name)
		return false
	}
	return true
}

// pause says what ends the next wait.
func (g *group) pause(plan *Plan, candidates int) string {
	going := len(g.leaving) + len(plan.Retirements)
	switch {
	case going > 0 && len(plan.Retirements) < candidates:
		return are(going, "1 server is", "%d servers are") + " on the way out, as many as maxUnavailable allows"
	case going > 0:
		return are(going, "1 server is", "%d servers are") + " on the way out"
	case candidates == 0 && len(plan.Removals) < len(g.old):
		return "an old server goes when it is empty (strategy WhenEmpty)"
	}
	return ""
}

func (g *group) withdrawals() []Order {
	var orders []Order
	for _, s := range g.withdrawn {
		orders = append(orders, Order{s.Name, s.Name + " is of the group's spec again"})
	}
	slices.SortFunc(orders, func(a, b Order) int { return cmp.Compare(a.Name, b.Name) })
	return orders
}

// recheck is the first instant ahead that changes an input of the plan.
func (g *group) recheck() time.Time {
	var first time.Time
	if len(g.old) > 0 {
		first = fleet.Earliest(g.Gate.OpensAt(), g.sightEnds)
	}
	for _, s := range slices.Concat(g.old, g.returning) {
		first = fleet.Earliest(first, s.ClearsAt(g.Now))
	}
	return first
}

func are(n int, one, several string) string {
	if n == 1 {
		return one
	}
	return fmt.Sprintf(several, n)
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }
