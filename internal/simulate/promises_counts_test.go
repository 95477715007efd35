// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"fmt"

	"github.com/spawnery/spawnery-operator/internal/fleet"
)

// guessed is how many servers a pass ordered for demand: beyond the floor, and
// the first one of a changeover.
func (c *check) guessed() int {
	sure := max(0, c.known.floor-c.before.alive)
	if c.before.old > 0 && c.before.fresh == 0 {
		sure = max(1, sure)
	}
	return max(0, c.made-sure)
}

// gives is how many servers that did not fail a pass gives up.
func (c *check) gives(pass *groupPass) int {
	gives := len(pass.plan.Retire)
	for _, one := range pass.plan.Remove {
		if s := c.w.named[one.Name]; s != nil && s.written != nil && !s.failed() {
			gives++
		}
	}
	return gives
}

// guessesOnce looks at what is ordered while nobody of the group is heard: an
// unknown sum says nothing about demand.
func guessesOnce(c *check, h *happening) string {
	if h.what != settled || c.blindSince.IsZero() {
		return ""
	}
	if c.guesses += c.guessed(); c.guesses > 1 {
		return fmt.Sprintf("%d servers are ordered while all agents of the group are silent", c.guesses)
	}
	return ""
}

// waitsOutSilence looks at every pass while silence is the channel's fault.
func waitsOutSilence(c *check, h *happening) string {
	if h.what != settled || !c.lasted(c.all.deafSince, soon) {
		return ""
	}
	if gives := c.gives(h.pass); c.made+gives > 0 {
		return fmt.Sprintf("%d servers are ordered and %d given up", c.made, gives)
	}
	return ""
}

// listensFirst looks at the first passes of a leader that has not heard from
// every server.
func listensFirst(c *check, h *happening) string {
	if h.what != settled {
		return ""
	}
	gives, guessed := c.gives(h.pass), c.guessed()
	if guessed+gives == 0 {
		return ""
	}
	if unmet := c.unmet(); unmet > 0 {
		return fmt.Sprintf("%d servers are not heard yet; %d are ordered and %d given up", unmet, guessed, gives)
	}
	return ""
}

// unmet is how many registered servers a new leader still waits for.
func (c *check) unmet() int {
	if c.w.now.Sub(c.w.manager.leaderSince) >= fleet.LeaderPatience {
		return 0
	}
	unmet := 0
	for _, s := range c.g.servers {
		if s.shown != nil && is(s.shown.Status.Registered) && (s.pod == nil || s.pod.agent.heard == nil) {
			unmet++
		}
	}
	return unmet
}
