// SPDX-License-Identifier: Apache-2.0

package placing

import (
	"sync"
	"time"

	"k8s.io/utils/clock"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
)

// tellsFor is how long an agent's answer counts: by then the directory has
// caught up with it, and players may have left.
const tellsFor = 2 * time.Second

// estimates is what is known of each server's players beyond the directory,
// which lags. Each source can only be too low while players join: the highest
// is nearest.
type estimates struct {
	clock clock.PassiveClock

	mu   sync.Mutex
	here map[string]int  // by server: players of this proxy there or on the way
	told map[string]told // by server: the agent's last answer
}

type told struct {
	taken int
	at    time.Time
}

func newEstimates(clk clock.PassiveClock) *estimates {
	return &estimates{clock: clk, here: map[string]int{}, told: map[string]told{}}
}

// players is how many are on the server or on the way there, at least.
func (e *estimates) players(s *agentv1alpha1.DirectoryServer) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	n := max(int(s.GetPlayers()), e.here[s.GetName()])
	if answer, ok := e.told[s.GetName()]; ok && e.clock.Since(answer.at) < tellsFor {
		n = max(n, answer.taken)
	}
	return n
}

// tell records an agent's answer. Answers may come out of order, and the higher
// one is the later one while players join.
func (e *estimates) tell(server string, taken int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	now := e.clock.Now()
	for name, answer := range e.told {
		if now.Sub(answer.at) >= tellsFor {
			delete(e.told, name)
		}
	}
	if taken >= e.told[server].taken {
		e.told[server] = told{taken: taken, at: now}
	}
}

// move counts a player of this proxy in or out.
func (e *estimates) move(server string, by int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.here[server] += by; e.here[server] == 0 {
		delete(e.here, server)
	}
}
