// SPDX-License-Identifier: Apache-2.0

// Package allowance bounds what a plugin may ask for in the name of its server:
// boosts of the server's own group, and the retirement of the server itself; and
// what staff may ask for in the game, of any group.
package allowance

import (
	"cmp"
	"fmt"
	"time"
)

// Bounds of what may be asked for.
const (
	// DefaultFor is how long a boost lasts of which nobody says so.
	DefaultFor = time.Hour
	// LongestFor is how long one may last.
	LongestFor = 7 * 24 * time.Hour
	// BoostsPerServer and BoostsPerGroup are how many live boosts one server,
	// and all servers of a group, may have made.
	BoostsPerServer, BoostsPerGroup = 3, 16
	// BoostsByStaff is how many live boosts of one group staff may have made in
	// the game.
	BoostsByStaff = 32
	// RetireAfter is how long a server has to have been ready before it may
	// retire itself: one that did so at its start would be replaced for ever.
	RetireAfter = time.Minute
)

// Cause says in one word why something is not granted.
type Cause int

const (
	// Malformed asks cannot be granted by anybody.
	Malformed Cause = iota + 1
	// Unsuited means that the group is of a kind that has no use for it.
	Unsuited
	// Beyond means that a bound of the group's would be passed.
	Beyond
	// TooMany means that enough of them stand already.
	TooMany
	// TooSoon means that it may be granted later.
	TooSoon
)

// String is the word.
func (c Cause) String() string {
	switch c {
	case Malformed:
		return "Malformed"
	case Unsuited:
		return "Unsuited"
	case Beyond:
		return "Beyond"
	case TooMany:
		return "TooMany"
	case TooSoon:
		return "TooSoon"
	}
	return "Unknown"
}

// Denial is why something is not granted.
type Denial struct {
	Cause Cause
	// Why says so to a person, in one sentence.
	Why string
}

func deny(cause Cause, format string, arguments ...any) *Denial {
	return &Denial{Cause: cause, Why: fmt.Sprintf(format, arguments...)}
}

// Size says who decides how many servers a group has.
type Size int

const (
	// Scaled groups are sized by demand, between two numbers.
	Scaled Size = iota
	// Fixed groups have the number that their owner wrote.
	Fixed
)

// Group is what bears on a boost.
type Group struct {
	Name string
	Size Size
	// Min and Max are minReplicas and maxReplicas.
	Min, Max int
	// Boosted is what its live boosts of mode Add come to.
	Boosted int
	// MadeByServers is how many of those its servers made, and MadeByThis how
	// many this one made.
	MadeByServers, MadeByThis int
	// MadeByStaff is how many live boosts of any mode were made in the game.
	MadeByStaff int
}

// Boost is what is asked for.
type Boost struct {
	// Server asks; empty: staff does.
	Server   string
	Replicas int
	// For is how long it lasts; 0: DefaultFor.
	For time.Duration
}

// Admit says when a boost that is granted now ends, or why it is not granted.
func (b Boost) Admit(group Group, now time.Time) (time.Time, *Denial) {
	lasts := cmp.Or(b.For, DefaultFor)
	floor := group.Min + group.Boosted + b.Replicas
	switch {
	case b.Replicas < 1:
		return time.Time{}, deny(Malformed, "replicas is %d and has to be at least 1", b.Replicas)
	case lasts < time.Second || lasts > LongestFor:
		return time.Time{}, tooLong(lasts)
	case group.Size == Fixed:
		return time.Time{}, fixed(group)
	case group.MadeByThis >= BoostsPerServer:
		return time.Time{}, deny(TooMany, "%s has made %d boosts that still last, the most a server may have; end one first", b.Server, group.MadeByThis)
	case group.MadeByServers >= BoostsPerGroup:
		return time.Time{}, deny(TooMany, "the servers of %s have made %d boosts that still last, the most they may have; end one first", group.Name, group.MadeByServers)
	case b.Server == "" && group.MadeByStaff >= BoostsByStaff:
		return time.Time{}, tooManyByStaff(group)
	case floor > group.Max:
		return time.Time{}, deny(Beyond, "%d more than minReplicas %d and live boosts of %d are %d servers, and maxReplicas of %s is %d",
			b.Replicas, group.Min, group.Boosted, floor, group.Name, group.Max)
	}
	return now.Add(lasts), nil
}

func tooLong(lasts time.Duration) *Denial {
	return deny(Malformed, "a boost lasts at least a second and at most seven days, and %s was asked for", lasts)
}

func fixed(group Group) *Denial {
	return deny(Unsuited, "%s is persistent: its owner's replicas say how many servers it has, and a boost moves nothing there", group.Name)
}

func tooManyByStaff(group Group) *Denial {
	return deny(TooMany, "%d boosts of %s still last that were made in the game, the most there may be; /cloud stop %s ends them", group.MadeByStaff, group.Name, group.Name)
}

// Pin is a number of servers that staff wants a group held at.
type Pin struct {
	Replicas int
	// For is how long it lasts; 0: DefaultFor.
	For time.Duration
}

// Admit says when a pin that is granted now ends, or why it is not granted.
func (p Pin) Admit(group Group, now time.Time) (time.Time, *Denial) {
	lasts := cmp.Or(p.For, DefaultFor)
	switch {
	case p.Replicas < 0:
		return time.Time{}, deny(Malformed, "a group is held at 0 servers or more, and %d was asked for", p.Replicas)
	case lasts < time.Second || lasts > LongestFor:
		return time.Time{}, tooLong(lasts)
	case group.Size == Fixed:
		return time.Time{}, fixed(group)
	case group.MadeByStaff >= BoostsByStaff:
		return time.Time{}, tooManyByStaff(group)
	case p.Replicas > group.Max:
		return time.Time{}, deny(Beyond, "%d servers are more than maxReplicas of %s, which is %d", p.Replicas, group.Name, group.Max)
	}
	return now.Add(lasts), nil
}

// Server is what bears on a server that wants to retire.
type Server struct {
	Name string
	// Group is the name of its group, Size who decides about that.
	Group string
	Size  Size
	// Phase is where it is in its life.
	Phase Phase
	// ReadySince is when it became ready; zero: never.
	ReadySince time.Time
}

// Phase is where a server is in its life, as far as it matters here.
type Phase int

const (
	// Growing servers take no players yet.
	Growing Phase = iota
	// Serving ones take players.
	Serving
	// Leaving ones are on their way out.
	Leaving
)

// Retire says whether a server is to retire now, or why not. One that is on its
// way out is, once more.
func (s Server) Retire(now time.Time) *Denial {
	switch {
	case s.Size == Fixed:
		return deny(Unsuited, "%s is of the persistent group %s, where nothing takes its place; PUT /v1/joins with joins Closed to take nobody new", s.Name, s.Group)
	case s.Phase == Leaving:
		return nil
	case s.Phase == Growing:
		return deny(TooSoon, "%s is not ready yet; a server retires once it has been ready for %s", s.Name, RetireAfter)
	case now.Sub(s.ReadySince) < RetireAfter:
		return deny(TooSoon, "%s has been ready for %s only; a server retires once it has been ready for %s",
			s.Name, now.Sub(s.ReadySince).Round(time.Second), RetireAfter)
	}
	return nil
}

// RetireByStaff says whether a server is to retire because staff wants it, or
// why not.
func (s Server) RetireByStaff() *Denial {
	if s.Size == Fixed {
		return deny(Unsuited, "%s is of the persistent group %s, where nothing takes its place: its owner's replicas say which servers it has", s.Name, s.Group)
	}
	return nil
}
