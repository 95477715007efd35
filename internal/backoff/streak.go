// SPDX-License-Identifier: Apache-2.0

// Package backoff counts the failed starts of a group and says when it may try
// again, and when it had better wait for a person.
package backoff

import (
	"slices"
	"time"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/fleet"
)

// Streak is a run of failed rounds without a success in between. A group's
// status persists it.
type Streak struct {
	// Failures is how many rounds failed.
	Failures int
	// LastFailureAt is when the last of them began to fail. It stays when the
	// streak is broken, and no failure up to it is ever counted again.
	LastFailureAt time.Time
}

// Success says what breaks the streak of a group.
type Success uint8

const (
	// AnyCurrentReady means a server of the current spec became Ready later
	// than the last failure: servers are interchangeable.
	AnyCurrentReady Success = iota
	// AllRequiredReady means every required ordinal is Ready at once: a healthy
	// sibling says nothing about a broken ordinal.
	AllRequiredReady
)

// History is what CountFailures may know.
type History struct {
	Streak Streak
	// Seen is the generation the streak belongs to, Generation the group's.
	Seen       int64
	Generation int64
	// Retried is the retry that was acted upon last, Retry the one that is asked
	// for; empty for none.
	Retried, Retry string
	Success        Success
	Servers        []fleet.Server
}

// CountFailures brings a streak up to date. A failure counts once, by its
// failedAt; what fails inside an open window belongs to the round that opened
// it. A new generation is a new beginning, and so is a new retry. The required ordinals matter to
// AllRequiredReady alone, and none at all prove nothing.
func CountFailures(h History, requiredOrdinals []int) Streak {
	s := h.Streak
	last := s.LastFailureAt // including failures inside a window
	failures := failuresAfter(s.LastFailureAt, h.Servers)
	if h.Seen != h.Generation || (h.Retry != "" && h.Retry != h.Retried) {
		return Streak{LastFailureAt: latest(last, failures)}
	}
	for _, at := range failures {
		if succeeded(h, requiredOrdinals, last, at) {
			s = Streak{LastFailureAt: last}
		}
		if s.Failures == 0 || !at.Before(s.windowEnd()) {
			s = Streak{Failures: s.Failures + 1, LastFailureAt: at}
		}
		last = at
	}
	if succeeded(h, requiredOrdinals, last, time.Time{}) {
		return Streak{LastFailureAt: last}
	}
	return s
}

// failuresAfter are the instants of failure later than the last counted one,
// in their order.
func failuresAfter(last time.Time, servers []fleet.Server) []time.Time {
	var failures []time.Time
	for i := range servers {
		if at := servers[i].FailedAt; at.After(last) {
			failures = append(failures, at)
		}
	}
	slices.SortFunc(failures, time.Time.Compare)
	return failures
}

func latest(last time.Time, sorted []time.Time) time.Time {
	if len(sorted) == 0 {
		return last
	}
	return sorted[len(sorted)-1]
}

// succeeded looks for a success between two failures; the later one is zero
// when there is none after it.
func succeeded(h History, requiredOrdinals []int, last, next time.Time) bool {
	switch h.Success {
	case AnyCurrentReady:
		return slices.ContainsFunc(h.Servers, func(s fleet.Server) bool {
			between := s.ReadySince.After(last) && (next.IsZero() || s.ReadySince.Before(next))
			return between && s.Spec == fleet.SpecCurrent
		})
	case AllRequiredReady:
		return next.IsZero() && allReady(h.Servers, requiredOrdinals)
	}
	return false
}

func allReady(servers []fleet.Server, required []int) bool {
	for _, ordinal := range required {
		ready := slices.ContainsFunc(servers, func(s fleet.Server) bool {
			return s.Ordinal == ordinal && s.Phase == v1alpha1.ServerReady
		})
		if !ready {
			return false
		}
	}
	return len(required) > 0
}
