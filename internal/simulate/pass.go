// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/boosts"
	"github.com/spawnery/spawnery-operator/internal/expect"
	"github.com/spawnery/spawnery-operator/internal/fleet"
	"github.com/spawnery/spawnery-operator/internal/outcome"
	"github.com/spawnery/spawnery-operator/internal/phase"
	"github.com/spawnery/spawnery-operator/internal/scaling"
	"github.com/spawnery/spawnery-operator/internal/sighting"
	"github.com/spawnery/spawnery-operator/internal/sizing"
)

const (
	// tick is the pace at which an ephemeral group is sized.
	tick = 5 * time.Second
	// again is when a write without an answer is repeated.
	again = time.Second

	podReady, podEvicted = phase.PodReady, phase.PodEvicted
)

// groupPass is one pass over a group.
type groupPass struct {
	in      sizing.Input
	plan    sizing.Plan
	pending expect.Pending
	// acted is true when something was written.
	acted bool
}

func (m *manager) passGroup(g *group) {
	pass := &groupPass{}
	pass.in, pass.pending = m.observeGroup(g)
	pass.plan = sizing.Decide(pass.in)
	g.spareable = pass.plan.Spareable
	m.w.tell(&happening{what: decided, group: g, pass: pass})
	m.carryOut(g, pass)
	m.recordGroup(g, pass)
	m.w.tell(&happening{what: settled, group: g, pass: pass})
	m.planPass(g, pass)
}

func (m *manager) observeGroup(g *group) (sizing.Input, expect.Pending) {
	in := sizing.Input{
		Now:         m.w.now,
		Trigger:     scaling.OnEvent,
		Group:       g.shown,
		Boosts:      boosts.At(m.w.now, g.shown.Spec.Type, g.shownBoosts),
		Waiting:     g.waitingKnown,
		Channel:     m.channelKnown,
		LeaderSince: m.leaderSince,
		Spareable:   g.spareable,
	}
	if m.w.now.Sub(m.ticksFrom)%tick == 0 {
		in.Trigger = scaling.OnTick
	}
	seen := g.seen[:0]
	for _, s := range g.servers {
		if s.shown != nil {
			seen = append(seen, expect.Seen{
				Name: s.name, UID: s.shown.UID, Deleting: s.shown.DeletionTimestamp != nil, Retire: s.shown.Spec.RetireReason,
			})
		}
	}
	pending := m.writes.Settle(g.written.UID, seen, m.w.now)
	in.Pending = pending.Creates
	g.seen = seen
	in.Servers = g.views[:0]
	for _, s := range g.servers {
		if s.shown != nil {
			one := s.look(m)
			sighting.Correct(&one, s.shown, pending)
			in.Servers = append(in.Servers, one)
		}
	}
	g.views = in.Servers
	return in, pending
}

// planPass says when the group is looked at again. A tick that would change
// nothing is left out: the plan says until when it stands as long as nothing
// happens, and whatever happens wakes the group.
func (m *manager) planPass(g *group, pass *groupPass) {
	next := m.w.now.Add(tick - m.w.now.Sub(m.ticksFrom)%tick)
	due := fleet.Earliest(pass.plan.Recheck, pass.pending.Until)
	quiet := pass.in.Trigger == scaling.OnTick && !pass.acted && m.w.scenario.Ticks == TicksWhenDue
	switch {
	case quiet && due.IsZero():
	case quiet:
		m.wakeGroupAt(g, due)
	case due.IsZero():
		m.wakeGroupAt(g, next)
	default:
		m.wakeGroupAt(g, fleet.Earliest(due, next))
	}
}

// carryOut writes what the plan says: who stays and who goes first, then who
// is made. A new kind of intent is one more line here.
func (m *manager) carryOut(g *group, pass *groupPass) {
	plan := &pass.plan
	for _, one := range plan.Withdraw {
		m.setRetireReason(g, pass, one.Name, v1alpha1.RetireNone, one.Note)
	}
	for _, one := range plan.Retire {
		m.setRetireReason(g, pass, one.Name, one.Reason, one.Note)
	}
	for _, one := range plan.Remove {
		m.remove(g, pass, one)
	}
	for range plan.Create {
		if !m.create(g, pass) {
			m.wakeGroupAt(g, m.w.now.Add(again))
			break
		}
	}
}

// setRetireReason writes a reason, or takes it back. By a cache that is behind
// the write meets a conflict, and a later pass tries again.
func (m *manager) setRetireReason(g *group, pass *groupPass, name string, reason v1alpha1.RetireReason, note string) {
	pass.acted = true
	s := m.w.named[name]
	if s == nil || s.written == nil || s.stale() {
		m.wakeGroupAt(g, m.w.now.Add(outcome.Stale))
		return
	}
	m.writes.Retired(g.written.UID, s.written.UID, reason, m.w.now)
	s.write(func(object *v1alpha1.Server) { object.Spec.RetireReason = reason })
	kind := retired
	if reason == v1alpha1.RetireNone {
		kind = withdrawn
	}
	m.w.tell(&happening{what: kind, group: g, server: s, pass: pass, note: note})
}

func (m *manager) remove(g *group, pass *groupPass, one sizing.Removal) {
	pass.acted = true
	s := m.w.named[one.Name]
	if s == nil || s.written == nil {
		return
	}
	m.writes.Deleted(g.written.UID, s.written.UID, m.w.now)
	m.w.tell(&happening{what: removed, group: g, server: s, pass: pass, note: one.Note})
	s.delete()
}

// create makes a Server. Now and then the answer is lost, and with it, or not,
// the write; it says whether there was one.
func (m *manager) create(g *group, pass *groupPass) bool {
	pass.acted = true
	unsure := m.w.pace.Unsure > 0 && m.w.chance.Float64() < m.w.pace.Unsure
	if unsure {
		m.w.trouble(0)
	}
	if unsure && m.w.chance.IntN(2) == 0 {
		g.lostWrites++
		m.writes.Created(g.written.UID, fmt.Sprintf("%s-lost-%d", g.plan.Name, g.lostWrites), m.w.now)
		return false
	}
	s := g.add()
	m.writes.Created(g.written.UID, s.name, m.w.now)
	m.w.tell(&happening{what: created, group: g, server: s, pass: pass})
	return !unsure
}

// recordGroup writes what a group's status remembers between passes.
func (m *manager) recordGroup(g *group, pass *groupPass) {
	status := g.shown.Status
	streak := pass.plan.Failures.Streak
	if status.FirstRegisteredAt == nil {
		for i := range pass.in.Servers {
			if pass.in.Servers[i].Registration.Ever() {
				status.FirstRegisteredAt = sighting.Stamp(m.w.now)
			}
		}
	}
	status.ConsecutiveFailures = new(int32(streak.Failures))
	status.LastFailureAt = sighting.Stamp(streak.LastFailureAt)
	status.ObservedGeneration = new(g.shown.Generation)
	if sameGroup(&g.shown.Status, &status) {
		return
	}
	if g.shown != g.written {
		m.wakeGroupAt(g, m.w.now.Add(outcome.Stale))
		return
	}
	g.write(func(object *v1alpha1.ServerGroup) { object.Status = status })
}

func sameGroup(a, b *v1alpha1.ServerGroupStatus) bool {
	return same(a.ConsecutiveFailures, b.ConsecutiveFailures) && same(a.ObservedGeneration, b.ObservedGeneration) &&
		sameTime(a.LastFailureAt, b.LastFailureAt) && sameTime(a.FirstRegisteredAt, b.FirstRegisteredAt)
}

func same[T comparable](a, b *T) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}

func sameTime(a, b *metav1.Time) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Equal(b)
}
