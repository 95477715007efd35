// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"testing"

	"github.com/spawnery/spawnery-operator/internal/agent/ledger"
	"github.com/spawnery/spawnery-operator/internal/seats"
)

var twoEnforced = ledger.Limits{Slots: 10, Playable: 2, PlayableRule: ledger.Enforced}

func online(l *ledger.Ledger, list ...seats.Player) {
	l.Observe(ledger.Sample{At: start, Online: len(list), Players: list})
}

func TestALedgerThatForgotItsWatchersCountsThemUntilTheProxiesNameThem(t *testing.T) {
	for name, l := range map[string]func() *ledger.Ledger{
		"the proxies after the game": func() *ledger.Ledger {
			l := open(twoEnforced, player(90), player(1))
			wantRefused(t, l, start, byName(player(2)), seats.PlayableSeatsTaken)
			l.Restate([]seats.Player{player(90)})
			return l
		},
		"the game after the proxies": func() *ledger.Ledger {
			l := open(twoEnforced)
			l.Restate([]seats.Player{player(90)})
			online(l, player(90), player(1))
			return l
		},
		"by a name in another case": func() *ledger.Ledger {
			l := open(twoEnforced, player(90), player(1))
			l.Restate([]seats.Player{{Name: "PLAYER90"}})
			return l
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := l()
			mustAsk(t, l, start, byName(player(2)))
			wantRefused(t, l, start, byName(player(3)), seats.PlayableSeatsTaken)
		})
	}
}

// A report of a proxy may be older than the seat that the ledger gave since.
func TestOfWhomTheLedgerAdmittedItselfItIsTheOneToKnow(t *testing.T) {
	l := open(twoEnforced)
	l.Restate([]seats.Player{player(1)})
	mustAsk(t, l, start, byName(player(1)))
	mustAsk(t, l, start, byName(player(2)))
	online(l, player(1), player(2))
	l.Restate([]seats.Player{player(1)})
	wantRefused(t, l, start, byName(player(3)), seats.PlayableSeatsTaken)

	watcher := byName(player(90))
	watcher.Bypass = true
	mustAsk(t, l, start, watcher)
	online(l, player(1), player(90))
	l.Restate(nil)
	mustAsk(t, l, start, byName(player(3)))
}

func TestAWatcherOfBeforeWhoComesBackToPlayIsCounted(t *testing.T) {
	l := open(twoEnforced, player(90), player(1))
	l.Restate([]seats.Player{player(90)})
	online(l, player(1))
	mustAsk(t, l, start, byName(player(90)))
	online(l, player(1), player(90))
	wantRefused(t, l, start, byName(player(2)), seats.PlayableSeatsTaken)
}

func TestWhoIsNotOnlineIsNoWatcherByHearsay(t *testing.T) {
	l := open(twoEnforced, player(1), player(2))
	l.Restate([]seats.Player{player(90)})
	wantRefused(t, l, start, byName(player(90)), seats.PlayableSeatsTaken)
}
