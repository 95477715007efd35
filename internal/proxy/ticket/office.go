// SPDX-License-Identifier: Apache-2.0

package ticket

import (
	"context"
	"sync"
	"time"

	"github.com/google/uuid"
	"k8s.io/utils/clock"
)

const (
	// maxUsed bounds the tickets that are remembered. More were never signed
	// in their life by any network; the oldest is forgotten first.
	maxUsed = 1 << 16
	// askWithin bounds the question whether another proxy took a ticket.
	askWithin = 2 * time.Second
)

// Ledger knows which tickets any proxy of the network has taken.
type Ledger interface {
	// Enter notes a ticket. The answer is false when it was noted before. An
	// error says that nobody answers for the network.
	Enter(ctx context.Context, id uuid.UUID) (bool, error)
}

// Office writes tickets and takes them. Its methods may be called from any
// goroutine.
type Office struct {
	keys   []key
	clock  clock.WithTicker
	ledger Ledger

	mu   sync.Mutex
	used map[uuid.UUID]time.Time // taken here, until they expire
}

// NewOffice signs with the network's secrets, current and previous. ledger is
// asked before a ticket is believed; nil, or while it does not answer: what this
// proxy took itself is all that is known.
func NewOffice(secrets [][]byte, clk clock.WithTicker, ledger Ledger) (*Office, error) {
	keys, err := deriveKeys(secrets)
	if err != nil {
		return nil, err
	}
	return &Office{keys: keys, clock: clk, ledger: ledger, used: map[uuid.UUID]time.Time{}}, nil
}

// Seal makes a ticket of now. One whose landing lines are too long for a client
// tells less; one that is too large even so is an error.
func (o *Office) Seal(t Ticket) ([]byte, error) {
	t.ID, t.Expires = uuid.New(), o.clock.Now().Add(Life)
	return t.seal(o.keys)
}

// Take believes a ticket, once. The error wraps one of those above.
func (o *Office) Take(ctx context.Context, sealed []byte, bearer Bearer) (*Ticket, error) {
	t, err := open(o.keys, sealed)
	if err != nil {
		return nil, err
	}
	now := o.clock.Now()
	if !now.Before(t.Expires) {
		return nil, ErrExpired
	}
	if !t.of(bearer) {
		return nil, ErrForeign
	}
	if !o.enter(t, now) || !o.first(ctx, t.ID) {
		return nil, ErrUsed
	}
	return t, nil
}

// enter notes a ticket here; false when it is there already.
func (o *Office) enter(t *Ticket, now time.Time) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if _, used := o.used[t.ID]; used {
		return false
	}
	oldest := t.ID
	for id, expires := range o.used {
		if !now.Before(expires) {
			delete(o.used, id)
		} else if len(o.used) >= maxUsed && (oldest == t.ID || expires.Before(o.used[oldest])) {
			oldest = id
		}
	}
	if len(o.used) >= maxUsed {
		delete(o.used, oldest)
	}
	o.used[t.ID] = t.Expires
	return true
}

// first asks the network. A ticket whose use nobody can tell is believed: it is
// of half a minute, from this player's address, and was not taken here; without
// a manager a network must still be able to take its players over.
func (o *Office) first(ctx context.Context, id uuid.UUID) bool {
	if o.ledger == nil {
		return true
	}
	ctx, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	first, err := o.ledger.Enter(ctx, id)
	return first || err != nil
}
