// SPDX-License-Identifier: Apache-2.0

// Package ledger keeps the seats of one server: who is online by the game's
// word, and who was admitted and has not joined yet. It is the only writer, so
// however many proxies ask, a server never gets more players than it has seats.
package ledger

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/spawnery/spawnery-operator/internal/seats"
)

// StaleAfter is the age at which a sample says nothing any more.
const StaleAfter = 10 * time.Second

// maxSeatsPerPlayer bounds the seats of somebody who asks again and again; the
// oldest gives way. They take one place together.
const maxSeatsPerPlayer = 4

// Limits are the seats of the server as of now.
type Limits struct {
	// Slots is how many players the game lets in.
	Slots int
	// Playable is how many of them count as capacity; never more than Slots.
	Playable int
	// PlayableRule says whom the playable seats bind.
	PlayableRule PlayableRule
}

// PlayableRule says whom the playable seats bind.
type PlayableRule int

const (
	// Advice binds who comes by choice: who asks for this server gets in.
	Advice PlayableRule = iota
	// Enforced binds everybody but those who may join full rounds, and those
	// take no playable seat.
	Enforced
)

// Sample is who is online, by the game's own word.
type Sample struct {
	// At is when the game was asked.
	At time.Time
	// Online is the number of players.
	Online int
	// Players are those the game named: all of them, or fewer.
	Players []seats.Player
}

// Door says whether the server takes players.
type Door int

const (
	// Shut before the game is ready and once it stops.
	Shut Door = iota
	// ByName while a plugin has closed the server, as for a running round:
	// routing keeps away, and who is on the way by choice is turned back; who
	// named this very server still arrives.
	ByName
	// Open while the game accepts players.
	Open
)

// Ledger may be used from any goroutine.
type Ledger struct {
	server string
	newID  func() string

	mu      sync.Mutex
	limits  Limits
	door    Door
	doorWhy string
	sample  Sample
	counted counted
	online  players
	seats   map[string]*seat
	// watchers were let in because they may join full rounds. They stay here
	// for as long as they have a seat or are online, in lower case.
	watchers map[string]struct{}
	// strangers are online and have no seat of this ledger: they came before
	// it, or past it. restated are watchers by the proxies' word.
	strangers, restated map[string]struct{}
}

// counted says what is known about the number of players.
type counted int

const (
	neverCounted counted = iota
	lostCount
	hasCount
)

// seat is one admission.
type seat struct {
	player  seats.Player
	expires time.Time
	state   seatState
}

type seatState int

const (
	// pending: admitted, not seen online since.
	pending seatState = iota
	// rejoining: admitted while online; the connection that is online is the
	// one before, and being seen online proves nothing.
	rejoining
	// joined: seen online; what the sample says counts from now on.
	joined
	// guessed: taken for joined because more are online and the game does not
	// name them. A renewal disproves it.
	guessed
)

// waits is true while the sample cannot include the player.
func (s *seat) waits() bool { return s.state == pending || s.state == rejoining }

// New makes the empty ledger of the named Server, with its door shut.
func New(server string, limits Limits) *Ledger {
	return &Ledger{
		server: server, newID: uuid.NewString, limits: limits,
		doorWhy: "the game has not been asked yet",
		seats:   map[string]*seat{}, watchers: map[string]struct{}{}, strangers: map[string]struct{}{},
	}
}

// SetLimits takes effect at once, for those who ask from now on.
func (l *Ledger) SetLimits(limits Limits) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.limits = limits
}

// SetDoor opens or shuts the door; why is what the refused read.
func (l *Ledger) SetDoor(door Door, why string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.door, l.doorWhy = door, why
}

// Observe replaces what is known about who is online.
func (l *Ledger) Observe(sample Sample) {
	l.mu.Lock()
	defer l.mu.Unlock()
	risen := 0
	if l.counted == hasCount {
		risen = max(0, sample.Online-l.sample.Online)
	}
	l.sample, l.counted = sample, hasCount
	before := l.online
	l.online = newPlayers(sample.Players)
	l.meet(before)
	named := l.settle()
	if len(sample.Players) >= sample.Online {
		// Everybody is named: there is nothing to guess.
		l.guess(-len(l.seats))
		l.dismiss()
		return
	}
	l.guess(risen - named)
}

