// SPDX-License-Identifier: Apache-2.0

package sighting

import (
	"cmp"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/fleet"
	"github.com/spawnery/spawnery-operator/internal/phase"
	"github.com/spawnery/spawnery-operator/internal/sessions"
)

// Life is what bears on the life of one server beside the Server itself.
type Life struct {
	Now time.Time
	// Group is nil when it is gone.
	Group *v1alpha1.ServerGroup
	// PodHash of the spec a pod made now would have; empty unless group and
	// Network both stand.
	PodHash string

	// Node says whether the server's node is about to leave.
	Node fleet.NodeOutlook

	Pod          phase.Pod
	PodDetail    string
	PodGraceEnds time.Time

	Said     sessions.ServerState
	Presence fleet.Presence
	// LeaderSince is when this manager began to lead.
	LeaderSince time.Time
	// StartupDeadline holds for groups that set none.
	StartupDeadline time.Duration
}

// Of is a server's life in the words of phase.Decide.
func (l *Life) Of(server *v1alpha1.Server) phase.Input {
	in := phase.Input{
		Now:               l.Now,
		Phase:             cmp.Or(server.Status.Phase, v1alpha1.ServerPending),
		Retire:            server.Spec.RetireReason,
		Node:              l.Node,
		Pod:               l.Pod,
		PodGraceEnds:      l.PodGraceEnds,
		PodDetail:         l.PodDetail,
		Agent:             agentState(l.Said),
		NotAnsweringSince: notAnsweringSince(l.Said),
		LeaderSince:       l.LeaderSince,
		Presence:          l.Presence,
		Clocks:            ClocksOf(&server.Status),
		Losses:            int(ptr.Deref(server.Status.ReadinessLosses, 0)),
		Limits:            l.limits(&server.Status),
	}
	if l.PodHash != "" {
		in.Acceptance = phase.Accepted
		if server.Spec.PodHash != l.PodHash {
			in.Spec = fleet.SpecOld
		}
	}
	if server.DeletionTimestamp != nil {
		in.Deletion = fleet.DeletionAsked
	}
	return in
}

// agentState takes silence for what it is: an agent without a session, or one
// that has not reported in it, says nothing about its game. One that goes on
// saying that the game is ready, with a count that the game gave long ago, says
// that the game does not answer.
func agentState(said sessions.ServerState) phase.Agent {
	if !said.Connected || said.Report == nil {
		return phase.AgentSilent
	}
	switch said.Report.GetGameState() {
	case agentv1alpha1.GameState_GAME_STATE_READY:
		if said.Freshness == sessions.Stale {
			return phase.AgentNotAnswering
		}
		return phase.AgentReady
	case agentv1alpha1.GameState_GAME_STATE_NOT_ANSWERING:
		return phase.AgentNotAnswering
	case agentv1alpha1.GameState_GAME_STATE_STARTING, agentv1alpha1.GameState_GAME_STATE_STOPPING:
		return phase.AgentNotReady
	case agentv1alpha1.GameState_GAME_STATE_UNSPECIFIED:
	}
	return phase.AgentSilent
}

func notAnsweringSince(said sessions.ServerState) time.Time {
	switch {
	case agentState(said) != phase.AgentNotAnswering:
		return time.Time{}
	case said.Report.GetGameState() == agentv1alpha1.GameState_GAME_STATE_READY:
		return said.SampledAt.Add(sessions.FreshFor)
	}
	return said.GameStateSince
}

// limits are the timers of the group, or the last ones seen of one that is
// gone.
func (l *Life) limits(status *v1alpha1.ServerStatus) phase.Limits {
	limits := phase.Limits{
		Startup:   l.StartupDeadline,
		Drain:     seconds(status.DrainTimeoutSeconds),
		Retention: seconds(ptr.Deref(status.FailedRetentionSeconds, 0)),
	}
	if l.Group == nil {
		return limits
	}
	if l.Group.Spec.StartupDeadlineSeconds > 0 {
		limits.Startup = seconds(l.Group.Spec.StartupDeadlineSeconds)
	}
	limits.Drain = seconds(l.Group.Spec.Drain.TimeoutSeconds)
	limits.Retention = seconds(ptr.Deref(l.Group.Spec.FailedRetentionSeconds, 0))
	limits.MaxStale = seconds(ptr.Deref(l.Group.Spec.Update.MaxStaleSeconds, 0))
	return limits
}

func seconds(n int32) time.Duration { return time.Duration(n) * time.Second }

// Record is the status that follows from what was decided and seen. It leaves
// out what was done: names, addresses and conditions.
func (l *Life) Record(was *v1alpha1.ServerStatus, d phase.Decision) v1alpha1.ServerStatus {
	registered := d.Next == v1alpha1.ServerReady
	status := v1alpha1.ServerStatus{
		Phase:                  d.Next,
		Registered:             &registered,
		WasRegistered:          new(registered || ptr.Deref(was.WasRegistered, false)),
		ReadinessLosses:        new(int32(d.Losses)),
		StartedAt:              Stamp(d.Clocks.StartedAt),
		ReadySince:             Stamp(d.Clocks.ReadySince),
		RetiringSince:          Stamp(d.Clocks.RetiringSince),
		DrainStartedAt:         Stamp(d.Clocks.DrainStartedAt),
		FailedAt:               Stamp(d.Clocks.FailedAt),
		EmptySince:             Stamp(l.Presence.EmptySince(Instant(was.EmptySince), l.Now)),
		ServedAt:               l.servedAt(was),
		DrainTimeoutSeconds:    was.DrainTimeoutSeconds,
		FailedRetentionSeconds: was.FailedRetentionSeconds,
	}
	if l.Group != nil {
		status.DrainTimeoutSeconds = l.Group.Spec.Drain.TimeoutSeconds
		status.FailedRetentionSeconds = l.Group.Spec.FailedRetentionSeconds
	}
	l.recordCounts(&status, was)
	return status
}

func (l *Life) servedAt(was *v1alpha1.ServerStatus) *metav1.Time {
	if was.ServedAt != nil {
		return was.ServedAt
	}
	if l.Presence.Counts.Players() > 0 {
		return Stamp(l.Now)
	}
	return nil
}

// recordCounts fills in what the agent said last. What this manager has not
// heard yet stays as its predecessor wrote it; what is stale is unknown.
func (l *Life) recordCounts(status, was *v1alpha1.ServerStatus) {
	switch l.Said.Freshness {
	case sessions.Unknown:
		status.Players, status.Slots = was.Players, was.Slots
		status.PlayableSlots, status.JoinsOpen = was.PlayableSlots, was.JoinsOpen
		status.RoundEndedAt = was.RoundEndedAt
		return
	case sessions.Fresh:
		status.Players = new(int32(l.Presence.Counts.Players()))
	case sessions.Stale:
	}
	said := l.Said.Report
	if slots := said.GetSlots(); slots > 0 {
		status.Slots = &slots
	}
	if said.PlayableSlots != nil && said.GetPlayableSlots() > 0 {
		status.PlayableSlots = new(said.GetPlayableSlots())
	}
	status.JoinsOpen = new(said.GetJoinsOpen())
	if RoundEnded(l.Said, was) {
		status.RoundEndedAt = cmp.Or(was.RoundEndedAt, Stamp(l.Now))
	}
}

// RoundEnded says whether the game is expected to exit. What this manager has
// not heard yet is as its predecessor wrote it.
func RoundEnded(said sessions.ServerState, status *v1alpha1.ServerStatus) bool {
	if said.Report == nil {
		return status.RoundEndedAt != nil
	}
	return said.Report.GetRoundEnded()
}
