// SPDX-License-Identifier: Apache-2.0

package phase_test

import (
	"strings"
	"testing"
	"time"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/fleet"
	"github.com/spawnery/spawnery-operator/internal/phase"
)

// server is a Ready server with five players, changed for a case.
func server(changes ...func(*phase.Input)) phase.Input {
	in := phase.Input{
		Now: now, Phase: ready, Acceptance: phase.Accepted, Pod: phase.PodReady, Agent: phase.AgentReady,
		LeaderSince: ago(24 * time.Hour), Limits: limits,
		Presence: fleet.Presence{Registration: fleet.Registered, Counts: fleet.Fresh(5, now)},
		Clocks:   fleet.Clocks{StartedAt: ago(2 * time.Minute), ReadySince: ago(time.Minute)},
	}
	for _, change := range changes {
		change(&in)
	}
	return in
}

// fresh is a server on its way to its first Ready.
func fresh(p v1alpha1.ServerPhase, pod phase.Pod) func(*phase.Input) {
	return func(in *phase.Input) {
		in.Phase, in.Pod, in.Agent = p, pod, phase.AgentSilent
		in.Presence, in.ReadySince = fleet.Presence{}, time.Time{}
	}
}

func in(p v1alpha1.ServerPhase) func(*phase.Input) {
	return func(in *phase.Input) { in.Phase, in.Registration = p, fleet.Deregistered }
}

func pod(p phase.Pod) func(*phase.Input)     { return func(in *phase.Input) { in.Pod = p } }
func agent(a phase.Agent) func(*phase.Input) { return func(in *phase.Input) { in.Agent = a } }
func deleted(in *phase.Input)                { in.Deletion = fleet.DeletionAsked }
func empty(in *phase.Input)                  { in.Counts = fleet.Fresh(0, now) }
func silent(in *phase.Input) {
	in.Agent, in.Counts = phase.AgentSilent, fleet.Stale(5, ago(time.Minute))
}

func started(d time.Duration) func(*phase.Input) {
	return func(in *phase.Input) { in.StartedAt = ago(d) }
}

func drainingFor(d time.Duration) func(*phase.Input) {
	return func(in *phase.Input) { in.DrainStartedAt = ago(d) }
}

func failedFor(d time.Duration) func(*phase.Input) {
	return func(in *phase.Input) { in.FailedAt = ago(d) }
}

func retire(r v1alpha1.RetireReason, d time.Duration) func(*phase.Input) {
	return func(in *phase.Input) { in.Retire, in.RetiringSince, in.Spec = r, ago(d), fleet.SpecOld }
}

func losses(n int, readyFor time.Duration) func(*phase.Input) {
	return func(in *phase.Input) { in.Losses, in.ReadySince = n, ago(readyFor) }
}

type outcome struct {
	next    v1alpha1.ServerPhase
	effects phase.Effects
	reason  string
	recheck time.Time
}

type story struct {
	in   phase.Input
	want outcome
}

func check(t *testing.T, stories map[string]story) {
	t.Helper()
	for name, s := range stories {
		t.Run(name, func(t *testing.T) {
			d := phase.Decide(s.in)
			got := outcome{d.Next, d.Effects, d.Reason, d.Recheck}
			if got.next != s.want.next || got.effects != s.want.effects || got.reason != s.want.reason ||
				!got.recheck.Equal(s.want.recheck) {
				t.Errorf("rule %q:\n got %+v\nwant %+v", d.Rule, got, s.want)
			}
		})
	}
}

