// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"strings"

	"github.com/spawnery/spawnery-operator/internal/seats"
)

// Who may join full rounds takes no playable seat at the door, so that an admin
// who watches a round keeps no player out. Everybody else counts them: a group
// may order its next server one watcher early. An agent that starts again has
// forgotten who they are, and counts them like anybody.

// watching is how many of those who are counted as taken are watchers.
func (l *Ledger) watching() int {
	waiting := map[string]struct{}{}
	for _, s := range l.seats {
		if s.waits() {
			waiting[nameOf(s.player)] = struct{}{}
		}
	}
	count := 0
	for name := range l.watchers {
		_, here := l.online.names[name]
		if _, coming := waiting[name]; here || coming {
			count++
		}
	}
	return count
}

// dismiss forgets watchers who have left. The game has named everybody.
func (l *Ledger) dismiss() {
	seated := map[string]struct{}{}
	for _, s := range l.seats {
		seated[nameOf(s.player)] = struct{}{}
	}
	for name := range l.watchers {
		_, here := l.online.names[name]
		if _, coming := seated[name]; !here && !coming {
			delete(l.watchers, name)
		}
	}
}

func nameOf(player seats.Player) string { return strings.ToLower(player.Name) }
