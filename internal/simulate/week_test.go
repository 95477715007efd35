// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"flag"
	"fmt"
	"os"
	"runtime/debug"
	"testing"
	"time"
)

var (
	oneSeed  = flag.Uint64("seed", 0, "run this seed only")
	allSeeds = flag.Uint64("seeds", 25, "run the seeds up to this one")
)

// TestMain has the garbage collector run less: what a run leaves behind is
// small and short-lived.
func TestMain(m *testing.M) {
	debug.SetGCPercent(800)
	os.Exit(m.Run())
}

// TestEveryPromiseHoldsInEveryWeek runs a short form by default. The long one,
// of 100 weeks, is make simulate.
func TestEveryPromiseHoldsInEveryWeek(t *testing.T) {
	first, last := uint64(1), *allSeeds
	if *oneSeed != 0 {
		first, last = *oneSeed, *oneSeed
	}
	for seed := first; seed <= last; seed++ {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			broken := live(Week(seed))
			if broken == nil {
				return
			}
			told := newStory()
			w := New(Week(seed))
			w.watch(told)
			w.runTo(broken.at, never)
			t.Fatalf("%s\n%s\nrun it again: go test ./internal/simulate -run TestEveryPromiseHoldsInEveryWeek -seed %d",
				broken, told.around(broken.at, 20*time.Minute, 100), seed)
		})
	}
}

func never() bool { return false }

// live runs a scenario until a promise is broken.
func live(s *Scenario) *violation {
	w := New(s)
	c := newChecks(w)
	w.watch(c)
	w.runTo(s.End, func() bool { return c.broken != nil })
	if c.broken == nil {
		return w.rests()
	}
	return c.broken
}
