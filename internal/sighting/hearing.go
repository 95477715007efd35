// SPDX-License-Identifier: Apache-2.0

package sighting

import (
	"slices"
	"time"

	"k8s.io/utils/ptr"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/expect"
	"github.com/spawnery/spawnery-operator/internal/fleet"
	"github.com/spawnery/spawnery-operator/internal/sessions"
)

// silentAgents is how many agents have to be silent, beside being most, for
// their silence to be the channel's fault.
const silentAgents = 3

// Hearing counts the agents of a Network that should be heard and those that
// are not.
type Hearing struct {
	// LeaderSince is when this manager began to lead.
	LeaderSince    time.Time
	agents, silent int
}

// Hear adds one server whose pod is Ready. One that was never registered may
// still be on its way.
func (h *Hearing) Hear(status *v1alpha1.ServerStatus, freshness sessions.Freshness) {
	if !ptr.Deref(status.WasRegistered, false) {
		return
	}
	h.agents++
	if freshness != sessions.Fresh {
		h.silent++
	}
}

// Channel says whether so many are silent at once that the channel is to blame.
// Until a new leader has led for a while, silence says nothing; the instant is
// when that ends, zero when it has.
func (h *Hearing) Channel(now time.Time) (fleet.Channel, time.Time) {
	patient := h.LeaderSince.Add(fleet.LeaderPatience)
	switch {
	case now.Before(patient):
		return fleet.ChannelHealthy, patient
	case h.silent >= silentAgents && 2*h.silent > h.agents:
		return fleet.ChannelDegraded, time.Time{}
	}
	return fleet.ChannelHealthy, time.Time{}
}

// DoorOf says who is let through to a server, by what is persisted. Players are
// moved off a server only while its phase says so; whoever is on any other
// stays.
func DoorOf(status *v1alpha1.ServerStatus) agentv1alpha1.DoorState {
	if ptr.Deref(status.Registered, false) {
		if ptr.Deref(status.JoinsOpen, true) {
			return agentv1alpha1.DoorState_DOOR_STATE_OPEN
		}
		return agentv1alpha1.DoorState_DOOR_STATE_BY_NAME
	}
	moving := []v1alpha1.ServerPhase{v1alpha1.ServerDraining, v1alpha1.ServerFailed, v1alpha1.ServerTerminating}
	if status.DrainStartedAt != nil && slices.Contains(moving, status.Phase) {
		return agentv1alpha1.DoorState_DOOR_STATE_MOVING
	}
	return agentv1alpha1.DoorState_DOOR_STATE_CLOSED
}

// Correct puts over a server what was written to it and is not shown yet.
func Correct(seen *fleet.Server, server *v1alpha1.Server, pending expect.Pending) {
	if _, sent := pending.Deletes[server.UID]; sent {
		seen.Deletion = fleet.DeletionAsked
	}
	if reason, sent := pending.Retires[server.UID]; sent {
		seen.Retire = reason
	}
}
