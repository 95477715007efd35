// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/spawnery/spawnery-operator/internal/agent/ledger"
	"github.com/spawnery/spawnery-operator/internal/seats"
)

const server = "lobby-ab2c"

var start = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

func player(n int) seats.Player {
	return seats.Player{UUID: uuid.NewSHA1(uuid.Nil, fmt.Append(nil, n)), Name: fmt.Sprintf("Player%d", n)}
}

func players(count int) []seats.Player {
	list := make([]seats.Player, count)
	for i := range list {
		list[i] = player(i)
	}
	return list
}

func byChoice(p seats.Player) seats.Ask {
	return seats.Ask{Server: server, Player: p, Way: seats.ByChoice}
}

func byName(p seats.Player) seats.Ask {
	return seats.Ask{Server: server, Player: p, Way: seats.ByName}
}

// open is the ledger of a game that is ready and has these players.
func open(limits ledger.Limits, online ...seats.Player) *ledger.Ledger {
	l := ledger.New(server, limits)
	l.SetDoor(ledger.Open, "")
	l.Observe(ledger.Sample{At: start, Online: len(online), Players: online})
	return l
}

func mustAsk(t *testing.T, l *ledger.Ledger, at time.Time, ask seats.Ask) seats.Seat {
	t.Helper()
	seat, refusal := l.Ask(at, ask)
	if refusal != nil {
		t.Fatal(refusal)
	}
	return seat
}

func wantRefused(t *testing.T, l *ledger.Ledger, at time.Time, ask seats.Ask, want seats.Reason) {
	t.Helper()
	if _, refusal := l.Ask(at, ask); refusal == nil || refusal.Reason != want {
		t.Errorf("Ask() = %v, want a refusal %s", refusal, want)
	}
}

func TestWhoMayComeIn(t *testing.T) {
	limits := ledger.Limits{Slots: 4, Playable: 2}
	tests := map[string]struct {
		online int
		ask    seats.Ask
		at     time.Duration
		want   seats.Reason
	}{
		"a chosen server has playable seats":         {1, byChoice(player(9)), 0, ""},
		"its playable seats are taken":               {2, byChoice(player(9)), 0, seats.PlayableSeatsTaken},
		"a named server has more":                    {2, byName(player(9)), 0, ""},
		"the last seat of a named server":            {3, byName(player(9)), 0, ""},
		"a named server is full":                     {4, byName(player(9)), 0, seats.Full},
		"a full round may be joined":                 {2, seats.Ask{Server: server, Player: player(9), Way: seats.ByChoice, Bypass: true}, 0, ""},
		"not beyond the slots":                       {4, seats.Ask{Server: server, Player: player(9), Way: seats.ByChoice, Bypass: true}, 0, seats.Full},
		"who is online takes no second seat":         {4, byChoice(player(3)), 0, ""},
		"a sample of ten seconds is fresh":           {1, byChoice(player(9)), ledger.StaleAfter, ""},
		"an older sample says nothing":               {1, byChoice(player(9)), ledger.StaleAfter + 1, seats.UnknownCounts},
		"another server has had this address before": {0, seats.Ask{Server: "lobby-zzzz", Player: player(9), Way: seats.ByName}, 0, seats.WrongServer},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			l := open(limits, players(test.online)...)
			_, refusal := l.Ask(start.Add(test.at), test.ask)
			got := seats.Reason("")
			if refusal != nil {
				got = refusal.Reason
			}
			if got != test.want {
				t.Errorf("Ask() = %q, want %q", got, test.want)
			}
		})
	}
}

func TestWithoutPlayableSeatsTheSlotsCount(t *testing.T) {
	l := open(ledger.Limits{Slots: 2, Playable: 5}, player(0))
	mustAsk(t, l, start, byChoice(player(1)))
	wantRefused(t, l, start, byChoice(player(2)), seats.Full)
}

func TestNobodyComesBeforeTheFirstCount(t *testing.T) {
	l := ledger.New(server, ledger.Limits{Slots: 4, Playable: 4})
	wantRefused(t, l, start, byName(player(1)), seats.NotReady)
	l.SetDoor(ledger.Open, "")
	wantRefused(t, l, start, byName(player(1)), seats.UnknownCounts)
	l.Observe(ledger.Sample{At: start})
	mustAsk(t, l, start, byName(player(1)))
	l.Forget()
	wantRefused(t, l, start, byName(player(2)), seats.UnknownCounts)
}

