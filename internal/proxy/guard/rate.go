// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"time"

	"k8s.io/utils/clock"
)

// rateWindow is over how long packets are counted: a burst after a moment
// without network is no attack.
const rateWindow = 7 * time.Second

// Packets per second that a client may send, over rateWindow. The game sends
// about twenty; servers have limits of their own, which come first in play.
const (
	RateBeforePlay = 50
	RateInPlay     = 1000
)

// Rate notices when packets come faster than allowed. It looks at the clock
// once per window's worth of packets and not for each.
type Rate struct {
	clock   clock.PassiveClock
	allowed int
	count   int
	since   time.Time
}

// NewRate allows perSecond packets.
func NewRate(clk clock.PassiveClock, perSecond int) *Rate {
	r := &Rate{clock: clk}
	r.Reset(perSecond)
	return r
}

// Reset begins to count anew, with another allowance.
func (r *Rate) Reset(perSecond int) {
	r.allowed, r.count, r.since = perSecond*int(rateWindow/time.Second), 0, r.clock.Now()
}

// Exceeded counts one packet and reports whether it is one too many.
func (r *Rate) Exceeded() bool {
	if r.count++; r.count <= r.allowed {
		return false
	}
	now := r.clock.Now()
	if now.Sub(r.since) < rateWindow {
		return true
	}
	r.count, r.since = 1, now
	return false
}
