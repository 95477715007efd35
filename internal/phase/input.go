// SPDX-License-Identifier: Apache-2.0

// Package phase decides how one server moves through its life. Decide is an
// ordered table of named rules: within a phase the first whose condition holds
// wins. It knows nothing of group types, so every server lives the same life.
package phase

import (
	"time"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/fleet"
)

// Pod is what became of a server's pod.
type Pod uint8

const (
	// PodNotMade means none was made, and its name is free.
	PodNotMade Pod = iota
	// PodNameTerminating means another pod holds the name and is terminating.
	PodNameTerminating
	// PodNameTaken means another pod holds the name and shows no sign of going.
	PodNameTaken
	// PodWorldHeld means none was made, because the claim that it is to mount
	// is not there to be mounted: it is somebody else's, or being deleted.
	PodWorldHeld
	// PodUnseen means it was made, and the cache does not show it yet.
	PodUnseen
	// PodWaiting means it exists and its game does not run yet.
	PodWaiting
	// PodRunning means its game runs, and the pod is not Ready.
	PodRunning
	// PodReady means its condition Ready is True.
	PodReady
	// PodFinished means its game ended as a finished round ends.
	PodFinished
	// PodGameExited means its game ended in any other way.
	PodGameExited
	// PodOutOfMemory means its game was killed for its memory.
	PodOutOfMemory
	// PodPrepareFailed means the step before the game refused or failed.
	PodPrepareFailed
	// PodEvicted means Failed with the condition DisruptionTarget.
	PodEvicted
	// PodTerminating means it has a deletion timestamp.
	PodTerminating
	// PodAbsent means it was made and is gone.
	PodAbsent
)

// Agent is what a server's agent says about its game.
type Agent uint8

const (
	// AgentSilent means no stream. Silence is unknown, never "not ready".
	AgentSilent Agent = iota
	// AgentNotReady means the game does not accept players.
	AgentNotReady
	// AgentNotAnswering means the game does not answer its agent.
	AgentNotAnswering
	// AgentReady means the game accepts players.
	AgentReady
)

// Acceptance says whether the server's group and Network stand.
type Acceptance uint8

const (
	// NotAccepted means its group or Network was not found.
	NotAccepted Acceptance = iota
	// Accepted means both were found.
	Accepted
)

// Limits are the timers of a server's group, read live.
type Limits struct {
	Startup time.Duration
	// Drain is how long players are moved; 0 waits for nobody, which is right
	// in a namespace that is going.
	Drain     time.Duration
	Retention time.Duration
	// MaxStale bounds a retirement for a changeover or a pin; 0 never does.
	MaxStale time.Duration
}

const (
	// maxLosses is how many readiness losses make a server Flapping.
	maxLosses = 3
	// settledAfter is how long Ready has to last for losses to be forgotten.
	settledAfter = 10 * time.Minute
	// releaseAfter is how long after the end of its deletion grace a pod is
	// waited for. Nobody may be left to confirm the end of a pod on a dead node.
	releaseAfter = 30 * time.Second
	// heldNameRecheck is how often a held name is looked at: its holder may be
	// a pod no cache of ours shows.
	heldNameRecheck = 5 * time.Second
)

// Input is everything Decide may know of a server.
type Input struct {
	Now        time.Time
	Phase      v1alpha1.ServerPhase
	Acceptance Acceptance
	Deletion   fleet.Deletion
	Retire     v1alpha1.RetireReason
	Spec       fleet.SpecAge
	Node       fleet.NodeOutlook

	Pod Pod
	// PodGraceEnds is the deletion timestamp of a terminating pod, which is
	// when its grace ends.
	PodGraceEnds time.Time
	// PodDetail is how the pod ended, in words for the note; may be empty.
	PodDetail string

	Agent Agent
	// NotAnsweringSince is when the agent began to say AgentNotAnswering.
	NotAnsweringSince time.Time
	// LeaderSince is when this manager began to lead. Agents need a while to
	// find a new leader, and their silence until then says nothing.
	LeaderSince time.Time

	fleet.Presence
	fleet.Clocks
	// Losses is how many readiness losses are on record.
	Losses int
	Limits Limits
}