func TestASeatEndsByReleaseExpiryOrJoining(t *testing.T) {
	limits := ledger.Limits{Slots: 1, Playable: 1}
	t.Run("released", func(t *testing.T) {
		l := open(limits)
		seat := mustAsk(t, l, start, byChoice(player(1)))
		wantRefused(t, l, start, byChoice(player(2)), seats.Full)
		if !l.Release(seat.ID) || l.Release(seat.ID) {
			t.Error("a seat is released once")
		}
		mustAsk(t, l, start, byChoice(player(2)))
	})
	t.Run("expired", func(t *testing.T) {
		l := open(limits)
		mustAsk(t, l, start, byChoice(player(1)))
		at := start.Add(seats.Lifetime)
		l.Observe(ledger.Sample{At: at})
		wantRefused(t, l, at.Add(-1), byChoice(player(2)), seats.Full)
		mustAsk(t, l, at, byChoice(player(2)))
	})
	t.Run("joined, and left", func(t *testing.T) {
		l := open(limits)
		mustAsk(t, l, start, byChoice(player(1)))
		l.Observe(ledger.Sample{At: start, Online: 1, Players: []seats.Player{player(1)}})
		if got := l.Pending(start); got != 0 {
			t.Errorf("Pending() = %d, want none after joining", got)
		}
		wantRefused(t, l, start, byChoice(player(2)), seats.Full)
		l.Observe(ledger.Sample{At: start})
		mustAsk(t, l, start, byChoice(player(2)))
	})
}

func TestARenewedSeatLastsAsLongAsItIsRenewed(t *testing.T) {
	l := open(ledger.Limits{Slots: 1, Playable: 1})
	seat := mustAsk(t, l, start, byChoice(player(1)))
	at := start
	for range 20 {
		at = at.Add(seats.RenewEvery)
		l.Observe(ledger.Sample{At: at})
		if _, refusal := l.Renew(at, seat.ID, byChoice(player(1))); refusal != nil {
			t.Fatal(refusal)
		}
		wantRefused(t, l, at, byChoice(player(2)), seats.Full)
	}
}

func TestPlayersAreMatchedByIDAndThenByName(t *testing.T) {
	asked := seats.Player{UUID: uuid.MustParse("11111111-1111-1111-1111-111111111111"), Name: "Alice"}
	tests := map[string]struct {
		online seats.Player
		want   int
	}{
		"the same UUID":                         {seats.Player{UUID: asked.UUID, Name: "Renamed"}, 0},
		"another UUID, as without forwarding":   {seats.Player{UUID: player(1).UUID, Name: "alice"}, 0},
		"no UUID, as in a status answer":        {seats.Player{Name: "ALICE"}, 0},
		"somebody else":                         {player(1), 1},
		"somebody who hides, as servers may do": {seats.Player{}, 1},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			l := open(ledger.Limits{Slots: 4, Playable: 4})
			mustAsk(t, l, start, byChoice(asked))
			l.Observe(ledger.Sample{At: start, Online: 1, Players: []seats.Player{test.online}})
			if got := l.Pending(start); got != test.want {
				t.Errorf("Pending() = %d, want %d", got, test.want)
			}
		})
	}
}

func TestOnePlayerTakesOnePlaceHoweverOftenTheyAsk(t *testing.T) {
	l := open(ledger.Limits{Slots: 2, Playable: 2})
	ids := map[string]bool{}
	for range 20 {
		ids[mustAsk(t, l, start, byChoice(player(1))).ID] = true
	}
	if len(ids) != 20 {
		t.Errorf("%d ids for 20 seats", len(ids))
	}
	held := 0
	for id := range ids {
		if l.Release(id) {
			held++
		}
	}
	if held != 4 {
		t.Errorf("%d seats were held, want the newest 4", held)
	}
}

func TestARejoiningPlayerKeepsTheirPlaceBetweenTwoConnections(t *testing.T) {
	l := open(ledger.Limits{Slots: 1, Playable: 1}, player(1))
	seat := mustAsk(t, l, start, byName(player(1)))
	if seat.Taken != 1 {
		t.Errorf("Taken = %d, want 1", seat.Taken)
	}
	// The sample with the old connection must not use the new seat up.
	l.Observe(ledger.Sample{At: start, Online: 1, Players: []seats.Player{player(1)}})
	l.Observe(ledger.Sample{At: start})
	wantRefused(t, l, start, byName(player(2)), seats.Full)
	l.Observe(ledger.Sample{At: start, Online: 1, Players: []seats.Player{player(1)}})
	l.Observe(ledger.Sample{At: start})
	mustAsk(t, l, start, byName(player(2)))
}

