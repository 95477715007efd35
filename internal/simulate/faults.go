// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"time"

	"github.com/spawnery/spawnery-operator/internal/phase"
)

// some draws a server whose pod is as wanted, or nil.
func (w *World) some(wanted func(*pod) bool) *server {
	var fit []*server
	for _, s := range w.servers {
		if s.written != nil && s.pod != nil && wanted(s.pod) {
			fit = append(fit, s)
		}
	}
	if len(fit) == 0 {
		return nil
	}
	return fit[w.chance.IntN(len(fit))]
}

// Crash has the game of some server exit.
func (w *World) Crash() {
	if s := w.some((*pod).up); s != nil {
		s.pod.end(phase.PodGameExited, "its game crashes")
	}
}

// Evict has the cluster take the pod of some server.
func (w *World) Evict() {
	if s := w.some((*pod).up); s != nil {
		s.pod.end(phase.PodEvicted, "its pod is evicted")
	}
}

// Silence has the agent of some server fall silent for a while. It answers no
// proxy either.
func (w *World) Silence(length time.Duration) {
	s := w.some((*pod).up)
	if s == nil {
		return
	}
	s.pod.silence(length)
}

// SilenceGroup has every agent of a group fall silent for a while.
func (w *World) SilenceGroup(index int, length time.Duration) {
	for _, s := range w.groups[index].servers {
		if s.pod != nil && s.pod.up() {
			s.pod.silence(length)
		}
	}
}

func (p *pod) silence(length time.Duration) {
	s := p.server
	w := s.group.w
	p.agent.fall(p)
	w.tell(&happening{what: podChanged, group: s.group, server: s, note: "its agent falls silent for " + length.String()})
	w.in(length, func() {
		if !p.ended() {
			w.tell(&happening{what: podChanged, group: s.group, server: s, note: "its agent speaks again"})
		}
		p.agent.speak(p)
	})
}

// CutOff keeps the agent of some server from the manager for a while. It goes on
// answering the proxies.
func (w *World) CutOff(length time.Duration) {
	s := w.some((*pod).up)
	if s == nil {
		return
	}
	p := s.pod
	p.agent.cut, p.agent.stream = true, false
	p.agent.mute(p)
	w.tell(&happening{what: podChanged, group: s.group, server: s, note: "its agent is cut off from the manager for " + length.String()})
	w.manager.heardOf(s)
	w.in(length, func() {
		p.agent.cut = false
		if p.agent.speaking {
			w.tell(&happening{what: podChanged, group: s.group, server: s, note: "its agent is heard again"})
			p.agent.speaking = false
			p.agent.speak(p)
		}
	})
}

// DrainNode begins to drain a node: no pod comes there any more, and the manager
// clears it. After a while it is there for pods again.
func (w *World) DrainNode(index int, length time.Duration) {
	w.trouble(0)
	n := w.nodes[index]
	w.tell(&happening{what: turned, note: n.name + " is drained"})
	n.leave(w, true)
	w.in(length, func() {
		w.tell(&happening{what: turned, note: n.name + " takes pods again"})
		n.leave(w, false)
		for _, s := range w.servers {
			if p := s.pod; p != nil && !p.gone && p.node == nil {
				p.wakeUp(n)
			}
		}
	})
}

func (n *node) leave(w *World, leaving bool) {
	n.leaving = leaving
	w.show(func() {
		n.leavingShown = leaving
		for _, g := range w.groups {
			g.stirred++
			g.forgetViews()
			w.manager.wakeGroup(g)
			w.manager.wakeServers(g)
		}
	})
}

// Stumble has some game not be ready for a while.
func (w *World) Stumble(length time.Duration) {
	s := w.some((*pod).up)
	if s == nil {
		return
	}
	p := s.pod
	p.state = starting
	p.changed(phase.PodRunning, "its game is not ready for "+length.String())
	p.news()
	w.in(length, func() {
		if p.is == phase.PodRunning && p.state == starting {
			p.state = ready
			p.changed(phase.PodReady, "its game is ready again")
			p.news()
		}
	})
}

// Hang has some game stop answering, for good. Its players time out.
func (w *World) Hang() {
	s := w.some((*pod).up)
	if s == nil {
		return
	}
	p := s.pod
	p.state = notAnswering
	w.tell(&happening{what: podChanged, group: s.group, server: s, note: "its game hangs"})
	p.news()
	w.in(timedOut, p.loseAll)
}

// KillNode has a node die. Nobody confirms the end of its pods.
func (w *World) KillNode(index int, length time.Duration) {
	n := w.nodes[index]
	n.dead = true
	w.tell(&happening{what: turned, note: n.name + " dies"})
	for _, s := range w.servers {
		if p := s.pod; p != nil && !p.gone && p.node == n {
			p.agent.fall(p)
			p.state = notAnswering
			if p.is == phase.PodReady {
				p.changed(phase.PodRunning, "its node is dead")
			}
			w.in(timedOut, p.loseAll)
			w.in(evictedAfter, func() {
				if p.node.dead {
					p.stop()
				}
			})
		}
	}
	w.in(length, func() {
		n.dead = false
		w.tell(&happening{what: turned, note: n.name + " is back"})
		for _, s := range w.servers {
			if p := s.pod; p != nil && !p.gone && (p.node == nil || p.node == n) {
				p.wakeUp(n)
			}
		}
	})
}

// wakeUp is what becomes of a pod when its node is back, or there is one at all.
func (p *pod) wakeUp(n *node) {
	switch {
	case p.deleting:
		p.vanish()
	case p.is == phase.PodWaiting:
		g := p.server.group
		p.node = n
		p.boot(g.image(g.shown.Spec.Image))
	default:
		p.end(phase.PodGameExited, "its game did not survive")
	}
}
