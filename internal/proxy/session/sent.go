// SPDX-License-Identifier: Apache-2.0

package session

import (
	"time"

	"github.com/google/uuid"
	"k8s.io/utils/lru"

	"github.com/spawnery/spawnery-operator/internal/mcproto"
	"github.com/spawnery/spawnery-operator/internal/proxy/ticket"
)

const (
	// sentKept is how long it is remembered with what a player was sent away: who
	// comes back later has made up their mind to.
	sentKept = 2 * time.Minute
	// maxSent bounds those who are remembered. The oldest is forgotten first.
	maxSent = 1 << 12
)

// Sent remembers with what players were sent away. A ticket may be lost on the
// way, or be too large, or not be believed, as behind a balancer that shows another
// address each time: what keeps a player from being sent round and round must not
// be lost with it.
type Sent struct{ byID *lru.Cache } // of *departed by uuid.UUID

type departed struct {
	ticket ticket.Ticket
	at     time.Time
}

// NewSent remembers nobody.
func NewSent() *Sent { return &Sent{lru.New(maxSent)} }

func (s *Sent) remember(id uuid.UUID, t ticket.Ticket, now time.Time) {
	t.Profile = mcproto.Profile{} // It is known of whoever comes back.
	s.byID.Add(id, &departed{t, now})
}

// recall returns what a player was sent away with lately; nil: nothing is known.
func (s *Sent) recall(id uuid.UUID, now time.Time) *ticket.Ticket {
	known, ok := s.byID.Get(id)
	if !ok {
		return nil
	}
	s.byID.Remove(id)
	if left := known.(*departed); now.Sub(left.at) < sentKept {
		return &left.ticket
	}
	return nil
}

// sentWith is what the player was sent here with: their ticket or, when it was
// lost on the way back, what this proxy knows of it.
func (p *Player) sentWith() *ticket.Ticket {
	known := p.world.Sent.recall(p.client.Profile.ID, p.came)
	switch {
	case p.client.Ticket != nil:
		return p.client.Ticket
	case p.client.Handshake.Intent == mcproto.IntentTransfer:
		return known
	}
	return nil
}
