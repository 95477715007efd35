// SPDX-License-Identifier: Apache-2.0

package players

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/spawnery/spawnery-operator/internal/agent/ledger"
	"github.com/spawnery/spawnery-operator/internal/msmp"
	"github.com/spawnery/spawnery-operator/internal/seats"
	"github.com/spawnery/spawnery-operator/internal/slp"
)

// Presence is what the game shows of itself.
type Presence int

const (
	// Absent says that nothing listens on the game's port.
	Absent Presence = iota
	// Loading says that something listens and does not take players yet.
	Loading
	// Answering says that the game tells who is online and takes players.
	Answering
	// Silent says that the game answered once and does not any more.
	Silent
	// Stopping says that the game announced its end.
	Stopping
)

// Observation is all that is known about the game at one moment.
type Observation struct {
	Presence Presence
	// Detail is one sentence for a person; empty when there is nothing to say.
	Detail string
	// Counted is false while it is unknown who is online; then Sample is empty.
	Counted bool
	Sample  ledger.Sample
	// Protocol is the version the game says it speaks.
	Protocol int32
	// Run rises when the game went away: what was learned of it is void.
	Run int
	// Contact rises when the game answers again after it did not: it may be
	// another run that came and went unseen.
	Contact int
}

// source is where the newest sample came from.
type source int

const (
	nowhere source = iota
	fromManagement
	fromPing
)

// management is how the management protocol is reached.
type management int

const (
	// managementUntried: the next dial decides.
	managementUntried management = iota
	managementConnected
	managementUnreachable
	managementUnauthorized
)

// tracker makes one picture of what two ways of asking bring in. It has no
// lock and no clock.
type tracker struct {
	port       int32
	management management
	presence   Presence
	source     source
	sample     ledger.Sample
	// push is what a plugin said last.
	push     ledger.Sample
	protocol int32
	run      int
	contact  int
	roster   roster
}

// mayPing is true when the management protocol does not tell. While it is
// connected and silent a ping proves nothing: the game's network threads
// answer it long after the game itself hangs.
func (t *tracker) mayPing() bool {
	return t.management == managementUnreachable || t.management == managementUnauthorized
}

func (t *tracker) managementOpened() {
	t.management = managementConnected
	t.roster = roster{}
	t.contact++
	if t.presence == Stopping {
		t.vanished(Loading)
	}
}

// managementLost leaves the last sample to grow stale: a connection is made
// again within moments when the game is still there.
func (t *tracker) managementLost() { t.management = managementUntried }

func (t *tracker) managementRefused(how management) { t.management = how }

// managementTimedOut: the port takes connections and says nothing. Where the
// protocol worked in this run, that is a game that hangs and not one without.
func (t *tracker) managementTimedOut() {
	t.management = managementUnreachable
	if t.source == fromManagement {
		t.management = managementUntried
	}
}

// asking is called before the game is asked for its status; what it says in
// the meantime is newer than its answer.
func (t *tracker) asking() { t.roster.since = nil }

func (t *tracker) answered(asked time.Time, status msmp.Status) {
	t.protocol = status.Version.Protocol
	t.roster.replace(status.Players)
	t.source, t.sample = fromManagement, t.roster.sample(asked)
	switch {
	case t.presence == Stopping:
	case status.Started:
		t.presence = Answering
	default:
		t.presence = Loading
	}
}

func (t *tracker) notified(at time.Time, n msmp.Notification) {
	switch n.Event {
	case msmp.EventJoined, msmp.EventLeft:
		t.roster.note(n)
		if t.source == fromManagement && t.roster.complete {
			t.sample = t.roster.sample(at)
		}
	case msmp.EventStopping:
		t.presence = Stopping
	case msmp.EventStarted, msmp.EventStatus, msmp.EventSaving, msmp.EventSaved:
	}
}

func (t *tracker) pinged(asked time.Time, status slp.Status) {
	if t.source != fromPing || t.presence == Silent {
		t.contact++
	}
	if t.presence == Stopping {
		// The port closes first: this is the next run, the end was not seen.
		t.vanished(Loading)
	}
	t.protocol = status.Protocol
	t.source, t.sample = fromPing, ledger.Sample{At: asked, Online: status.Online, Players: fromSample(status.Sample)}
	t.presence = Answering
	// A plugin knows everybody; a ping names some, and some servers hide the rest.
	if asked.Sub(t.push.At) <= ledger.StaleAfter {
		t.sample = t.push
	}
}

