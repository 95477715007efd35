// SPDX-License-Identifier: Apache-2.0

package sighting

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/expect"
	"github.com/spawnery/spawnery-operator/internal/fleet"
	"github.com/spawnery/spawnery-operator/internal/sessions"
)

func TestTheDoorFollowsWhatIsPersisted(t *testing.T) {
	status := func(edit func(*v1alpha1.ServerStatus)) v1alpha1.ServerStatus {
		s := v1alpha1.ServerStatus{Phase: v1alpha1.ServerReady, WasRegistered: new(true), Registered: new(true)}
		edit(&s)
		return s
	}
	drained := func(s *v1alpha1.ServerStatus) {
		s.Registered, s.DrainStartedAt = new(false), new(metav1.NewTime(now))
	}
	tests := map[string]struct {
		status v1alpha1.ServerStatus
		want   agentv1alpha1.DoorState
	}{
		"registered":                     {status(func(*v1alpha1.ServerStatus) {}), agentv1alpha1.DoorState_DOOR_STATE_OPEN},
		"registered, its door closed":    {status(func(s *v1alpha1.ServerStatus) { s.JoinsOpen = new(false) }), agentv1alpha1.DoorState_DOOR_STATE_BY_NAME},
		"retiring":                       {status(func(s *v1alpha1.ServerStatus) { s.Phase, s.Registered = v1alpha1.ServerRetiring, new(false) }), agentv1alpha1.DoorState_DOOR_STATE_CLOSED},
		"lost its readiness":             {status(func(s *v1alpha1.ServerStatus) { s.Phase, s.Registered = v1alpha1.ServerStarting, new(false) }), agentv1alpha1.DoorState_DOOR_STATE_CLOSED},
		"draining":                       {status(func(s *v1alpha1.ServerStatus) { drained(s); s.Phase = v1alpha1.ServerDraining }), agentv1alpha1.DoorState_DOOR_STATE_MOVING},
		"failed with players on it":      {status(func(s *v1alpha1.ServerStatus) { drained(s); s.Phase = v1alpha1.ServerFailed }), agentv1alpha1.DoorState_DOOR_STATE_MOVING},
		"starting again after a drain":   {status(func(s *v1alpha1.ServerStatus) { drained(s); s.Phase = v1alpha1.ServerStarting }), agentv1alpha1.DoorState_DOOR_STATE_CLOSED},
		"terminating without any drain":  {status(func(s *v1alpha1.ServerStatus) { s.Phase, s.Registered = v1alpha1.ServerTerminating, new(false) }), agentv1alpha1.DoorState_DOOR_STATE_CLOSED},
		"terminating at its drain's end": {status(func(s *v1alpha1.ServerStatus) { drained(s); s.Phase = v1alpha1.ServerTerminating }), agentv1alpha1.DoorState_DOOR_STATE_MOVING},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := DoorOf(&test.status); got != test.want {
				t.Errorf("door = %v, want %v", got, test.want)
			}
		})
	}
}

func TestTheChannelIsToBlameWhenMostAgentsFallSilent(t *testing.T) {
	registered := &v1alpha1.ServerStatus{WasRegistered: new(true)}
	tests := map[string]struct {
		heard, silent int
		leads         time.Duration
		want          fleet.Channel
	}{
		"nobody is silent":             {heard: 9, leads: time.Hour},
		"two are a few servers' own":   {silent: 2, leads: time.Hour},
		"three of six are not most":    {heard: 3, silent: 3, leads: time.Hour},
		"three of five are":            {heard: 2, silent: 3, leads: time.Hour, want: fleet.ChannelDegraded},
		"a new leader waits for them":  {silent: 5, leads: fleet.LeaderPatience - time.Second},
		"and no longer than it should": {silent: 5, leads: fleet.LeaderPatience, want: fleet.ChannelDegraded},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			h := Hearing{LeaderSince: now.Add(-test.leads)}
			for range test.heard {
				h.Hear(registered, sessions.Fresh)
			}
			for range test.silent {
				h.Hear(registered, sessions.Stale)
				h.Hear(&v1alpha1.ServerStatus{}, sessions.Unknown) // on its way, and no silence
			}
			if got, until := h.Channel(now); got != test.want || until.IsZero() != (test.leads >= fleet.LeaderPatience) {
				t.Errorf("channel = %v until %v, want %v", got, until, test.want)
			}
		})
	}
}

func TestWhatWasWrittenCountsBeforeItIsShown(t *testing.T) {
	server := &v1alpha1.Server{}
	server.UID, server.Spec.RetireReason = "1", v1alpha1.RetirePin
	seen := fleet.Server{Retire: v1alpha1.RetirePin}
	Correct(&seen, server, expect.Pending{})
	if seen.Retire != v1alpha1.RetirePin || seen.Deletion != fleet.DeletionNone {
		t.Errorf("without a write it became %+v", seen)
	}
	pending := expect.Pending{}
	pending.Deletes = map[types.UID]struct{}{"1": {}}
	pending.Retires = map[types.UID]v1alpha1.RetireReason{"1": v1alpha1.RetireNone}
	Correct(&seen, server, pending)
	if seen.Retire != v1alpha1.RetireNone || seen.Deletion != fleet.DeletionAsked {
		t.Errorf("with writes under way it is %+v", seen)
	}
}
