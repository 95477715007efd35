// SPDX-License-Identifier: Apache-2.0

// Package placing finds a player a seat: it chooses a server by what is known
// of all of them, and asks that server's agent, which alone decides.
package placing

import (
	"fmt"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/seats"
)

// Claim is how strong a player's case for a place is.
type Claim int

const (
	// ClaimChoice is somebody who could also go elsewhere: they get a free
	// playable seat behind an open door.
	ClaimChoice Claim = iota
	// ClaimNeed is somebody who must leave where they are, or has waited as
	// long as anybody is made to: any seat behind an open door.
	ClaimNeed
	// ClaimName is somebody sent to this very server: any seat, also behind a
	// door that is closed to unasked players.
	ClaimName
)

// way is the claim in the words of the seat protocol.
func (c Claim) way() seats.Way {
	if c == ClaimChoice {
		return seats.ByChoice
	}
	return seats.ByName
}

// Request describes a search.
type Request struct {
	Player seats.Player
	Claim  Claim
	// Groups are tried in order. Unused with ClaimName.
	Groups []string
	// Server is the one that is wanted, with ClaimName.
	Server string
	// Avoid leaves servers out, by name. Optional.
	Avoid func(server string) bool
	// Bypass says whether the player may join full rounds of a group.
	// Optional: nobody may.
	Bypass func(group string) bool
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
)

// NoPlace is returned when no server has a seat for the player.
type NoPlace struct {
	Lack Lack
	// Group that lacked it, of several the first one with any server.
	Group string
}

// Error implements error.
func (n *NoPlace) Error() string {
	switch n.Lack {
	case LackServers:
		return fmt.Sprintf("no server of %q can be joined", n.Group)
	case LackSeats:
		return fmt.Sprintf("no server of %q has a free seat", n.Group)
	case LackAnswers:
		return fmt.Sprintf("no agent of %q answered", n.Group)
	}
	return "no place"
}

// open reports whether the door lets the claim through.
func (c Claim) open(door agentv1alpha1.DoorState) bool {
	if door == agentv1alpha1.DoorState_DOOR_STATE_BY_NAME {
		return c == ClaimName
	}
	return door == agentv1alpha1.DoorState_DOOR_STATE_OPEN
}
