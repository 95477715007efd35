// SPDX-License-Identifier: Apache-2.0

package fleet

import "time"

// CountState says what is known about the number of players on a server.
type CountState uint8

const (
	// CountsUnknown means nothing was heard from its agent since this manager leads.
	CountsUnknown CountState = iota
	// CountsStale means the last sample is older than two report intervals.
	CountsStale
	// CountsFresh means the last sample is recent enough to act on.
	CountsFresh
)

// Counts is the number of players on a server and how far it can be trusted.
// The zero value is unknown. Only Fresh and Stale make any other value, so a
// number that nobody reported cannot be written down.
type Counts struct {
	state   CountState
	players int
	seated  int
	sampled time.Time
}

// Fresh is a recent count. The sample time is the one of the game's side.
func Fresh(players int, sampled time.Time) Counts {
	return Counts{state: CountsFresh, players: max(0, players), seated: max(0, players), sampled: sampled}
}

// Stale is a count whose sample is too old to act on.
func Stale(players int, sampled time.Time) Counts {
	return Counts{state: CountsStale, players: max(0, players), seated: max(0, players), sampled: sampled}
}

// State says how far the count can be trusted.
func (c Counts) State() CountState { return c.state }

// Players is the last number heard, 0 when there is none.
func (c Counts) Players() int { return c.players }

// Seating is the same count with another number of seats taken.
func (c Counts) Seating(seated int) Counts {
	c.seated = max(0, seated)
	return c
}

// Seated is how many seats are taken. It is Players unless Seating says that
// somebody is on the way here, or was counted here and is elsewhere by now:
// demand counts everybody once, caution counts wherever somebody may be.
func (c Counts) Seated() int { return c.seated }

// Sampled is when the number was taken, zero when there is none.
func (c Counts) Sampled() time.Time { return c.sampled }

// KnownEmpty is true when a recent sample says that nobody is there.
func (c Counts) KnownEmpty() bool { return c.state == CountsFresh && c.players == 0 }

// RosterState is what the proxies together say about one server.
type RosterState uint8

const (
	// RosterUnclear means the Network has no proxy, or one that exists is not
	// connected or not fresh.
	RosterUnclear RosterState = iota
	// RosterPlayers means a proxy reports somebody there or on the way there.
	RosterPlayers
	// RosterNobody means every proxy that exists is fresh and reports nobody.
	RosterNobody
)

// RosterConfirms is how long all proxies must agree that nobody is on a server
// before their word replaces that of an agent nobody hears.
const RosterConfirms = 60 * time.Second

// Roster is the proxies' view of who is on one server. The zero value is
// unclear.
type Roster struct {
	state RosterState
	since time.Time
}

// SomebodyThere is the roster while a proxy reports a player on the server or
// on the way to it.
func SomebodyThere() Roster { return Roster{state: RosterPlayers} }

// NobodySince is the roster of proxies that all agree since the given instant.
func NobodySince(since time.Time) Roster { return Roster{state: RosterNobody, since: since} }

// State is what the proxies say now.
func (r Roster) State() RosterState { return r.state }

// ConfirmedAt is the instant from which the roster is as good as a count of
// zero; the zero time when it says no such thing.
func (r Roster) ConfirmedAt() time.Time {
	if r.state != RosterNobody {
		return time.Time{}
	}
	return r.since.Add(RosterConfirms)
}

func (r Roster) confirmsNobody(now time.Time) bool {
	return r.state == RosterNobody && !now.Before(r.ConfirmedAt())
}

// Registration is a server's standing with the proxies.
type Registration uint8

const (
	// NeverRegistered means no proxy was ever told of it, so it carries nobody.
	NeverRegistered Registration = iota
	// Registered means it is in the list the proxies are given.
	Registered
	// Deregistered means it was in that list once and is not now.
	Deregistered
)

// Ever is true once the server was in the proxies' list.
func (r Registration) Ever() bool { return r != NeverRegistered }

// Presence is everything that bears on whether players are on a server.
type Presence struct {
	Registration Registration
	Counts       Counts
	Roster       Roster
}

// Occupied is true unless it is known that nobody is on the server or on the
// way to it. Unknown is occupied. Two things make it known without a count: it
// was never registered, or all proxies have agreed for RosterConfirms, since
// players come through proxies only.
func (p Presence) Occupied(now time.Time) bool {
	if p.Counts.state == CountsFresh && p.Counts.players > 0 {
		return true
	}
	if !p.Registration.Ever() {
		return false
	}
	if p.Roster.state == RosterPlayers {
		return true
	}
	return p.Counts.state != CountsFresh && !p.Roster.confirmsNobody(now)
}

// ClearsAt is the instant at which Occupied turns false by the mere passing of
// time, or the zero time when only news can change the answer.
func (p Presence) ClearsAt(now time.Time) time.Time {
	if !p.Occupied(now) || p.Counts.state == CountsFresh {
		return time.Time{}
	}
	return p.Roster.ConfirmedAt()
}

// EmptySince follows how long the server has been empty without a break. It
// starts at the first fresh zero once players can come, for that nobody came to
// a server that was still starting says nothing about demand. It ends with any
// sign of a player; silence neither starts nor ends it, so a restart of the
// manager forgets nothing.
func (p Presence) EmptySince(was, now time.Time) time.Time {
	switch {
	case p.Roster.state == RosterPlayers || p.Counts.players > 0:
		return time.Time{}
	case was.IsZero() && p.Registration.Ever() && p.Counts.KnownEmpty():
		return now
	}
	return was
}
