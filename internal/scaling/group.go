// SPDX-License-Identifier: Apache-2.0

package scaling

import (
	"cmp"
	"slices"
	"time"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/fleet"
)

// pass is the pace at which a group is sized, and a crowd answered.
const pass = 5 * time.Second

// group is an input with its sums.
type group struct {
	*Input
	alive       []*fleet.Server // those the cache shows
	takenBack   []*fleet.Server // whose retirement for a pin has lost its ground
	count       int             // alive, taken back included, and ordered but not seen
	floor       int
	ceiling     int
	waiting     int // of those who wait, as many as count now
	keep        int // seats to keep free, for those who wait as well
	provisional int
	sight       fleet.Sight
	sightEnds   time.Time
}

func survey(in *Input) *group {
	g := &group{
		Input:   in,
		floor:   in.Sizes.MinReplicas + in.Boosts.Added,
		ceiling: in.Sizes.Ceiling(in.Boosts.Pin),
	}
	if in.Boosts.Pin.Holds() {
		g.floor = g.ceiling
	}
	for i := range in.Servers {
		s := &in.Servers[i]
		if (s.Alive() || returning(s, in.Now)) && !slices.Contains(in.Expected.Deletes, s.Name) {
			g.alive = append(g.alive, s)
		}
	}
	g.count = len(g.alive) + in.Expected.Creates
	g.takeBack()
	g.provisional = g.credit()
	g.waiting = g.counted()
	g.keep = g.Sizes.SpareSlots + g.waiting + g.Displaced
	g.sight, g.sightEnds = fleet.SightOf(in.Servers, in.LeaderSince, in.Now)
	return g
}

// counted is how many of those who wait count. They may be a crowd or an attack:
// a pass counts one server's seats more than passes before have ordered, so a
// crowd is answered one server after another, and not only once.
func (g *group) counted() int {
	servers := 1
	extra := g.extra()
	for _, s := range g.alive {
		if s != extra && s.FirstStart() && !g.Now.Before(s.CreatedAt.Add(pass)) {
			servers++
		}
	}
	return min(max(0, g.Waiting), servers*g.Sizes.Capacity)
}

// credit adds up the seats that have arrived and those on order. What nobody
// can reach is worth nothing.
func (g *group) credit() int {
	sum := g.Expected.Creates * g.Sizes.Capacity
	extra := g.extra()
	for _, s := range g.alive {
		if s != extra {
			sum += g.worth(s)
		}
	}
	return sum
}

// worth is the credit of one server that is alive.
func (g *group) worth(s *fleet.Server) int {
	switch {
	case s.FirstStart():
		return g.Sizes.Capacity
	case s.Phase == v1alpha1.ServerRetiring:
		return comingBack(s)
	}
	return arrived(s)
}

// arrived are the seats of a server that could be filled. A first registration
// under way is as good as done; a door closed, a server dropped from the list,
// a count that is not fresh, a pod the cache does not show are not.
func arrived(s *fleet.Server) int {
	if s.Phase != v1alpha1.ServerReady || s.Pod != fleet.PodSeen || s.Door == fleet.DoorClosed ||
		s.Registration == fleet.Deregistered || s.Counts.State() != fleet.CountsFresh {
		return 0
	}
	return s.Free(s.Counts.Seated())
}

// extra is the server that is credited nothing while none of its group was
// ever registered: a group's very first start is the one nobody has measured,
// and a server too many costs money, one too few costs joins.
func (g *group) extra() *fleet.Server {
	if !g.FirstRegisteredAt.IsZero() || g.count >= g.ceiling || g.Boosts.Pin.Holds() {
		return nil
	}
	starting := slices.DeleteFunc(slices.Clone(g.alive), func(s *fleet.Server) bool { return !s.FirstStart() })
	if len(starting) == 0 {
		return nil
	}
	return slices.MinFunc(starting, func(a, b *fleet.Server) int {
		return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.Name, b.Name))
	})
}

// wanted is how many servers the gap to the spare seats asks for.
func (g *group) wanted() int {
	gap := g.keep - g.provisional
	if gap <= 0 || g.sight == fleet.SightForming {
		return 0
	}
	wanted := (gap + g.Sizes.Capacity - 1) / g.Sizes.Capacity
	if since, blind := g.outage(); blind {
		return min(wanted, max(0, 1-g.createdSince(since)))
	}
	return wanted
}

// outage is true while no server that should report does. A sum of nothing but
// unknowns says nothing about demand, so it may order one server and no more.
func (g *group) outage() (time.Time, bool) {
	since, blind := g.LeaderSince, false
	for _, s := range g.alive {
		if s.FirstStart() {
			continue
		}
		if s.Counts.State() == fleet.CountsFresh {
			return time.Time{}, false
		}
		blind = true
		if sampled := s.Counts.Sampled(); sampled.After(since) {
			since = sampled
		}
	}
	return since, blind
}

// createdSince counts in whole seconds, which is what creation times have.
func (g *group) createdSince(since time.Time) int {
	created := g.Expected.Creates
	for i := range g.Servers {
		if !g.Servers[i].CreatedAt.Before(since.Truncate(time.Second)) {
			created++
		}
	}
	return created
}

// outstanding is true while capacity is on its way. Nothing is while failures
// hold creates back, or a crash-looping server would pin its siblings.
func (g *group) outstanding() bool {
	if g.Gate.State() != fleet.GateOpen {
		return false
	}
	return g.Expected.Creates > 0 ||
		slices.ContainsFunc(g.alive, func(s *fleet.Server) bool { return s.FirstStart() })
}

func (g *group) freeSlots() int {
	free := 0
	for i := range g.Servers {
		free += g.Servers[i].FreeSeats()
	}
	return free
}
