// SPDX-License-Identifier: Apache-2.0

// Package placing finds a player a seat: it ranks servers by what is known of
// all of them, and asks their agents, which alone decide.
package placing

import (
	"fmt"

	"github.com/spawnery/spawnery-operator/internal/proxy/directory"
	"github.com/spawnery/spawnery-operator/internal/routing"
	"github.com/spawnery/spawnery-operator/internal/seats"
)

// Request describes a search.
type Request struct {
	Player seats.Player
	Claim  routing.Claim
	// Groups are tried in order. Unused with routing.ByName.
	Groups []string
	// Server is the one that is wanted, with routing.ByName.
	Server string
	// Exclude names servers that are out of the question.
	Exclude []string
	// Privilege is the player's for a group. Optional: they have none.
	Privilege func(group string) routing.Privilege

	strategy routing.Strategy // the network's when the search began
}

func (r Request) privilege(group string) routing.Privilege {
	if r.Privilege == nil {
		return routing.Ordinary
	}
	return r.Privilege(group)
}

// way is the claim in the words of the seat protocol.
func (r Request) way() seats.Way {
	if r.Claim == routing.ByChoice {
		return seats.ByChoice
	}
	return seats.ByName
}

// wanted is the first group the player would go to, of those that exist: nobody
// waits for a server of a group that never has one.
func (r Request) wanted(view *directory.View) string {
	for _, group := range r.Groups {
		if view.HasGroup(group) {
			return group
		}
	}
	if len(r.Groups) == 0 {
		return ""
	}
	return r.Groups[0]
}

// Lack says why no place was found.
type Lack int

const (
	// LackServers: there is no server to choose from.
	LackServers Lack = iota
	// LackSeats: there are servers, and they are full.
	LackSeats
	// LackAnswers: there are servers, and their agents did not answer.
	LackAnswers
	// LackPermission: the player may join none of the groups. No Finder says so:
	// it is not asked then.
	LackPermission
)

// NoPlace is returned when no server has a seat for the player.
type NoPlace struct {
	Lack Lack
	// Group is the first one that was wanted.
	Group string
}

// Error implements error.
func (n *NoPlace) Error() string {
	switch n.Lack {
	case LackServers:
		return fmt.Sprintf("no server can be joined, %q was wanted first", n.Group)
	case LackSeats:
		return fmt.Sprintf("no server has a free seat, %q was wanted first", n.Group)
	case LackPermission:
		return fmt.Sprintf("no group may be joined, %q was wanted first", n.Group)
	case LackAnswers:
		return fmt.Sprintf("no agent answered, %q was wanted first", n.Group)
	}
	return "no place"
}
