// SPDX-License-Identifier: Apache-2.0

package scaling

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/fleet"
)

// SelectDeletionCandidates picks the servers that may be given up and puts the
// best one first: never one that may have players, those that never served
// before those that did, the youngest before the older.
func SelectDeletionCandidates(servers []*fleet.Server, now time.Time) []*fleet.Server {
	empty := slices.DeleteFunc(slices.Clone(servers), func(s *fleet.Server) bool { return s.MayHavePlayers(now) })
	slices.SortFunc(empty, func(a, b *fleet.Server) int {
		return cmp.Or(served(a)-served(b), b.CreatedAt.Compare(a.CreatedAt), cmp.Compare(a.Name, b.Name))
	})
	return empty
}

// candidates are those of this group. In a changeover the old spec goes before
// the new one, which would only have to be built again.
func (g *group) candidates() []*fleet.Server {
	candidates := SelectDeletionCandidates(g.alive, g.Now)
	slices.SortStableFunc(candidates, func(a, b *fleet.Server) int { return int(b.Spec) - int(a.Spec) })
	return candidates
}

// expendable is false for a server that was just taken back, and for one that a
// changeover counts on: the only one of the new spec, without which it would
// order another and who leaves the last old server would find none, and those
// that players can join, as many as its owner wants of them.
func (g *group) expendable(s *fleet.Server) bool {
	current, joinable := 0, 0
	for _, other := range g.alive {
		if other == s {
			continue
		}
		if other.Current() {
			current++
		}
		if other.Joinable() {
			joinable++
		}
	}
	needed := g.changing() && (s.Current() && current == 0 || joinable < g.MinAvailable)
	return !needed && !slices.Contains(g.takenBack, s)
}

// changing is true while a server of an old spec is alive, or on its way out
// for that reason.
func (g *group) changing() bool {
	return slices.ContainsFunc(g.alive, func(s *fleet.Server) bool { return !s.Current() }) ||
		slices.ContainsFunc(g.Servers, func(s fleet.Server) bool {
			return s.Retire == v1alpha1.RetireChangeover && s.Spec == fleet.SpecOld
		})
}

func served(s *fleet.Server) int {
	if s.ServedAt.IsZero() {
		return 0
	}
	return 1
}

// aboveCeiling are the empty servers of a group whose owner lowered the ceiling,
// or that is pinned. They go at once, all of them, even while the group is short.
func (g *group) aboveCeiling() []Removal {
	surplus := g.count - g.ceiling
	allowed := fmt.Sprintf("maxReplicas allows %d", g.ceiling)
	if pin := g.Boosts.Pin; pin.Holds() {
		allowed = fmt.Sprintf("boost %s holds it at %d", pin.Boost, g.ceiling)
	}
	var removals []Removal
	for _, s := range g.candidates() {
		if len(removals) == surplus {
			break
		}
		if slices.Contains(g.takenBack, s) {
			continue
		}
		removals = append(removals, Removal{s.Name, fmt.Sprintf(
			"%s is empty, and the group has %d servers where %s", s.Name, g.count, allowed)})
	}
	return removals
}

// lackOfDemand is one server that has been empty long enough and whose seats
// the group can spare. Each is tested alone, so that one which cannot go does
// not hide one which can.
func (g *group) lackOfDemand() []Removal {
	free := g.arrivedSeats()
	for _, s := range g.candidates() {
		left := free - arrived(s)
		if g.settled(s) && g.expendable(s) && left >= g.keep {
			return []Removal{{s.Name, fmt.Sprintf(
				"%s has been empty since %s, and %d free seats are left without it", s.Name, stamp(s.EmptySince), left)}}
		}
	}
	return nil
}

// arrivedSeats are the seats that could be filled right now, or as good as.
func (g *group) arrivedSeats() int {
	free := 0
	for _, s := range g.alive {
		free += arrived(s)
	}
	return free
}

// settled is true once a server was empty, without a break and known to be,
// for the stabilisation time.
func (g *group) settled(s *fleet.Server) bool {
	return s.Counts.KnownEmpty() && !s.EmptySince.IsZero() &&
		!g.Now.Before(s.EmptySince.Add(g.Sizes.Stabilization))
}