func TestAnAgentThatForgotItsSeatsTakesThemBack(t *testing.T) {
	l := ledger.New(server, ledger.Limits{Slots: 2, Playable: 2})
	for n, want := range []seats.Reason{"", "", seats.UnknownSeat} {
		_, refusal := l.Renew(start, fmt.Sprint("seat", n), byChoice(player(n)))
		got := seats.Reason("")
		if refusal != nil {
			got = refusal.Reason
		}
		if got != want {
			t.Errorf("Renew() of player %d = %q, want %q", n, got, want)
		}
	}
	l.SetDoor(ledger.Open, "")
	l.Observe(ledger.Sample{At: start})
	wantRefused(t, l, start, byChoice(player(3)), seats.Full)
	if _, refusal := l.Renew(start, "seat1", byChoice(player(1))); refusal != nil {
		t.Error(refusal)
	}
}

func TestAnExpiredSeatComesBackOnlyWhileThereIsRoom(t *testing.T) {
	l := open(ledger.Limits{Slots: 1, Playable: 1})
	seat := mustAsk(t, l, start, byChoice(player(1)))
	late := start.Add(seats.Lifetime + time.Second)
	l.Observe(ledger.Sample{At: late})
	if _, refusal := l.Renew(late, seat.ID, byChoice(player(1))); refusal != nil {
		t.Fatal(refusal)
	}
	later := late.Add(seats.Lifetime + time.Second)
	l.Observe(ledger.Sample{At: later})
	mustAsk(t, l, later, byChoice(player(2)))
	_, refusal := l.Renew(later, seat.ID, byChoice(player(1)))
	if refusal == nil || refusal.Reason != seats.UnknownSeat {
		t.Errorf("Renew() = %v, want %s", refusal, seats.UnknownSeat)
	}
	_, refusal = l.Renew(later, "x", seats.Ask{Server: "other", Player: player(3)})
	if refusal == nil || refusal.Reason != seats.WrongServer {
		t.Errorf("Renew() = %v, want %s", refusal, seats.WrongServer)
	}
}

func TestLimitsChangeAtRuntime(t *testing.T) {
	l := open(ledger.Limits{Slots: 4, Playable: 1}, player(0))
	wantRefused(t, l, start, byChoice(player(1)), seats.PlayableSeatsTaken)
	l.SetLimits(ledger.Limits{Slots: 4, Playable: 2})
	mustAsk(t, l, start, byChoice(player(1)))
	l.SetLimits(ledger.Limits{Slots: 1, Playable: 1})
	wantRefused(t, l, start, byName(player(2)), seats.Full)
}

func TestEnforcedSeatsBindEverybodyButWatchersWhoTakeNone(t *testing.T) {
	watcher := func(n int) seats.Ask {
		ask := byName(player(n))
		ask.Bypass = true
		return ask
	}
	l := open(ledger.Limits{Slots: 4, Playable: 2, PlayableRule: ledger.Enforced})
	mustAsk(t, l, start, watcher(90))
	mustAsk(t, l, start, byChoice(player(1)))
	l.Observe(ledger.Sample{At: start, Online: 2, Players: []seats.Player{player(90), player(1)}})
	mustAsk(t, l, start, byName(player(2)))
	wantRefused(t, l, start, byName(player(3)), seats.PlayableSeatsTaken)
	wantRefused(t, l, start, byChoice(player(3)), seats.PlayableSeatsTaken)
	mustAsk(t, l, start, watcher(91))
	wantRefused(t, l, start, watcher(92), seats.Full)

	l.SetLimits(ledger.Limits{Slots: 5, Playable: 2, PlayableRule: ledger.Advice})
	mustAsk(t, l, start, byName(player(3)))
}

func TestAWatcherWhoLeftIsCountedLikeAnybodyWhenTheyPlay(t *testing.T) {
	l := open(ledger.Limits{Slots: 4, Playable: 1, PlayableRule: ledger.Enforced})
	watching := byName(player(90))
	watching.Bypass = true
	seat := mustAsk(t, l, start, watching)
	l.Observe(ledger.Sample{At: start, Online: 1, Players: []seats.Player{player(90)}})
	l.Release(seat.ID)
	l.Observe(ledger.Sample{At: start})
	mustAsk(t, l, start, byChoice(player(90)))
	wantRefused(t, l, start, byChoice(player(1)), seats.PlayableSeatsTaken)
}

