// SPDX-License-Identifier: Apache-2.0

package phase_test

import (
	"slices"
	"testing"
	"time"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/fleet"
	"github.com/spawnery/spawnery-operator/internal/phase"
)

const (
	pending     = v1alpha1.ServerPending
	starting    = v1alpha1.ServerStarting
	ready       = v1alpha1.ServerReady
	retiring    = v1alpha1.ServerRetiring
	draining    = v1alpha1.ServerDraining
	terminating = v1alpha1.ServerTerminating
	failed      = v1alpha1.ServerFailed
)

// ways are the moves a server may make, whatever is observed.
var ways = map[v1alpha1.ServerPhase][]v1alpha1.ServerPhase{
	pending:     {pending, starting, draining, terminating, failed},
	starting:    {starting, ready, draining, terminating, failed},
	ready:       {ready, starting, retiring, draining, terminating, failed},
	retiring:    {retiring, ready, draining, terminating},
	draining:    {draining, terminating},
	terminating: {terminating},
	failed:      {failed, terminating},
}

// A live pod has neither gone nor ended, so somebody may be playing in it.
func livePod(p phase.Pod) bool {
	return p == phase.PodUnseen || p == phase.PodWaiting || p == phase.PodRunning || p == phase.PodReady
}

func heldName(p phase.Pod) bool {
	return p == phase.PodNameTerminating || p == phase.PodNameTaken
}

func lostPod(p phase.Pod) bool {
	return p == phase.PodEvicted || p == phase.PodTerminating || p == phase.PodAbsent
}

// carriesPlayers says what the inputs of the space mean for players, written
// out apart from fleet's own answer.
func carriesPlayers(in *phase.Input) bool {
	fresh := in.Counts.State() == fleet.CountsFresh
	if fresh {
		return in.Counts.Players() > 0
	}
	return in.Registration != fleet.NeverRegistered
}

func deadline(start time.Time, limit time.Duration) bool {
	return !start.IsZero() && !start.Add(limit).After(now)
}

// when keeps invariants readable: when this, then that.
func when(cond, then bool) bool { return !cond || then }

type invariant struct {
	name  string
	holds func(in *phase.Input, d *phase.Decision) bool
}