// pushed: a plugin told who is online. That the game takes players is left to
// pings to say.
func (t *tracker) pushed(sample ledger.Sample) {
	t.push = sample
	if t.source == fromPing && t.presence == Answering && t.mayPing() {
		t.sample = sample
	}
}

// refused: nobody listens where the game should. It has gone, or has not come.
func (t *tracker) refused() { t.vanished(Absent) }

// vanished ends what was known of a run of the game.
func (t *tracker) vanished(next Presence) {
	if t.source != nowhere || t.presence == Stopping {
		t.run++
	}
	t.presence, t.source, t.sample, t.push, t.protocol = next, nowhere, ledger.Sample{}, ledger.Sample{}, 0
}

// unanswered: somebody listens and did not answer in time.
func (t *tracker) unanswered() {
	if t.presence == Absent {
		t.presence = Loading
	}
}

// observe is the picture at one moment.
func (t *tracker) observe(now time.Time) Observation {
	stale := now.Sub(t.sample.At) > ledger.StaleAfter
	if t.presence == Answering && stale {
		t.presence = Silent
	}
	return Observation{
		Presence: t.presence, Detail: t.detail(),
		Counted: t.source != nowhere, Sample: t.sample,
		Protocol: t.protocol, Run: t.run, Contact: t.contact,
	}
}

func (t *tracker) detail() string {
	switch t.presence {
	case Absent:
		return fmt.Sprintf("nothing listens on port %d yet", t.port)
	case Loading:
		return "the game is loading"
	case Silent:
		return "the game has not answered since " + t.sample.At.UTC().Format(time.TimeOnly+" MST")
	case Stopping:
		return "the game is stopping"
	case Answering:
	}
	if t.management == managementUnauthorized {
		return "the game does not accept our management secret, so players are counted by ping: " +
			"management-server-secret in server.properties was changed after prepare wrote it"
	}
	return ""
}

// roster is who is online by the management protocol: a status, and what was
// said after it.
type roster struct {
	online   map[string]seats.Player
	complete bool
	// since are the events after the status was asked for.
	since []msmp.Notification
}

func (r *roster) replace(players []msmp.Player) {
	r.online, r.complete = make(map[string]seats.Player, len(players)), true
	for _, p := range players {
		r.online[key(p)] = seats.Player{UUID: p.ID, Name: p.Name}
	}
	for _, n := range r.since {
		r.apply(n)
	}
	r.since = nil
}

func (r *roster) note(n msmp.Notification) {
	r.since = append(r.since, n)
	if r.complete {
		r.apply(n)
	}
}

func (r *roster) apply(n msmp.Notification) {
	if n.Event == msmp.EventLeft {
		delete(r.online, key(n.Player))
		return
	}
	r.online[key(n.Player)] = seats.Player{UUID: n.Player.ID, Name: n.Player.Name}
}

// sample lists players sorted, so that equal rosters make equal reports.
func (r *roster) sample(at time.Time) ledger.Sample {
	list := make([]seats.Player, 0, len(r.online))
	for _, p := range r.online {
		list = append(list, p)
	}
	slices.SortFunc(list, func(a, b seats.Player) int { return strings.Compare(a.Name, b.Name) })
	return ledger.Sample{At: at, Online: len(list), Players: list}
}

func key(p msmp.Player) string {
	if p.ID != uuid.Nil {
		return p.ID.String()
	}
	return strings.ToLower(p.Name)
}

// fromSample takes the players a status names. Servers that hide players name
// none, or somebody without a UUID.
func fromSample(sample []slp.Player) []seats.Player {
	var list []seats.Player
	for _, p := range sample {
		id, err := uuid.Parse(p.ID)
		if err != nil || id == uuid.Nil {
			continue
		}
		list = append(list, seats.Player{UUID: id, Name: p.Name})
	}
	return list
}
