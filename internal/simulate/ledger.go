// SPDX-License-Identifier: Apache-2.0

package simulate

import "time"

// Ledger is what a run gave its players and what it cost, from an instant on to
// the end of the scenario.
type Ledger struct {
	// Steps are equally long and in the order of time; the last may be cut off.
	Steps []Step
	// ServerTime is the time of all pods together, from their making until they
	// are gone.
	ServerTime time.Duration
	// AtCeiling is how long the first group had as many pods as maxReplicas
	// allows, Short how long it had fewer seats free than spareSlots.
	AtCeiling, Short time.Duration
	// MostServers and MostPlayers are the highest numbers at one instant.
	MostServers, MostPlayers int
	// Held counts waits for a seat. They ended in a seat, in a refusal, or with
	// a player who gave up.
	Held, Refused, GaveUp int
	// Lost counts players whose server went under them.
	Lost int
	// LongestHold is the longest wait that ended in a seat.
	LongestHold time.Duration
}

// Step is one step of a ledger: the most there were at one instant of it.
type Step struct {
	At time.Time
	// Servers are pods, Ready those of them whose game takes players.
	Servers, Ready int
	// Players have a seat, or are on the way to it.
	Players int
	// Held and Refused count what happened in the step.
	Held, Refused int
}

// Run lives a scenario to its end and returns what was seen of it from an
// instant on, in steps of the given length.
func Run(scenario *Scenario, from time.Time, step time.Duration) *Ledger {
	return New(scenario).account(from, step)
}

func (w *World) account(from time.Time, step time.Duration) *Ledger {
	b := &bookkeeper{from: from, to: w.scenario.End, step: step, last: from, holds: map[*player]time.Time{}}
	w.watch(b)
	w.Run()
	b.until(w.now)
	for one := range b.holds {
		if one.away {
			b.ledger.GaveUp++
		}
	}
	return &b.ledger
}

// bookkeeper is the watcher that writes a ledger.
type bookkeeper struct {
	from, to time.Time
	step     time.Duration
	ledger   Ledger
	// last is up to when everything is written down, and stands is how things
	// have stood since then.
	last   time.Time
	stands standing
	// holds are the waits that have not ended in a seat or a refusal.
	holds map[*player]time.Time
}

// standing is how a network stands at one instant.
type standing struct {
	servers, ready, players int
	full, short             bool
	// stirred is how often the groups had been stirred by then.
	stirred int
}

func (b *bookkeeper) see(w *World, h *happening) {
	if w.now.Before(b.from) {
		if h.what == passed {
			b.stands = w.standing(b.stands)
		}
		return
	}
	switch h.what {
	case passed:
		b.until(w.now)
		b.stands = w.standing(b.stands)
		b.note(w.now)
	case held:
		b.holds[h.player] = w.now
		b.ledger.Held++
		b.at(w.now).Held++
	case seated:
		if since, ok := b.holds[h.player]; ok {
			b.ledger.LongestHold = max(b.ledger.LongestHold, w.now.Sub(since))
			delete(b.holds, h.player)
		}
	case refused:
		delete(b.holds, h.player)
		b.ledger.Refused++
		b.at(w.now).Refused++
	case lost:
		b.ledger.Lost++
	case decided, settled, created, removed, retired, withdrawn, wrote, podDeleted, gone, podChanged, joined, left, turned:
	}
}

// until writes down how things stood up to an instant, step by step.
func (b *bookkeeper) until(now time.Time) {
	for b.last.Before(now) {
		b.note(b.last)
		end := b.from.Add(time.Duration(len(b.ledger.Steps)) * b.step)
		if end.After(now) {
			end = now
		}
		length := end.Sub(b.last)
		b.ledger.ServerTime += time.Duration(b.stands.servers) * length
		if b.stands.full {
			b.ledger.AtCeiling += length
		}
		if b.stands.short {
			b.ledger.Short += length
		}
		b.last = end
	}
}

// note keeps the highest numbers.
func (b *bookkeeper) note(now time.Time) {
	step, l := b.at(now), &b.ledger
	step.Servers, l.MostServers = max(step.Servers, b.stands.servers), max(l.MostServers, b.stands.servers)
	step.Players, l.MostPlayers = max(step.Players, b.stands.players), max(l.MostPlayers, b.stands.players)
	step.Ready = max(step.Ready, b.stands.ready)
}

// at is the step of an instant; what is missing before it is added. The end is
// part of the last step.
func (b *bookkeeper) at(now time.Time) *Step {
	index := int(min(now.Sub(b.from), b.to.Sub(b.from)-1) / b.step)
	for len(b.ledger.Steps) <= index {
		begins := b.from.Add(time.Duration(len(b.ledger.Steps)) * b.step)
		b.ledger.Steps = append(b.ledger.Steps, Step{At: begins})
	}
	return &b.ledger.Steps[index]
}

// standing looks at servers only when something happened to a group.
func (w *World) standing(was standing) standing {
	s := was
	s.servers, s.players, s.stirred = len(w.pods), w.proxy.online-len(w.proxy.held), 0
	for _, g := range w.groups {
		s.stirred += g.stirred
	}
	if s.stirred == was.stirred {
		return s
	}
	s.ready = 0
	for _, p := range w.pods {
		if p.up() {
			s.ready++
		}
	}
	g := w.groups[0]
	sizes, _ := g.sizes()
	truth := g.truth()
	s.full = s.servers >= sizes.ceiling
	s.short = truth.free < sizes.spare
	return s
}
