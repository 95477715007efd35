// SPDX-License-Identifier: Apache-2.0

package local

import (
	"context"
	"sync"
)

// The rest of an invented network: one more server, and a proxy.
const (
	otherGroup  = "arena"
	otherServer = "arena-k3q9"
	otherSlots  = 16
	proxyGroup  = "front"
)

// Invented is a server that does not exist, for plugins that are tried without
// a cluster. It is Ready, empty, and does whatever it is asked for. Its network
// has one more server, in another group.
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

// Network describes the invented network.
func (i *Invented) Network(context.Context) (Network, <-chan struct{}, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	free := i.self.PlayableSlots
	if i.self.Joins == Closed {
		free = 0
	}
	return Network{
		Groups: []Group{
			{Name: i.self.Group, DisplayName: i.self.DisplayName, FreeSeats: free},
			{Name: otherGroup, DisplayName: otherGroup, FreeSeats: otherSlots},
		},
		Servers: []Server{
			{
				Name: i.self.Server, Group: i.self.Group, DisplayName: i.self.DisplayName, State: string(Ready),
				Joins: i.self.Joins, Players: new(int), Slots: i.self.Slots, FreeSeats: free,
			},
			{
				Name: otherServer, Group: otherGroup, DisplayName: otherGroup, State: string(Ready),
				Joins: Open, Players: new(int), Slots: otherSlots, FreeSeats: otherSlots,
			},
		},
		Proxies: []Proxies{{Group: proxyGroup, Proxies: 1}},
	}, i.changed, nil
}
