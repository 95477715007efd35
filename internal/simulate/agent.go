// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"time"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/sessions"
)

// agent is the one of a pod, and what the present leader heard of it.
type agent struct {
	// speaking is true while it reports; down is one that answers no proxy
	// either.
	speaking, down bool
	// cut is true while the manager cannot hear it, though proxies do.
	cut bool
	// stream is true while its session stands, spoken or silent.
	stream bool
	// word counts reports and silences, so that what is planned for one does
	// not happen to the next.
	word int

	heard     *agentv1alpha1.ServerReport
	said      word
	sampledAt time.Time
	stateFrom time.Time
	stale     bool
}

// speak begins the reports of an agent.
func (a *agent) speak(p *pod) {
	if a.speaking || p.ended() {
		return
	}
	a.speaking, a.down = true, false
	a.word++
	w := p.server.group.w
	word := a.word
	w.in(Range{500 * time.Millisecond, 3 * time.Second}.draw(w.chance), func() {
		if a.word == word && a.audible(w) {
			a.stream = true
			p.news()
		}
	})
}

// audible is true while what it says reaches a leader.
func (a *agent) audible(w *World) bool {
	return a.speaking && !a.cut && w.manager.leading && !w.manager.deaf
}

// mute ends the reports, for whatever reason: the last sample ages from here.
func (a *agent) mute(p *pod) {
	if a.heard == nil || a.stale {
		return
	}
	a.word++
	w := p.server.group.w
	word := a.word
	// The last regular report is up to one interval old.
	if since := w.now.Sub(a.sampledAt); since > 0 {
		a.sampledAt = w.now.Add(-(since % sessions.ReportInterval))
	}
	w.at(a.sampledAt.Add(sessions.FreshFor), func() {
		if a.word != word {
			return
		}
		a.stale = true
		w.manager.heardOf(p.server)
		w.manager.hearNetwork()
	})
}

// fall is an agent that is no more, with or without its game.
func (a *agent) fall(p *pod) {
	a.speaking, a.down, a.stream = false, true, false
	a.mute(p)
}

// news carries what is true of a server to whom it concerns: the agent's word
// and the proxies' at once, for both report on change.
func (p *pod) news() {
	s := p.server
	s.group.stirred++
	if s.newsDue {
		return
	}
	s.newsDue = true
	w := s.group.w
	w.in(w.pace.News.draw(w.chance), func() {
		s.newsDue = false
		w.manager.hear(s)
	})
}

// hear takes in what a server's agent says now, and what the proxies say of
// everybody.
func (m *manager) hear(s *server) {
	if !m.leading {
		return
	}
	if p := s.pod; p != nil && p.agent.audible(m.w) && p.agent.stream && p.agent.report(m.w, p) {
		m.heardOf(s)
	}
	m.hearProxies()
}

// hearProxies takes in where everybody is by the proxies' word.
func (m *manager) hearProxies() {
	if !m.leading || m.proxiesFrom.IsZero() {
		return
	}
	for _, s := range m.w.servers {
		there := m.w.proxy.presence(s)
		if there == s.there {
			continue
		}
		s.there = there
		if there == (sessions.Presence{}) {
			s.lastThere = m.w.now
		}
		m.heardOf(s)
	}
	for _, g := range m.w.groups {
		if g.waitingKnown != g.waiting {
			g.waitingKnown = g.waiting
			m.wakeGroup(g)
		}
	}
}

// report is one report of an agent; it says whether it was news.
func (a *agent) report(w *World, p *pod) bool {
	said := p.says()
	before, wasStale := a.heard, a.stale
	if p.state == notAnswering {
		// It speaks of a game that tells it nothing: the last sample ages.
		a.mute(p)
	} else {
		a.word++
		a.sampledAt, a.stale = w.now, false
	}
	if before == nil || wasStale {
		w.manager.hearNetwork()
	}
	if before.GetGameState() != p.state {
		a.stateFrom = w.now
	}
	if before != nil && !wasStale && said == a.said {
		return false
	}
	a.said = said
	a.heard = &agentv1alpha1.ServerReport{
		GameState: said.state, Online: said.online, Slots: said.slots, SeatsPending: said.pending, JoinsOpen: !said.shut,
	}
	if said.playable > 0 {
		a.heard.PlayableSlots = new(said.playable)
	}
	return true
}

// word is what an agent says, and what is compared.
type word struct {
	state                            agentv1alpha1.GameState
	online, slots, pending, playable int32
	shut                             bool
}

func (p *pod) says() word {
	return word{p.state, int32(len(p.players)), int32(p.slots), int32(p.coming), int32(p.playable), p.shut}
}

// known is what the manager knows of the agent.
func (a *agent) known() sessions.ServerState {
	said := sessions.ServerState{
		Connected: a.stream, SampledAt: a.sampledAt, GameStateSince: a.stateFrom, Report: a.heard,
	}
	switch {
	case a.heard == nil:
	case a.stale:
		said.Freshness = sessions.Stale
	default:
		said.Freshness = sessions.Fresh
	}
	return said
}

// forget is what a new leader knows of an agent.
func (a *agent) forget() {
	a.word++
	a.heard, a.sampledAt, a.stateFrom, a.stale, a.stream = nil, time.Time{}, time.Time{}, false, false
}
