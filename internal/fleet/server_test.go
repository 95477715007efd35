// SPDX-License-Identifier: Apache-2.0

package fleet_test

import (
	"testing"
	"time"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/fleet"
)

func serving(players int) fleet.Server {
	return fleet.Server{
		Name: "hub-a2b3", Ordinal: fleet.NoOrdinal, Phase: v1alpha1.ServerReady, Pod: fleet.PodSeen,
		Seats:    fleet.Seats{Slots: 50, Playable: 50},
		Presence: fleet.Presence{Registration: fleet.Registered, Counts: fleet.Fresh(players, now)},
		Clocks:   fleet.Clocks{StartedAt: ago(time.Hour), ReadySince: ago(time.Hour)},
	}
}

func TestSeats(t *testing.T) {
	tests := map[string]struct {
		figures fleet.Figures
		players int
		want    fleet.Seats
		free    int
	}{
		"all slots when nobody says otherwise":        {fleet.Figures{Slots: 100}, 30, fleet.Seats{Slots: 100, Playable: 100}, 70},
		"the group's figure":                          {fleet.Figures{Group: 12, Slots: 100}, 5, fleet.Seats{Slots: 100, Playable: 12}, 7},
		"the plugin's figure before the group's":      {fleet.Figures{Plugin: 8, Group: 12, Slots: 100}, 5, fleet.Seats{Slots: 100, Playable: 8}, 3},
		"never more than the slots":                   {fleet.Figures{Plugin: 200, Slots: 100}, 0, fleet.Seats{Slots: 100, Playable: 100}, 100},
		"spectators make a server full, not overfull": {fleet.Figures{Group: 12, Slots: 100}, 40, fleet.Seats{Slots: 100, Playable: 12}, 0},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := fleet.NewSeats(tt.figures)
			if got != tt.want || got.Free(tt.players) != tt.free {
				t.Errorf("NewSeats() = %+v with %d free, want %+v with %d", got, got.Free(tt.players), tt.want, tt.free)
			}
		})
	}
}

func TestCapacityPrefersPlayableSeats(t *testing.T) {
	if got := fleet.Capacity(12, 100); got != 12 {
		t.Errorf("Capacity(12, 100) = %d, want 12", got)
	}
	if got := fleet.Capacity(0, 100); got != 100 {
		t.Errorf("Capacity(0, 100) = %d, want 100", got)
	}
}

func TestServerStanding(t *testing.T) {
	tests := map[string]struct {
		change   func(*fleet.Server)
		alive    bool
		leaving  bool
		joinable bool
		free     int
		players  bool // MayHavePlayers
	}{
		"serving, nobody there":    {func(*fleet.Server) {}, true, false, true, 50, false},
		"serving, twenty there":    {func(s *fleet.Server) { s.Counts = fleet.Fresh(20, now) }, true, false, true, 30, true},
		"serving, counts stale":    {func(s *fleet.Server) { s.Counts = fleet.Stale(0, now) }, true, false, false, 0, true},
		"door closed":              {func(s *fleet.Server) { s.Door = fleet.DoorClosed }, true, false, false, 0, false},
		"dropped by the proxies":   {func(s *fleet.Server) { s.Registration = fleet.Deregistered }, true, false, false, 0, false},
		"old spec":                 {func(s *fleet.Server) { s.Spec = fleet.SpecOld }, true, false, true, 50, false},
		"deletion asked":           {func(s *fleet.Server) { s.Deletion = fleet.DeletionAsked }, false, true, true, 50, false},
		"asked to retire":          {func(s *fleet.Server) { s.Retire = v1alpha1.RetireRequested }, false, true, true, 50, false},
		"node departing":           {func(s *fleet.Server) { s.Node = fleet.NodeDeparting }, false, false, true, 50, false},
		"pending":                  {inPhase(v1alpha1.ServerPending), true, false, false, 0, false},
		"starting":                 {inPhase(v1alpha1.ServerStarting), true, false, false, 0, false},
		"retiring":                 {inPhase(v1alpha1.ServerRetiring), false, true, false, 0, false},
		"draining":                 {inPhase(v1alpha1.ServerDraining), false, true, false, 0, false},
		"terminating":              {inPhase(v1alpha1.ServerTerminating), false, true, false, 0, false},
		"failed":                   {inPhase(v1alpha1.ServerFailed), false, false, false, 0, false},
		"ready, not yet in a list": {unregistered(fleet.Counts{}), true, false, false, 0, true},
		"ready, empty, not listed": {unregistered(fleet.Fresh(0, now)), true, false, false, 0, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := serving(0)
			tt.change(&s)
			if s.Alive() != tt.alive || s.Leaving() != tt.leaving || s.Joinable() != tt.joinable {
				t.Errorf("alive %v, leaving %v, joinable %v; want %v, %v, %v",
					s.Alive(), s.Leaving(), s.Joinable(), tt.alive, tt.leaving, tt.joinable)
			}
			if s.FreeSeats() != tt.free || s.MayHavePlayers(now) != tt.players {
				t.Errorf("free %d, may have players %v; want %d, %v", s.FreeSeats(), s.MayHavePlayers(now), tt.free, tt.players)
			}
		})
	}
}

func inPhase(p v1alpha1.ServerPhase) func(*fleet.Server) {
	return func(s *fleet.Server) { s.Phase = p }
}

func unregistered(c fleet.Counts) func(*fleet.Server) {
	return func(s *fleet.Server) { s.Presence = fleet.Presence{Counts: c} }
}

func TestFirstStartEndsWithTheFirstReady(t *testing.T) {
	s := fleet.Server{Phase: v1alpha1.ServerStarting}
	if !s.FirstStart() {
		t.Error("a server that was never Ready is not in its first start")
	}
	s.ReadySince = ago(time.Minute)
	if s.FirstStart() {
		t.Error("a server that lost readiness is in its first start")
	}
}

func TestSightOfANewLeader(t *testing.T) {
	heard, unheard, pending := serving(3), serving(0), fleet.Server{Phase: v1alpha1.ServerPending}
	unheard.Counts = fleet.Counts{}
	stale := serving(0)
	stale.Counts = fleet.Stale(1, ago(time.Minute))
	tests := map[string]struct {
		servers []fleet.Server
		led     time.Duration
		want    fleet.Sight
		changes time.Time
	}{
		"complete when every registered server reported": {[]fleet.Server{heard, stale, pending}, time.Second, fleet.SightComplete, time.Time{}},
		"forming while one has not":                      {[]fleet.Server{heard, unheard}, 10 * time.Second, fleet.SightForming, now.Add(50 * time.Second)},
		"complete after a minute":                        {[]fleet.Server{unheard}, time.Minute, fleet.SightComplete, time.Time{}},
		"complete without servers":                       {nil, 0, fleet.SightComplete, time.Time{}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, changes := fleet.SightOf(tt.servers, ago(tt.led), now)
			if got != tt.want || !changes.Equal(tt.changes) {
				t.Errorf("SightOf() = %v until %v, want %v until %v", got, changes, tt.want, tt.changes)
			}
		})
	}
}

func TestEarliestIgnoresWhatDoesNotRun(t *testing.T) {
	if got := fleet.Earliest(time.Time{}, now, ago(time.Second), time.Time{}); !got.Equal(ago(time.Second)) {
		t.Errorf("Earliest() = %v, want a second ago", got)
	}
	if got := fleet.Earliest(time.Time{}); !got.IsZero() {
		t.Errorf("Earliest() of nothing = %v, want the zero time", got)
	}
}
