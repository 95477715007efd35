// SPDX-License-Identifier: Apache-2.0

// Package seats is the protocol by which a proxy asks a server's agent for a
// seat before it connects a player: its messages, its signature, the proxy's
// client and the agent's verifier. The ledger behind it is the agent's.
package seats

import (
	"fmt"
	"time"

	"github.com/google/uuid"
)

// Where and when the protocol happens. The paths belong to the game pod's
// address: POST Path asks, PUT Path/{id} renews, DELETE Path/{id} releases.
const (
	// Port of the agent on its pod's address.
	Port = 9357
	// Path of the collection of seats.
	Path = "/v1/seats"
	// Lifetime of a seat after it was granted or renewed.
	Lifetime = 15 * time.Second
	// RenewEvery is the interval in which a proxy renews a seat for as long
	// as the connection it was granted for lives and has not joined.
	RenewEvery = 5 * time.Second
	// MaxBody bounds a request's body, in bytes.
	MaxBody = 16 << 10
)

// Way says how the player came to this server.
type Way string

const (
	// ByChoice is a player who was given this server by routing. A closed
	// door and taken playable seats are answers to it.
	ByChoice Way = "Choice"
	// ByName is a player sent to this very server, or one who must have some
	// place: admitted up to the server's slots, also through a closed door.
	ByName Way = "Named"
)

// Player is who wants the seat, as the proxy authenticated them.
type Player struct {
	UUID uuid.UUID `json:"uuid"`
	Name string    `json:"name"`
}

// Ask is the body of a question and of a renewal. A renewal restates the
// question, so that an agent that lost its ledger can admit the player again
// under the same id.
type Ask struct {
	// Server is the name of the Server that is meant. Addresses are used
	// again: an agent of another Server refuses with WrongServer.
	Server string `json:"server"`
	Player Player `json:"player"`
	// Bypass is set for a player who may join a full round: they take no
	// playable seat and are admitted up to the server's slots.
	Bypass bool `json:"bypass,omitempty"`
	Way    Way  `json:"way"`
}

// Seat is the agent's answer when the player may come.
type Seat struct {
	// ID names the seat in renewals and in the release.
	ID string `json:"id"`
	// ExpiresSeconds is how long the seat holds without a renewal.
	ExpiresSeconds int32 `json:"expiresSeconds"`
	// Taken is how many players are online there or have a seat, this one
	// included. It is newer than any directory, so a proxy that spreads
	// players sees by it whether another server has become the emptier one.
	Taken int32 `json:"taken"`
	// SignedWith is the place, among the client's secrets, of the one the
	// agent knew: its game knows that one too.
	SignedWith int `json:"-"`
}

// Reason says why a seat was refused.
type Reason string

const (
	// UnknownCounts: the agent does not know who is online.
	UnknownCounts Reason = "UnknownCounts"
	// PlayableSeatsTaken: the group enforces its playable seats and they are
	// taken.
	PlayableSeatsTaken Reason = "PlayableSeatsTaken"
	// Full: the server's slots are taken.
	Full Reason = "Full"
	// DoorClosed: a plugin closed the door, and the player came by choice.
	DoorClosed Reason = "DoorClosed"
	// NotReady: the game does not accept players.
	NotReady Reason = "NotReady"
	// WrongServer: the agent serves another Server than the one meant.
	WrongServer Reason = "WrongServer"
	// UnknownSeat: a renewal of a seat that the agent can not admit again.
	UnknownSeat Reason = "UnknownSeat"
	// NotSigned: the signature is missing, wrong, stale or was seen before.
	NotSigned Reason = "NotSigned"
	// Malformed: the request can not be read.
	Malformed Reason = "Malformed"
)

// Refusal is the agent's answer when the player may not come. It is returned
// by the Client as an error; find it with errors.As.
type Refusal struct {
	Reason Reason `json:"reason"`
	// Message is one sentence for a person.
	Message string `json:"message"`
}

// Error implements error.
func (r *Refusal) Error() string {
	return fmt.Sprintf("seat refused: %s: %s", r.Reason, r.Message)
}