func TestARushNeverOvershoots(t *testing.T) {
	const rush, slots = 1000, 12
	l := open(ledger.Limits{Slots: 100, Playable: slots}, players(3)...)
	var admitted atomic.Int32
	var running sync.WaitGroup
	for n := range rush {
		running.Go(func() {
			seat, refusal := l.Ask(start, byChoice(player(100+n)))
			switch {
			case refusal == nil && seat.Taken > slots:
				t.Errorf("admitted as number %d of %d", seat.Taken, slots)
			case refusal == nil:
				admitted.Add(1)
			case refusal.Reason != seats.PlayableSeatsTaken:
				t.Error(refusal)
			}
		})
	}
	running.Wait()
	if got := admitted.Load(); got != slots-3 {
		t.Errorf("%d were admitted, want %d", got, slots-3)
	}
}

func TestAGameThatOnlyCountsTakesTheSeatsOfThoseWhoArrive(t *testing.T) {
	l := open(ledger.Limits{Slots: 3, Playable: 3})
	count := func(at time.Time, online int) { l.Observe(ledger.Sample{At: at, Online: online}) }
	waiting := mustAsk(t, l, start, byChoice(player(1)))
	mustAsk(t, l, start, byChoice(player(2)))
	at := start.Add(2 * time.Second)
	count(at, 1)
	if got := l.Pending(at); got != 1 {
		t.Errorf("Pending() = %d after one of two arrived, want 1", got)
	}
	mustAsk(t, l, at, byChoice(player(3)))
	wantRefused(t, l, at, byChoice(player(4)), seats.Full)
	// The one who is renewed has not arrived; the other one's seat may run out
	// without setting a place free.
	for range 4 {
		at = at.Add(seats.RenewEvery)
		count(at, 1)
		if _, refusal := l.Renew(at, waiting.ID, byChoice(player(1))); refusal != nil {
			t.Fatal(refusal)
		}
	}
	if got := l.Pending(at); got != 1 {
		t.Errorf("Pending() = %d while one is on the way, want 1", got)
	}
	mustAsk(t, l, at, byChoice(player(5)))
	wantRefused(t, l, at, byChoice(player(6)), seats.Full)
}

func TestAdmittedAreThoseWithASeatWhoAreNotNamedOnline(t *testing.T) {
	both := []seats.Player{player(1), player(2)}
	tests := map[string]struct {
		happens func(l *ledger.Ledger)
		after   time.Duration
		want    []seats.Player
	}{
		"on the way":           {func(*ledger.Ledger) {}, 0, both},
		"one is named online":  {func(l *ledger.Ledger) { l.Observe(ledger.Sample{At: start, Online: 1, Players: both[:1]}) }, 0, both[1:]},
		"one is online, maybe": {func(l *ledger.Ledger) { l.Observe(ledger.Sample{At: start, Online: 1}) }, 0, both},
		"one came and left": {func(l *ledger.Ledger) {
			l.Observe(ledger.Sample{At: start, Online: 1, Players: both[:1]})
			l.Observe(ledger.Sample{At: start})
		}, 0, both[1:]},
		"their time is over": {func(*ledger.Ledger) {}, seats.Lifetime, []seats.Player{}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			l := open(ledger.Limits{Slots: 5, Playable: 5})
			// Twice: two proxies may hold a seat each for one player.
			for _, who := range []seats.Player{player(2), player(1), player(1)} {
				mustAsk(t, l, start, byChoice(who))
			}
			test.happens(l)
			if diff := cmp.Diff(test.want, l.Admitted(start.Add(test.after))); diff != "" {
				t.Errorf("admitted (-want +got):\n%s", diff)
			}
		})
	}
}

func TestANamedArrivalCorrectsAGuess(t *testing.T) {
	l := open(ledger.Limits{Slots: 2, Playable: 2})
	mustAsk(t, l, start, byChoice(player(1)))
	at := start.Add(time.Second)
	mustAsk(t, l, at, byChoice(player(2)))
	l.Observe(ledger.Sample{At: at, Online: 1})
	// Guessed was the older seat; now the game names the other player.
	l.Observe(ledger.Sample{At: at, Online: 1, Players: []seats.Player{player(2)}})
	if got := l.Pending(at); got != 1 {
		t.Errorf("Pending() = %d, want the one who has not arrived", got)
	}
	wantRefused(t, l, at, byChoice(player(3)), seats.Full)
}
