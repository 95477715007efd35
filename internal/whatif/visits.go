// SPDX-License-Identifier: Apache-2.0

package whatif

import (
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/spawnery/spawnery-operator/internal/simulate"
)

const (
	// lead is the time before a trace in which a group gets up and whoever is
	// there from the beginning comes in.
	lead = time.Hour
	// grain is the step in which people come and go between two counts.
	grain = time.Minute
)

// visitors turns a trace into people.
type visitors struct {
	chance *rand.Rand
	visits []simulate.Visit
	// here are the visits that have not ended, by index.
	here []int
}

// visits draws who comes and who goes: the numbers are the trace's, who it is
// and the instant is chance. Whoever comes stays for stay on average.
func visits(t *Trace, stay time.Duration, seed uint64) []simulate.Visit {
	v := &visitors{chance: rand.New(rand.NewPCG(seed, 3))}
	if len(t.Counts) > 0 {
		v.byCounts(t.Counts, stay)
	} else {
		v.byFlows(t.Flows, t.grain())
	}
	_, end := t.span()
	for _, index := range v.here {
		// They stay beyond the end.
		v.visits[index].Until = end.Add(grain)
	}
	slices.SortStableFunc(v.visits, func(a, b simulate.Visit) int { return a.At.Compare(b.At) })
	return v.visits
}

func (v *visitors) byCounts(counts []Count, stay time.Duration) {
	start := counts[0].At
	v.come(counts[0].Players, start.Add(-lead*3/4), lead/2)
	for i := range counts[1:] {
		from, to := counts[i], counts[i+1]
		length := to.At.Sub(from.At)
		for done := time.Duration(0); done < length; {
			step := min(grain, length-done)
			share := float64(done+step) / float64(length)
			want := from.Players + int(math.Round(share*float64(to.Players-from.Players)))
			v.change(want, from.At.Add(done), step, stay)
			done += step
		}
	}
}

// change has as many people there as are wanted at the end of a step. Some go
// all the time, and others come in their place.
func (v *visitors) change(want int, from time.Time, step, stay time.Duration) {
	before := len(v.here)
	rate := 1 - math.Exp(-float64(step)/float64(stay))
	going := 0
	for range before {
		if v.chance.Float64() < rate {
			going++
		}
	}
	going = max(going, before-want)
	v.leave(going, from, step)
	v.come(want-(before-going), from, step)
}

func (v *visitors) byFlows(flows []Flow, length time.Duration) {
	for _, f := range flows {
		staying := min(f.Leaves, len(v.here))
		v.leave(staying, f.At, length)
		v.come(f.Joins, f.At, length)
		v.leave(f.Leaves-staying, f.At, length)
	}
}

func (v *visitors) come(n int, from time.Time, within time.Duration) {
	for range n {
		at := from.Add(time.Duration(v.chance.Int64N(int64(within))))
		v.here = append(v.here, len(v.visits))
		v.visits = append(v.visits, simulate.Visit{At: at, Stops: []simulate.Stop{{Group: 0}}})
	}
}

// leave has some of those who are there leave, whoever it is.
func (v *visitors) leave(n int, from time.Time, within time.Duration) {
	for range n {
		pick := v.chance.IntN(len(v.here))
		visit := &v.visits[v.here[pick]]
		visit.Until = from.Add(time.Duration(v.chance.Int64N(int64(within))))
		if !visit.Until.After(visit.At) {
			visit.Until = visit.At.Add(time.Second)
		}
		last := len(v.here) - 1
		v.here[pick] = v.here[last]
		v.here = v.here[:last]
	}
}
