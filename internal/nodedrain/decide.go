// SPDX-License-Identifier: Apache-2.0

// Package nodedrain clears an ephemeral group's servers off nodes that are about
// to leave. Empty ones go at once; those with players one at a time, each only
// when the group can do without it elsewhere.
package nodedrain

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/fleet"
)

// Input is everything Decide may know of a group.
type Input struct {
	Now     time.Time
	Servers []fleet.Server
	// Floor is how many servers have to be Ready on other nodes before one with
	// players goes: the group's own, as far as its ceiling allows.
	Floor   int
	Channel fleet.Channel
	// LeaderSince is when this manager began to lead.
	LeaderSince time.Time
}

// Order is one server, and why something happens to it.
type Order struct {
	Name string
	Note string
}

// Plan is what happens to servers on departing nodes. No server is in it twice.
type Plan struct {
	// Removals are deleted, and drain first if they have players.
	Removals []Order
	// Retirements take nobody new.
	Retirements []Order
	// Missing says what the next one with players waits for; empty for nothing.
	Missing string
	// Recheck is when time alone changes the plan, zero if it does not.
	Recheck time.Time
}

// Decide takes the next step.
func Decide(in Input) Plan {
	plan := Plan{Recheck: recheck(&in)}
	sight, sighted := fleet.SightOf(in.Servers, in.LeaderSince, in.Now)
	next := turn(in.Servers, in.Now)
	switch {
	case in.Channel == fleet.ChannelDegraded:
		plan.Missing = "most agents are silent, and nobody is moved meanwhile"
		return plan
	case sight == fleet.SightForming:
		plan.Missing = "the servers have not all reported to this manager yet"
		plan.Recheck = fleet.Earliest(plan.Recheck, sighted)
		return plan
	}
	plan.Removals = empties(&in)
	if next == nil || next.Deletion == fleet.DeletionAsked {
		return plan
	}
	there := survey(in.Servers)
	plan.Missing = there.missing(next, in.Floor)
	switch {
	case plan.Missing == "":
		plan.Removals = append(plan.Removals, Order{next.Name, next.Name + " is on a node that leaves, and its place is taken"})
	case next.Retire == v1alpha1.RetireNone && there.free > 0:
		plan.Retirements = []Order{{next.Name, next.Name + " is on a node that leaves; it takes nobody new, and its players stay until its place is taken"}}
	}
	return plan
}

// Displaced is how many players need seats elsewhere, beside those that a group
// keeps free: the players of the one server whose turn it is. Once it drains
// their seats are there, and being taken.
func Displaced(servers []fleet.Server, now time.Time) int {
	if next := turn(servers, now); next != nil && next.Deletion == fleet.DeletionNone {
		return players(next)
	}
	return 0
}

// concerns is true for a server that has to leave its node. A failed one stands
// in nobody's way: it serves no one, and nothing holds its pod.
func concerns(s *fleet.Server) bool {
	return s.Node == fleet.NodeDeparting && s.Phase != v1alpha1.ServerFailed && s.Phase != v1alpha1.ServerTerminating
}

// TakeBack finds the servers that were told to retire for a node that stays
// after all, or that nobody could leave any more. It returns all servers as they
// are once that is taken back; those given stay as they are.
func TakeBack(servers []fleet.Server) ([]Order, []fleet.Server) {
	var orders []Order
	after := slices.Clone(servers)
	for i := range after {
		s := &after[i]
		if s.Retire != v1alpha1.RetireNodeDraining || s.Node == fleet.NodeDeparting || going(s) {
			continue
		}
		s.Retire = v1alpha1.RetireNone
		orders = append(orders, Order{s.Name, "the node of " + s.Name + " stays, or there is nowhere else to go"})
	}
	return orders, after
}

// going is true for a server that nothing brings back.
func going(s *fleet.Server) bool {
	switch s.Phase {
	case v1alpha1.ServerDraining, v1alpha1.ServerTerminating, v1alpha1.ServerFailed:
		return true
	case v1alpha1.ServerPending, v1alpha1.ServerStarting, v1alpha1.ServerReady, v1alpha1.ServerRetiring:
	}
	return s.Deletion == fleet.DeletionAsked
}

// empties go at once. One that is retiring ends by itself.
func empties(in *Input) []Order {
	var orders []Order
	for i := range in.Servers {
		s := &in.Servers[i]
		if concerns(s) && s.Deletion == fleet.DeletionNone && s.Phase != v1alpha1.ServerRetiring && !s.MayHavePlayers(in.Now) {
			orders = append(orders, Order{s.Name, s.Name + " is empty, on a node that leaves"})
		}
	}
	return orders
}

// turn is the one server with players that is moved now, nil for none. Who is
// on the way goes on; else the fewest are moved first.
func turn(servers []fleet.Server, now time.Time) *fleet.Server {
	var occupied []*fleet.Server
	for i := range servers {
		if s := &servers[i]; concerns(s) && s.MayHavePlayers(now) {
			occupied = append(occupied, s)
		}
	}
	if len(occupied) == 0 {
		return nil
	}
	return slices.MinFunc(occupied, func(a, b *fleet.Server) int {
		return cmp.Or(progress(a)-progress(b), players(a)-players(b), a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.Name, b.Name))
	})
}

// progress sorts by how far a server is on its way out.
func progress(s *fleet.Server) int {
	switch {
	case s.Deletion == fleet.DeletionAsked:
		return 0
	case s.Retire == v1alpha1.RetireNodeDraining:
		return 1
	case s.Retire != v1alpha1.RetireNone:
		return 2
	}
	return 3
}

// players is how many seats whoever is on a server would need. One that may
// have players has at least one; where nothing was heard they may be all.
func players(s *fleet.Server) int {
	if s.Counts.State() == fleet.CountsUnknown {
		return max(1, s.Slots)
	}
	return max(1, s.Counts.Players())
}

// others are the group's servers on nodes that stay.
type others struct {
	ready int
	free  int
}

func survey(servers []fleet.Server) others {
	var there others
	for i := range servers {
		s := &servers[i]
		if !s.Alive() {
			continue
		}
		if s.Phase == v1alpha1.ServerReady {
			there.ready++
		}
		there.free += s.FreeSeats()
	}
	return there
}

// missing says what keeps a server's place from being taken, empty when it is.
func (o others) missing(next *fleet.Server, floor int) string {
	switch need := players(next); {
	case o.ready < max(1, floor):
		return fmt.Sprintf("%s waits for ready servers on other nodes: %d of %d", next.Name, o.ready, max(1, floor))
	case o.free < need:
		return fmt.Sprintf("%s waits for free seats on other nodes: %d of %d", next.Name, o.free, need)
	}
	return ""
}

// recheck is when a server on a departing node may turn out to be empty.
func recheck(in *Input) time.Time {
	var first time.Time
	for i := range in.Servers {
		if s := &in.Servers[i]; concerns(s) {
			first = fleet.Earliest(first, s.ClearsAt(in.Now))
		}
	}
	return first
}
