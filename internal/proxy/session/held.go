// SPDX-License-Identifier: Apache-2.0

package session

import "sync"

// defaultMaxHeld is how many players a proxy holds that was told no number.
const defaultMaxHeld = 200

// Held counts the players of a proxy who wait for a place. Each costs a
// connection and a search a second, and bots could be any number.
type Held struct {
	mu    sync.Mutex
	count int
}

// enter counts a player in, unless that many wait already.
func (h *Held) enter(most int) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.count >= most {
		return false
	}
	h.count++
	return true
}

// Count is how many wait now.
func (h *Held) Count() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.count
}

func (h *Held) leave() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.count--
}

// maxHeld is how many the proxy holds at most.
func (p *Player) maxHeld() int {
	settings := p.world.Store.View().Settings
	if settings == nil || settings.MaxHeld == nil {
		return defaultMaxHeld
	}
	return int(settings.GetMaxHeld())
}
