// SPDX-License-Identifier: Apache-2.0

package phase

//go:generate go run ../../hack/lifecycle-docs ../../docs/reference/server-lifecycle.md

import (
	"slices"
	"strings"
	"time"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/fleet"
)

// Effects is a set of orders to carry out, in the order of the constants.
type Effects uint8

const (
	// Deregister takes the server out of the proxies' list.
	Deregister Effects = 1 << iota
	// Register puts it into the list. That it was registered is persisted
	// before any proxy hears of it.
	Register
	// MovePlayers has the proxies move its players to the fallback groups, and
	// goes on until it is no longer ordered.
	MovePlayers
	// CountLoss puts one readiness loss on record.
	CountLoss
	// DeletePod deletes the pod, after its world was saved.
	DeletePod
	// Release takes the finalizer away and deletes the Server.
	Release
)

// names follow the order of the constants.
var names = []string{"Deregister", "Register", "MovePlayers", "CountLoss", "DeletePod", "Release"}

// String names the effects in the order in which they are carried out.
func (e Effects) String() string {
	var set []string
	for i, name := range names {
		if e.Has(1 << i) {
			set = append(set, name)
		}
	}
	return strings.Join(set, ", ")
}

// Has is true when the set holds every one of the given effects.
func (e Effects) Has(those Effects) bool { return e&those == those }

// Decision is what becomes of a server, and what has to be done about it.
type Decision struct {
	// Rule is the name of the rule that decided.
	Rule    string
	Next    v1alpha1.ServerPhase
	Effects Effects
	// Reason is the reason of the condition Ready; empty keeps the last one.
	Reason string
	// Note is the same as a sentence for a person.
	Note string
	// Clocks and Losses are what the status holds from now on.
	Clocks fleet.Clocks
	Losses int
	// Recheck is the earliest instant at which the decided state, unchanged,
	// gives another answer. It is Now after a change of phase, and zero when
	// only news can change the answer.
	Recheck time.Time
}

// Decide applies the first rule that holds. It panics on a phase that is none:
// admission lets only the seven through.
func Decide(in Input) Decision {
	f := read(&in)
	rule := match(&f)
	d := Decision{
		Rule:    rule.Name,
		Next:    rule.Next,
		Effects: rule.Effects | standing(&f, rule.Next),
		Reason:  rule.Reason,
		Note:    rule.note(&f),
		Clocks:  clocks(&f, rule),
		Losses:  f.losses,
	}
	if rule.Effects.Has(CountLoss) {
		d.Losses++
	}
	d.Recheck = recheck(&f, &d)
	return d
}

func match(f *facts) *Rule {
	for i := range rules {
		if slices.Contains(rules[i].From, f.Phase) && rules[i].when(f) {
			return &rules[i]
		}
	}
	panic("no rule for a server in phase " + string(f.Phase))
}

// Rules returns the table, in the order in which it is asked.
func Rules() []Rule { return slices.Clone(rules) }

// standing are the orders that follow from where a server is going, whichever
// rule sent it there.
func standing(f *facts, next v1alpha1.ServerPhase) Effects {
	var effects Effects
	listed := f.Registration == fleet.Registered
	if next == ready && !listed {
		effects |= Register
	}
	if next != ready && listed {
		effects |= Deregister
	}
	if next == draining || (next == failed && atRisk(f)) || cameLate(f) {
		effects |= MovePlayers
	}
	return effects
}

// clocks starts the clocks that go with the next phase and stops those that
// do not. A clock of a phase that was lost starts again instead of being taken
// for one that ran out.
func clocks(f *facts, rule *Rule) fleet.Clocks {
	c := f.Clocks
	switch rule.Next {
	case pending, starting:
		c.StartedAt = startup(f, rule)
	case ready:
		c.RetiringSince = time.Time{}
		if f.Phase == starting {
			c.ReadySince = f.Now
		}
	case retiring:
		c.RetiringSince = orNow(c.RetiringSince, f.Now)
	case draining:
		c.DrainStartedAt = orNow(c.DrainStartedAt, f.Now)
	case failed:
		c.FailedAt = orNow(c.FailedAt, f.Now)
		if atRisk(f) {
			c.DrainStartedAt = orNow(c.DrainStartedAt, f.Now)
		}
	case terminating:
		if cameLate(f) {
			c.DrainStartedAt = orNow(c.DrainStartedAt, f.Now)
		}
	}
	return c
}

// startup is when the startup deadline began. It does not run while another
// pod holds the name, or the world is held, and begins anew with every loss.
func startup(f *facts, rule *Rule) time.Time {
	switch {
	case rule.Effects.Has(CountLoss):
		return f.Now
	case held(f):
		return time.Time{}
	case f.Acceptance == NotAccepted:
		return f.StartedAt
	}
	return orNow(f.StartedAt, f.Now)
}

func orNow(t, now time.Time) time.Time {
	if t.IsZero() {
		return now
	}
	return t
}

// recheck is the first deadline ahead that bears on where the server stays.
func recheck(f *facts, d *Decision) time.Time {
	if d.Next != f.Phase {
		return f.Now
	}
	ahead := slices.DeleteFunc(deadlines(f, d), func(t time.Time) bool { return !t.After(f.Now) })
	return fleet.Earliest(ahead...)
}

func deadlines(f *facts, d *Decision) []time.Time {
	c := d.Clocks
	drained := after(c.DrainStartedAt, f.Limits.Drain)
	switch f.Phase {
	case pending, starting:
		return startupDeadlines(f, c.StartedAt)
	case ready:
		return servingDeadlines(f, d.Losses)
	case retiring:
		if retirementBounded(f) {
			return []time.Time{f.ClearsAt(f.Now), after(c.RetiringSince, f.Limits.MaxStale)}
		}
		return []time.Time{f.ClearsAt(f.Now)}
	case draining:
		return []time.Time{f.ClearsAt(f.Now), drained}
	case failed:
		return []time.Time{f.ClearsAt(f.Now), drained, after(c.FailedAt, f.Limits.Retention)}
	case terminating:
		if f.Pod == PodTerminating {
			return []time.Time{after(f.PodGraceEnds, releaseAfter)}
		}
		if cameLate(f) {
			return []time.Time{f.ClearsAt(f.Now), drained}
		}
	}
	return nil
}

func servingDeadlines(f *facts, losses int) []time.Time {
	var settled time.Time
	if losses > 0 {
		settled = after(f.ReadySince, settledAfter)
	}
	return []time.Time{hung(f), settled}
}

// hung is when a game that answers nothing has done so for too long.
func hung(f *facts) time.Time {
	if f.Agent != AgentNotAnswering || !wasReady(f) {
		return time.Time{}
	}
	return after(f.NotAnsweringSince, f.Limits.Startup)
}

func startupDeadlines(f *facts, startedAt time.Time) []time.Time {
	if nameHeld(f) {
		return []time.Time{f.Now.Add(heldNameRecheck)}
	}
	deadlines := []time.Time{after(startedAt, f.Limits.Startup), hung(f)}
	if unheard(f) {
		deadlines = append(deadlines, f.LeaderSince.Add(fleet.LeaderPatience))
	}
	return deadlines
}

// after is the end of a limit, zero while its clock does not run.
func after(start time.Time, limit time.Duration) time.Time {
	if start.IsZero() {
		return time.Time{}
	}
	return start.Add(limit)
}
