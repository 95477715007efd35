// SPDX-License-Identifier: Apache-2.0

package scaling

import (
	"fmt"
	"time"

	"github.com/spawnery/spawnery-operator/internal/fleet"
)

// line is the decision as one line of numbers, without anything that changes
// when the decision does not.
func (g *group) line(wanted, short int, plan *Plan) string {
	return fmt.Sprintf("provisional %d, spare %d, waiting %d, wanted %d, alive %d, floor %d, ceiling %d: %s",
		g.provisional, g.Sizes.SpareSlots, g.waiting, wanted, g.count, g.floor, g.ceiling, g.what(short, plan))
}

func (g *group) what(short int, plan *Plan) string {
	switch {
	case g.Channel == fleet.ChannelDegraded:
		return "most agents are silent; nothing is created or removed"
	case plan.Creates > 0:
		return fmt.Sprintf("create %d", plan.Creates)
	case len(plan.Removals) > 0:
		return fmt.Sprintf("remove %d, %s", len(plan.Removals), plan.Removals[0].Note)
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

func (l Limit) note() string {
	switch l.Cause {
	case Demand:
		return fmt.Sprintf("demand wants %d servers, maxReplicas allows %d", l.Wanted, l.Allowed)
	case Boost:
		return fmt.Sprintf("minReplicas and boosts want %d servers, maxReplicas allows %d", l.Wanted, l.Allowed)
	case NotLimited:
	}
	return ""
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }
