// SPDX-License-Identifier: Apache-2.0

package fleet

import "cmp"

// Seats are the places of one server. Slots is the limit it enforces, Playable
// how many of those count as capacity.
type Seats struct {
	Slots    int
	Playable int
}

// Figures are the places where a number of seats may come from. Zero means
// that nobody set the figure.
type Figures struct {
	// Plugin is what the server's own plugin set.
	Plugin int
	// Group is the group's spec.playableSlots.
	Group int
	// Slots is the limit the server enforces.
	Slots int
}

// NewSeats settles a server's seats: what its plugin set, else what the group
// says, else all its slots; never more than its slots.
func NewSeats(f Figures) Seats {
	playable := cmp.Or(f.Plugin, f.Group, f.Slots)
	return Seats{Slots: f.Slots, Playable: min(playable, f.Slots)}
}

// Capacity is what one server brings before it has said anything:
// playableSlots when the group sets it (not 0), else maxPlayers.
func Capacity(playableSlots, maxPlayers int) int {
	return cmp.Or(playableSlots, maxPlayers)
}

// Free is how many playable seats are left beside that many players.
func (s Seats) Free(players int) int { return max(0, s.Playable-players) }
