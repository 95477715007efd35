// SPDX-License-Identifier: Apache-2.0

package servergroup

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/spawnery/spawnery-operator/internal/scaling"
)

// spareable keeps the clocks of consolidation from one pass to the next. They
// are in memory alone: the next leader begins anew, so that a change of leaders
// makes the wait longer and never shorter.
type spareable struct {
	mu     sync.Mutex
	groups map[types.UID]scaling.Spareable
}

func (s *spareable) of(group types.UID) scaling.Spareable {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.groups[group]
}

// keep remembers what a pass found, and forgets a group of which there is
// nothing to remember.
func (s *spareable) keep(group types.UID, found scaling.Spareable) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(found) == 0 {
		delete(s.groups, group)
		return
	}
	if s.groups == nil {
		s.groups = map[types.UID]scaling.Spareable{}
	}
	s.groups[group] = found
}
