// SPDX-License-Identifier: Apache-2.0

package worlds

import (
	"time"

	"k8s.io/utils/clock"
)

// speed is how many seconds pass for the manager and the agents in one of the
// cluster's. What they measure in minutes takes seconds.
const speed = 20

// fastClock runs ahead of the clock that it began with. What it hands out
// through channels is the real time, which nobody here reads.
type fastClock struct {
	clock.RealClock
	began time.Time
}

func (c fastClock) Now() time.Time {
	return c.began.Add(speed * c.RealClock.Since(c.began))
}

func (c fastClock) Since(then time.Time) time.Duration { return c.Now().Sub(then) }

func (c fastClock) After(d time.Duration) <-chan time.Time { return c.RealClock.After(d / speed) }

func (c fastClock) Sleep(d time.Duration) { c.RealClock.Sleep(d / speed) }

func (c fastClock) Tick(d time.Duration) <-chan time.Time { return c.RealClock.Tick(d / speed) }

func (c fastClock) NewTimer(d time.Duration) clock.Timer {
	return fastTimer{c.RealClock.NewTimer(d / speed)}
}

func (c fastClock) NewTicker(d time.Duration) clock.Ticker {
	return c.RealClock.NewTicker(max(d/speed, time.Millisecond))
}

type fastTimer struct{ clock.Timer }

func (t fastTimer) Reset(d time.Duration) bool { return t.Timer.Reset(d / speed) }
