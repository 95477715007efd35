// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"fmt"
	"slices"
	"time"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/fleet"
	"github.com/spawnery/spawnery-operator/internal/sizing"
)

const (
	// firstDelay is the least time from a failed start to the next, attempts how
	// many may fail in a row.
	firstDelay, attempts = 10 * time.Second, 6
	// wasteful is how long what nobody needs may stay beyond its time.
	wasteful = 2 * time.Minute
)

// keepsTheCeiling looks at every create. A ceiling that was just changed counts
// by its old number until the manager can know.
func keepsTheCeiling(c *check, h *happening) string {
	if h.what != created {
		return ""
	}
	now, known := c.g.sizes()
	t := c.g.truth()
	if allowed := max(now.ceiling, known.ceiling); t.alive > allowed {
		return fmt.Sprintf("%d servers where %d are allowed", t.alive, allowed)
	}
	return ""
}

// ordersNoMore looks at what a pass orders: not more than is short, by what the
// manager has heard and what is on order in truth. The very first start of a
// group may take one more.
func ordersNoMore(c *check, h *happening) string {
	if h.what != settled || c.made == 0 {
		return ""
	}
	t := c.g.truth()
	alive, onOrder := t.alive-c.made, t.starting-c.made
	free, _ := seatsKnown(h.pass)
	allowed := max(0, c.forDemand(h.pass, free, onOrder), c.known.floor-alive)
	if c.before.old > 0 && t.fresh == c.made {
		// A changeover takes one of the new spec before an old one goes.
		allowed = max(1, allowed)
	}
	if c.made == allowed+1 && c.g.shown.Status.FirstRegisteredAt == nil && c.extras == 0 {
		c.extras++
		return ""
	}
	if c.made > allowed {
		return fmt.Sprintf("%d servers are ordered where %d are short (%d alive, %d on order, %d seats free, %d players wait)",
			c.made, allowed, alive, onOrder, free, h.pass.in.Waiting)
	}
	return ""
}

// forDemand is how many servers a pass may order for demand: as many as are
// short, but for those who wait one more than for the spare seats alone.
func (c *check) forDemand(pass *groupPass, free, onOrder int) int {
	seats := onOrder * c.known.capacity
	displaced := c.g.displaced()
	short := c.known.spare + pass.in.Waiting + displaced - free - seats
	spare := c.known.spare + displaced - free - max(0, seats-pass.in.Waiting)
	return min(c.servers(short), c.servers(spare)+1)
}

// displaced is how many players may need seats at once because their node
// leaves: those of one server, also of one that was told to go a moment ago.
func (g *group) displaced() int {
	most := 0
	for _, s := range g.servers {
		if s.written != nil && s.departing() {
			most = max(most, len(s.pod.players)+s.pod.coming)
		}
	}
	return most
}

// servers is how many it takes for a number of seats.
func (c *check) servers(seats int) int {
	return (max(0, seats) + c.known.capacity - 1) / c.known.capacity
}

// seatsKnown adds up the seats that are free and those that are taken, as the
// manager has heard, on servers that players could be sent to.
func seatsKnown(pass *groupPass) (int, int) {
	free, taken := 0, 0
	for i := range pass.in.Servers {
		s := &pass.in.Servers[i]
		told := slices.ContainsFunc(pass.plan.Retire, func(one sizing.Retirement) bool { return one.Name == s.Name })
		if s.Alive() && !told && s.Phase == v1alpha1.ServerReady && s.Registration != fleet.Deregistered &&
			s.Counts.State() == fleet.CountsFresh && s.Door == fleet.DoorOpen && s.Pod == fleet.PodSeen {
			open := max(0, s.Playable-s.Counts.Seated())
			free += open
			taken += s.Playable - open
		}
	}
	return free, taken
}

// answers looks at how long a shortage lasts before what it lacks is on order.
func answers(c *check, h *happening) string {
	if h.what != passed {
		return ""
	}
	was, t := c.shortSince, &c.truth
	missing := t.short(&c.now, c.g.waiting)
	short := (missing > 0 && !c.now.pinned || t.alive < c.now.floor) && t.alive < c.now.ceiling
	excused := c.excused()
	if !excused && c.lasted(was, tick+soon) {
		return fmt.Sprintf("since %s %d seats are short of %d, with %d servers alive and %d on order",
			was.Format(time.TimeOnly), missing, c.now.spare, t.alive, t.starting)
	}
	c.shortSince = since(was, c.w.now, short && !excused)
	return ""
}

// keepsSpare looks at how long fewer seats are free than promised, from the
// last time that demand grew or a seat was lost.
func keepsSpare(c *check, h *happening) string {
	if h.what != passed {
		return ""
	}
	was, t := c.tightSince, &c.truth
	need := c.now.spare + min(c.g.waiting, c.now.capacity)
	excused := c.now.pinned || t.alive >= c.now.ceiling || t.doomed || c.excused()
	if !excused && c.lasted(was, c.slowestBoot()+tick+2*soon) {
		return fmt.Sprintf("since %s only %d seats are free where %d are promised", was.Format(time.TimeOnly), c.free, c.need)
	}
	if t.free < c.free || need > c.need {
		was = time.Time{}
	}
	c.free, c.need = t.free, need
	c.tightSince = since(was, c.w.now, t.free < need && !excused)
	return ""
}

func (c *check) slowestBoot() time.Duration {
	boot := c.g.plan.Boot.Most
	for _, image := range c.g.images {
		boot = max(boot, image.Boot.Most)
	}
	return boot
}

