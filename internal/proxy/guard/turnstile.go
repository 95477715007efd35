// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/utils/clock"
	"k8s.io/utils/lru"
)

const (
	// neighbourhood is how much more a /24 or /48 may do than one address: they
	// hold many people, or one who has them all.
	neighbourhood = 10
	// remembered is how many addresses, and how many neighbourhoods, a turnstile
	// knows, each a few hundred bytes. Whoever is forgotten begins with a whole burst.
	remembered = 1 << 14
)

// Allowance is how often something may happen: Burst times at once, and PerSecond
// times more each second after that.
type Allowance struct {
	PerSecond, Burst int
}

// DefaultLogins is how often an address may log in at a proxy that was told
// nothing else: a family that reconnects is let in.
func DefaultLogins() Allowance { return Allowance{PerSecond: 1, Burst: 20} }

// DefaultStatuses is how often it may ask for the server list, which clients
// refresh.
func DefaultStatuses() Allowance { return Allowance{PerSecond: 10, Burst: 50} }

// Or is the allowance with numbers of its own where others are set.
func (a Allowance) Or(perSecond, burst int) Allowance {
	if perSecond > 0 {
		a.PerSecond = perSecond
	}
	if burst > 0 {
		a.Burst = burst
	}
	return a
}

// wide is what a neighbourhood may do.
func (a Allowance) wide() Allowance {
	return Allowance{PerSecond: a.PerSecond * neighbourhood, Burst: a.Burst * neighbourhood}
}

// Turnstile counts how often addresses do one thing. Its memory is bounded.
type Turnstile struct {
	clock clock.PassiveClock

	mu   sync.Mutex
	own  *lru.Cache // of *rate.Limiter by netip.Prefix
	wide *lru.Cache // the same of neighbourhoods
}

// NewTurnstile has seen nobody.
func NewTurnstile(clk clock.PassiveClock) *Turnstile {
	return &Turnstile{clock: clk, own: lru.New(remembered), wide: lru.New(remembered)}
}

// Pass lets an address through once, and returns 0; or, when it or its
// neighbourhood has used up what it is allowed, how long it takes until one more
// is. Who is refused uses up nothing.
func (t *Turnstile) Pass(from netip.Addr, allowed Allowance) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.clock.Now()
	around := bucketOf(t.wide, neighbourhoodOf(from), allowed.wide(), now)
	if wait := missing(around, now); wait > 0 {
		return wait
	}
	own := bucketOf(t.own, PrefixOf(from), allowed, now)
	if wait := missing(own, now); wait > 0 {
		return wait
	}
	around.AllowN(now, 1)
	own.AllowN(now, 1)
	return 0
}

// bucketOf is that of a prefix, by what is allowed now.
func bucketOf(buckets *lru.Cache, prefix netip.Prefix, allowed Allowance, now time.Time) *rate.Limiter {
	limit := rate.Limit(allowed.PerSecond)
	if known, ok := buckets.Get(prefix); ok {
		bucket := known.(*rate.Limiter)
		if bucket.Limit() != limit || bucket.Burst() != allowed.Burst {
			bucket.SetLimitAt(now, limit)
			bucket.SetBurstAt(now, allowed.Burst)
		}
		return bucket
	}
	bucket := rate.NewLimiter(limit, allowed.Burst)
	buckets.Add(prefix, bucket)
	return bucket
}

// missing is how long a bucket takes to hold one more.
func missing(bucket *rate.Limiter, now time.Time) time.Duration {
	short := 1 - bucket.TokensAt(now)
	if short <= 0 {
		return 0
	}
	return max(time.Duration(short/float64(bucket.Limit())*float64(time.Second)), time.Nanosecond)
}

// neighbourhoodOf is what one customer or one house often has as a whole.
func neighbourhoodOf(from netip.Addr) netip.Prefix {
	from = from.Unmap()
	bits := 24
	if from.Is6() {
		bits = 48
	}
	// An invalid address is one of its own.
	prefix, _ := from.Prefix(bits)
	return prefix
}
