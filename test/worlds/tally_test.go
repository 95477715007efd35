// SPDX-License-Identifier: Apache-2.0

package worlds

import (
	"fmt"
	"strings"
	"sync"
	"testing"
)

// happening is something without which trials would prove little.
type happening string

const (
	claimsMade   happening = "claims made"
	claimsGrown  happening = "claims grown"
	podsMade     happening = "pods made"
	worldsMet    happening = "worlds met again by another pod"
	proxiesMade  happening = "groups of proxies made"
	lobbiesMade  happening = "ephemeral groups made"
	managers     happening = "managers started"
	crashes      happening = "managers crashed in the middle of a write"
	failures     happening = "calls failed"
	losses       happening = "answers lost after the write took effect"
	staleCaches  happening = "caches stood still"
	uninstalls   happening = "operators uninstalled"
	kindsDeleted happening = "kinds deleted"
)

// happenings are all of them, in the order in which they are told.
func happenings() []happening {
	return []happening{
		claimsMade, claimsGrown, podsMade, worldsMet, proxiesMade, lobbiesMade, managers, crashes, failures, losses, staleCaches, uninstalls, kindsDeleted,
	}
}

// tally counts what happened in all trials.
type tally struct {
	mu     sync.Mutex
	counts map[happening]int
}

func newTally() *tally { return &tally{counts: map[happening]int{}} }

func (c *tally) count(what happening) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.counts[what]++
}

// enough is how many trials must have seen everything.
const enough = 50

// everythingHappened tells what happened, and fails when something never did in
// trials that are many.
func everythingHappened(t *testing.T, c *tally) {
	var lines []string
	for _, what := range happenings() {
		lines = append(lines, fmt.Sprintf("%d %s", c.counts[what], what))
		if c.counts[what] == 0 && *trials >= enough {
			t.Errorf("in %d trials there were no %s", *trials, what)
		}
	}
	t.Log("there were " + strings.Join(lines, ", "))
}
