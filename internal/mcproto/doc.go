// SPDX-License-Identifier: Apache-2.0

// Package mcproto reads and writes the Minecraft Java wire protocol as far as
// a proxy, a test server and test clients need it: frames with compression and
// encryption, packet fields, text components and the packet ids of every
// supported version. It knows no connection state and sets no deadline: both
// belong to the caller.
package mcproto

import (
	"errors"
	"fmt"
)

// ErrMalformed is wrapped by every error caused by the bytes of a peer, as
// opposed to the connection itself.
var ErrMalformed = errors.New("malformed packet")

// ErrBelowThreshold means that a packet was compressed although it is smaller
// than the threshold. It wraps ErrMalformed.
var ErrBelowThreshold = fmt.Errorf("%w: compressed below the threshold", ErrMalformed)

// Bounds on what a peer may make us hold in memory.
const (
	// MaxFrame is the largest length prefix the protocol can express: three
	// bytes of varint.
	MaxFrame = 1<<21 - 1
	// MaxInflated is the largest packet the game accepts after decompression.
	MaxInflated = 8 << 20
	// MaxStringChars is the game's general limit of a string, counted in
	// UTF-16 code units.
	MaxStringChars = 32767
)

// Lengths of a varint in bytes.
const (
	maxVarInt       = 5
	maxVarLong      = 10
	maxLengthPrefix = 3
)

// State is the phase of a connection; it decides what a packet id means.
type State int

// The states in the order in which a login passes through them. A play
// connection goes back to Configuration when it is switched to another server.
const (
	StateHandshake State = iota
	StateStatus
	StateLogin
	StateConfiguration
	StatePlay
)

var stateNames = [...]string{"handshake", "status", "login", "configuration", "play"}

// String names the state in lower case, for logs and errors.
func (s State) String() string {
	if s < 0 || int(s) >= len(stateNames) {
		return "unknown"
	}
	return stateNames[s]
}