var invariants = []invariant{
	{"a server moves only along the ways there are", func(in *phase.Input, d *phase.Decision) bool {
		return slices.Contains(ways[in.Phase], d.Next)
	}},
	{"every decision can be told to a person", func(_ *phase.Input, d *phase.Decision) bool {
		return d.Rule != "" && d.Note != ""
	}},
	{"no live pod with players is given up outside a deadline", func(in *phase.Input, d *phase.Decision) bool {
		atStake := livePod(in.Pod) && carriesPlayers(in) && in.Registration != fleet.NeverRegistered
		givenUp := d.Next == terminating && in.Phase != terminating
		drained := deadline(in.DrainStartedAt, limits.Drain) && (in.Phase == draining || in.Phase == failed)
		return when(atStake && givenUp, drained)
	}},
	{"deletion of a known server with a live pod drains it first", func(in *phase.Input, d *phase.Decision) bool {
		serving := in.Phase == pending || in.Phase == starting || in.Phase == ready
		known := in.Registration != fleet.NeverRegistered
		return when(serving && known && livePod(in.Pod) && in.Deletion == fleet.DeletionAsked, d.Next == draining)
	}},
	{"whoever is not Ready is in no list, whoever is Ready is", func(in *phase.Input, d *phase.Decision) bool {
		listed := in.Registration == fleet.Registered
		if d.Next == ready {
			return d.Effects.Has(phase.Register) != listed && !d.Effects.Has(phase.Deregister)
		}
		return d.Effects.Has(phase.Deregister) == listed && !d.Effects.Has(phase.Register)
	}},
	{"players are moved while draining, and off a server that failed or was given up", func(in *phase.Input, d *phase.Decision) bool {
		left := d.Next == failed || (in.Phase == terminating && !deadline(in.DrainStartedAt, limits.Drain))
		stranded := left && livePod(in.Pod) && carriesPlayers(in) && in.Registration != fleet.NeverRegistered
		return d.Effects.Has(phase.MovePlayers) == (d.Next == draining || stranded)
	}},
	{"no pod is deleted under players before their deadline", func(in *phase.Input, d *phase.Decision) bool {
		atStake := livePod(in.Pod) && carriesPlayers(in) && in.Registration != fleet.NeverRegistered
		return when(d.Effects.Has(phase.DeletePod) && atStake, deadline(in.DrainStartedAt, limits.Drain))
	}},
	{"players are moved under a running drain clock", func(_ *phase.Input, d *phase.Decision) bool {
		return when(d.Effects.Has(phase.MovePlayers), !d.Clocks.DrainStartedAt.IsZero())
	}},
	{"nobody becomes Ready but through the gate", func(in *phase.Input, d *phase.Decision) bool {
		gate := in.Pod == phase.PodReady && in.Agent == phase.AgentReady
		return when(d.Next == ready && in.Phase != ready, gate)
	}},
	{"silence alone takes nobody out of Ready", func(in *phase.Input, d *phase.Decision) bool {
		calm := in.Pod == phase.PodReady && in.Agent == phase.AgentSilent && in.Deletion == fleet.DeletionNone &&
			(in.Retire == v1alpha1.RetireNone || in.Retire == v1alpha1.RetireChangeover)
		flaps := in.Losses >= 3 && in.ReadySince.After(ago(10*time.Minute))
		return when(in.Phase == ready && calm && !flaps, d.Next == ready)
	}},
	{"one loss is counted when readiness is lost, and only then", func(in *phase.Input, d *phase.Decision) bool {
		lost := in.Phase == ready && d.Next == starting
		return d.Effects.Has(phase.CountLoss) == lost && when(lost, d.Clocks.StartedAt.Equal(now) && d.Losses >= 1)
	}},
	{"a lost pod never fails its server", func(in *phase.Input, d *phase.Decision) bool {
		return when(lostPod(in.Pod) && in.Phase != failed, d.Next == terminating)
	}},
	{"a finished round never fails its server", func(in *phase.Input, d *phase.Decision) bool {
		return when(in.Pod == phase.PodFinished && in.Phase != failed, d.Next != failed)
	}},
	{"a held name is waited for and never fails the server", func(in *phase.Input, d *phase.Decision) bool {
		waiting := in.Phase == pending && heldName(in.Pod) && in.Deletion == fleet.DeletionNone
		return when(waiting, d.Next == pending && d.Clocks.StartedAt.IsZero() && !d.Recheck.IsZero())
	}},
	{"a held world is waited for and never fails the server", func(in *phase.Input, d *phase.Decision) bool {
		waiting := in.Phase == pending && in.Pod == phase.PodWorldHeld && in.Deletion == fleet.DeletionNone
		return when(waiting, d.Next == pending && d.Clocks.StartedAt.IsZero())
	}},
	{"a server fails only for a cause that can be named", func(in *phase.Input, d *phase.Decision) bool {
		ended := in.Pod == phase.PodGameExited || in.Pod == phase.PodOutOfMemory || in.Pod == phase.PodPrepareFailed
		late := in.Phase != ready && deadline(in.StartedAt, limits.Startup)
		wasReady := in.Phase == ready || (in.Phase == starting && !in.ReadySince.IsZero())
		hangs := wasReady && in.Agent == phase.AgentNotAnswering && deadline(in.NotAnsweringSince, limits.Startup)
		fails := d.Next == failed && in.Phase != failed
		return when(fails, (ended || late || hangs || in.Losses >= 3) && d.Reason != "" && !d.Clocks.FailedAt.IsZero())
	}},
	{"a server that was let in on time does not fail for being looked at late", func(in *phase.Input, d *phase.Decision) bool {
		good := in.Phase == starting && in.Pod == phase.PodReady && in.Agent == phase.AgentReady &&
			in.Deletion == fleet.DeletionNone && in.Losses < 3
		return when(good, d.Next == ready)
	}},
	{"a failed server keeps its pod until its time or its deletion", func(in *phase.Input, d *phase.Decision) bool {
		due := deadline(in.FailedAt, limits.Retention) || in.Deletion == fleet.DeletionAsked
		return when(in.Phase == failed && !due, d.Next == failed && !d.Effects.Has(phase.DeletePod))
	}},
	{"a pod is deleted in Terminating only, and once", func(in *phase.Input, d *phase.Decision) bool {
		return when(d.Effects.Has(phase.DeletePod), in.Phase == terminating && in.Pod != phase.PodTerminating)
	}},
	{"a Server goes when its pod cannot be there any more", func(in *phase.Input, d *phase.Decision) bool {
		gone := in.Pod == phase.PodNotMade || in.Pod == phase.PodAbsent || heldName(in.Pod) || in.Pod == phase.PodWorldHeld
		overdue := in.Pod == phase.PodTerminating && deadline(in.PodGraceEnds, 30*time.Second)
		return d.Effects.Has(phase.Release) == (in.Phase == terminating && (gone || overdue))
	}},
	{"a drain and a failure end by themselves", func(_ *phase.Input, d *phase.Decision) bool {
		moves := d.Next == draining || d.Next == failed || d.Effects.Has(phase.MovePlayers)
		return when(moves, !d.Recheck.IsZero() || d.Effects == 0)
	}},
	{"the next look is never in the past", func(_ *phase.Input, d *phase.Decision) bool {
		return d.Recheck.IsZero() || !d.Recheck.Before(now)
	}},
	{"what moved is looked at again at once", func(in *phase.Input, d *phase.Decision) bool {
		return when(d.Next != in.Phase, d.Recheck.Equal(now))
	}},
}

// TestInvariantsHoldOverTheWholeSpace also looks for rules that no input
// reaches: such a rule is shadowed by one before it.
func TestInvariantsHoldOverTheWholeSpace(t *testing.T) {
	for _, p := range phases {
		t.Run(string(p), func(t *testing.T) {
			t.Parallel()
			start, inputs := everything(p)
			broken, decided := map[string]bool{}, map[string]bool{}
			var in phase.Input // reused, for there are millions
			var d phase.Decision
			for point, at := range inputs.Points(start) {
				in, d = at, phase.Decide(at)
				decided[d.Rule] = true
				for i := range invariants {
					if name := invariants[i].name; !invariants[i].holds(&in, &d) && !broken[name] {
						broken[name] = true
						t.Errorf("%s: broken at %s: rule %q leads to %s", name, point, d.Rule, d.Next)
					}
				}
			}
			for _, rule := range phase.Rules() {
				if slices.Contains(rule.From, p) && !decided[rule.Name] {
					t.Errorf("no input of %d makes the rule %q decide", inputs.Size(), rule.Name)
				}
			}
		})
	}
}
