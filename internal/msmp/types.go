// SPDX-License-Identifier: Apache-2.0

// Package msmp speaks the game's management protocol: JSON-RPC 2.0 in
// WebSocket text frames, which servers offer from 1.21.9 on. It holds the
// client and the types both sides share.
package msmp

import (
	"errors"
	"fmt"

	"github.com/google/uuid"
)

// SecretLength is the exact length of a secret; servers refuse to start with
// another one, or with anything but letters and digits in it.
const SecretLength = 40

// ErrUnauthorized means that the server does not accept the secret.
var ErrUnauthorized = errors.New("management protocol: the secret is not accepted")

// Player is a player as the server names it. The UUID is nil when the server
// left it out.
type Player struct {
	ID   uuid.UUID `json:"id,omitzero"`
	Name string    `json:"name,omitempty"`
}

// Version is what the server runs.
type Version struct {
	Name     string `json:"name"`
	Protocol int32  `json:"protocol"`
}

// Status is the state of the server. The port opens while the world still
// loads: Started is the sign that players can join.
type Status struct {
	Started bool     `json:"started"`
	Players []Player `json:"players,omitempty"` // servers leave it out when empty
	Version Version  `json:"version"`
}

// Method is the name of a call.
type Method string

// The calls we make.
const (
	MethodStatus        Method = "minecraft:server/status"
	MethodPlayers       Method = "minecraft:players"
	MethodSave          Method = "minecraft:server/save"
	MethodStop          Method = "minecraft:server/stop"
	MethodKick          Method = "minecraft:players/kick"
	MethodSystemMessage Method = "minecraft:server/system_message"
	MethodMaxPlayers    Method = "minecraft:serversettings/max_players"
	MethodDiscover      Method = "rpc.discover"
)

// Event is the name of a notification.
type Event string

// The notifications we use; servers send more.
const (
	EventStarted  Event = "minecraft:notification/server/started"
	EventStopping Event = "minecraft:notification/server/stopping"
	EventSaving   Event = "minecraft:notification/server/saving"
	EventSaved    Event = "minecraft:notification/server/saved"
	EventStatus   Event = "minecraft:notification/server/status"
	EventJoined   Event = "minecraft:notification/players/joined"
	EventLeft     Event = "minecraft:notification/players/left"
)

// Notification is one event. Player is set for players who joined or left,
// Status for the heartbeat.
type Notification struct {
	Event  Event
	Player Player
	Status Status
}

// ValidSecret says why a server would refuse to start with the secret, or nil.
func ValidSecret(secret string) error {
	if len(secret) != SecretLength {
		return fmt.Errorf("management secret has %d characters, want exactly %d", len(secret), SecretLength)
	}
	for _, c := range []byte(secret) {
		letter := c|0x20 >= 'a' && c|0x20 <= 'z'
		if digit := c >= '0' && c <= '9'; !letter && !digit {
			return errors.New("management secret holds something other than letters and digits")
		}
	}
	return nil
}