// settle takes note of who is named online, and returns how many of them were
// waiting until now.
func (l *Ledger) settle() int {
	arrived := 0
	for _, s := range l.seats {
		online := l.online.has(s.player)
		switch {
		case s.state == pending && online:
			s.state = joined
			arrived++
		case s.state == guessed && online:
			s.state = joined
		case s.state == rejoining && !online:
			s.state = pending
		}
	}
	return arrived
}

// Forget says that the game is gone: whoever was online is not any more, and
// how many are is unknown until the next sample.
func (l *Ledger) Forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sample, l.online = Sample{}, players{}
	if l.counted == hasCount {
		l.counted = lostCount
	}
}

// Ask decides on a seat. The refusal is nil exactly when there is a seat.
func (l *Ledger) Ask(now time.Time, ask seats.Ask) (seats.Seat, *seats.Refusal) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.expire(now)
	if ask.Server == l.server && l.door == Shut {
		return seats.Seat{}, &seats.Refusal{Reason: seats.NotReady, Message: l.doorWhy}
	}
	if ask.Server == l.server && l.door == ByName && ask.Way == seats.ByChoice && !l.hasPlace(ask.Player) {
		return seats.Seat{}, &seats.Refusal{Reason: seats.DoorClosed, Message: l.doorWhy}
	}
	if refusal := l.refuse(now, ask); refusal != nil {
		return seats.Seat{}, refusal
	}
	return l.grant(now, l.newID(), ask), nil
}

// Renew keeps a seat. One that this ledger does not know is admitted again
// under its id while there is room: an agent that restarted forgot its seats,
// the players on their way did not.
func (l *Ledger) Renew(now time.Time, id string, ask seats.Ask) (seats.Seat, *seats.Refusal) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.expire(now)
	if known, ok := l.seats[id]; ok && ask.Server == l.server {
		known.expires = now.Add(seats.Lifetime)
		l.disprove(known)
		return l.answer(id), nil
	}
	refusal := l.refuse(now, ask)
	if refusal == nil || refusal.Reason == seats.UnknownCounts && l.mayHaveForgotten() {
		return l.grant(now, id, ask), nil
	}
	if refusal.Reason != seats.WrongServer {
		refusal = &seats.Refusal{Reason: seats.UnknownSeat, Message: "the seat has expired: " + refusal.Message}
	}
	return seats.Seat{}, refusal
}

// mayHaveForgotten is true for an agent that has just started: until the first
// count whoever says they have a seat is believed, as far as there are seats.
func (l *Ledger) mayHaveForgotten() bool {
	return l.counted == neverCounted && l.pending() < l.limits.Slots
}

// Release gives a seat back and reports whether there was one.
func (l *Ledger) Release(id string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, found := l.seats[id]
	delete(l.seats, id)
	return found
}

// Pending is the number of players who were admitted and are not online yet.
func (l *Ledger) Pending(now time.Time) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.expire(now)
	return l.pending()
}

// Admitted names those with a seat who are not named online, sorted: they are
// on their way, or online on a game that does not say who is.
func (l *Ledger) Admitted(now time.Time) []seats.Player {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.expire(now)
	byName := map[string]seats.Player{}
	for _, s := range l.seats {
		if s.state != joined && !l.online.has(s.player) {
			byName[nameOf(s.player)] = s.player
		}
	}
	admitted := make([]seats.Player, 0, len(byName))
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		admitted = append(admitted, byName[name])
	}
	return admitted
}

func (l *Ledger) expire(now time.Time) {
	for id, s := range l.seats {
		if !s.expires.After(now) {
			delete(l.seats, id)
		}
	}
}

