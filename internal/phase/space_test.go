// SPDX-License-Identifier: Apache-2.0

package phase_test

import (
	"time"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/fleet"
	"github.com/spawnery/spawnery-operator/internal/phase"
	"github.com/spawnery/spawnery-operator/internal/statespace"
)

var now = time.Date(2026, 9, 18, 20, 0, 0, 0, time.UTC)

func ago(d time.Duration) time.Time { return now.Add(-d) }

var limits = phase.Limits{
	Startup: 5 * time.Minute, Drain: time.Minute, Retention: time.Hour, MaxStale: 30 * time.Minute,
}

var phases = []v1alpha1.ServerPhase{
	v1alpha1.ServerPending, v1alpha1.ServerStarting, v1alpha1.ServerReady, v1alpha1.ServerRetiring,
	v1alpha1.ServerDraining, v1alpha1.ServerTerminating, v1alpha1.ServerFailed,
}

type (
	value = statespace.Value[phase.Input]
	axis  = statespace.Axis[phase.Input]
	space = statespace.Space[phase.Input]
)

// everything is every input there is, up to how far a clock has run: for each
// clock there is one instant before and one after its limit.
func everything(p v1alpha1.ServerPhase) (phase.Input, space) {
	start := phase.Input{Now: now, Phase: p, Limits: limits, LeaderSince: ago(time.Hour)}
	return start, space{
		podAxis(), agentAxis(), presenceAxis(), historyAxis(), retireAxis(), startupAxis(),
		clockAxis("drain", limits.Drain, func(in *phase.Input) *time.Time { return &in.DrainStartedAt }),
		clockAxis("retention", limits.Retention, func(in *phase.Input) *time.Time { return &in.FailedAt }),
		{Name: "deletion", Values: []value{
			{Name: "none", Set: func(*phase.Input) {}},
			{Name: "asked", Set: func(in *phase.Input) { in.Deletion = fleet.DeletionAsked }},
		}},
	}
}

func podAxis() axis {
	pods := map[phase.Pod]string{
		phase.PodNotMade: "NotMade", phase.PodNameTerminating: "NameTerminating", phase.PodNameTaken: "NameTaken", phase.PodWorldHeld: "WorldHeld",
		phase.PodUnseen: "Unseen", phase.PodWaiting: "Waiting", phase.PodRunning: "Running", phase.PodReady: "Ready",
		phase.PodFinished: "Finished", phase.PodGameExited: "GameExited", phase.PodOutOfMemory: "OutOfMemory",
		phase.PodPrepareFailed: "PrepareFailed", phase.PodEvicted: "Evicted", phase.PodAbsent: "Absent",
	}
	a := axis{Name: "pod", Values: []value{
		{Name: "Terminating", Set: func(in *phase.Input) { in.Pod, in.PodGraceEnds = phase.PodTerminating, ago(29*time.Second) }},
		{Name: "Overdue", Set: func(in *phase.Input) { in.Pod, in.PodGraceEnds = phase.PodTerminating, ago(30*time.Second) }},
	}}
	for pod, name := range pods {
		a.Values = append(a.Values, value{Name: name, Set: func(in *phase.Input) { in.Pod = pod }})
	}
	return a
}

func agentAxis() axis {
	return axis{Name: "agent", Values: []value{
		{Name: "silent", Set: func(*phase.Input) {}},
		{Name: "unheardByANewLeader", Set: func(in *phase.Input) { in.LeaderSince = ago(59 * time.Second) }},
		{Name: "notReady", Set: func(in *phase.Input) { in.Agent = phase.AgentNotReady }},
		{Name: "notAnswering", Set: func(in *phase.Input) {
			in.Agent, in.NotAnsweringSince = phase.AgentNotAnswering, ago(limits.Startup-time.Second)
		}},
		{Name: "notAnsweringTooLong", Set: func(in *phase.Input) {
			in.Agent, in.NotAnsweringSince = phase.AgentNotAnswering, ago(limits.Startup)
		}},
		{Name: "ready", Set: func(in *phase.Input) { in.Agent = phase.AgentReady }},
	}}
}

func presenceAxis() axis {
	with := func(name string, r fleet.Registration, c fleet.Counts) value {
		return value{Name: name, Set: func(in *phase.Input) { in.Registration, in.Counts = r, c }}
	}
	stale := fleet.Stale(0, ago(time.Minute))
	return axis{Name: "presence", Values: []value{
		with("neverRegisteredUnknown", fleet.NeverRegistered, fleet.Counts{}),
		with("neverRegisteredOnePlayer", fleet.NeverRegistered, fleet.Fresh(1, now)),
		with("registeredEmpty", fleet.Registered, fleet.Fresh(0, now)),
		with("registeredOnePlayer", fleet.Registered, fleet.Fresh(1, now)),
		with("registeredUnknown", fleet.Registered, fleet.Counts{}),
		with("deregisteredEmpty", fleet.Deregistered, fleet.Fresh(0, now)),
		with("deregisteredStale", fleet.Deregistered, stale),
	}}
}

func historyAxis() axis {
	with := func(name string, since time.Time, losses int) value {
		return value{Name: name, Set: func(in *phase.Input) { in.ReadySince, in.Losses = since, losses }}
	}
	return axis{Name: "history", Values: []value{
		with("neverReady", time.Time{}, 0),
		with("ready", ago(time.Minute), 0),
		with("oneLoss", ago(time.Minute), 1),
		with("threeLosses", ago(time.Minute), 3),
		with("threeLossesLongAgo", ago(10*time.Minute), 3),
	}}
}

func retireAxis() axis {
	pin := func(age time.Duration) func(*phase.Input) {
		return func(in *phase.Input) { in.Retire, in.RetiringSince = v1alpha1.RetirePin, ago(age) }
	}
	return axis{Name: "retire", Values: []value{
		{Name: "none", Set: func(*phase.Input) {}},
		{Name: "changeoverOfCurrent", Set: func(in *phase.Input) { in.Retire = v1alpha1.RetireChangeover }},
		{Name: "requestedLongAgo", Set: func(in *phase.Input) {
			in.Retire, in.RetiringSince = v1alpha1.RetireRequested, ago(limits.MaxStale)
		}},
		{Name: "pin", Set: pin(limits.MaxStale - time.Second)},
		{Name: "pinTooLong", Set: pin(limits.MaxStale)},
	}}
}

func startupAxis() axis {
	a := clockAxis("startup", limits.Startup, func(in *phase.Input) *time.Time { return &in.StartedAt })
	for i := range a.Values {
		set := a.Values[i].Set
		a.Values[i].Set = func(in *phase.Input) { set(in); in.Acceptance = phase.Accepted }
	}
	a.Values = append(a.Values, value{Name: "notAccepted", Set: func(*phase.Input) {}})
	return a
}

func clockAxis(name string, limit time.Duration, clock func(*phase.Input) *time.Time) axis {
	return axis{Name: name, Values: []value{
		{Name: "stopped", Set: func(*phase.Input) {}},
		{Name: "running", Set: func(in *phase.Input) { *clock(in) = ago(limit - time.Second) }},
		{Name: "over", Set: func(in *phase.Input) { *clock(in) = ago(limit) }},
	}}
}
