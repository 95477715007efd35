// SPDX-License-Identifier: Apache-2.0

// Package boosts says what the boosts of one group come to at an instant.
package boosts

import (
	"time"

	"github.com/spawnery/spawnery-operator/internal/fleet"
)

// Boost is one ScaleBoost that adds to a group's floor.
type Boost struct {
	// Replicas is how many servers it adds.
	Replicas int
	// ExpiresAt is when it stops counting; zero means never.
	ExpiresAt time.Time
}

// Live is true before the instant the boost names, and no longer at it.
func (b Boost) Live(now time.Time) bool {
	return b.ExpiresAt.IsZero() || b.ExpiresAt.After(now)
}

// Effect is what a group's boosts do together.
type Effect struct {
	// Added is the sum of the live ones, not capped by anything.
	Added int
	// NextExpiry is when the first of them stops counting: later than now, or
	// zero when none of them ever does.
	NextExpiry time.Time
}

// At adds up the boosts that are live. Boosts never replace one another.
func At(now time.Time, boosts []Boost) Effect {
	var e Effect
	for _, b := range boosts {
		if !b.Live(now) {
			continue
		}
		e.Added += max(0, b.Replicas)
		e.NextExpiry = fleet.Earliest(e.NextExpiry, b.ExpiresAt)
	}
	return e
}