func TestOnTheWayToReady(t *testing.T) {
	check(t, map[string]story{
		"no pod yet":               {server(fresh(pending, phase.PodNotMade)), outcome{pending, 0, "GameNotReady", now.Add(3 * time.Minute)}},
		"the pod runs":             {server(fresh(pending, phase.PodRunning)), outcome{starting, 0, "GameNotReady", now}},
		"the cache lags":           {server(fresh(pending, phase.PodUnseen)), outcome{pending, 0, "GameNotReady", now.Add(3 * time.Minute)}},
		"the name is held":         {server(fresh(pending, phase.PodNameTaken), started(time.Hour)), outcome{pending, 0, "GameNotReady", now.Add(5 * time.Second)}},
		"the world is held":        {server(fresh(pending, phase.PodWorldHeld), started(time.Hour)), outcome{pending, 0, "GameNotReady", time.Time{}}},
		"the pod vanished":         {server(fresh(pending, phase.PodAbsent)), outcome{terminating, 0, "GameNotReady", now}},
		"a pod that never came":    {server(fresh(pending, phase.PodWaiting), started(5*time.Minute)), outcome{failed, 0, "StartupTimeout", now}},
		"the deadline is to come":  {server(fresh(starting, phase.PodRunning), started(299*time.Second)), outcome{starting, 0, "GameNotReady", now.Add(time.Second)}},
		"the deadline is over":     {server(fresh(starting, phase.PodRunning), started(300*time.Second)), outcome{failed, 0, "StartupTimeout", now}},
		"only the pod is ready":    {server(fresh(starting, phase.PodReady)), outcome{starting, 0, "GameNotReady", now.Add(3 * time.Minute)}},
		"only the agent is ready":  {server(fresh(starting, phase.PodRunning), agent(phase.AgentReady)), outcome{starting, 0, "GameNotReady", now.Add(3 * time.Minute)}},
		"both are ready":           {server(fresh(starting, phase.PodReady), agent(phase.AgentReady)), outcome{ready, phase.Register, "GameReady", now}},
		"both, found out late":     {server(fresh(starting, phase.PodReady), agent(phase.AgentReady), started(time.Hour)), outcome{ready, phase.Register, "GameReady", now}},
		"deleted before it served": {server(fresh(starting, phase.PodRunning), deleted), outcome{terminating, 0, "GameNotReady", now}},
		"prepare refused":          {server(fresh(pending, phase.PodPrepareFailed)), outcome{failed, 0, "PrepareFailed", now}},
		"the game exited":          {server(fresh(starting, phase.PodGameExited)), outcome{failed, 0, "GameExited", now}},
		"out of memory":            {server(fresh(starting, phase.PodOutOfMemory)), outcome{failed, 0, "OutOfMemory", now}},
		"a new leader waits for the agent": {
			server(fresh(starting, phase.PodReady), started(time.Hour), func(in *phase.Input) { in.LeaderSince = ago(20 * time.Second) }),
			outcome{starting, 0, "GameNotReady", now.Add(40 * time.Second)},
		},
		"a leader that is not new does not": {
			server(fresh(starting, phase.PodReady), started(time.Hour), func(in *phase.Input) { in.LeaderSince = ago(60 * time.Second) }),
			outcome{failed, 0, "StartupTimeout", now},
		},
	})
}

func TestReadyAndItsLosses(t *testing.T) {
	hanging := func(d time.Duration) func(*phase.Input) {
		return func(in *phase.Input) { in.Agent, in.NotAnsweringSince = phase.AgentNotAnswering, ago(d) }
	}
	recovering := func(in *phase.Input) {
		in.Phase, in.Pod, in.Registration = starting, phase.PodRunning, fleet.Deregistered
	}
	check(t, map[string]story{
		"it serves":                        {server(), outcome{ready, 0, "GameReady", time.Time{}}},
		"a silent agent changes nothing":   {server(silent), outcome{ready, 0, "GameReady", time.Time{}}},
		"a list that lost it gets it back": {server(func(in *phase.Input) { in.Registration = fleet.Deregistered }), outcome{ready, phase.Register, "GameReady", time.Time{}}},
		"its pod stops being ready":        {server(pod(phase.PodRunning)), outcome{starting, phase.Deregister | phase.CountLoss, "GameNotReady", now}},
		"its agent says not ready":         {server(agent(phase.AgentNotReady)), outcome{starting, phase.Deregister | phase.CountLoss, "GameNotReady", now}},
		"losses are held for ten minutes":  {server(losses(2, 9*time.Minute)), outcome{ready, 0, "GameReady", now.Add(time.Minute)}},
		"losses are forgotten then":        {server(losses(2, 10*time.Minute)), outcome{ready, 0, "GameReady", time.Time{}}},
		"a third loss":                     {server(losses(3, time.Minute), recovering), outcome{failed, phase.MovePlayers, "Flapping", now}},
		"it never came back":               {server(losses(1, time.Hour), recovering, started(5*time.Minute)), outcome{failed, phase.MovePlayers, "RecoveryTimeout", now}},
		"it hangs":                         {server(hanging(time.Minute)), outcome{ready, 0, "GameReady", now.Add(4 * time.Minute)}},
		"it hangs too long":                {server(hanging(5 * time.Minute)), outcome{failed, phase.Deregister | phase.MovePlayers, "Unresponsive", now}},
		"its pod is evicted":               {server(pod(phase.PodEvicted)), outcome{terminating, phase.Deregister, "GameNotReady", now}},
		"its pod is deleted by another":    {server(pod(phase.PodTerminating)), outcome{terminating, phase.Deregister, "GameNotReady", now}},
		"its round ended":                  {server(pod(phase.PodFinished)), outcome{terminating, phase.Deregister, "RoundEnded", now}},
		"its game crashed":                 {server(pod(phase.PodGameExited)), outcome{failed, phase.Deregister, "GameExited", now}},
		"deletion under players":           {server(deleted), outcome{draining, phase.Deregister | phase.MovePlayers, "Draining", now}},
		"deletion of an empty one":         {server(deleted, empty), outcome{draining, phase.Deregister | phase.MovePlayers, "Draining", now}},
	})
}

