// SPDX-License-Identifier: Apache-2.0

package scaling

import (
	"fmt"
	"strings"
	"time"

	"github.com/spawnery/spawnery-operator/internal/fleet"
)

// line is the decision as one line of numbers, without anything that changes
// when the decision does not.
func (g *group) line(wanted, short int, plan *Plan) string {
	waiting := fmt.Sprintf("waiting %d", g.waiting)
	if g.Displaced > 0 {
		waiting += fmt.Sprintf(", to move %d", g.Displaced)
	}
	return fmt.Sprintf("provisional %d, spare %d, %s, wanted %d, alive %d, floor %d, ceiling %d: %s",
		g.provisional, g.Sizes.SpareSlots, waiting, wanted, g.count, g.floor, g.ceiling, g.what(short, plan))
}

func (g *group) what(short int, plan *Plan) string {
	orders := orders(short, plan)
	switch {
	case g.Channel == fleet.ChannelDegraded:
		return "most agents are silent; nothing is created or removed"
	case orders != "":
		return orders
	case short > 0 && g.Gate.State() == fleet.GateWaiting:
		return fmt.Sprintf("%d short; starts have failed, next attempt at %s", short, stamp(g.Gate.OpensAt()))
	case short > 0 && g.Gate.State() == fleet.GateGivenUp:
		return fmt.Sprintf("%d short; the group has given up after too many failed starts", short)
	case plan.Limit.Cause != NotLimited:
		return plan.Limit.Note
	case g.sight == fleet.SightForming:
		return "waiting for the servers to report to a new leader"
	}
	return "enough"
}

// orders are what a plan changes; of several servers the first is explained.
func orders(short int, plan *Plan) string {
	var orders []string
	if n := len(plan.Withdrawals); n > 0 {
		orders = append(orders, fmt.Sprintf("take back %d, %s", n, plan.Withdrawals[0].Note))
	}
	switch {
	case plan.Creates > max(0, short):
		orders = append(orders, fmt.Sprintf("create %d for a changeover", plan.Creates))
	case plan.Creates > 0:
		orders = append(orders, fmt.Sprintf("create %d", plan.Creates))
	}
	if n := len(plan.Removals); n > 0 {
		orders = append(orders, fmt.Sprintf("remove %d, %s", n, plan.Removals[0].Note))
	}
	if n := len(plan.Retirements); n > 0 {
		orders = append(orders, fmt.Sprintf("retire %d, %s", n, plan.Retirements[0].Note))
	}
	return strings.Join(orders, "; ")
}

func (l Limit) note(pin Pin) string {
	switch {
	case l.Cause == Changeover && l.By == ByPin:
		return fmt.Sprintf("a changeover wants %s, boost %s holds the group at %d; it needs room for one new server before an old one can retire",
			servers(l.Wanted), pin.Boost, l.Allowed)
	case l.Cause == Changeover:
		return fmt.Sprintf("a changeover wants %s, maxReplicas allows %d; it needs room for one new server before an old one can retire",
			servers(l.Wanted), l.Allowed)
	case l.Cause == Demand && l.By == ByPin:
		return fmt.Sprintf("demand wants %s, boost %s holds the group at %d", servers(l.Wanted), pin.Boost, l.Allowed)
	case l.Cause == Demand:
		return fmt.Sprintf("demand wants %s, maxReplicas allows %d", servers(l.Wanted), l.Allowed)
	case l.Cause == Boost && pin.Holds():
		return fmt.Sprintf("boost %s wants to hold the group at %s, maxReplicas allows %d", pin.Boost, servers(l.Wanted), l.Allowed)
	case l.Cause == Boost:
		return fmt.Sprintf("minReplicas and boosts want %d servers, maxReplicas allows %d", l.Wanted, l.Allowed)
	}
	return ""
}

// playersOn says how many players a server has, as far as that is known.
func playersOn(s *fleet.Server) string {
	switch n := s.Counts.Players(); {
	case s.Counts.State() != fleet.CountsFresh:
		return "an unknown number of players"
	case n == 0:
		return "a player on the way"
	case n == 1:
		return "1 player"
	default:
		return fmt.Sprintf("%d players", n)
	}
}

func servers(n int) string {
	if n == 1 {
		return "1 server"
	}
	return fmt.Sprintf("%d servers", n)
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }
