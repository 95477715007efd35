// SPDX-License-Identifier: Apache-2.0

package backoff

import (
	"fmt"
	"time"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/fleet"
)

const (
	// GiveUpAfter is how many failed rounds end the attempts.
	GiveUpAfter = 6

	firstDelay = 10 * time.Second
)

// windowEnd is when the delay after the last failure ends. It doubles with
// each failure; the last before the give-up is 160 s.
func (s Streak) windowEnd() time.Time {
	doublings := min(max(s.Failures, 1), GiveUpAfter-1) - 1
	return s.LastFailureAt.Add(firstDelay << doublings)
}

// State is where a group stands with its failures.
type State uint8

const (
	// Calm means that no streak stands.
	Calm State = iota
	// BackingOff means the last failure still delays the next attempt.
	BackingOff
	// Retrying means the delay is over and an attempt is due or under way.
	Retrying
	// GaveUp means no further attempt without a success, an edit or a retry.
	GaveUp
)

// Decision is what a streak means at one instant.
type Decision struct {
	State  State
	Streak Streak
	// NextAttempt is when creates go ahead again, zero unless BackingOff.
	NextAttempt time.Time
	// Recheck is when time alone changes the decision, zero if it does not.
	Recheck time.Time
	// Note says it to a person.
	Note string
}

// DecideBackoff says what a streak means now.
func DecideBackoff(s Streak, now time.Time) Decision {
	d := Decision{Streak: s}
	switch {
	case s.Failures <= 0:
		d.Note = "no server has failed to start recently"
	case s.Failures >= GiveUpAfter:
		d.State = GaveUp
		d.Note = fmt.Sprintf("gave up after %d failed attempts, the last at %s; "+
			"an edit of the group's spec starts over, and so does another value of its annotation %s",
			s.Failures, stamp(s.LastFailureAt), v1alpha1.AnnotationRetry)
	case now.Before(s.windowEnd()):
		d.State, d.NextAttempt, d.Recheck = BackingOff, s.windowEnd(), s.windowEnd()
		d.Note = fmt.Sprintf("attempt %d of %d failed; next attempt at %s", s.Failures, GiveUpAfter, stamp(d.NextAttempt))
	default:
		d.State = Retrying
		d.Note = fmt.Sprintf("no server has failed to start recently; %d of %d attempts failed, the last at %s",
			s.Failures, GiveUpAfter, stamp(s.LastFailureAt))
	}
	return d
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// MayCreate is the gate for creates of every origin. Nothing else waits for
// it: not deletions, not retirements, not drains.
func MayCreate(d Decision) fleet.Gate {
	switch d.State {
	case BackingOff:
		return fleet.WaitUntil(d.NextAttempt)
	case GaveUp:
		return fleet.GivenUp()
	case Calm, Retrying:
	}
	return fleet.Gate{}
}
