// SPDX-License-Identifier: Apache-2.0

package proxytest

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"k8s.io/utils/clock"
)

// HeapTolerance is how much more may be in use at the end than at the
// beginning, in bytes: pools and maps keep what they once needed.
const HeapTolerance = 2 << 20

// settleLook is how often the goroutines of this process are counted.
const settleLook = 50 * time.Millisecond

// Footprint is what this process holds.
type Footprint struct {
	Goroutines int
	Heap       int // bytes in use after a collection
}

// Measure collects what nobody holds any more, and counts the rest.
func Measure() Footprint {
	// What has a finaliser is gone after the second.
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return Footprint{Goroutines: runtime.NumGoroutine(), Heap: int(m.HeapAlloc)}
}

// String tells both.
func (f Footprint) String() string {
	const mib = 1 << 20
	return fmt.Sprintf("%d goroutines, %.2f MiB in use", f.Goroutines, float64(f.Heap)/mib)
}

// Settled measures once exactly as many goroutines run as at the beginning, or
// ctx has ended: connections that nobody uses any more are kept for a while.
func (f Footprint) Settled(ctx context.Context) Footprint {
	ticker := clock.RealClock{}.NewTicker(settleLook)
	defer ticker.Stop()
	for runtime.NumGoroutine() != f.Goroutines && ctx.Err() == nil {
		select {
		case <-ticker.C():
		case <-ctx.Done():
		}
	}
	return Measure()
}

// Kept says what is held at the end that was not at the beginning; nil: nothing.
// Goroutines have to be exactly as many, memory may grow by HeapTolerance.
func (f Footprint) Kept(end Footprint) error {
	var found []error
	if end.Goroutines != f.Goroutines {
		found = append(found, fmt.Errorf("%d goroutines at the beginning and %d at the end", f.Goroutines, end.Goroutines))
	}
	if grown := end.Heap - f.Heap; grown > HeapTolerance {
		found = append(found, fmt.Errorf("%d bytes more are in use, at most %d may be", grown, HeapTolerance))
	}
	return errors.Join(found...)
}
