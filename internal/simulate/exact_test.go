// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// telling is the whole story of a scenario, line by line.
func telling(s *Scenario) []string {
	w := New(s)
	told := newStory()
	w.watch(told)
	w.Run()
	lines := make([]string, 0, len(told.lines))
	for _, l := range told.lines {
		lines = append(lines, l.at.Format(time.StampNano)+" "+l.text)
	}
	return lines
}

// Leaving out the passes that change nothing is a shortcut of the simulation
// only as long as it changes nothing at all.
func TestATickThatIsLeftOutWouldHaveDecidedTheSame(t *testing.T) {
	for seed := uint64(1001); seed <= 1004; seed++ {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			s := Week(seed)
			s.End = s.Start.Add(3 * 24 * time.Hour)
			short := telling(s)
			s = Week(seed)
			s.End, s.Ticks = s.Start.Add(3*24*time.Hour), TicksAlways
			if diff := cmp.Diff(telling(s), short); diff != "" {
				t.Errorf("every tick (-) and only those that are due (+) differ:\n%.4000s", diff)
			}
			if len(short) < 100 {
				t.Errorf("a story of %d lines shows little", len(short))
			}
		})
	}
}

func TestARunIsTheSameEveryTime(t *testing.T) {
	const seed = 1001
	s := Week(seed)
	s.End = s.Start.Add(24 * time.Hour)
	if diff := cmp.Diff(telling(s), telling(s)); diff != "" {
		t.Errorf("two runs of seed %d differ:\n%.4000s", seed, diff)
	}
}
