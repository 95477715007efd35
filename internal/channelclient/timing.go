// SPDX-License-Identifier: Apache-2.0

package channelclient

import (
	"cmp"
	"math/rand/v2"
	"time"
)

func (t Timing) withDefaults() Timing {
	return Timing{
		ReportInterval:  cmp.Or(t.ReportInterval, 5*time.Second),
		ReportSpacing:   cmp.Or(t.ReportSpacing, 100*time.Millisecond),
		EstablishWithin: cmp.Or(t.EstablishWithin, 10*time.Second),
		SendWithin:      cmp.Or(t.SendWithin, 15*time.Second),
		SilentAfter:     cmp.Or(t.SilentAfter, 90*time.Second),
		RenewAfter:      cmp.Or(t.RenewAfter, 8*time.Minute),
		EndAfter:        cmp.Or(t.EndAfter, 10*time.Minute),
		RetryFirst:      cmp.Or(t.RetryFirst, 500*time.Millisecond),
		RetryMost:       cmp.Or(t.RetryMost, 15*time.Second),
		ResolveEvery:    cmp.Or(t.ResolveEvery, 5*time.Second),
	}
}

// retries spaces attempts: doubling, bounded, and spread so that a thousand
// peers that lost the same manager do not come back in one instant.
type retries struct {
	first, most time.Duration
	failed      int
}

// next returns how long to wait before the next attempt.
func (r *retries) next() time.Duration {
	wait := r.most
	if r.failed < 16 {
		wait = min(r.first<<r.failed, r.most)
	}
	r.failed++
	return wait/2 + rand.N(wait/2+1)
}

// settled is told how long a session stood. One that was cut at once is no
// reason to hurry.
func (r *retries) settled(stood time.Duration) {
	if stood >= r.most {
		r.failed = 0
	}
}

// early spreads renewals: peers that came in one instant do not return in one.
func early(after time.Duration) time.Duration {
	return after - rand.N(after/16+1)
}
