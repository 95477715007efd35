// SPDX-License-Identifier: Apache-2.0

package session

import (
	"errors"
	"slices"
	"testing"
	"time"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/mcproto"
	"github.com/spawnery/spawnery-operator/internal/proxy/backend"
	"github.com/spawnery/spawnery-operator/internal/proxy/directory"
	"github.com/spawnery/spawnery-operator/internal/proxy/placing"
	"github.com/spawnery/spawnery-operator/internal/routing"
)

var (
	began    = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	full     = &placing.NoPlace{Lack: placing.LackSeats}
	nobodyIn = &placing.NoPlace{Lack: placing.LackServers}
	group    = mcproto.Plain("BedWars")
)

func viewOf(doors map[string]agentv1alpha1.DoorState) *directory.View {
	store := directory.NewStore()
	list := &agentv1alpha1.Directory{Revision: 1, Full: true}
	for name, door := range doors {
		list.Servers = append(list.Servers, &agentv1alpha1.DirectoryServer{Name: name, Door: door})
	}
	store.Apply(list)
	return store.View()
}

func TestAServerThatFailedIsLeftAloneLongerEachTime(t *testing.T) {
	j, now := newJourney(routing.ByChoice, began, time.Minute), began
	for _, seconds := range []int{1, 2, 4, 8, 15, 15} {
		j.learn("lobby-a", errors.New("connection refused"), now)
		wait := time.Duration(seconds) * time.Second
		if got := j.excluded(now.Add(wait - 1)); !slices.Equal(got, []string{"lobby-a"}) {
			t.Errorf("%s: excluded %v", wait, got)
		}
		now = now.Add(wait)
		if got := j.excluded(now); len(got) != 0 {
			t.Errorf("after %s: excluded %v", wait, got)
		}
	}
}

func TestWhoSentThePlayerAwayIsAvoidedUntilItIsAnother(t *testing.T) {
	open, closed := agentv1alpha1.DoorState_DOOR_STATE_OPEN, agentv1alpha1.DoorState_DOOR_STATE_CLOSED
	for name, tt := range map[string]struct {
		doors map[string]agentv1alpha1.DoorState
		want  int
	}{
		"it is open":                 {map[string]agentv1alpha1.DoorState{"lobby-a": open}, 1},
		"it is being emptied":        {map[string]agentv1alpha1.DoorState{"lobby-a": agentv1alpha1.DoorState_DOOR_STATE_MOVING}, 1},
		"its plugin closed the door": {map[string]agentv1alpha1.DoorState{"lobby-a": agentv1alpha1.DoorState_DOOR_STATE_BY_NAME}, 1},
		"it has closed":              {map[string]agentv1alpha1.DoorState{"lobby-a": closed}, 0},
		"it is gone":                 {nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			j := newJourney(routing.ByNeed, began, time.Minute)
			j.avoid("lobby-a")
			j.forget(viewOf(tt.doors))
			if got := j.excluded(began.Add(time.Hour)); len(got) != tt.want {
				t.Errorf("excluded %v", got)
			}
		})
	}
}

func TestWhenAJourneyIsOver(t *testing.T) {
	banned := &backend.Refused{Reason: mcproto.Plain("banned")}
	noRoom := &backend.Refused{Reason: mcproto.Text{Translate: serverFull, Fallback: "The server is full!"}}
	for name, tt := range map[string]struct {
		learned error
		lack    *placing.NoPlace
		after   time.Duration
		want    bool
	}{
		"not while there is time":                 {nil, full, time.Second, false},
		"when the time is over":                   {nil, full, time.Minute, true},
		"when every server refused this player":   {banned, nobodyIn, time.Second, true},
		"not when others are only full":           {banned, full, time.Second, false},
		"not when the server had no slot":         {noRoom, nobodyIn, time.Second, false},
		"not when the server could not be joined": {errors.New("reset"), nobodyIn, time.Second, false},
	} {
		t.Run(name, func(t *testing.T) {
			j := newJourney(routing.ByChoice, began, time.Minute)
			if tt.learned != nil {
				j.learn("lobby-a", tt.learned, began)
			}
			if got := j.over(tt.lack, began.Add(tt.after)); got != tt.want {
				t.Errorf("got %v", got)
			}
		})
	}
}

func TestWhatThePlayerIsToldAtTheEnd(t *testing.T) {
	unsafe := &backend.Unsafe{State: agentv1alpha1.ForwardingState_FORWARDING_STATE_NOT_ACTIVE}
	for name, tt := range map[string]struct {
		hold    time.Duration
		learned error
		lack    *placing.NoPlace
		want    string
	}{
		"full, not held":         {0, nil, full, "This round is full."},
		"no server, not held":    {0, nil, nobodyIn, "No server is available right now. Please try again in a moment."},
		"held":                   {time.Minute, nil, full, "No place became free in BedWars. Please try again in a moment."},
		"a server said why":      {time.Minute, &backend.Refused{Reason: mcproto.Plain("banned")}, full, "lobby-a could not be joined: banned"},
		"a server is not set up": {time.Minute, unsafe, full, "lobby-a is not set up for this network. Please tell an administrator."},
		"a server did not reply": {time.Minute, errors.New("reset"), full, "No place became free in BedWars. Please try again in a moment."},
	} {
		t.Run(name, func(t *testing.T) {
			j := newJourney(routing.ByChoice, began, tt.hold)
			if tt.learned != nil {
				j.learn("lobby-a", tt.learned, began)
			}
			if got := j.farewell(tt.lack, group).String(); got != tt.want {
				t.Errorf("got %q", got)
			}
		})
	}
}
