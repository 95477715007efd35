// SPDX-License-Identifier: Apache-2.0

// Package routing decides which server gets the next player. It chooses by what
// is known network-wide; the server itself has the last word about its seats.
package routing

import (
	"cmp"
	"slices"

	"github.com/spawnery/spawnery-operator/internal/fleet"
)

// Claim is how strong a player's case for a place is.
type Claim uint8

const (
	// ByChoice is a first join, or a switch to a group: the player could also
	// go elsewhere, and gets a free playable seat behind an open door.
	ByChoice Claim = iota
	// ByNeed is a player who must leave their server, or has been held as long
	// as anybody is: any seat behind an open door, a playable one if there is.
	ByNeed
	// ByName is a player sent to this very server: any seat, also behind a
	// closed door.
	ByName
)

// Privilege is what a permission adds to a claim.
type Privilege uint8

const (
	// Ordinary adds nothing.
	Ordinary Privilege = iota
	// JoinsFull lets the player in beyond the playable seats of the group.
	JoinsFull
)

// Strategy chooses among the servers of a group.
type Strategy uint8

const (
	// Spread takes the server with the fewest players.
	Spread Strategy = iota
	// Fill takes the server with the most players of those that have a free
	// playable seat, so that others empty and can go. Where only seats beyond
	// the playable ones are left it spreads: those are nobody's to fill.
	Fill
)

// Server is one server as the proxies know it.
type Server struct {
	Name  string
	Seats fleet.Seats
	// Players are those on the server, from all proxies.
	Players int
	// InFlight are the seats given to players who have not arrived yet.
	InFlight int
	// Counts says how far Players can be trusted. A server nobody hears most
	// likely refuses, so it is asked last.
	Counts fleet.CountState
	Door   fleet.Door
}

// load is how many players are on the server or on the way there.
func (s *Server) load() int { return s.Players + s.InFlight }

// Group is one entry of the list of groups that is tried in order.
type Group struct {
	Name    string
	Servers []Server
	// Privilege is the player's for this group.
	Privilege Privilege
}

// Request is one player in search of a place.
type Request struct {
	Claim    Claim
	Strategy Strategy
	// Groups in the order in which they are tried. With ByName it is the one
	// server that was named.
	Groups []Group
	// Exclude names servers that are out of the question: the one that kicked
	// the player, and those that have refused in this search.
	Exclude []string
}

// Lack says why nobody can be asked.
type Lack uint8

const (
	// LackNothing means there is somebody to ask.
	LackNothing Lack = iota
	// LackServers means there is no server to choose from.
	LackServers
	// LackSeats means there are servers, and they are full.
	LackSeats
)

// Candidate is a server worth asking for a seat.
type Candidate struct {
	Group  string
	Server string
}

// Ranking is whom to ask, in this order.
type Ranking struct {
	Candidates []Candidate
	Lack       Lack
}

// Rank orders the servers that have a seat: group by group in their order, by
// the strategy within one, ties by name. The answer depends on nothing else, so
// any number of proxies with one view choose alike.
func Rank(r Request) Ranking {
	ranking := Ranking{Lack: LackServers}
	var seated []seat // reused, group by group
	for i := range r.Groups {
		group := &r.Groups[i]
		var open bool
		if seated, open = r.seated(group, seated[:0]); open {
			ranking.Lack = LackSeats
		}
		slices.SortFunc(seated, seat.compare)
		ranking.Candidates = slices.Grow(ranking.Candidates, len(seated))
		for _, s := range seated {
			ranking.Candidates = append(ranking.Candidates, Candidate{Group: group.Name, Server: s.server})
		}
	}
	if len(ranking.Candidates) > 0 {
		ranking.Lack = LackNothing
	}
	return ranking
}

// seat is a server that has one for the claim, and what ranks it.
type seat struct {
	server string
	tier   tier
	// order within the tier, the lowest first.
	order int
}

func (s seat) compare(other seat) int {
	if s.tier != other.tier {
		return cmp.Compare(s.tier, other.tier)
	}
	if s.order != other.order {
		return cmp.Compare(s.order, other.order)
	}
	return cmp.Compare(s.server, other.server)
}

// seated appends the servers of a group that have a seat for the claim, and
// says whether there are any the player may be sent to, seats aside.
func (r *Request) seated(group *Group, found []seat) ([]seat, bool) {
	open := false
	for i := range group.Servers {
		s := &group.Servers[i]
		if (s.Door == fleet.DoorClosed && r.Claim != ByName) || slices.Contains(r.Exclude, s.Name) {
			continue
		}
		open = true
		if s.load() < r.limit(group, s) {
			found = append(found, r.seat(s))
		}
	}
	return found, open
}

func (r *Request) seat(s *Server) seat {
	found := seat{server: s.Name, tier: s.tier(), order: s.load()}
	if r.Strategy == Fill && found.tier == playable {
		found.order = -found.order
	}
	return found
}

// limit is how many players the claim may find on a server at most.
func (r *Request) limit(group *Group, s *Server) int {
	if r.Claim == ByChoice && group.Privilege == Ordinary {
		return s.Seats.Playable
	}
	return s.Seats.Slots
}

// tier ranks before the number of players does.
type tier uint8

const (
	playable tier = iota // a playable seat is free
	full                 // only seats beyond the playable ones are
	unheard              // nobody knows
)

func (s *Server) tier() tier {
	switch {
	case s.Counts != fleet.CountsFresh:
		return unheard
	case s.load() >= s.Seats.Playable:
		return full
	}
	return playable
}
