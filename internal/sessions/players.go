// SPDX-License-Identifier: Apache-2.0

package sessions

import (
	"iter"
	"time"

	"k8s.io/apimachinery/pkg/types"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
)

// within yields the proxies of a namespace that have reported. The caller holds
// the lock.
func (s *Store) within(namespace string) iter.Seq[*proxy] {
	return func(yield func(*proxy) bool) {
		for _, known := range s.proxies {
			if known.report != nil && known.pod.Pod.Namespace == namespace && !yield(known) {
				return
			}
		}
	}
}

// Presence counts who is on a server, or on the way there, by the last word of
// every proxy of the namespace. A proxy that fell silent still counts for
// RosterCounts: whom it held may be there yet, but it must leave no ghosts.
func (s *Store) Presence(server types.NamespacedName) Presence {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all Presence
	for known := range s.within(server.Namespace) {
		there := known.said.presence[server.Name]
		all.On += there.On
		all.Coming += there.Coming
	}
	return all
}

// NobodySince says since when every one of the proxies given has been connected
// and fresh and has reported nobody on the server or on the way there. It says
// false while that is not so of any, and when none is given: give every proxy
// pod of the network that exists.
func (s *Store) NobodySince(server types.NamespacedName, proxies []types.UID) (time.Time, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.clock.Now()
	var since time.Time
	for _, uid := range proxies {
		known, ok := s.proxies[uid]
		if !ok {
			return time.Time{}, false
		}
		quiet, ok := known.clear(now)
		if !ok || known.said.presence[server.Name] != (Presence{}) {
			return time.Time{}, false
		}
		since = later(since, later(quiet, known.lastSeen[server.Name]))
	}
	return since, len(proxies) > 0
}

// Moving sums up how moving players off a server goes. It says false while no
// proxy speaks of it.
func (s *Store) Moving(server types.NamespacedName) (Move, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all Move
	spoken := false
	for known := range s.within(server.Namespace) {
		move, ok := known.said.moves[server.Name]
		spoken = spoken || ok
		all.Remaining += move.Remaining
		all.WithoutSeat += move.WithoutSeat
	}
	return all, spoken
}

// ForwardingProblem returns why proxies refuse to join players to a server;
// FORWARDING_STATE_UNSPECIFIED when none does.
func (s *Store) ForwardingProblem(server types.NamespacedName) agentv1alpha1.ForwardingState {
	s.mu.Lock()
	defer s.mu.Unlock()
	worst := agentv1alpha1.ForwardingState_FORWARDING_STATE_UNSPECIFIED
	for known := range s.within(server.Namespace) {
		worst = max(worst, known.said.problems[server.Name])
	}
	return worst
}

// NetworkPlayers counts who is authenticated on any fresh proxy of a network.
func (s *Store) NetworkPlayers(network types.NamespacedName) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	players, now := 0, s.clock.Now()
	for known := range s.within(network.Namespace) {
		if known.pod.Network == network.Name && freshness(known.sampledAt, now) == Fresh {
			players += known.said.players
		}
	}
	return players
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