func TestOnTheWayOut(t *testing.T) {
	agreed := func(d time.Duration) func(*phase.Input) {
		return func(in *phase.Input) { in.Roster = fleet.NobodySince(ago(d)) }
	}
	check(t, map[string]story{
		"asked to retire":              {server(retire(v1alpha1.RetireRequested, 0)), outcome{retiring, phase.Deregister, "Retiring", now}},
		"retiring with players":        {server(in(retiring), retire(v1alpha1.RetireRequested, time.Hour)), outcome{retiring, 0, "Retiring", time.Time{}}},
		"retiring, then empty":         {server(in(retiring), retire(v1alpha1.RetireRequested, time.Hour), empty), outcome{terminating, 0, "", now}},
		"retiring, then deleted":       {server(in(retiring), retire(v1alpha1.RetireRequested, time.Hour), deleted), outcome{draining, phase.MovePlayers, "Draining", now}},
		"a changeover is bounded":      {server(in(retiring), retire(v1alpha1.RetireChangeover, 20*time.Minute)), outcome{retiring, 0, "Retiring", now.Add(10 * time.Minute)}},
		"a changeover that is over":    {server(in(retiring), retire(v1alpha1.RetireChangeover, 30*time.Minute)), outcome{draining, phase.MovePlayers, "Draining", now}},
		"a consolidation is unbounded": {server(in(retiring), retire(v1alpha1.RetireConsolidation, 30*time.Hour)), outcome{retiring, 0, "Retiring", time.Time{}}},
		"withdrawn":                    {server(in(retiring), retire(v1alpha1.RetireNone, time.Hour)), outcome{ready, phase.Register, "GameReady", now}},
		"withdrawn, but not ready":     {server(in(retiring), retire(v1alpha1.RetireNone, time.Hour), agent(phase.AgentNotReady)), outcome{retiring, 0, "Retiring", time.Time{}}},
		"the old spec came back":       {server(in(retiring), retire(v1alpha1.RetireChangeover, time.Hour), func(in *phase.Input) { in.Spec = fleet.SpecCurrent }), outcome{ready, phase.Register, "GameReady", now}},
		"the node stays after all":     {server(in(retiring), retire(v1alpha1.RetireNodeDraining, time.Hour)), outcome{ready, phase.Register, "GameReady", now}},
		"draining with players":        {server(in(draining), drainingFor(20*time.Second)), outcome{draining, phase.MovePlayers, "Draining", now.Add(40 * time.Second)}},
		"draining, then empty":         {server(in(draining), drainingFor(20*time.Second), empty), outcome{terminating, 0, "", now}},
		"draining to the end":          {server(in(draining), drainingFor(time.Minute)), outcome{terminating, 0, "", now}},
		"draining, agent gone, proxies agreeing": {
			server(in(draining), drainingFor(time.Second), silent, agreed(40*time.Second)),
			outcome{draining, phase.MovePlayers, "Draining", now.Add(20 * time.Second)},
		},
		"draining, proxies agreed for a minute": {server(in(draining), drainingFor(time.Second), silent, agreed(time.Minute)), outcome{terminating, 0, "", now}},
		"draining, pod gone":                    {server(in(draining), drainingFor(time.Second), pod(phase.PodAbsent)), outcome{terminating, 0, "", now}},
	})
}

