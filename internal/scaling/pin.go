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

// abovePin retires what is above the pin and has players, the emptiest first.
// A server that is ordered and not seen yet goes before any of them.
func (g *group) abovePin(removed int) []Retirement {
	if !g.Boosts.Pin.Holds() {
		return nil
	}
	surplus := g.count - g.ceiling - removed - g.Expected.Creates
	if surplus <= 0 {
		return nil
	}
	occupied := slices.DeleteFunc(slices.Clone(g.alive), func(s *fleet.Server) bool { return !s.MayHavePlayers(g.Now) })
	slices.SortFunc(occupied, emptier)
	var retirements []Retirement
	for _, s := range occupied[:min(surplus, len(occupied))] {
		retirements = append(retirements, Retirement{s.Name, v1alpha1.RetirePin, fmt.Sprintf(
			"%s has %s, and boost %s holds the group at %s where it has %d",
			s.Name, playersOn(s), g.Boosts.Pin.Boost, servers(g.ceiling), g.count)})
	}
	return retirements
}

// emptier puts the server with the fewest players first, one whose players
// nobody knows last, and then the old spec before the new and the younger
// before the older.
func emptier(a, b *fleet.Server) int {
	return cmp.Or(
		known(b)-known(a),
		a.Counts.Players()-b.Counts.Players(),
		int(b.Spec)-int(a.Spec),
		b.CreatedAt.Compare(a.CreatedAt),
		cmp.Compare(a.Name, b.Name),
	)
}

func known(s *fleet.Server) int {
	if s.Counts.State() == fleet.CountsFresh {
		return 1
	}
	return 0
}

// takeBack finds the retirements for a pin that have lost their ground, and
// counts on those servers again: all of them once no pin holds, and as many as
// a raised one has room for, the fullest first.
func (g *group) takeBack() {
	var retired []*fleet.Server
	for i := range g.Servers {
		s := &g.Servers[i]
		if s.Retire == v1alpha1.RetirePin && stillThere(s, g.Now) && !slices.Contains(g.Expected.Deletes, s.Name) {
			retired = append(retired, s)
		}
	}
	slices.SortFunc(retired, func(a, b *fleet.Server) int { return emptier(b, a) })
	for _, s := range retired {
		if g.Boosts.Pin.Holds() && (g.count >= g.ceiling || s.Node == fleet.NodeDeparting) {
			continue
		}
		g.takenBack = append(g.takenBack, s)
		if s.Node != fleet.NodeDeparting {
			g.alive = append(g.alive, s)
			g.count++
		}
	}
}

func (g *group) withdrawals() []Withdrawal {
	var withdrawals []Withdrawal
	for _, s := range g.takenBack {
		note := s.Name + " takes players again: no boost holds the group at a number any more"
		if pin := g.Boosts.Pin; pin.Holds() {
			note = fmt.Sprintf("%s takes players again: boost %s holds the group at %s", s.Name, pin.Boost, servers(g.ceiling))
		}
		withdrawals = append(withdrawals, Withdrawal{s.Name, note})
	}
	return withdrawals
}

// stillThere is true for a server that was told to retire and can be taken
// back: one that nobody is on any more goes all the same.
func stillThere(s *fleet.Server, now time.Time) bool {
	if s.Deletion == fleet.DeletionAsked {
		return false
	}
	switch s.Phase {
	case v1alpha1.ServerPending, v1alpha1.ServerStarting, v1alpha1.ServerReady:
		return true
	case v1alpha1.ServerRetiring:
		return s.Occupied(now)
	case v1alpha1.ServerDraining, v1alpha1.ServerTerminating, v1alpha1.ServerFailed:
	}
	return false
}

// returning is true for a server whose reason to retire was taken back and that
// is not Ready again yet. The group counts on it, or it would build another in
// its place.
func returning(s *fleet.Server, now time.Time) bool {
	return s.Phase == v1alpha1.ServerRetiring && s.Retire == v1alpha1.RetireNone &&
		s.Node != fleet.NodeDeparting && stillThere(s, now)
}

// comingBack are the seats of a server that is about to be registered again.
func comingBack(s *fleet.Server) int {
	if s.Pod != fleet.PodSeen || s.Door == fleet.DoorClosed || s.Counts.State() != fleet.CountsFresh {
		return 0
	}
	return s.Free(s.Counts.Seated())
}
