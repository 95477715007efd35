// SPDX-License-Identifier: Apache-2.0

package local

import "sync"

// Invented is a server that does not exist, for plugins that are tried without
// a cluster. It is Ready, empty, and does whatever it is asked for.
type Invented struct {
	told func(Self)

	mu      sync.Mutex
	self    Self
	group   int
	changed chan struct{}
}

// NewInvented makes a server of a group with that many slots and playable
// slots; told gets the server whenever a plugin has changed it.
func NewInvented(server, group string, slots, playableSlots int, told func(Self)) *Invented {
	made := &Invented{
		told: told, group: playableSlots, changed: make(chan struct{}),
		self: Self{Server: server, Group: group, DisplayName: group, State: Ready, Players: new(int), Slots: slots},
	}
	made.settle()
	return made
}

// settle works out what follows from the wishes. The caller holds the lock.
func (i *Invented) settle() {
	i.self.PlayableSlots = i.self.Wishes.Seats(i.group, i.self.Slots)
	i.self.Joins = i.self.Wishes.Door()
}

// Self describes the invented server.
func (i *Invented) Self() (Self, <-chan struct{}) {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.self, i.changed
}

// Wish takes everything.
func (i *Invented) Wish(change func(*Wishes)) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	change(&i.self.Wishes)
	i.settle()
	close(i.changed)
	i.changed = make(chan struct{})
	i.told(i.self)
	return nil
}
