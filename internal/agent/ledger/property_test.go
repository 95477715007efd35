// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/spawnery/spawnery-operator/internal/agent/ledger"
	"github.com/spawnery/spawnery-operator/internal/seats"
)

// network is what the ledger cannot see: who really is where.
type network struct {
	ledger *ledger.Ledger
	now    time.Time
	limits ledger.Limits
	// counts is a game that names nobody and is asked now and then.
	counts bool
	// seated are people on their way, by their seat.
	seated map[int]string
	online map[int]bool
}

// report is the game telling who joined or left, or who is online.
func (n *network) report() {
	sample := ledger.Sample{At: n.now, Online: len(n.online)}
	for person := range n.online {
		if !n.counts {
			sample.Players = append(sample.Players, player(person))
		}
	}
	n.ledger.Observe(sample)
}

func (n *network) check(t *rapid.T) {
	if len(n.online) > n.limits.Slots {
		t.Fatalf("%d players on %d slots", len(n.online), n.limits.Slots)
	}
	if pending := n.ledger.Pending(n.now); !n.counts && pending+len(n.online) > n.limits.Slots {
		t.Fatalf("%d players and %d on their way for %d slots", len(n.online), pending, n.limits.Slots)
	}
}

func (n *network) ask(t *rapid.T) {
	person := rapid.IntRange(0, 9).Draw(t, "person")
	way := rapid.SampledFrom([]seats.Way{seats.ByChoice, seats.ByName}).Draw(t, "way")
	_, seated := n.seated[person]
	counted := seated || n.online[person]
	before := len(n.online) + n.ledger.Pending(n.now)
	seat, refusal := n.ledger.Ask(n.now, seats.Ask{Server: server, Player: player(person), Way: way})
	if refusal != nil {
		limit := n.limits.Slots
		if way == seats.ByChoice {
			limit = n.limits.Playable
		}
		if !n.counts && (counted || before < limit) {
			t.Fatalf("player %d was refused with %d of %d seats taken: %v", person, before, limit, refusal)
		}
		return
	}
	n.seated[person] = seat.ID
}

// move lets somebody who is on the way arrive, fail, or vanish with their
// proxy, or somebody who is online leave.
func (n *network) move(t *rapid.T) {
	person := rapid.IntRange(0, 9).Draw(t, "person")
	id, seated := n.seated[person]
	switch what := rapid.SampledFrom([]string{"arrive", "fail", "vanish", "leave"}).Draw(t, "what"); {
	case !seated && what == "leave":
		delete(n.online, person)
	case !seated:
		return
	case what == "arrive" && n.online[person]:
		// The game throws the older connection out first; others ask between.
		delete(n.online, person)
	case what == "arrive":
		delete(n.seated, person)
		n.online[person] = true
	case what == "fail":
		delete(n.seated, person)
		n.ledger.Release(id)
	case what == "vanish":
		delete(n.seated, person)
	}
	if !n.counts {
		n.report()
	}
}

func (n *network) wait(t *rapid.T) {
	n.now = n.now.Add(time.Duration(rapid.IntRange(1, 5).Draw(t, "seconds")) * time.Second)
	n.report()
	for person, id := range n.seated {
		if _, refusal := n.ledger.Renew(n.now, id, byName(player(person))); refusal != nil {
			t.Fatalf("the seat of player %d, who is on the way, was not renewed: %v", person, refusal)
		}
	}
}

func TestWhateverPlayersAndProxiesDoTheGameIsNeverOverfull(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		slots := rapid.IntRange(1, 6).Draw(t, "slots")
		limits := ledger.Limits{Slots: slots, Playable: rapid.IntRange(1, slots).Draw(t, "playable")}
		n := &network{
			ledger: open(limits), now: start, limits: limits, counts: rapid.Bool().Draw(t, "counts"),
			seated: map[int]string{}, online: map[int]bool{},
		}
		t.Repeat(map[string]func(*rapid.T){
			"":     n.check,
			"ask":  n.ask,
			"move": n.move,
			"wait": n.wait,
		})
	})
}
