// SPDX-License-Identifier: Apache-2.0

package phase_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/spawnery/spawnery-operator/internal/fleet"
	"github.com/spawnery/spawnery-operator/internal/phase"
)

func TestMain(m *testing.M) {
	err := errors.Join(flag.Set("rapid.checks", "3000"), flag.Set("rapid.nofailfile", "true"))
	if err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// anyInput draws a point of the space and then lets every clock run for any
// time at all.
func anyInput(t *rapid.T) phase.Input {
	in, axes := everything(rapid.SampledFrom(phases).Draw(t, "phase"))
	for _, a := range axes {
		names := []string{}
		for _, v := range a.Values {
			names = append(names, v.Name)
		}
		slices.Sort(names)
		name := rapid.SampledFrom(names).Draw(t, a.Name)
		i := slices.IndexFunc(a.Values, func(v value) bool { return v.Name == name })
		a.Values[i].Set(&in)
	}
	for i, clock := range []*time.Time{
		&in.StartedAt, &in.ReadySince, &in.RetiringSince, &in.DrainStartedAt, &in.FailedAt,
		&in.PodGraceEnds, &in.NotAnsweringSince, &in.LeaderSince,
	} {
		if !clock.IsZero() {
			*clock = ago(time.Duration(rapid.IntRange(-120, 4000).Draw(t, fmt.Sprint("clock", i))) * time.Second)
		}
	}
	if rapid.Bool().Draw(t, "rosterAgrees") {
		in.Roster = fleet.NobodySince(ago(time.Duration(rapid.IntRange(0, 90).Draw(t, "agreed")) * time.Second))
	}
	return in
}

// applied is the input as it looks when a decision was carried out and nothing
// else happened.
func applied(in phase.Input, d phase.Decision) phase.Input {
	in.Phase, in.Clocks, in.Losses = d.Next, d.Clocks, d.Losses
	if d.Effects.Has(phase.Register) {
		in.Registration = fleet.Registered
	}
	if d.Effects.Has(phase.Deregister) {
		in.Registration = fleet.Deregistered
	}
	return in
}

func TestDecidingAgainSettles(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := anyInput(t)
		path := []string{string(in.Phase)}
		for range phases {
			d := phase.Decide(in)
			settled := d.Next == in.Phase
			if in = applied(in, d); settled {
				return
			}
			path = append(path, string(d.Next))
		}
		t.Fatalf("phases never settle: %v", path)
	})
}

func TestTheAnswerIsConstantUntilRecheck(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := anyInput(t)
		first := phase.Decide(in)
		if first.Next != in.Phase {
			return
		}
		in = applied(in, first)
		before := phase.Decide(in)
		until := before.Recheck
		if until.IsZero() {
			until = now.Add(24 * time.Hour)
		}
		in.Now = now.Add(time.Duration(rapid.Int64Range(0, int64(until.Sub(now))-1).Draw(t, "wait")))
		later := phase.Decide(in)
		if later.Rule != before.Rule || later.Next != before.Next || later.Effects != before.Effects || later.Losses != before.Losses {
			t.Fatalf("%v before %v: %q became %q", until.Sub(in.Now), until, before.Rule, later.Rule)
		}
	})
}

func BenchmarkDecide(b *testing.B) {
	in := server()
	b.ReportAllocs()
	for b.Loop() {
		_ = phase.Decide(in)
	}
}