// refuse says why there is no seat for a player, or nil.
func (l *Ledger) refuse(now time.Time, ask seats.Ask) *seats.Refusal {
	switch {
	case ask.Server != l.server:
		return &seats.Refusal{Reason: seats.WrongServer, Message: fmt.Sprintf("this is %s, not %s", l.server, ask.Server)}
	case l.counted != hasCount || now.Sub(l.sample.At) > StaleAfter:
		return &seats.Refusal{Reason: seats.UnknownCounts, Message: "the game does not tell who is online"}
	case l.hasPlace(ask.Player):
		return nil
	case l.taken() >= l.limits.Slots:
		return &seats.Refusal{Reason: seats.Full, Message: fmt.Sprintf("all %d seats are taken", l.limits.Slots)}
	case l.playing(ask) >= l.limits.Playable:
		return &seats.Refusal{Reason: seats.PlayableSeatsTaken, Message: fmt.Sprintf("all %d playable seats are taken", l.limits.Playable)}
	}
	return nil
}

// playing is how many playable seats are taken for whoever asks; none for those
// whom they do not bind.
func (l *Ledger) playing(ask seats.Ask) int {
	switch {
	case ask.Bypass:
		return 0
	case l.limits.PlayableRule == Enforced:
		return l.taken() - l.watching()
	case ask.Way == seats.ByName:
		return 0
	}
	return l.taken()
}

// hasPlace is true for a player who is counted already.
func (l *Ledger) hasPlace(player seats.Player) bool {
	if l.online.has(player) {
		return true
	}
	for _, s := range l.seats {
		if s.waits() && same(s.player, player) {
			return true
		}
	}
	return false
}

func (l *Ledger) taken() int { return l.sample.Online + l.pending() }

// pending counts people, not seats, who are not online.
func (l *Ledger) pending() int {
	return len(l.seated(func(s *seat) bool { return s.waits() && !l.online.has(s.player) }))
}

func (l *Ledger) grant(now time.Time, id string, ask seats.Ask) seats.Seat {
	l.crowdOut(ask.Player)
	granted := &seat{player: ask.Player, expires: now.Add(seats.Lifetime), state: pending}
	if l.online.has(ask.Player) {
		granted.state = rejoining
	}
	l.seats[id] = granted
	delete(l.strangers, nameOf(ask.Player))
	if ask.Bypass {
		l.watchers[nameOf(ask.Player)] = struct{}{}
	} else {
		delete(l.watchers, nameOf(ask.Player))
	}
	return l.answer(id)
}

// crowdOut makes room among the seats of one player.
func (l *Ledger) crowdOut(player seats.Player) {
	oldest, count := "", 0
	for id, s := range l.seats {
		if !same(s.player, player) {
			continue
		}
		count++
		if oldest == "" || s.expires.Before(l.seats[oldest].expires) {
			oldest = id
		}
	}
	if count >= maxSeatsPerPlayer {
		delete(l.seats, oldest)
	}
}

func (l *Ledger) answer(id string) seats.Seat {
	return seats.Seat{
		ID:             id,
		ExpiresSeconds: int32(seats.Lifetime / time.Second),
		Taken:          int32(l.taken()),
	}
}

// players finds people by UUID and then by name without case: a game without
// forwarding gives everybody another UUID.
type players struct {
	ids   map[uuid.UUID]struct{}
	names map[string]struct{}
}

func newPlayers(list []seats.Player) players {
	p := players{ids: make(map[uuid.UUID]struct{}, len(list)), names: make(map[string]struct{}, len(list))}
	for _, player := range list {
		if player.UUID != uuid.Nil {
			p.ids[player.UUID] = struct{}{}
		}
		if player.Name != "" {
			p.names[nameOf(player)] = struct{}{}
		}
	}
	return p
}

func (p players) has(player seats.Player) bool {
	if _, found := p.ids[player.UUID]; found {
		return true
	}
	_, found := p.names[nameOf(player)]
	return found
}

func same(a, b seats.Player) bool {
	return a.UUID != uuid.Nil && a.UUID == b.UUID || strings.EqualFold(a.Name, b.Name)
}