func TestFailedAndTerminating(t *testing.T) {
	grace := func(ranOut time.Duration) func(*phase.Input) {
		return func(in *phase.Input) { in.Pod, in.PodGraceEnds = phase.PodTerminating, ago(ranOut) }
	}
	check(t, map[string]story{
		"failed with players":                 {server(in(failed), failedFor(time.Second)), outcome{failed, phase.MovePlayers, "", now.Add(time.Minute)}},
		"failed, players not moved yet":       {server(in(failed), failedFor(time.Hour), drainingFor(50*time.Second)), outcome{failed, phase.MovePlayers, "", now.Add(10 * time.Second)}},
		"failed, drain over, kept":            {server(in(failed), failedFor(time.Minute), drainingFor(time.Minute)), outcome{failed, phase.MovePlayers, "", now.Add(59 * time.Minute)}},
		"failed, empty, kept":                 {server(in(failed), failedFor(time.Minute), empty), outcome{failed, 0, "", now.Add(59 * time.Minute)}},
		"failed, kept long enough":            {server(in(failed), failedFor(time.Hour), empty), outcome{terminating, 0, "", now}},
		"failed, deleted, empty":              {server(in(failed), failedFor(time.Second), empty, deleted), outcome{terminating, 0, "", now}},
		"failed, deleted, with players":       {server(in(failed), failedFor(time.Second), deleted), outcome{failed, phase.MovePlayers, "", now.Add(time.Minute)}},
		"failed, its drain is over":           {server(in(failed), failedFor(2*time.Minute), deleted, drainingFor(time.Minute)), outcome{terminating, 0, "", now}},
		"failed, game exited":                 {server(in(failed), failedFor(time.Hour), pod(phase.PodGameExited)), outcome{terminating, 0, "", now}},
		"terminating, pod there":              {server(in(terminating), empty), outcome{terminating, phase.DeletePod, "", time.Time{}}},
		"terminating, pod unseen":             {server(in(terminating), empty, pod(phase.PodUnseen)), outcome{terminating, phase.DeletePod, "", time.Time{}}},
		"terminating, somebody came late":     {server(in(terminating)), outcome{terminating, phase.MovePlayers, "", now.Add(time.Minute)}},
		"terminating, they are being moved":   {server(in(terminating), drainingFor(20*time.Second)), outcome{terminating, phase.MovePlayers, "", now.Add(40 * time.Second)}},
		"terminating, they stay too long":     {server(in(terminating), drainingFor(time.Minute)), outcome{terminating, phase.DeletePod, "", time.Time{}}},
		"terminating, a drain's end":          {server(in(terminating), drainingFor(2*time.Minute)), outcome{terminating, phase.DeletePod, "", time.Time{}}},
		"terminating, pod ended":              {server(in(terminating), pod(phase.PodGameExited)), outcome{terminating, phase.DeletePod, "", time.Time{}}},
		"terminating, pod stopping":           {server(in(terminating), grace(-40*time.Second)), outcome{terminating, 0, "", now.Add(70 * time.Second)}},
		"terminating, nobody confirms":        {server(in(terminating), grace(30*time.Second)), outcome{terminating, phase.Release, "", time.Time{}}},
		"terminating, pod gone":               {server(in(terminating), pod(phase.PodAbsent)), outcome{terminating, phase.Release, "", time.Time{}}},
		"terminating, no pod ever":            {server(in(terminating), pod(phase.PodNotMade)), outcome{terminating, phase.Release, "", time.Time{}}},
		"terminating, another holds its name": {server(in(terminating), pod(phase.PodNameTaken)), outcome{terminating, phase.Release, "", time.Time{}}},
	})
}

