// SPDX-License-Identifier: Apache-2.0

package sighting

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/fleet"
	"github.com/spawnery/spawnery-operator/internal/sessions"
)

var now = time.Date(2026, 9, 18, 20, 0, 0, 0, time.UTC)

// channel answers what it was made with.
type channel struct {
	said  sessions.ServerState
	there sessions.Presence
	empty bool
}

func (c channel) Server(types.UID) sessions.ServerState { return c.said }

func (c channel) Presence(types.NamespacedName) sessions.Presence { return c.there }

func (c channel) NobodySince(types.NamespacedName, []types.UID) (time.Time, bool) {
	return now.Add(-time.Hour), c.empty
}

func said(freshness sessions.Freshness, online, pending int32) sessions.ServerState {
	return sessions.ServerState{
		Freshness: freshness, SampledAt: now, Connected: true,
		Report: &agentv1alpha1.ServerReport{Online: online, SeatsPending: pending},
	}
}

func TestWhoIsOnAServer(t *testing.T) {
	tests := map[string]struct {
		channel      channel
		wantOccupied bool
		wantPlayers  int
	}{
		"the game says nobody":                     {channel{said: said(sessions.Fresh, 0, 0)}, false, 0},
		"the game says somebody":                   {channel{said: said(sessions.Fresh, 3, 0)}, true, 3},
		"a proxy knows of more than the game":      {channel{said: said(sessions.Fresh, 1, 0), there: sessions.Presence{On: 2}}, true, 2},
		"a player is on the way":                   {channel{said: said(sessions.Fresh, 0, 0), there: sessions.Presence{Coming: 1}}, true, 0},
		"a seat is held for a player":              {channel{said: said(sessions.Fresh, 0, 1), empty: true}, true, 0},
		"nobody hears it":                          {channel{said: said(sessions.Stale, 0, 0)}, true, 0},
		"nobody ever heard it":                     {channel{}, true, 0},
		"nobody hears it, all proxies say nobody":  {channel{said: said(sessions.Stale, 0, 0), empty: true}, false, 0},
		"stale numbers do not outlive the proxies": {channel{said: said(sessions.Stale, 4, 0), empty: true}, false, 4},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			server := &v1alpha1.Server{Status: v1alpha1.ServerStatus{WasRegistered: new(true)}}
			got := PresenceOf(server, test.channel, nil)
			if got.Occupied(now) != test.wantOccupied {
				t.Errorf("occupied = %t, want %t", got.Occupied(now), test.wantOccupied)
			}
			if got.Counts.Players() != test.wantPlayers {
				t.Errorf("players = %d, want %d", got.Counts.Players(), test.wantPlayers)
			}
		})
	}
}

func TestAServerIsDescribedByItsStatusAndItsGroup(t *testing.T) {
	group := Group{PodHash: "new", PlayableSlots: 12, MaxPlayers: 50}
	server := &v1alpha1.Server{Spec: v1alpha1.ServerSpec{PodHash: "old", Ordinal: new(int32(3))}}
	got := ServerOf(server, group, fleet.PodSeen, fleet.Presence{})
	if got.Phase != v1alpha1.ServerPending || got.Ordinal != 3 || got.Spec != fleet.SpecOld || got.Playable != 12 || got.Slots != 50 {
		t.Errorf("a new server = %+v", got)
	}
	server.Status = v1alpha1.ServerStatus{Phase: v1alpha1.ServerReady, Slots: new(int32(40)), PlayableSlots: new(int32(60)), JoinsOpen: new(false)}
	got = ServerOf(server, group, fleet.PodSeen, fleet.Presence{})
	if got.Playable != 40 || got.Slots != 40 || got.Door != fleet.DoorClosed {
		t.Errorf("what the server says comes before its group, and never exceeds its slots: %+v", got)
	}
}

func TestAServerOnAClaimThatIsBeingDeletedIsKnownByItsCondition(t *testing.T) {
	for reason, want := range map[string]fleet.ClaimOutlook{
		v1alpha1.ReasonClaimTerminating: fleet.ClaimEnding, v1alpha1.ReasonAccepted: fleet.ClaimStays, "": fleet.ClaimStays,
	} {
		server := &v1alpha1.Server{}
		if reason != "" {
			server.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionAccepted, Reason: reason}}
		}
		if got := ServerOf(server, Group{}, fleet.PodSeen, fleet.Presence{}).Claim; got != want {
			t.Errorf("with the reason %q the claim's outlook is %v, want %v", reason, got, want)
		}
	}
}
