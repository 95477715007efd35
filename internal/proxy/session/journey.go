// SPDX-License-Identifier: Apache-2.0

package session

import (
	"errors"
	"maps"
	"slices"
	"time"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/mcproto"
	"github.com/spawnery/spawnery-operator/internal/proxy/backend"
	"github.com/spawnery/spawnery-operator/internal/proxy/directory"
	"github.com/spawnery/spawnery-operator/internal/proxy/messages"
	"github.com/spawnery/spawnery-operator/internal/proxy/placing"
	"github.com/spawnery/spawnery-operator/internal/routing"
	"github.com/spawnery/spawnery-operator/internal/seats"
)

const (
	// shunFirst and shunMost bound how long a server that could not be joined
	// is left alone by this player; it doubles with each failure.
	shunFirst = time.Second
	shunMost  = 15 * time.Second
	// serverFull is how the game itself says that it has no slot: a lack of
	// room, which passes, unlike other refusals.
	serverFull = "multiplayer.disconnect.server_full"
)

// journey is one search for a place: of somebody who has just come, or who has
// lost the server they were on. It lasts until the player is in a world.
type journey struct {
	claim    routing.Claim
	hold     time.Duration // how long a player without a place waits
	deadline time.Time     // when one is sent away
	shunned  map[string]shun
	first    []string // groups that are tried before the fallback groups
	back     string   // the server to go back to before all; empty: none
	// returning is the server that back was.
	returning string
	refusals  int // transfers of this search
	// why is what a player without a place is told at the end: the last word
	// of a server, or of the one they lost. Empty: there is no better word.
	why     mcproto.Text
	told    bool // why was set
	refused bool // a server refused the player themselves
	// switching is when the player was told to go elsewhere; zero: they were not.
	switching time.Time
}

// shun keeps a journey away from a server.
type shun struct {
	failures int
	until    time.Time
	always   bool // until the server closes: what opens then is another one
}

func newJourney(claim routing.Claim, now time.Time, hold time.Duration) *journey {
	return &journey{claim: claim, hold: hold, deadline: now.Add(hold), shunned: map[string]shun{}}
}

// avoid never leads back to a server that sent the player away or was lost.
func (j *journey) avoid(server string) {
	s := j.shunned[server]
	s.always = true
	j.shunned[server] = s
}

// failed notes a server that could not be joined for now.
func (j *journey) failed(server string, now time.Time) {
	s := j.shunned[server]
	s.until = now.Add(min(shunFirst<<min(s.failures, 8), shunMost))
	s.failures++
	j.shunned[server] = s
}

// forget drops what is known of servers that are gone or closed: whatever
// opens under their name is another server.
func (j *journey) forget(view *directory.View) {
	for name := range j.shunned {
		server := view.Server(name)
		if server == nil || server.GetDoor() == agentv1alpha1.DoorState_DOOR_STATE_CLOSED {
			delete(j.shunned, name)
		}
	}
}

// avoided names servers that this journey never leads to.
func (j *journey) avoided() []string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(j.shunned)) {
		if j.shunned[name].always && len(names) < maxAvoided {
			names = append(names, name)
		}
	}
	return names
}

// excluded names the servers this journey does not lead to now.
func (j *journey) excluded(now time.Time) []string {
	var names []string
	for name, s := range j.shunned {
		if s.always || now.Before(s.until) {
			names = append(names, name)
		}
	}
	return names
}

// explain sets what the player is told when no place is found.
func (j *journey) explain(why mcproto.Text) { j.why, j.told = why, true }

// learn takes in why a server was not joined.
func (j *journey) learn(server string, err error, now time.Time) {
	name := mcproto.Plain(server)
	if reason, ok := backend.ReasonOf(err); ok {
		j.explain(messages.Text(messages.JoinFailed, name, reason))
		if reason.Translate == serverFull {
			j.failed(server, now)
			return
		}
		j.refused = true
		j.avoid(server)
		return
	}
	if _, unsafe := errors.AsType[*backend.Unsafe](err); unsafe {
		j.explain(messages.Text(messages.JoinUnsafe, name))
	}
	j.failed(server, now)
}

// over reports whether the player is sent away: they have waited long enough,
// they may join no group, or servers refused them in person and there is no
// other one.
func (j *journey) over(lack *placing.NoPlace, now time.Time) bool {
	return !now.Before(j.deadline) || lack.Lack == placing.LackPermission || j.refused && lack.Lack == placing.LackServers
}

// farewell is what a player without a place is told.
func (j *journey) farewell(lack *placing.NoPlace, group mcproto.Text) mcproto.Text {
	switch {
	case j.told:
		return j.why
	case lack.Lack == placing.LackPermission:
		return messages.Text(messages.JoinDenied, group)
	case j.hold > 0:
		return messages.Text(messages.HoldEnded, group)
	case lack.Lack == placing.LackSeats:
		return messages.Text(messages.JoinFull, group)
	}
	return messages.Text(messages.JoinNone)
}

// turnedAway is what a player is told for whom there is no room to wait.
func (j *journey) turnedAway(group mcproto.Text) mcproto.Text {
	if j.told {
		return j.why
	}
	return messages.Text(messages.HoldFull, group)
}

// refusalText is what a player reads who asked for a server or group and did
// not get there.
func refusalText(name mcproto.Text, err error) mcproto.Text {
	if reason, ok := backend.ReasonOf(err); ok {
		return messages.Text(messages.JoinFailed, name, reason)
	}
	if _, unsafe := errors.AsType[*backend.Unsafe](err); unsafe {
		return messages.Text(messages.JoinUnsafe, name)
	}
	if _, refused := errors.AsType[*seats.Refusal](err); refused {
		return messages.Text(messages.JoinFull, name)
	}
	lack, ok := errors.AsType[*placing.NoPlace](err)
	if ok && lack.Lack == placing.LackSeats {
		return messages.Text(messages.JoinFull, name)
	}
	if ok && lack.Lack == placing.LackServers {
		return messages.Text(messages.JoinNone)
	}
	return messages.Text(messages.JoinFailed, name, messages.Text(messages.JoinUnreachable))
}
