// SPDX-License-Identifier: Apache-2.0

package phase

import (
	"fmt"
	"time"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
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

// keepReason leaves the reason of the condition Ready as it is: a server that
// failed stays known for why, until it is gone.
const keepReason = ""

// Rule is one line of the table. From a phase in From, the first rule that
// holds decides.
type Rule struct {
	// Name says when the rule holds, as the rest of "The server moves when".
	Name string
	From []v1alpha1.ServerPhase
	// Next is the phase that follows; one of From for a rule that waits.
	Next v1alpha1.ServerPhase
	// Effects are the orders of this rule, besides those that follow from the
	// next phase whatever the rule.
	Effects Effects
	// Reason is the reason of the condition Ready, empty to keep it.
	Reason string

	when condition
	note func(*facts) string
}

var (
	beforeReady = []v1alpha1.ServerPhase{pending, starting}
	started     = []v1alpha1.ServerPhase{starting, ready}
	serving     = []v1alpha1.ServerPhase{pending, starting, ready}
)

// rules in the order in which they are asked. Rows of one phase keep together;
// those of several phases come before them.
var rules = []Rule{
	{
		"its pod is lost", serving, terminating, 0, v1alpha1.ReasonGameNotReady,
		podLost, say("The pod was lost through no fault of the server; it is replaced at once."),
	},
	{
		"its deletion is asked and the proxies know it", serving, draining, 0, v1alpha1.ReasonDraining,
		all(deletionAsked, everRegistered), say("Deletion was asked for; its players are moved first."),
	},
	{
		"its deletion is asked and no proxy ever knew it", serving, terminating, 0, v1alpha1.ReasonGameNotReady,
		deletionAsked, say("Deletion was asked for, and no player can be on it."),
	},
	{
		"its game has finished its round", serving, terminating, 0, v1alpha1.ReasonRoundEnded,
		podIs(PodFinished), say("The round has ended; the server is replaced."),
	},
	{
		"its game was killed for its memory", serving, failed, 0, v1alpha1.ReasonOutOfMemory,
		podIs(PodOutOfMemory), detailed("The game used more memory than resources.limits allows"),
	},
	{
		"preparing its game failed", serving, failed, 0, v1alpha1.ReasonPrepareFailed,
		podIs(PodPrepareFailed), detailed("Preparing the game failed"),
	},
	{
		"its game has exited", serving, failed, 0, v1alpha1.ReasonGameExited,
		podIs(PodGameExited), detailed("The game exited"),
	},
	{
		"it lost readiness three times", serving, failed, 0, v1alpha1.ReasonFlapping,
		flapping, say("It lost readiness three times without ten minutes of Ready in between."),
	},
	{
		"its game was ready once and has not answered for the startup deadline", started, failed, 0, v1alpha1.ReasonUnresponsive,
		all(unresponsive, wasReady), limit("The game has not answered its agent for %s.", startupLimit),
	},
	{
		"its startup deadline is over after a loss", beforeReady, failed, 0, v1alpha1.ReasonRecoveryTimeout,
		all(startupOver, wasReady), limit("It did not become Ready again within %s of losing readiness.", startupLimit),
	},
	{
		"its startup deadline is over", beforeReady, failed, 0, v1alpha1.ReasonStartupTimeout,
		startupOver, limit("It did not become Ready within %s (startupDeadlineSeconds).", startupLimit),
	},

	{
		"its pod runs", from(pending), starting, 0, v1alpha1.ReasonGameNotReady,
		podStarted, say("The pod runs; the game is starting."),
	},
	{
		"another pod holds its name", from(pending), pending, 0, v1alpha1.ReasonGameNotReady,
		nameHeld, say("Another pod holds its name; it waits until the name is free."),
	},
	{
		"its world cannot be mounted", from(pending), pending, 0, v1alpha1.ReasonGameNotReady,
		podIs(PodWorldHeld), say("The claim with its world cannot be mounted; it waits until it can."),
	},
	{
		"its pod does not run yet", from(pending), pending, 0, v1alpha1.ReasonGameNotReady,
		always, say("The pod does not run yet."),
	},

	{
		"its pod and its agent are both ready", from(starting), ready, 0, v1alpha1.ReasonGameReady,
		gateOpen, say("The game accepts players."),
	},
	{
		"its pod and its agent are not both ready yet", from(starting), starting, 0, v1alpha1.ReasonGameNotReady,
		always, say("The game does not accept players yet."),
	},

	{
		"its pod or its agent is no longer ready", from(ready), starting, CountLoss, v1alpha1.ReasonGameNotReady,
		signalLost, say("The game no longer accepts players."),
	},
	{
		"it is asked to retire", from(ready), retiring, 0, v1alpha1.ReasonRetiring,
		retireAsked, retirement("It takes nobody new (%s); its players stay until they leave."),
	},
	{
		"it serves", from(ready), ready, 0, v1alpha1.ReasonGameReady,
		always, say("The game accepts players."),
	},

	{
		"its pod is lost or has ended", from(retiring), terminating, 0, keepReason,
		podGone, say("The pod is gone; nobody is left to wait for."),
	},
	{
		"nobody is on it", from(retiring), terminating, 0, keepReason,
		not(occupied), say("The last player has left."),
	},
	{
		"its deletion is asked", from(retiring), draining, 0, v1alpha1.ReasonDraining,
		deletionAsked, say("Deletion was asked for; its players are moved."),
	},
	{
		"its retirement took longer than maxStaleSeconds", from(retiring), draining, 0, v1alpha1.ReasonDraining,
		retirementOver, limit("It has been retiring for %s (maxStaleSeconds); its players are moved.", staleLimit),
	},
	{
		"the reason to retire is withdrawn, its pod and its agent are ready", from(retiring), ready, 0, v1alpha1.ReasonGameReady,
		all(not(retireAsked), gateOpen), say("The reason to retire is gone; it takes players again."),
	},
	{
		"players may still be on it", from(retiring), retiring, 0, v1alpha1.ReasonRetiring,
		always, retirement("It takes nobody new (%s); its players stay until they leave."),
	},

	{
		"its pod is lost or has ended", from(draining), terminating, 0, keepReason,
		podGone, say("The pod is gone; nobody is left to move."),
	},
	{
		"nobody is on it", from(draining), terminating, 0, keepReason,
		not(occupied), say("Every player has been moved."),
	},
	{
		"its drain deadline is over", from(draining), terminating, 0, keepReason,
		drainOver, limit("The drain has taken %s (drain.timeoutSeconds); whoever is left goes with the pod.", drainLimit),
	},
	{
		"players may still be on it", from(draining), draining, 0, v1alpha1.ReasonDraining,
		always, say("Its players are being moved."),
	},

	{
		"its retention is over or deletion asked, and nobody is at risk or the drain deadline over", from(failed), terminating, 0, keepReason,
		all(either(retentionOver, deletionAsked), either(not(atRisk), drainOver)), say("The failed server has been kept long enough."),
	},
	{
		"it is kept for diagnosis", from(failed), failed, 0, keepReason,
		always, say("The failed server is kept for diagnosis (failedRetentionSeconds)."),
	},

	{
		"its pod is gone", from(terminating), terminating, Release, keepReason,
		noPod, say("The pod is gone; the server goes too."),
	},
	{
		"the grace of its pod's deletion ran out 30 s ago", from(terminating), terminating, Release, keepReason,
		podOverdue, say("Nobody confirms the end of its pod; its node may be dead. The server goes without waiting."),
	},
	{
		"its pod is terminating", from(terminating), terminating, 0, keepReason,
		podIs(PodTerminating), say("The pod is stopping."),
	},
	{
		"somebody came at the last moment", from(terminating), terminating, 0, keepReason,
		cameLate, say("Somebody got a seat while it was given up; they are moved before its pod is deleted."),
	},
	{
		"its pod is still there", from(terminating), terminating, DeletePod, keepReason,
		always, say("The pod is deleted once its world is saved."),
	},
}

func from(p v1alpha1.ServerPhase) []v1alpha1.ServerPhase { return []v1alpha1.ServerPhase{p} }

func say(sentence string) func(*facts) string {
	return func(*facts) string { return sentence }
}

func detailed(what string) func(*facts) string {
	return func(f *facts) string {
		if f.PodDetail == "" {
			return what + "."
		}
		return what + ": " + f.PodDetail
	}
}

func limit(format string, of func(Limits) time.Duration) func(*facts) string {
	return func(f *facts) string { return fmt.Sprintf(format, of(f.Limits)) }
}

func startupLimit(l Limits) time.Duration { return l.Startup }

func drainLimit(l Limits) time.Duration { return l.Drain }

func staleLimit(l Limits) time.Duration { return l.MaxStale }

func retirement(format string) func(*facts) string {
	return func(f *facts) string {
		if f.Retire == v1alpha1.RetireNone {
			return fmt.Sprintf(format, "reason withdrawn, and not ready to serve")
		}
		return fmt.Sprintf(format, f.Retire)
	}
}
