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
	waiting := l.seated((*seat).waits)
	count := 0
	for name := range l.watchers {
		if l.isHere(name, waiting) {
			count++
		}
	}
	return count
}

// dismiss forgets watchers who have left. The game has named everybody.
func (l *Ledger) dismiss() {
	seated := l.seated(func(*seat) bool { return true })
	for name := range l.watchers {
		if !l.isHere(name, seated) {
			delete(l.watchers, name)
		}
	}
}

// seated are the names of those who have a seat of a kind.
func (l *Ledger) seated(kind func(*seat) bool) map[string]struct{} {
	names := map[string]struct{}{}
	for _, s := range l.seats {
		if kind(s) {
			names[nameOf(s.player)] = struct{}{}
		}
	}
	return names
}

// isHere is true for a name that is online, or among those who are coming.
func (l *Ledger) isHere(name string, coming map[string]struct{}) bool {
	_, online := l.online.names[name]
	_, comes := coming[name]
	return online || comes
}

func nameOf(player seats.Player) string { return strings.ToLower(player.Name) }
