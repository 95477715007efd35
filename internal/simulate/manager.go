// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/spawnery/spawnery-operator/internal/expect"
	"github.com/spawnery/spawnery-operator/internal/fleet"
	"github.com/spawnery/spawnery-operator/internal/sessions"
	"github.com/spawnery/spawnery-operator/internal/sighting"
)

// manager is the leading process. What it remembers ends with it.
type manager struct {
	w       *World
	leading bool
	// deaf is true while no agent reaches it.
	deaf        bool
	leaderSince time.Time
	// proxiesFrom is when every proxy was connected; zero while they are not.
	proxiesFrom time.Time
	writes      *expect.Writes
	ticksFrom   time.Time

	channel, channelKnown fleet.Channel
	network               alarm
}

var proxyPods = []types.UID{"proxy"}

func (m *manager) proxies() []types.UID { return proxyPods }

// lead begins a new leadership: caches are read anew, and nothing was heard.
func (m *manager) lead() {
	m.leading, m.leaderSince, m.ticksFrom = true, m.w.now, m.w.now
	m.writes = &expect.Writes{}
	m.proxiesFrom = time.Time{}
	for _, p := range m.w.pods {
		p.agent.forget()
	}
	for _, n := range m.w.nodes {
		n.leavingShown = n.leaving
	}
	m.w.proxy.connect()
	for _, g := range m.w.groups {
		g.shown, g.shownBoosts, g.podHash = g.written, g.boosts, hash(g.written)
		g.forgetViews()
		g.waitingKnown, g.spareable = 0, nil
		for _, s := range append([]*server(nil), g.servers...) {
			m.meet(s)
		}
		m.wakeGroup(g)
	}
	m.hearNetwork()
}

// meet is the first look of a new leader at a Server.
func (m *manager) meet(s *server) {
	s.there, s.lastThere = sessions.Presence{}, time.Time{}
	if p := s.pod; p != nil {
		p.shown, p.shownGraceEnds, p.inCache = p.is, p.graceEnds, !p.gone
		if p.deleting {
			p.shown = terminating(p.is)
		}
		if p.agent.speaking {
			p.agent.speaking = false
			p.agent.speak(p)
		}
	}
	if s.shows != s.writes {
		s.showAs(s.written, s.writes)
	}
	m.wakeServer(s)
}

// resign ends the leadership; nobody decides until somebody leads again.
func (m *manager) resign() { m.leading = false }

// RestartManager ends the leader and has another one lead after a while.
func (w *World) RestartManager(away time.Duration) {
	w.trouble(away)
	w.manager.resign()
	w.tell(&happening{what: turned, note: "the manager is gone for " + away.String()})
	w.in(away, func() {
		w.tell(&happening{what: turned, note: "a new manager leads"})
		w.manager.lead()
	})
}

// SilenceAgents keeps every agent from the manager for a while.
func (w *World) SilenceAgents(length time.Duration) {
	w.trouble(length)
	w.manager.deaf = true
	w.tell(&happening{what: turned, note: "all agents fall silent for " + length.String()})
	for _, s := range w.servers {
		if p := s.pod; p != nil {
			p.agent.stream = false
			p.agent.mute(p)
			w.manager.heardOf(s)
		}
	}
	w.in(length, func() {
		w.manager.deaf = false
		w.tell(&happening{what: turned, note: "agents are heard again"})
		for _, s := range w.servers {
			if p := s.pod; p != nil && p.agent.speaking {
				p.agent.speaking = false
				p.agent.speak(p)
			}
		}
	})
}

// SlowCache makes the cache lag behind for a while.
func (w *World) SlowCache(lag Range, length time.Duration) {
	w.trouble(length + lag.Most)
	w.pace.Cache = lag
	w.in(length, func() { w.pace.Cache = w.scenario.Pace.Cache })
}

// Server implements sighting.Channel.
func (m *manager) Server(uid types.UID) sessions.ServerState {
	if p := m.w.pods[uid]; p != nil {
		return p.agent.known()
	}
	return sessions.ServerState{}
}

// Presence implements sighting.Channel.
func (m *manager) Presence(of types.NamespacedName) sessions.Presence {
	if s := m.w.named[of.Name]; s != nil {
		return s.there
	}
	return sessions.Presence{}
}

// NobodySince implements sighting.Channel.
func (m *manager) NobodySince(of types.NamespacedName, _ []types.UID) (time.Time, bool) {
	s := m.w.named[of.Name]
	if s == nil || m.proxiesFrom.IsZero() || s.there != (sessions.Presence{}) {
		return time.Time{}, false
	}
	if s.lastThere.After(m.proxiesFrom) {
		return s.lastThere, true
	}
	return m.proxiesFrom, true
}

// heardOf wakes whom news of a server concern.
func (m *manager) heardOf(s *server) {
	s.viewed = false
	s.group.stirred++
	m.w.proxy.list(s)
	m.wakeServer(s)
	m.wakeGroup(s.group)
}

func (m *manager) wakeServer(s *server) { m.wakeServerAt(s, m.w.now) }

func (m *manager) wakeServerAt(s *server, when time.Time) {
	m.w.wake(&s.pass, when, func() {
		if m.leading && s.shown != nil {
			m.passServer(s)
		}
	})
}

func (m *manager) wakeServers(g *group) {
	for _, s := range g.servers {
		m.wakeServer(s)
	}
}

func (m *manager) wakeGroup(g *group) { m.wakeGroupAt(g, m.w.now) }

func (m *manager) wakeGroupAt(g *group, when time.Time) {
	m.w.wake(&g.pass, when, func() {
		if m.leading {
			m.passGroup(g)
		}
	})
}

// hearNetwork has the Network looked at: whether silence is the channel's fault.
func (m *manager) hearNetwork() {
	m.w.wake(&m.network, m.w.now, func() {
		if m.leading {
			m.passNetwork()
		}
	})
}

func (m *manager) passNetwork() {
	heard := sighting.Hearing{LeaderSince: m.leaderSince}
	for _, s := range m.w.servers {
		if s.shown == nil {
			continue
		}
		if is, _ := s.podState(); is == podReady {
			heard.Hear(&s.shown.Status, m.Server(types.UID(s.shown.Status.PodUID)).Freshness)
		}
	}
	channel, until := heard.Channel(m.w.now)
	if !until.IsZero() {
		m.w.wake(&m.network, until, m.passNetwork)
	}
	if channel == m.channel {
		return
	}
	m.channel = channel
	m.w.show(func() {
		m.channelKnown = channel
		for _, g := range m.w.groups {
			m.wakeGroup(g)
		}
	})
}
