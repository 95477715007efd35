// SPDX-License-Identifier: Apache-2.0

package ordinals_test

import (
	"slices"
	"testing"
	"time"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/backoff"
	"github.com/spawnery/spawnery-operator/internal/fleet"
	"github.com/spawnery/spawnery-operator/internal/ordinals"
	"github.com/spawnery/spawnery-operator/internal/phase"
)

// world plays a group whose ordinal 1 has a broken volume: its pod never runs.
// Phases, failures and size are decided by the packages that decide them in
// production; the world only carries the decisions out, every five seconds.
type world struct {
	clock      time.Time
	servers    []fleet.Server
	streak     backoff.Streak
	seen       int64
	generation int64
	attempts   []time.Time
}

const pass = 5 * time.Second

func (w *world) step() {
	w.clock = w.clock.Add(pass)
	for i := range w.servers {
		w.live(&w.servers[i])
	}
	w.servers = slices.DeleteFunc(w.servers, func(s fleet.Server) bool { return s.Phase == v1alpha1.ServerTerminating })
	w.streak = backoff.CountFailures(backoff.History{
		Streak: w.streak, Seen: w.seen, Generation: w.generation,
		Success: backoff.AllRequiredReady, Servers: w.servers,
	}, []int{0, 1})
	w.seen = w.generation
	plan := ordinals.DecidePersistentSize(ordinals.Input{
		Now: w.clock, Replicas: 2, Servers: w.servers,
		Gate: backoff.MayCreate(backoff.DecideBackoff(w.streak, w.clock)),
	})
	for _, ordinal := range plan.CreateOrdinals {
		w.servers = append(w.servers, fleet.Server{Ordinal: ordinal, Phase: v1alpha1.ServerPending})
		if ordinal == 1 {
			w.attempts = append(w.attempts, w.clock)
		}
	}
}

// live moves one server as far as it goes in this pass.
func (w *world) live(s *fleet.Server) {
	for range 7 {
		in := phase.Input{
			Now: w.clock, Phase: s.Phase, Acceptance: phase.Accepted, Presence: s.Presence, Clocks: s.Clocks,
			Limits: phase.Limits{Startup: 300 * time.Second, Drain: time.Minute, Retention: 3600 * time.Second},
			Pod:    phase.PodWaiting,
		}
		if s.Ordinal == 0 {
			in.Pod, in.Agent = phase.PodReady, phase.AgentReady
		}
		d := phase.Decide(in)
		moved := d.Next != s.Phase
		s.Phase, s.Clocks = d.Next, d.Clocks
		if !moved {
			return
		}
	}
}

func (w *world) run(until func() bool) bool {
	for range 24 * 720 {
		if w.step(); until() {
			return true
		}
	}
	return false
}

func broken(s fleet.Server) bool { return s.Ordinal == 1 }

// givenUp plays until the group gives up, and says when the first failure was.
func givenUp(t *testing.T) (*world, time.Time) {
	t.Helper()
	w := &world{clock: now, generation: 1, seen: 1}
	if !w.run(func() bool { return w.streak.Failures == 1 }) {
		t.Fatal("the first failure is never counted")
	}
	first := w.clock
	if !w.run(func() bool { return w.streak.Failures == backoff.GiveUpAfter }) {
		t.Fatalf("the group never gives up; it stands at %+v", w.streak)
	}
	return w, first
}

// The figures are those of the documents: a gap is retention plus startup
// deadline, and giving up takes five of them.
func TestABrokenVolumeStallsAfterFiveGaps(t *testing.T) {
	w, first := givenUp(t)
	if got, want := w.clock.Sub(first), 5*3900*time.Second; got < want || got > want+time.Minute {
		t.Errorf("gave up %v after the first failure, want %v and at most a few passes", got, want)
	}
	for i := 1; i < len(w.attempts); i++ {
		if gap := w.attempts[i].Sub(w.attempts[i-1]); gap < 3900*time.Second || gap > 3910*time.Second {
			t.Errorf("gap %d took %v, want 3900 s", i, gap)
		}
	}
	if !slices.ContainsFunc(w.servers, broken) {
		t.Error("the sixth corpse is gone at once")
	}
}

func TestAGroupThatGaveUpWaitsForAnEdit(t *testing.T) {
	w, _ := givenUp(t)
	gaveUp := w.clock
	if !w.run(func() bool { return !slices.ContainsFunc(w.servers, broken) }) {
		t.Fatal("the sixth corpse is never taken away")
	}
	if stood := w.clock.Sub(gaveUp); stood < 3595*time.Second || stood > 3605*time.Second {
		t.Errorf("the sixth corpse stood for %v, want its retention", stood)
	}
	if w.run(func() bool { return len(w.attempts) > 6 }) {
		t.Fatal("a seventh attempt was made without anybody asking for it")
	}
	w.generation = 2
	w.step()
	if w.streak.Failures != 0 || len(w.attempts) != 7 {
		t.Errorf("after an edit: %d failures on record, %d attempts; want 0 and 7", w.streak.Failures, len(w.attempts))
	}
}
