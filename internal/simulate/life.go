// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/outcome"
	"github.com/spawnery/spawnery-operator/internal/phase"
	"github.com/spawnery/spawnery-operator/internal/sighting"
)

// passServer is one pass over a Server.
func (m *manager) passServer(s *server) {
	life := sighting.Life{
		Now:             m.w.now,
		Group:           s.group.shown,
		PodHash:         s.group.podHash,
		Said:            m.Server(types.UID(s.shown.Status.PodUID)),
		Presence:        sighting.PresenceOf(s.shown, m, m.proxies()),
		LeaderSince:     m.leaderSince,
		StartupDeadline: startupDeadline,
		Node:            s.outlook(),
	}
	life.Pod, life.PodGraceEnds = s.podState()
	d := phase.Decide(life.Of(s.shown))
	if d.Effects.Has(phase.Release) {
		m.release(s)
		return
	}
	if d.Effects.Has(phase.DeletePod) && s.pod != nil {
		m.deletePod(s)
	}
	status := life.Record(&s.shown.Status, d)
	// Numbers for people; no decision reads them.
	status.Players = nil
	status.PodUID = s.shown.Status.PodUID
	podHash := s.shown.Spec.PodHash
	if p := s.pod; p != nil && p.inCache && status.PodUID == "" {
		status.PodUID = string(p.uid)
	}
	if d.Next == v1alpha1.ServerPending && life.Pod == phase.PodNotMade && s.shown.DeletionTimestamp == nil {
		podHash = life.PodHash
		status.PodUID = string(s.start().uid)
	}
	m.recordServer(s, &status, podHash, &d)
	// What a change of phase changes wakes the Server once the cache shows it.
	if d.Recheck.After(m.w.now) {
		m.wakeServerAt(s, d.Recheck)
	}
}

// recordServer writes a status that differs. By a cache that is behind the
// write meets a conflict.
func (m *manager) recordServer(s *server, status *v1alpha1.ServerStatus, podHash string, d *phase.Decision) {
	if recorded(&s.shown.Status, status) && s.shown.Spec.PodHash == podHash {
		return
	}
	if s.stale() || s.written == nil {
		m.wakeServerAt(s, m.w.now.Add(outcome.Stale))
		return
	}
	was := s.written.Status.Phase
	s.write(func(object *v1alpha1.Server) {
		object.Status = *status
		object.Spec.PodHash = podHash
	})
	if was != status.Phase {
		m.w.tell(&happening{what: wrote, group: s.group, server: s, note: string(d.Next) + ". " + d.Note})
	}
}

// release lets a Server go. It is deleted first, so that the end of its
// finalizer is the end of the object.
func (m *manager) release(s *server) {
	if s.written == nil {
		return
	}
	if s.written.DeletionTimestamp == nil {
		s.delete()
	}
	if s.stale() {
		m.wakeServerAt(s, m.w.now.Add(time.Second))
		return
	}
	m.w.tell(&happening{what: gone, group: s.group, server: s})
	s.put(nil)
}

// deletePod has the world saved, then deletes the pod.
func (m *manager) deletePod(s *server) {
	p := s.pod
	switch {
	case p.deleting || p.gone:
		return
	case p.agent.stream && !p.saved:
		if !p.saving {
			p.saving = true
			m.w.in(m.w.pace.Save.draw(m.w.chance), func() {
				p.saved = true
				m.wakeServer(s)
			})
		}
		return
	}
	m.w.tell(&happening{what: podDeleted, group: s.group, server: s})
	p.stop()
}

// terminating is what the cache shows of a pod that is being deleted.
func terminating(is phase.Pod) phase.Pod {
	if is == phase.PodEvicted {
		return is
	}
	return phase.PodTerminating
}
