// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"maps"
	"strings"

	"github.com/spawnery/spawnery-operator/internal/seats"
)

// Who may join full rounds takes no playable seat at the door, so that an admin
// who watches a round keeps no player out. Everybody else counts them: a group
// may order its next server one watcher early. An agent that starts again has
// forgotten who they are, and counts them like anybody until the proxies have
// said it again.

// Restate takes in who is here as a watcher by the word of the proxies. It says
// something about those only whom this ledger gave no seat: of all others it
// knows itself, and later than any report, how they came.
func (l *Ledger) Restate(watchers []seats.Player) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.restated = make(map[string]struct{}, len(watchers))
	for _, player := range watchers {
		l.restated[nameOf(player)] = struct{}{}
	}
	l.recognise()
}

// meet notes who is online now and was not before, without a seat.
func (l *Ledger) meet(before players) {
	seated := l.seated(func(*seat) bool { return true })
	for name := range l.online.names {
		_, was := before.names[name]
		_, admitted := seated[name]
		if !was && !admitted {
			l.strangers[name] = struct{}{}
		}
	}
	maps.DeleteFunc(l.strangers, func(name string, _ struct{}) bool {
		_, online := l.online.names[name]
		return !online
	})
	l.recognise()
}

// recognise makes watchers of the strangers whom proxies know as such.
func (l *Ledger) recognise() {
	for name := range l.strangers {
		if _, watches := l.restated[name]; watches {
			l.watchers[name] = struct{}{}
			delete(l.strangers, name)
		}
	}
}

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
