// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"cmp"
	"slices"
	"time"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/fleet"
)

// group is an input, sorted by what a changeover tells apart.
type group struct {
	*Input
	// old and current can be counted on; current ones are of the group's spec,
	// or will be when their pod is made.
	old, current []*fleet.Server
	// leaving were told to go because of the changeover, and are not taken back.
	leaving []*fleet.Server
	// withdrawn were told to go, and are of the group's spec again.
	withdrawn []*fleet.Server
	// returning were told to go and are on their way back to the new spec's.
	returning []*fleet.Server
	sight     fleet.Sight
	sightEnds time.Time
}

func survey(in *Input) *group {
	g := &group{Input: in}
	for i := range in.Servers {
		s := &in.Servers[i]
		comesBack := comesBack(s, in.Now)
		if s.Retire == v1alpha1.RetireChangeover && comesBack {
			g.withdrawn = append(g.withdrawn, s)
		}
		switch {
		case !s.Alive() && !comesBack:
			if s.Retire == v1alpha1.RetireChangeover && s.Phase != v1alpha1.ServerFailed {
				g.leaving = append(g.leaving, s)
			}
		case !s.Current():
			g.old = append(g.old, s)
		case s.Phase == v1alpha1.ServerRetiring:
			g.returning = append(g.returning, s)
		default:
			g.current = append(g.current, s)
		}
	}
	g.sight, g.sightEnds = fleet.SightOf(in.Servers, in.LeaderSince, in.Now)
	return g
}

// comesBack is true for a server that was told to go and has no reason to any
// more. One that nobody is on any more goes all the same, and once its players
// are being moved it is too late.
func comesBack(s *fleet.Server, now time.Time) bool {
	if s.Deletion == fleet.DeletionAsked || s.Node == fleet.NodeDeparting {
		return false
	}
	switch s.Phase {
	case v1alpha1.ServerPending, v1alpha1.ServerStarting, v1alpha1.ServerReady:
		return s.Retire == v1alpha1.RetireChangeover && s.Spec == fleet.SpecCurrent
	case v1alpha1.ServerRetiring:
		return s.Occupied(now) && (s.Retire == v1alpha1.RetireNone ||
			(s.Retire == v1alpha1.RetireChangeover && s.Spec == fleet.SpecCurrent))
	case v1alpha1.ServerDraining, v1alpha1.ServerTerminating, v1alpha1.ServerFailed:
	}
	return false
}

// count is how many servers the ceiling compares with.
func (g *group) count() int { return len(g.old) + len(g.current) + len(g.returning) + g.Ordered }

// begun is true once a server of the new spec is there or on order.
func (g *group) begun() bool { return len(g.current)+len(g.returning)+g.Ordered > 0 }

// proven is true while a server of the new spec serves, and says so.
func (g *group) proven() bool {
	return slices.ContainsFunc(g.current, func(s *fleet.Server) bool {
		return s.Phase == v1alpha1.ServerReady && s.Counts.State() == fleet.CountsFresh
	})
}

// onOrder is true while a server of the new spec is on its way, or back.
func (g *group) onOrder() bool {
	return g.Ordered+len(g.returning) > 0 ||
		slices.ContainsFunc(g.current, func(s *fleet.Server) bool { return s.FirstStart() })
}

// unstarted are the old servers that were never Ready, the youngest first.
func (g *group) unstarted() []*fleet.Server {
	found := slices.DeleteFunc(slices.Clone(g.old), func(s *fleet.Server) bool { return !s.FirstStart() })
	slices.SortFunc(found, func(a, b *fleet.Server) int {
		return cmp.Or(b.CreatedAt.Compare(a.CreatedAt), cmp.Compare(a.Name, b.Name))
	})
	return found
}

// candidates are the old servers that may be told to go, the next one first:
// known to be empty before all others, then the oldest.
func (g *group) candidates() []*fleet.Server {
	found := slices.DeleteFunc(slices.Clone(g.old), func(s *fleet.Server) bool {
		return s.FirstStart() || (g.Update.Strategy == v1alpha1.UpdateWhenEmpty && s.MayHavePlayers(g.Now))
	})
	slices.SortFunc(found, func(a, b *fleet.Server) int {
		return cmp.Or(g.caution(a)-g.caution(b), a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.Name, b.Name))
	})
	return found
}

func (g *group) caution(s *fleet.Server) int {
	if s.MayHavePlayers(g.Now) {
		return 1
	}
	return 0
}

// offer is what players find.
type offer struct {
	joinable, seats int
}

// without is what is left for players if these were gone.
func (g *group) without(gone []*fleet.Server) offer {
	var left offer
	for _, s := range slices.Concat(g.old, g.current) {
		if slices.Contains(gone, s) {
			continue
		}
		if s.Joinable() {
			left.joinable++
			// A seat is taken before its player is online.
			left.seats += min(s.FreeSeats(), s.Free(s.Counts.Seated()))
		}
	}
	return left
}

func named(orders []Order, name string) bool {
	return slices.ContainsFunc(orders, func(o Order) bool { return o.Name == name })
}
