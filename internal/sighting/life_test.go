// SPDX-License-Identifier: Apache-2.0

package sighting

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/fleet"
	"github.com/spawnery/spawnery-operator/internal/phase"
	"github.com/spawnery/spawnery-operator/internal/sessions"
)

func TestAnAgentNobodyHearsSaysNothingOfItsGame(t *testing.T) {
	answering := func(state agentv1alpha1.GameState) sessions.ServerState {
		return sessions.ServerState{
			Connected: true, Freshness: sessions.Fresh, GameStateSince: now,
			Report: &agentv1alpha1.ServerReport{GameState: state},
		}
	}
	away := answering(agentv1alpha1.GameState_GAME_STATE_READY)
	away.Connected = false
	hung := answering(agentv1alpha1.GameState_GAME_STATE_READY)
	hung.Freshness, hung.SampledAt = sessions.Stale, now.Add(-time.Minute)
	cutOff := hung
	cutOff.Connected = false
	mute := sessions.ServerState{Connected: true}
	tests := map[string]struct {
		said      sessions.ServerState
		want      phase.Agent
		wantSince time.Time
	}{
		"nothing is known":                             {want: phase.AgentSilent},
		"no session stands":                            {said: away, want: phase.AgentSilent},
		"no session stands, and its last count is old": {said: cutOff, want: phase.AgentSilent},
		"the game is said to be ready, by an old count": {
			said: hung, want: phase.AgentNotAnswering, wantSince: now.Add(-time.Minute + sessions.FreshFor),
		},
		"it has not reported":  {said: mute, want: phase.AgentSilent},
		"the game is starting": {said: answering(agentv1alpha1.GameState_GAME_STATE_STARTING), want: phase.AgentNotReady},
		"the game is ready":    {said: answering(agentv1alpha1.GameState_GAME_STATE_READY), want: phase.AgentReady},
		"the game does not answer": {
			said: answering(agentv1alpha1.GameState_GAME_STATE_NOT_ANSWERING), want: phase.AgentNotAnswering, wantSince: now,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			in := (&Life{Now: now, Said: test.said}).Of(&v1alpha1.Server{})
			if in.Agent != test.want || !in.NotAnsweringSince.Equal(test.wantSince) {
				t.Errorf("agent %v since %v, want %v since %v", in.Agent, in.NotAnsweringSince, test.want, test.wantSince)
			}
		})
	}
}

func TestTheTimersOfAGroupThatIsGoneAreTheLastOnesSeen(t *testing.T) {
	server := &v1alpha1.Server{}
	server.Status.DrainTimeoutSeconds = 90
	server.Status.FailedRetentionSeconds = new(int32(600))
	life := &Life{Now: now, StartupDeadline: 5 * time.Minute}
	want := phase.Limits{Startup: 5 * time.Minute, Drain: 90 * time.Second, Retention: 10 * time.Minute}
	if got := life.Of(server).Limits; got != want {
		t.Errorf("limits of a gone group = %+v, want %+v", got, want)
	}
	life.Group = &v1alpha1.ServerGroup{}
	life.Group.Spec.StartupDeadlineSeconds = 30
	life.Group.Spec.Drain.TimeoutSeconds = 60
	life.Group.Spec.Update.MaxStaleSeconds = new(int32(900))
	want = phase.Limits{Startup: 30 * time.Second, Drain: time.Minute, MaxStale: 15 * time.Minute}
	if got := life.Of(server).Limits; got != want {
		t.Errorf("limits = %+v, want %+v", got, want)
	}
}

func TestThatAServerWasRegisteredAndServedIsNeverForgotten(t *testing.T) {
	life := &Life{
		Now:      now,
		Said:     sessions.ServerState{Freshness: sessions.Fresh, Report: &agentv1alpha1.ServerReport{Online: 3, JoinsOpen: true}},
		Presence: fleet.Presence{Registration: fleet.Registered, Counts: fleet.Fresh(3, now)},
	}
	served := life.Record(&v1alpha1.ServerStatus{}, phase.Decision{Next: v1alpha1.ServerReady})
	if !*served.Registered || !*served.WasRegistered || !served.ServedAt.Time.Equal(now) {
		t.Errorf("while it serves: %+v", served)
	}
	life.Now = now.Add(time.Hour)
	left := life.Record(&served, phase.Decision{Next: v1alpha1.ServerRetiring})
	if *left.Registered || !*left.WasRegistered || !left.ServedAt.Time.Equal(now) {
		t.Errorf("once it retires: %+v", left)
	}
}

func TestAnEmptyServerKeepsItsClockThroughSilence(t *testing.T) {
	emptySince := metav1.NewTime(now.Add(-time.Minute))
	was := v1alpha1.ServerStatus{EmptySince: &emptySince, Players: new(int32(0))}
	tests := map[string]struct {
		said        sessions.ServerState
		counts      fleet.Counts
		wantEmpty   bool
		wantPlayers *int32
	}{
		"nothing was heard yet": {wantEmpty: true, wantPlayers: new(int32(0))},
		"the last word is old": {
			said: said(sessions.Stale, 0, 0), counts: fleet.Stale(0, now), wantEmpty: true,
		},
		"somebody is there": {
			said: said(sessions.Fresh, 1, 0), counts: fleet.Fresh(1, now), wantPlayers: new(int32(1)),
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			life := &Life{Now: now, Said: test.said, Presence: fleet.Presence{Registration: fleet.Registered, Counts: test.counts}}
			got := life.Record(&was, phase.Decision{Next: v1alpha1.ServerReady})
			if (got.EmptySince != nil) != test.wantEmpty {
				t.Errorf("empty since %v, want it known: %v", got.EmptySince, test.wantEmpty)
			}
			if !ptr.Equal(got.Players, test.wantPlayers) {
				t.Errorf("players = %v, want %v", ptr.Deref(got.Players, -1), ptr.Deref(test.wantPlayers, -1))
			}
		})
	}
}
