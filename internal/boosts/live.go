// SPDX-License-Identifier: Apache-2.0

// Package boosts says what the boosts of one group come to at an instant.
package boosts

import (
	"cmp"
	"time"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/fleet"
)

// Boost is one ScaleBoost of a group.
type Boost struct {
	Name string
	Mode v1alpha1.BoostMode
	// Replicas is how many servers it adds, or how many it holds the group at.
	Replicas int
	// CreatedAt tells the newest of several pins.
	CreatedAt time.Time
	// ExpiresAt is when it stops counting; zero means never.
	ExpiresAt time.Time
}

// Live is true before the instant the boost names, and no longer at it.
func (b Boost) Live(now time.Time) bool {
	return b.ExpiresAt.IsZero() || b.ExpiresAt.After(now)
}

// newerThan orders pins: by creation, and by name where the API server's clock
// of whole seconds cannot tell them apart.
func (b Boost) newerThan(other Boost) bool {
	return cmp.Or(b.CreatedAt.Compare(other.CreatedAt), cmp.Compare(b.Name, other.Name)) > 0
}

// Pin is the boost that holds a group at a number. The zero value holds
// nothing.
type Pin struct {
	// Name of the boost.
	Name     string
	Replicas int
	// Until is when it ends; zero means never.
	Until time.Time
}

// Holds is true while there is a pin.
func (p Pin) Holds() bool { return p.Name != "" }

// Effect is what a group's boosts do together.
type Effect struct {
	// Added is the sum of the live ones of mode Add, not capped by anything. It
	// is 0 under a pin, where they pause.
	Added int
	Pin   Pin
	// NextExpiry is when the effect changes by itself: later than now, or zero
	// when it never does.
	NextExpiry time.Time
}

// At sums up the boosts that are live. Those of mode Add never replace one
// another; of those of mode Exact the newest pins the group. A persistent group
// has its own number, and no pin.
func At(now time.Time, group v1alpha1.GroupType, boosts []Boost) Effect {
	var added Effect
	var pin Boost
	for _, b := range boosts {
		switch {
		case !b.Live(now):
		case b.Mode == v1alpha1.BoostExact:
			if group == v1alpha1.GroupEphemeral && (pin.Name == "" || b.newerThan(pin)) {
				pin = b
			}
		default:
			added.Added += max(0, b.Replicas)
			added.NextExpiry = fleet.Earliest(added.NextExpiry, b.ExpiresAt)
		}
	}
	if pin.Name != "" {
		return Effect{Pin: Pin{Name: pin.Name, Replicas: max(0, pin.Replicas), Until: pin.ExpiresAt}, NextExpiry: pin.ExpiresAt}
	}
	return added
}
