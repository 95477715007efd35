// SPDX-License-Identifier: Apache-2.0

// Package conditions builds the condition list of one object whole: every pass
// states all conditions it owns, and transition times survive from the list
// that was there before.
package conditions

import (
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// maxMessage keeps a message within what the API accepts for a condition.
const maxMessage = 32 * 1024

// Set collects the conditions of one object during one pass.
type Set struct {
	previous   []metav1.Condition
	generation int64
	now        time.Time
	current    []metav1.Condition
}

// From starts a pass over an object whose status holds previous.
func From(previous []metav1.Condition, generation int64, now time.Time) *Set {
	return &Set{previous: previous, generation: generation, now: now}
}

// True states that a condition holds.
func (s *Set) True(kind, reason, message string) { s.put(kind, metav1.ConditionTrue, reason, message) }

// False states that a condition does not hold.
func (s *Set) False(kind, reason, message string) {
	s.put(kind, metav1.ConditionFalse, reason, message)
}

// Keep carries a condition of the previous pass over as it stands, for passes
// that learned nothing about it. It does nothing when there was none.
func (s *Set) Keep(kind string) {
	for _, was := range s.previous {
		if was.Type == kind {
			s.replace(was)
		}
	}
}

func (s *Set) put(kind string, status metav1.ConditionStatus, reason, message string) {
	if len(message) > maxMessage {
		message = strings.ToValidUTF8(message[:maxMessage], "")
	}
	condition := metav1.Condition{
		Type: kind, Status: status, Reason: reason, Message: message,
		ObservedGeneration: s.generation, LastTransitionTime: metav1.NewTime(s.now),
	}
	for _, was := range s.previous {
		if was.Type == kind && was.Status == status {
			condition.LastTransitionTime = was.LastTransitionTime
		}
	}
	s.replace(condition)
}

func (s *Set) replace(condition metav1.Condition) {
	s.current = slices.DeleteFunc(s.current, func(c metav1.Condition) bool { return c.Type == condition.Type })
	s.current = append(s.current, condition)
}

// Previous returns the condition as the pass before left it.
func (s *Set) Previous(kind string) (metav1.Condition, bool) {
	at := slices.IndexFunc(s.previous, func(c metav1.Condition) bool { return c.Type == kind })
	if at < 0 {
		return metav1.Condition{}, false
	}
	return s.previous[at], true
}

// Get returns the condition as this pass states it.
func (s *Set) Get(kind string) (metav1.Condition, bool) {
	for _, condition := range s.current {
		if condition.Type == kind {
			return condition, true
		}
	}
	return metav1.Condition{}, false
}

// Flank is a condition whose status or reason differs from the previous pass.
type Flank struct {
	Was metav1.Condition
	Now metav1.Condition
}

// Flanks lists what changed, in the order it was stated: what events tell.
func (s *Set) Flanks() []Flank {
	var flanks []Flank
	for _, now := range s.current {
		at := slices.IndexFunc(s.previous, func(c metav1.Condition) bool { return c.Type == now.Type })
		switch {
		case at < 0:
			flanks = append(flanks, Flank{Now: now})
		case s.previous[at].Status != now.Status || s.previous[at].Reason != now.Reason:
			flanks = append(flanks, Flank{Was: s.previous[at], Now: now})
		}
	}
	return flanks
}

// List returns the conditions sorted by type, as status holds them.
func (s *Set) List() []metav1.Condition {
	list := slices.Clone(s.current)
	slices.SortFunc(list, func(a, b metav1.Condition) int {
		if a.Type < b.Type {
			return -1
		}
		return 1
	})
	return list
}
