// SPDX-License-Identifier: Apache-2.0

// Package scaling sizes an ephemeral group by the free seats it can offer:
// capacity first, then the ceiling, then demand.
package scaling

import (
	"time"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/fleet"
)

// Trigger says what woke the group.
type Trigger uint8

const (
	// OnTick is the regular pass. Only there a server is removed for lack of
	// demand.
	OnTick Trigger = iota
	// OnEvent is news that could not wait for the pass.
	OnEvent
)

// Sizes are the numbers the group's owner chose.
type Sizes struct {
	MinReplicas int
	MaxReplicas int
	// SpareSlots is how many seats should always be free.
	SpareSlots int
	// Capacity is what one server brings before it has said anything.
	Capacity int
	// Stabilization is how long a server has to be empty before it may go.
	Stabilization time.Duration
	Consolidation v1alpha1.Consolidation
}

// Boosts are what the group's boosts come to now.
type Boosts struct {
	// Added is 0 under a pin.
	Added int
	Pin   Pin
	// NextExpiry is when they come to something else by themselves.
	NextExpiry time.Time
}

// Pin holds a group at a number of servers; the zero value holds nothing.
type Pin struct {
	// Boost is the name of the boost that pins.
	Boost    string
	Replicas int
}

// Holds is true while there is a pin.
func (p Pin) Holds() bool { return p.Boost != "" }

// Spareable says of servers with players, by their names, since when the others
// could have taken those players without a break.
type Spareable map[string]time.Time

// Expected are writes whose result the cache does not show yet, calls whose
// outcome is unknown included.
type Expected struct {
	// Creates is how many Servers were created.
	Creates int
	// Deletes are the names of Servers that were deleted.
	Deletes []string
}

// Input is everything Decide may know of a group.
type Input struct {
	Now      time.Time
	Trigger  Trigger
	Sizes    Sizes
	Boosts   Boosts
	Servers  []fleet.Server
	Expected Expected
	// Waiting is how many players the proxies hold for this group.
	Waiting int
	// Surge is how many servers a changeover wants beside those that are alive.
	// It is no shortage: it holds up nothing but by what is really created.
	Surge int
	// MinAvailable is how many servers players can join have to stay, in a
	// changeover; 0 for any number.
	MinAvailable int
	// Displaced is how many players need seats because their node leaves, beside
	// the spare ones.
	Displaced int
	// Gate is what earlier failures leave of the right to create.
	Gate    fleet.Gate
	Channel fleet.Channel
	// LeaderSince is when this manager began to lead.
	LeaderSince time.Time
	// FirstRegisteredAt is when a server of this group was first registered,
	// ever; zero if none was.
	FirstRegisteredAt time.Time
	// Spareable is that of the last plan. A manager that has none yet begins
	// anew, which makes the wait longer and never shorter.
	Spareable Spareable
}

// Ceiling is how many servers a group may have.
func (s Sizes) Ceiling(pin Pin) int {
	if pin.Holds() {
		return min(pin.Replicas, s.MaxReplicas)
	}
	return s.MaxReplicas
}

// Keep is how many seats a group keeps free before it gives a server up, those
// for the players who wait among them. Whoever waits may be a crowd or an
// attack: it counts for one server at most.
func (s Sizes) Keep(waiting int) int {
	return s.SpareSlots + min(max(0, waiting), s.Capacity)
}

// Cause says what a ceiling holds back.
type Cause uint8

const (
	// NotLimited means the group has what it wants.
	NotLimited Cause = iota
	// Demand means players want more seats.
	Demand
	// Boost means that boosts raise the floor above the ceiling, or that one
	// pins the group above it.
	Boost
	// Changeover means that a server of a new spec has to come before an old one
	// may go, and nothing else is refused.
	Changeover
)

// Bound says what the ceiling is.
type Bound uint8

const (
	// ByMaxReplicas means the owner's spec.scaling.maxReplicas.
	ByMaxReplicas Bound = iota
	// ByPin means a pin that holds the group below it.
	ByPin
)

// Limit is what the ceiling refuses.
type Limit struct {
	Cause Cause
	By    Bound
	// Wanted and Allowed are numbers of servers.
	Wanted  int
	Allowed int
	// Note says it to a person.
	Note string
}

// Removal is one server to delete.
type Removal struct {
	Name string
	Note string
}

// Retirement is one server that is to take nobody new.
type Retirement struct {
	Name   string
	Reason v1alpha1.RetireReason
	Note   string
}

// Withdrawal is one server that is to take players again.
type Withdrawal struct {
	Name string
	Note string
}

// Plan is what a group needs now, and the numbers behind it. No server is in it
// twice.
type Plan struct {
	// Creates is how many servers to create.
	Creates int
	// Removals are the servers to delete.
	Removals []Removal
	// Retirements are the servers to retire.
	Retirements []Retirement
	// Withdrawals are the servers whose retirement for a pin has lost its
	// ground.
	Withdrawals []Withdrawal
	Limit       Limit
	// Spareable is for the next decision.
	Spareable Spareable

	// Alive counts the servers the group can count on, ordered ones and those
	// taken back included.
	Alive int
	// Floor is minReplicas plus live boosts, Ceiling is maxReplicas. Both are
	// the pin's number under a pin, at most maxReplicas.
	Floor   int
	Ceiling int
	// Sight says whether a new leader still waits for counts. Until it has
	// them, Limit says nothing of demand.
	Sight fleet.Sight
	// FreeSlots are the seats players could be sent to right now.
	FreeSlots int
	// Boosted is the sum of live boosts, not capped.
	Boosted int

	// Recheck is when time alone changes the plan, zero if it does not.
	Recheck time.Time
	// LastDecision is the whole decision as one line of numbers.
	LastDecision string
}
