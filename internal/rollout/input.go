// SPDX-License-Identifier: Apache-2.0

// Package rollout changes an ephemeral group over to a new spec: a new server
// comes first, and then one old server after another is told to go, within the
// budget that the group's owner chose.
package rollout

import (
	"slices"
	"time"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/fleet"
)

// Update is what the group's owner chose.
type Update struct {
	// Strategy says whether occupied servers may be told to go: they may, unless
	// it is WhenEmpty.
	Strategy v1alpha1.UpdateStrategy
	// MaxUnavailable is how many servers may be on their way out at once
	// because of a changeover.
	MaxUnavailable int
	// MinAvailable is how many servers players can join at least, 0 for any
	// number.
	MinAvailable int
}

// Input is everything Decide may know of a group.
type Input struct {
	Now     time.Time
	Update  Update
	Servers []fleet.Server
	// Ceiling is how many servers the group may have, those on their way out
	// not counted.
	Ceiling int
	// Keep is how many seats have to stay free: the spare ones, and one for
	// each player who waits.
	Keep int
	// Ordered is how many Servers were created that the cache does not show yet.
	Ordered int
	// Gate is what earlier failures leave of the right to create.
	Gate    fleet.Gate
	Channel fleet.Channel
	// LeaderSince is when this manager began to lead.
	LeaderSince time.Time
}

// Order is something to be done to one server, and why.
type Order struct {
	Name string
	Note string
}

// Progress is how far a changeover is.
type Progress struct {
	// Updated counts the servers of the new spec, those on order included.
	Updated int
	// Old counts those of an old one that nobody has told to go.
	Old int
	// Leaving counts those on their way out because of the changeover.
	Leaving int
}

// RollingOut is true until nothing of an old spec is left.
func (p Progress) RollingOut() bool { return p.Old+p.Leaving > 0 }

// Total is how many servers the changeover is about.
func (p Progress) Total() int { return p.Updated + p.Old + p.Leaving }

// Plan is the next step of a changeover.
type Plan struct {
	// Surge is how many servers of the new spec are wanted beside those alive
	// and on order: 0 or 1. It asks; whether there is room, the size decides.
	Surge int
	// Retirements are to take nobody new, and go when their players have left.
	Retirements []Order
	// Withdrawals are retiring servers whose spec is the group's again.
	Withdrawals []Order
	// Removals are old servers to delete: they were never Ready, so that nobody
	// is on them and no seat is lost.
	Removals []Order

	Progress Progress
	// Note says to a person what the changeover waits for or does. Empty when
	// there is none.
	Note string
	// Recheck is when time alone changes the plan, zero if it does not.
	Recheck time.Time
}

// After is the group once the plan is carried out, for every further decision
// of the same pass.
func (p Plan) After(servers []fleet.Server) []fleet.Server {
	after := slices.Clone(servers)
	for i := range after {
		switch s := &after[i]; {
		case named(p.Retirements, s.Name):
			s.Retire = v1alpha1.RetireChangeover
		case named(p.Withdrawals, s.Name):
			s.Retire = v1alpha1.RetireNone
		case named(p.Removals, s.Name):
			s.Deletion = fleet.DeletionAsked
		}
	}
	return after
}
