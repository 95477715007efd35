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

// world plays a group of which some ordinals never run. Phases, failures and
// size are decided by the packages that decide them in production; the world
// only carries the decisions out, every five seconds.
type world struct {
	clock    time.Time
	replicas int
	// runs says whether the pod of an ordinal runs, by the spec it is made of.
	runs func(ordinal int, spec fleet.SpecAge) bool
	// notReady is the most ordinals that did not serve at once, since it was last
	// set, and taken are the servers taken down, in order.
	notReady   int
	taken      []string
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
	}, w.required())
	w.seen = w.generation
	plan := ordinals.DecidePersistentSize(ordinals.Input{
		Now: w.clock, Replicas: w.replicas, Servers: w.servers,
		Gate: backoff.MayCreate(backoff.DecideBackoff(w.streak, w.clock)),
	})
	w.notReady = max(w.notReady, len(plan.Unready))
	for _, ordinal := range plan.CreateOrdinals {
		w.servers = append(w.servers, server(ordinal, v1alpha1.ServerPending))
		if ordinal == 1 {
			w.attempts = append(w.attempts, w.clock)
		}
	}
	if plan.TakeDown != nil {
		w.taken = append(w.taken, plan.TakeDown.Name)
		for i := range w.servers {
			if w.servers[i].Name == plan.TakeDown.Name {
				w.servers[i].Deletion = fleet.DeletionAsked
			}
		}
	}
}

func (w *world) required() []int {
	var all []int
	for ordinal := range w.replicas {
		all = append(all, ordinal)
	}
	return all
}

// edit changes the spec: what runs is of an old one.
func (w *world) edit(runs func(ordinal int, spec fleet.SpecAge) bool) {
	for i := range w.servers {
		w.servers[i].Spec = fleet.SpecOld
	}
	w.generation, w.runs, w.notReady, w.taken = w.generation+1, runs, 0, nil
}

// live moves one server as far as it goes in this pass.
func (w *world) live(s *fleet.Server) {
	for range 7 {
		in := phase.Input{
			Now: w.clock, Phase: s.Phase, Acceptance: phase.Accepted, Clocks: s.Clocks, Deletion: s.Deletion,
			Limits: phase.Limits{Startup: 300 * time.Second, Drain: time.Minute, Retention: 3600 * time.Second},
			Pod:    phase.PodWaiting,
		}
		if w.runs(s.Ordinal, s.Spec) {
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

func newWorld(replicas int, runs func(int, fleet.SpecAge) bool) *world {
	return &world{clock: now, generation: 1, seen: 1, replicas: replicas, runs: runs}
}

func broken(s fleet.Server) bool { return s.Ordinal == 1 }

// givenUp plays until the group gives up, and says when the first failure was.
func givenUp(t *testing.T) (*world, time.Time) {
	t.Helper()
	w := newWorld(2, func(ordinal int, _ fleet.SpecAge) bool { return ordinal != 1 })
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
