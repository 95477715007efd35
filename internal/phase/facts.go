// SPDX-License-Identifier: Apache-2.0

package phase

import (
	"time"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/fleet"
)

// facts are the yes-or-no questions the rules ask of an input.
type facts struct {
	*Input
	occupied bool
	losses   int // on record, less what a long Ready has made good
}

func read(in *Input) facts {
	f := facts{Input: in, occupied: in.Occupied(in.Now), losses: in.Losses}
	if in.Phase == v1alpha1.ServerReady && passed(in.ReadySince, settledAfter, in.Now) {
		f.losses = 0
	}
	return f
}

// passed is false for a clock that does not run.
func passed(start time.Time, limit time.Duration, now time.Time) bool {
	return !start.IsZero() && !now.Before(start.Add(limit))
}

// nameHeld is true while another pod holds the name.
func nameHeld(f *facts) bool {
	return f.Pod == PodNameTerminating || f.Pod == PodNameTaken
}

// held is true while there is something to wait for before a pod can be made.
// A server that failed for it would come back to the same, only later.
func held(f *facts) bool { return nameHeld(f) || f.Pod == PodWorldHeld }

// noPod is true when nothing of this server runs or will by itself.
func noPod(f *facts) bool {
	return f.Pod == PodNotMade || f.Pod == PodAbsent || held(f)
}

// podLost is true when the pod went without having ended by itself. A server
// past Pending that has no pod at all has lost it just the same.
func podLost(f *facts) bool {
	switch f.Pod {
	case PodEvicted, PodTerminating, PodAbsent:
		return true
	case PodNotMade, PodNameTerminating, PodNameTaken, PodWorldHeld:
		return f.Phase != v1alpha1.ServerPending
	case PodUnseen, PodWaiting, PodRunning, PodReady,
		PodFinished, PodGameExited, PodOutOfMemory, PodPrepareFailed:
	}
	return false
}

func podEnded(f *facts) bool {
	switch f.Pod {
	case PodFinished, PodGameExited, PodOutOfMemory, PodPrepareFailed:
		return true
	case PodNotMade, PodNameTerminating, PodNameTaken, PodWorldHeld, PodUnseen, PodWaiting,
		PodRunning, PodReady, PodEvicted, PodTerminating, PodAbsent:
	}
	return false
}

func podGone(f *facts) bool { return podLost(f) || podEnded(f) }

func podStarted(f *facts) bool { return f.Pod == PodRunning || f.Pod == PodReady }

func podIs(p Pod) condition { return func(f *facts) bool { return f.Pod == p } }

// podOverdue is true when the grace of its deletion ran out long enough ago.
func podOverdue(f *facts) bool {
	return f.Pod == PodTerminating && passed(f.PodGraceEnds, releaseAfter, f.Now)
}

// gateOpen is the Ready gate: both signals at once. An agent that speaks has
// its stream up.
func gateOpen(f *facts) bool { return f.Pod == PodReady && f.Agent == AgentReady }

// signalLost takes only what was said: an agent nobody hears and a pod nobody
// sees have said nothing.
func signalLost(f *facts) bool {
	return f.Agent == AgentNotReady || (f.Pod != PodReady && f.Pod != PodUnseen)
}

// unheard is true while the silence of an agent may be the fault of a change
// of leaders.
func unheard(f *facts) bool {
	return f.Agent == AgentSilent && f.Pod == PodReady &&
		f.Now.Before(f.LeaderSince.Add(fleet.LeaderPatience))
}

func startupOver(f *facts) bool {
	return passed(f.StartedAt, f.Limits.Startup, f.Now) &&
		!held(f) && !gateOpen(f) && !unheard(f)
}

func unresponsive(f *facts) bool {
	return f.Agent == AgentNotAnswering && passed(f.NotAnsweringSince, f.Limits.Startup, f.Now)
}

func flapping(f *facts) bool { return f.losses >= maxLosses && !held(f) }

func wasReady(f *facts) bool { return !f.ReadySince.IsZero() }

func deletionAsked(f *facts) bool { return f.Deletion == fleet.DeletionAsked }

func everRegistered(f *facts) bool { return f.Registration.Ever() }

func occupied(f *facts) bool { return f.occupied }

// atRisk is true while somebody could lose their place with the pod.
func atRisk(f *facts) bool {
	return f.occupied && f.Registration.Ever() && !podGone(f) && !noPod(f)
}

// cameLate is true when a server that was given up as empty is not: a proxy
// may have asked for a seat before it heard that there are none.
func cameLate(f *facts) bool {
	return f.Phase == v1alpha1.ServerTerminating && atRisk(f) && !drainOver(f)
}

func drainOver(f *facts) bool { return passed(f.DrainStartedAt, f.Limits.Drain, f.Now) }

func retentionOver(f *facts) bool { return passed(f.FailedAt, f.Limits.Retention, f.Now) }

// retireAsked is false again once the reason has lost its ground.
func retireAsked(f *facts) bool {
	switch f.Retire {
	case v1alpha1.RetireNone:
		return false
	case v1alpha1.RetireChangeover:
		return f.Spec == fleet.SpecOld
	case v1alpha1.RetireNodeDraining:
		return f.Node == fleet.NodeDeparting
	case v1alpha1.RetirePin, v1alpha1.RetireConsolidation, v1alpha1.RetireRequested:
	}
	return true
}

// retirementBounded is true for the reasons that spec.update.maxStaleSeconds
// bounds, as long as they stand: putting an old spec back forces nobody out.
func retirementBounded(f *facts) bool {
	return f.Limits.MaxStale > 0 && retireAsked(f) &&
		(f.Retire == v1alpha1.RetireChangeover || f.Retire == v1alpha1.RetirePin)
}

func retirementOver(f *facts) bool {
	return retirementBounded(f) && passed(f.RetiringSince, f.Limits.MaxStale, f.Now)
}

// condition is one question about an input.
type condition func(*facts) bool

func always(*facts) bool { return true }

func not(c condition) condition { return func(f *facts) bool { return !c(f) } }

func all(conditions ...condition) condition {
	return func(f *facts) bool {
		for _, holds := range conditions {
			if !holds(f) {
				return false
			}
		}
		return true
	}
}

func either(a, b condition) condition {
	return func(f *facts) bool { return a(f) || b(f) }
}
