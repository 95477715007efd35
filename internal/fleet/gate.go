// SPDX-License-Identifier: Apache-2.0

package fleet

import "time"

// GateState says whether a group may create servers.
type GateState uint8

const (
	// GateOpen means creates go ahead.
	GateOpen GateState = iota
	// GateWaiting means creates wait for the end of a back-off window.
	GateWaiting
	// GateGivenUp means only a success, an edit or a retry opens it again.
	GateGivenUp
)

// Gate is what a group's failures leave of its right to create servers.
// Deletions, retirements and drains pass it freely. The zero value is open.
type Gate struct {
	state GateState
	until time.Time
}

// WaitUntil is a gate that opens by itself at the given instant.
func WaitUntil(until time.Time) Gate { return Gate{state: GateWaiting, until: until} }

// GivenUp is a gate that time alone does not open.
func GivenUp() Gate { return Gate{state: GateGivenUp} }

// State says whether creates pass.
func (g Gate) State() GateState { return g.state }

// OpensAt is when a waiting gate opens, else the zero time.
func (g Gate) OpensAt() time.Time { return g.until }