func TestClocks(t *testing.T) {
	long := ago(time.Hour)
	tests := map[string]struct {
		in   phase.Input
		want fleet.Clocks
	}{
		"acceptance starts the startup deadline": {
			server(fresh(pending, phase.PodNotMade), func(in *phase.Input) { in.StartedAt = time.Time{} }),
			fleet.Clocks{StartedAt: now},
		},
		"nothing runs before acceptance": {
			server(fresh(pending, phase.PodNotMade), func(in *phase.Input) { in.StartedAt, in.Acceptance = time.Time{}, phase.NotAccepted }),
			fleet.Clocks{},
		},
		"a held name stops it":  {server(fresh(pending, phase.PodNameTerminating)), fleet.Clocks{}},
		"a held world stops it": {server(fresh(pending, phase.PodWorldHeld)), fleet.Clocks{}},
		"a loss starts it anew, and leaves ReadySince standing": {
			server(agent(phase.AgentNotReady)), fleet.Clocks{StartedAt: now, ReadySince: ago(time.Minute)},
		},
		"becoming Ready is dated": {
			server(fresh(starting, phase.PodReady), agent(phase.AgentReady)), fleet.Clocks{StartedAt: ago(2 * time.Minute), ReadySince: now},
		},
		"serving keeps the dates": {server(), fleet.Clocks{StartedAt: ago(2 * time.Minute), ReadySince: ago(time.Minute)}},
		"coming back from a retirement is no new Ready": {
			server(in(retiring), retire(v1alpha1.RetireNone, time.Hour)), fleet.Clocks{StartedAt: ago(2 * time.Minute), ReadySince: ago(time.Minute)},
		},
		"a retirement is dated once": {
			server(in(retiring), retire(v1alpha1.RetireRequested, time.Hour)),
			fleet.Clocks{StartedAt: ago(2 * time.Minute), ReadySince: ago(time.Minute), RetiringSince: long},
		},
		"a failure with players starts the drain": {
			server(losses(3, time.Minute), agent(phase.AgentNotReady)),
			fleet.Clocks{StartedAt: ago(2 * time.Minute), ReadySince: ago(time.Minute), FailedAt: now, DrainStartedAt: now},
		},
		"a failure without players does not": {
			server(losses(3, time.Minute), empty), fleet.Clocks{StartedAt: ago(2 * time.Minute), ReadySince: ago(time.Minute), FailedAt: now},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := phase.Decide(tt.in).Clocks; got != tt.want {
				t.Errorf("clocks:\n got %+v\nwant %+v", got, tt.want)
			}
		})
	}
}

func TestLossesOnRecord(t *testing.T) {
	tests := map[string]struct {
		in   phase.Input
		want int
	}{
		"a loss is added":                           {server(losses(1, time.Minute), agent(phase.AgentNotReady)), 2},
		"ten minutes of Ready forget them":          {server(losses(2, 10*time.Minute)), 0},
		"a loss after ten minutes of Ready is one":  {server(losses(2, 10*time.Minute), agent(phase.AgentNotReady)), 1},
		"time spent elsewhere does not forget them": {server(losses(2, time.Hour), in(starting), agent(phase.AgentNotReady)), 2},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := phase.Decide(tt.in).Losses; got != tt.want {
				t.Errorf("losses = %d, want %d", got, tt.want)
			}
		})
	}
}

func TestNotesCarryTheDetail(t *testing.T) {
	exited := server(pod(phase.PodGameExited), func(in *phase.Input) { in.PodDetail = "exit code 1" })
	tests := map[string]struct {
		in   phase.Input
		want string
	}{
		"how the game ended":       {exited, "The game exited: exit code 1"},
		"how long it was given":    {server(fresh(starting, phase.PodRunning), started(time.Hour)), "5m0s (startupDeadlineSeconds)"},
		"why it takes nobody":      {server(retire(v1alpha1.RetirePin, 0)), "(Pin)"},
		"that a reason is gone":    {server(in(retiring), agent(phase.AgentNotReady)), "reason withdrawn"},
		"which deadline ended it":  {server(in(draining), drainingFor(time.Hour)), "drain.timeoutSeconds"},
		"that somebody came late":  {server(in(terminating)), "moved before its pod"},
		"that a node may be dead":  {server(in(terminating), func(in *phase.Input) { in.Pod, in.PodGraceEnds = phase.PodTerminating, ago(time.Hour) }), "node may be dead"},
		"no detail is no problem":  {server(pod(phase.PodPrepareFailed)), "Preparing the game failed."},
		"that a name is waited on": {server(fresh(pending, phase.PodNameTaken)), "holds its name"},
		"that a claim is":          {server(fresh(pending, phase.PodWorldHeld)), "claim with its world"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := phase.Decide(tt.in).Note; !strings.Contains(got, tt.want) {
				t.Errorf("note %q does not say %q", got, tt.want)
			}
		})
	}
}

func TestEffectsAreNamedInTheirOrder(t *testing.T) {
	all := phase.Release | phase.DeletePod | phase.CountLoss | phase.MovePlayers | phase.Register | phase.Deregister
	if got, want := all.String(), "Deregister, Register, MovePlayers, CountLoss, DeletePod, Release"; got != want {
		t.Errorf("String() = %q, want %q", got, want)
	}
	if got := phase.Effects(0).String(); got != "" {
		t.Errorf("no effects are called %q", got)
	}
}
