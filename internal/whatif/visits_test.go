// SPDX-License-Identifier: Apache-2.0

package whatif

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spawnery/spawnery-operator/internal/simulate"
)

func online(all []simulate.Visit, at time.Time) int {
	n := 0
	for i := range all {
		if !all[i].At.After(at) && all[i].Until.After(at) {
			n++
		}
	}
	return n
}

func TestAsManyAreOnlineAsATraceCounts(t *testing.T) {
	for _, s := range shapes {
		t.Run(s.name, func(t *testing.T) {
			trace := s.trace(150)
			people := visits(trace, 40*time.Minute, 7)
			for _, count := range trace.Counts {
				// A visit of less than a second may end after the count.
				if got := online(people, count.At); got < count.Players || got > count.Players+1 {
					t.Errorf("%s: %d online, want %d", count.At.Format("Mon 15:04"), got, count.Players)
				}
			}
			if diff := cmp.Diff(people, visits(trace, 40*time.Minute, 7)); diff != "" {
				t.Errorf("the same seed draws others:\n%s", diff)
			}
			if other := visits(trace, 40*time.Minute, 8); cmp.Equal(people, other) {
				t.Error("another seed draws the same")
			}
		})
	}
}

func TestPlayersStayAsLongAsTheyAreSaidTo(t *testing.T) {
	trace, err := ReadShape("steady", 300)
	if err != nil {
		t.Fatal(err)
	}
	var total time.Duration
	n := 0
	start, end := trace.span()
	for _, visit := range visits(trace, 30*time.Minute, 1) {
		if visit.At.After(start) && visit.At.Before(end.Add(-6*time.Hour)) {
			total += visit.Until.Sub(visit.At)
			n++
		}
	}
	if mean := total / time.Duration(n); mean < 28*time.Minute || mean > 32*time.Minute {
		t.Errorf("%d players stayed %s on average", n, mean)
	}
}

func TestEverybodyOfALogComesAndGoesInTheirStretch(t *testing.T) {
	trace := &Trace{Flows: []Flow{{at(10, 0), 5, 0}, {at(10, 5), 2, 3}, {at(11, 0), 0, 4}}}
	people := visits(trace, time.Hour, 1)
	if len(people) != 7 {
		t.Fatalf("%d visits", len(people))
	}
	for when, want := range map[time.Time]int{at(10, 0).Add(-1): 0, at(10, 5).Add(-1): 5, at(10, 11): 4, at(10, 59): 4, at(11, 5): 0} {
		if got := online(people, when); got != want {
			t.Errorf("%s: %d online, want %d", when.Format("15:04"), got, want)
		}
	}
}