// spacesFailures looks at what follows a failed start: a wait that doubles, and
// after many the end of attempts.
func spacesFailures(c *check, h *happening) string {
	if h.what != created || c.failed == 0 || c.failedFor != c.g.shown.Generation {
		return ""
	}
	switch waited := c.w.now.Sub(c.failedAt); {
	case waited < soon: // the failure may not be known yet
	case c.failed >= attempts:
		return fmt.Sprintf("%s is made after %d failed attempts", h.server.name, c.failed)
	case waited < c.delay()-time.Second:
		return fmt.Sprintf("%s is made %s after failure number %d", h.server.name, waited, c.failed)
	}
	return ""
}

// delay is how long the last failure holds back the next attempt.
func (c *check) delay() time.Duration {
	return firstDelay << (min(c.failed, attempts-1) - 1)
}

func blamesNobody(_ *check, h *happening) string {
	if h.what != wrote || !h.server.failed() || h.server.pod == nil {
		return ""
	}
	if h.server.pod.is == podEvicted || h.server.pod.deleting {
		return h.server.name + " is blamed for a pod that was taken from it"
	}
	return ""
}

// moved is a start or a stop as it happens.
func (c *check) moved(h *happening) move {
	free, taken := seatsKnown(h.pass)
	now, _ := c.g.sizes()
	return move{
		at: c.w.now, load: taken + h.pass.in.Waiting, offered: free + taken, troubles: c.troubles, sizes: now,
	}
}

// unprovoked is true for a move inside the stabilisation window after another
// one, with nothing in between that would be a reason for it at any load.
func (c *check) unprovoked(this, before move) bool {
	return !before.at.IsZero() && this.at.Sub(before.at) < this.sizes.stabilization &&
		c.g.truth().old == 0 && this.troubles == before.troubles && this.sizes == before.sizes &&
		!this.at.Before(c.w.troubled.Add(recovers))
}

func startsForAReason(c *check, h *happening) string {
	if h.what != created {
		return ""
	}
	this := c.moved(h)
	c.started = this
	c.started.offered += this.sizes.capacity
	if c.unprovoked(this, c.stopped) && this.load <= c.stopped.load && this.offered >= c.stopped.offered {
		return fmt.Sprintf("a server is started %s after one was stopped, and the load is no higher", this.at.Sub(c.stopped.at))
	}
	return ""
}

func stopsForAReason(c *check, h *happening) string {
	if h.what != removed || h.server.firstStart() || h.server.failed() || h.server.pod == nil || h.server.departing() {
		return ""
	}
	this := c.moved(h)
	c.stopped = this
	c.stopped.offered -= h.server.pod.seats().Playable
	if c.unprovoked(this, c.started) && this.load >= c.started.load && this.offered <= c.started.offered {
		return fmt.Sprintf("%s is stopped %s after one was started, and the load is no lower", h.server.name, this.at.Sub(c.started.at))
	}
	return ""
}

// wastesNothing looks at how long a server stays that nobody needs: known to be
// empty for the stabilisation time, above the floor, its seats to spare.
func wastesNothing(c *check, h *happening) string {
	if h.what == removed {
		c.wasteSince = time.Time{}
	}
	if h.what != passed {
		return ""
	}
	was, idle := c.wasteSince, c.idle()
	excused := !c.undisturbed() || c.truth.starting > 0 && !c.holdsBack()
	if idle != "" && !excused && c.lasted(was, wasteful) {
		return fmt.Sprintf("%s is there for nobody since %s", idle, was.Format(time.TimeOnly))
	}
	c.wasteSince = since(was, c.w.now, idle != "" && !excused)
	return ""
}

func (c *check) idle() string {
	if c.truth.alive <= c.now.floor {
		return ""
	}
	for _, s := range c.g.servers {
		spared := c.truth.old+c.truth.retiring > 0 && s.written != nil && !s.old() // a changeover counts on it
		if !spared && s.idle(c.now.stabilization) &&
			c.truth.free-s.pod.seats().Playable >= c.now.spare+min(c.g.waiting, c.now.capacity) {
			return s.name
		}
	}
	return ""
}

// idle is true for a server that has been known to be empty for long enough.
func (s *server) idle(stabilization time.Duration) bool {
	if s.written == nil || s.leaving() || s.firstStart() || !s.joinable() || len(s.pod.players)+s.pod.coming > 0 {
		return false
	}
	empty := s.written.Status.EmptySince
	return empty != nil && s.group.w.now.Sub(empty.Time) >= stabilization
}

// rests looks at the end of a run, when nobody has come for hours and nothing
// has gone wrong: every group has what it needs, and nothing else is left.
func (w *World) rests() *violation {
	for _, g := range w.groups {
		now, _ := g.sizes()
		t := g.truth()
		needed := min(now.ceiling, max(now.floor, (now.spare+now.capacity-1)/now.capacity))
		switch {
		case t.alive != needed || t.starting > 0 || len(g.servers) != needed:
			return &violation{
				w.now, g.plan.Name, "a group at rest is at its size",
				fmt.Sprintf("%d servers, %d of them alive and %d starting, where %d are needed", len(g.servers), t.alive, t.starting, needed),
			}
		case t.old > 0 && t.alive < now.ceiling:
			return &violation{w.now, g.plan.Name, "a changeover comes to its end", fmt.Sprintf("%d servers are of an old spec", t.old)}
		}
	}
	return nil
}
