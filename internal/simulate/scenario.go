// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"math/rand/v2"
	"time"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/routing"
)

// Range is a stretch from which durations are drawn.
type Range struct{ Least, Most time.Duration }

// Always is a range of one duration.
func Always(d time.Duration) Range { return Range{d, d} }

func (r Range) draw(chance *rand.Rand) time.Duration {
	if r.Most <= r.Least {
		return r.Least
	}
	return r.Least + time.Duration(chance.Int64N(int64(r.Most-r.Least)))
}

// Pace says how long the ways between the parts of a network are.
type Pace struct {
	// Cache is the time from a write until the manager's cache shows it.
	Cache Range
	// News is the time from a change on a server until the manager hears it.
	News Range
	// Directory is the time from what the manager knows until proxies do.
	Directory Range
	// Join is the time from a seat to a world.
	Join Range
	// Save is the time a game takes to save its world, Stop the time to stop.
	Save, Stop Range
	// Unsure is the share of creates that end without an answer.
	Unsure float64
}

// Group is a ServerGroup to be, and how its image behaves.
type Group struct {
	Name string
	Spec v1alpha1.ServerGroupSpec
	// Boot is the time from a pod to a game that takes players.
	Boot Range
	// Round makes a game of rounds of it; zero lets players come and go.
	Round Round
}

// Round is how a game of rounds is played. Its door closes a while after enough
// players came, and its game exits at the end.
type Round struct {
	Players   int
	Countdown time.Duration
	Length    Range
}

// Visit is one person who plays for a while. They leave at Until wherever they
// are, also when they never got in.
type Visit struct {
	At, Until time.Time
	// Stops are the groups they go to, by index. Who is done with one goes on.
	Stops []Stop
}

// Stop is a stay in one group; it ends early when its round does.
type Stop struct {
	Group int
	Stay  time.Duration
}

// Turn is something that happens to the network at an instant.
type Turn struct {
	At time.Time
	Do func(*World)
}

// Ticks says whether the passes that change nothing are made.
type Ticks uint8

const (
	// TicksWhenDue leaves out a tick when the plan before says that nothing
	// changes until then and nothing has happened.
	TicksWhenDue Ticks = iota
	// TicksAlways makes every one, as the manager does.
	TicksAlways
)

// Scenario is all there is to a run: the same one runs the same way.
type Scenario struct {
	Seed       uint64
	Start, End time.Time
	Groups     []Group
	// Fallback is the group of a first join, and of whoever must leave a server.
	Fallback int
	// Strategy is how proxies choose among the servers of a group.
	Strategy routing.Strategy
	// Visits and Turns in the order of time.
	Visits []Visit
	Turns  []Turn
	Pace   Pace
	Ticks  Ticks
	// Nodes is how many nodes the pods spread over.
	Nodes int
	// Hold is how long a player without a place waits, Held how many may.
	Hold time.Duration
	Held int
}

// Swift is the pace of a healthy cluster.
func Swift() Pace {
	return Pace{
		Cache:     Range{5 * time.Millisecond, 120 * time.Millisecond},
		News:      Range{10 * time.Millisecond, 150 * time.Millisecond},
		Directory: Range{50 * time.Millisecond, 150 * time.Millisecond},
		Join:      Range{time.Second, 4 * time.Second},
		Save:      Range{50 * time.Millisecond, 1500 * time.Millisecond},
		Stop:      Range{2 * time.Second, 8 * time.Second},
	}
}
