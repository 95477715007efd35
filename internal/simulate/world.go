// SPDX-License-Identifier: Apache-2.0

// Package simulate lives a network through virtual days: the real decisions,
// event by event, against players, games, nodes and an API server that exist
// only as numbers. What the manager observes is late, as in life.
package simulate

import (
	"math/rand/v2"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

const (
	namespace = "minecraft"
	// startupDeadline is the manager's default.
	startupDeadline = 5 * time.Minute
)

// World is one run of a scenario.
type World struct {
	scenario *Scenario
	now      time.Time
	queue    queue
	// chance draws what the cluster does; what players do is in the scenario.
	chance *rand.Rand
	pace   Pace

	groups  []*group
	servers []*server
	named   map[string]*server
	pods    map[types.UID]*pod
	nodes   []*node
	proxy   proxy
	manager manager
	// shownAt keeps the cache in the order of writes.
	shownAt time.Time
	made    int
	// troubled is until when something keeps the manager from its work.
	troubled time.Time
	watchers []watcher
}

// watcher looks on. It must not change anything.
type watcher interface {
	see(w *World, h *happening)
}

// happening is one thing that watchers see.
type happening struct {
	what   what
	group  *group
	server *server
	player *player
	pass   *groupPass
	note   string
}

type what uint8

const (
	// decided is a pass over a group, before it is carried out.
	decided what = iota
	// settled is the same pass once it was carried out and recorded.
	settled
	created
	removed
	retired
	withdrawn
	// wrote is a change of a Server's status, told by its note.
	wrote
	// podDeleted is the manager's delete of a pod.
	podDeleted
	// gone is a Server that is no more.
	gone
	// podChanged is what a pod does by itself.
	podChanged
	// seated is a player who was given a seat.
	seated
	joined
	left
	held
	refused
	// lost is a player whose server went under them.
	lost
	// turned is something that was done to the network.
	turned
	// passed is the end of an event: everything of that instant is done.
	passed
)

// New builds the world of a scenario, before its first instant.
func New(scenario *Scenario) *World {
	w := &World{
		scenario: scenario,
		now:      scenario.Start,
		queue:    queue{start: scenario.Start},
		chance:   rand.New(rand.NewPCG(scenario.Seed, 1)),
		pace:     scenario.Pace,
		named:    map[string]*server{},
		pods:     map[types.UID]*pod{},
	}
	for i := range max(1, scenario.Nodes) {
		w.nodes = append(w.nodes, newNode(i))
	}
	w.proxy = proxy{w: w}
	w.manager = manager{w: w}
	for i := range scenario.Groups {
		w.groups = append(w.groups, newGroup(w, i))
	}
	w.at(scenario.Start, w.manager.lead)
	w.planTurns()
	w.planVisits(0)
	return w
}

// watch adds watchers.
func (w *World) watch(watchers ...watcher) { w.watchers = append(w.watchers, watchers...) }

// Run goes on to the end of the scenario.
func (w *World) Run() { w.runTo(w.scenario.End, func() bool { return false }) }

// runTo goes on to an instant, or until something is over.
func (w *World) runTo(end time.Time, over func() bool) {
	for !over() {
		at, do := w.queue.next(end)
		if do == nil {
			w.now = end
			return
		}
		w.now = at
		do()
		w.tell(&happening{what: passed})
	}
}

// at plans something; what is planned for the past happens now.
func (w *World) at(when time.Time, do func()) {
	if when.Before(w.now) {
		when = w.now
	}
	w.queue.add(when, do)
}

func (w *World) in(wait time.Duration, do func()) { w.queue.add(w.now.Add(wait), do) }

// wake has a pass made at an instant, unless one is due before.
func (w *World) wake(a *alarm, when time.Time, pass func()) {
	if when.Before(w.now) {
		when = w.now
	}
	if a.set && !when.Before(a.at) {
		return
	}
	a.at, a.set = when, true
	w.queue.add(when, func() {
		if a.set && a.at.Equal(when) {
			a.set = false
			pass()
		}
	})
}

func (w *World) tell(h *happening) {
	for _, one := range w.watchers {
		one.see(w, h)
	}
}

// trouble notes that something keeps the manager from its work for a while.
func (w *World) trouble(length time.Duration) {
	if until := w.now.Add(length); until.After(w.troubled) {
		w.troubled = until
	}
}

// show has the cache show something after its lag, in the order of writes.
func (w *World) show(do func()) {
	when := w.now.Add(w.pace.Cache.draw(w.chance))
	if when.Before(w.shownAt) {
		when = w.shownAt
	}
	w.shownAt = when
	w.at(when, do)
}

// planTurns plans one turn after the other, so that the queue stays short.
func (w *World) planTurns() {
	for i := range w.scenario.Turns {
		turn := &w.scenario.Turns[i]
		w.at(turn.At, func() { turn.Do(w) })
	}
}

func (w *World) planVisits(from int) {
	if from >= len(w.scenario.Visits) {
		return
	}
	visit := &w.scenario.Visits[from]
	w.at(visit.At, func() {
		w.planVisits(from + 1)
		w.proxy.arrive(visit)
	})
}
