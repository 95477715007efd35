// SPDX-License-Identifier: Apache-2.0

// Package fleet is the vocabulary the decisions share: what a server looks
// like at one instant, what is known about its players, and what its seats
// are worth.
package fleet

import (
	"time"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
)

// NoOrdinal is the ordinal of a server that has none.
const NoOrdinal = -1

// Deletion says whether somebody asked for a server to be deleted.
type Deletion uint8

const (
	// DeletionNone means nobody asked.
	DeletionNone Deletion = iota
	// DeletionAsked means its object has a deletion timestamp, or a delete was sent
	// that the cache does not show yet.
	DeletionAsked
)

// SpecAge compares a server's podHash with its group's.
type SpecAge uint8

const (
	// SpecCurrent means a pod made now would be the same.
	SpecCurrent SpecAge = iota
	// SpecOld means the owner changed something that reaches the pod.
	SpecOld
)

// PodView is what the pod cache shows of the pod a server's status names.
type PodView uint8

const (
	// PodNone means no pod was made yet.
	PodNone PodView = iota
	// PodUnseen means status names a pod the cache does not show.
	PodUnseen
	// PodSeen means the cache shows it.
	PodSeen
	// PodNameHeld means no pod was made yet, because another has its name.
	PodNameHeld
	// PodWorldHeld means no pod was made yet, because its claim cannot be mounted.
	PodWorldHeld
)

// Resize says whether a server's file system is smaller than its volume.
type Resize uint8

const (
	// ResizeNone means that there is nothing to do.
	ResizeNone Resize = iota
	// ResizePending means that its volume has grown, and its file system does so
	// when a pod mounts it anew.
	ResizePending
)

// ClaimOutlook says whether a server's world outlives its pod.
type ClaimOutlook uint8

const (
	// ClaimStays means that the claim is there whatever becomes of the pod.
	ClaimStays ClaimOutlook = iota
	// ClaimEnding means that somebody deleted the claim, and that it goes with
	// the pod that mounts it.
	ClaimEnding
)

// NodeOutlook says whether a server's node is about to leave.
type NodeOutlook uint8

const (
	// NodeStaying means nothing follows from its node.
	NodeStaying NodeOutlook = iota
	// NodeDeparting means its node leaves and there is another place to go.
	NodeDeparting
	// NodeHolding means its node leaves, and no node that stays can mount its
	// volume: made again it would wait for this very node.
	NodeHolding
)

// Door is a server's own word on whether anybody may be sent there unasked.
type Door uint8

const (
	// DoorOpen takes anybody a seat is free for.
	DoorOpen Door = iota
	// DoorClosed takes only who comes by name; its free seats are no capacity.
	DoorClosed
)

// Channel says whether silence can still be told from trouble with the
// channel itself.
type Channel uint8

const (
	// ChannelHealthy means silent agents are a few servers' own affair.
	ChannelHealthy Channel = iota
	// ChannelDegraded means most agents fell silent at once. Nothing is created,
	// removed or retired on the strength of that.
	ChannelDegraded
)

// Clocks are the instants of a server's life that its status persists. A zero
// time means that the clock does not run.
type Clocks struct {
	// StartedAt begins the startup deadline: at acceptance, again when a held
	// name comes free, again at a loss of readiness.
	StartedAt time.Time
	// ReadySince is the last time it became Ready; a loss leaves it standing.
	ReadySince time.Time
	// RetiringSince begins the time a retirement may take.
	RetiringSince time.Time
	// DrainStartedAt begins the drain deadline.
	DrainStartedAt time.Time
	// FailedAt begins the retention of a failed server, and names its failure.
	FailedAt time.Time
}

// Server is one server of a group at one instant.
type Server struct {
	Name string
	// Ordinal is its place in a persistent group, NoOrdinal elsewhere.
	Ordinal  int
	Phase    v1alpha1.ServerPhase
	Deletion Deletion
	Retire   v1alpha1.RetireReason
	Spec     SpecAge
	Pod      PodView
	Node     NodeOutlook
	Door     Door
	Resize   Resize
	Claim    ClaimOutlook

	Seats
	Presence
	Clocks

	CreatedAt time.Time
	// EmptySince is when it was first known to be empty, without a break since.
	EmptySince time.Time
	// ServedAt is when it took its first player ever.
	ServedAt time.Time
}

// Alive is true for a server the group can count on: not on its way out, not
// failed, and not about to lose its node.
func (s *Server) Alive() bool {
	return !s.Leaving() && s.Phase != v1alpha1.ServerFailed && s.Node != NodeDeparting
}

// Leaving is true for a server that was told to go, or is going.
func (s *Server) Leaving() bool {
	if s.Deletion == DeletionAsked || s.Retire != v1alpha1.RetireNone {
		return true
	}
	switch s.Phase {
	case v1alpha1.ServerRetiring, v1alpha1.ServerDraining, v1alpha1.ServerTerminating:
		return true
	case v1alpha1.ServerPending, v1alpha1.ServerStarting, v1alpha1.ServerReady, v1alpha1.ServerFailed:
	}
	return false
}

// Current is true for a server of its group's spec, and for one whose pod is
// still to be made: it will be made from the spec that the group has then.
func (s *Server) Current() bool {
	unmade := s.Pod == PodNone || s.Pod == PodNameHeld || s.Pod == PodWorldHeld
	return s.Spec == SpecCurrent || (s.Phase == v1alpha1.ServerPending && unmade)
}

// FirstStart is true while a server is on its way to its first Ready.
func (s *Server) FirstStart() bool {
	return s.ReadySince.IsZero() &&
		(s.Phase == v1alpha1.ServerPending || s.Phase == v1alpha1.ServerStarting)
}

// Joinable is true when proxies may send players to it unasked: Ready,
// registered, heard from lately, its door open.
func (s *Server) Joinable() bool {
	return s.Phase == v1alpha1.ServerReady && s.Registration == Registered &&
		s.Counts.state == CountsFresh && s.Door == DoorOpen
}

// FreeSeats are the seats a player could be sent to right now.
func (s *Server) FreeSeats() int {
	if !s.Joinable() {
		return 0
	}
	return s.Free(s.Counts.players)
}

// MayHavePlayers is the caution of whoever picks a victim: it is Occupied, or
// its registration may be under way and its counts do not say that it is empty.
func (s *Server) MayHavePlayers(now time.Time) bool {
	if s.Occupied(now) {
		return true
	}
	return s.Phase == v1alpha1.ServerReady && !s.Registration.Ever() && !s.Counts.KnownEmpty()
}
