// SPDX-License-Identifier: Apache-2.0

package scaling

import (
	"fmt"
	"slices"
	"time"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/fleet"
)

// spareable brings the clocks of consolidation up to date: they run for servers
// that are known to have players whom the others could take with the spare seats
// still free, and those of the servers that empty for this reason already. They
// begin anew whenever one more does.
func (g *group) spareable() Spareable {
	if g.Sizes.Consolidation != v1alpha1.ConsolidationEnabled {
		return nil
	}
	free, begun := g.lastingSeats(), time.Time{}
	for i := range g.Servers {
		if s := &g.Servers[i]; s.Retire == v1alpha1.RetireConsolidation {
			begun = later(begun, s.RetiringSince)
		}
	}
	now := Spareable{}
	for _, s := range g.alive {
		held := s.Phase == v1alpha1.ServerReady && known(s) == 1 && s.Counts.Players() > 0
		if !held || leftWithout(s, free) < g.keep {
			continue
		}
		now[s.Name] = g.Now
		if since, ok := g.Spareable[s.Name]; ok {
			now[s.Name] = later(since, begun)
		}
	}
	return now
}

// lastingSeats are the free seats that stay free when the others have taken the
// players of servers that empty for consolidation. Without that more servers
// would go than can be spared.
func (g *group) lastingSeats() int {
	free := g.arrivedSeats()
	for i := range g.Servers {
		if s := &g.Servers[i]; s.Retire == v1alpha1.RetireConsolidation {
			free -= s.Counts.Seated()
		}
	}
	return free
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// leftWithout are the seats that stay free of so many once a server is gone and
// the others have taken those who are on it or on the way there.
func leftWithout(s *fleet.Server, free int) int {
	return free - arrived(s) - s.Counts.Seated()
}

// consolidation retires one server whose players the others could have taken
// for the stabilisation time, the emptiest of them. It is for groups in which no
// server ever empties: while one is empty, that is the one to go. As its last
// player may stay for hours, the next one does not wait for it to be gone, only
// until it is on its way. The only one of a new spec stays.
func (g *group) consolidation(spareable Spareable) []Retirement {
	for i := range g.Servers {
		if s := &g.Servers[i]; s.Retire == v1alpha1.RetireConsolidation && s.RetiringSince.IsZero() {
			return nil
		}
	}
	if slices.ContainsFunc(g.alive, func(s *fleet.Server) bool { return s.Counts.KnownEmpty() }) {
		return nil
	}
	due := slices.DeleteFunc(slices.Clone(g.alive), func(s *fleet.Server) bool {
		since, ok := spareable[s.Name]
		return !ok || !g.expendable(s) || g.Now.Before(since.Add(g.Sizes.Stabilization))
	})
	if len(due) == 0 {
		return nil
	}
	s := slices.MinFunc(due, emptier)
	left := leftWithout(s, g.lastingSeats())
	return []Retirement{{s.Name, v1alpha1.RetireConsolidation, fmt.Sprintf(
		"%s has %s, whom the others could have taken since %s, with %d seats left now",
		s.Name, playersOn(s), stamp(spareable[s.Name]), left)}}
}
