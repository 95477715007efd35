// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/phase"
)

// chapters are the phases in the order of a server's life, each with what it
// means to somebody who reads kubectl get servers.
var chapters = []struct {
	phase   v1alpha1.ServerPhase
	meaning string
}{
	{v1alpha1.ServerPending, "The server waits for its claim, for its pod's name to be free, or for its pod to run."},
	{v1alpha1.ServerStarting, "The pod runs; its game does not accept players yet, or no longer does."},
	{v1alpha1.ServerReady, "The game accepts players, and the proxies send them."},
	{v1alpha1.ServerRetiring, "Nobody new is sent there. Whoever is there stays until they leave."},
	{v1alpha1.ServerDraining, "The proxies move its players to the fallback groups, until the drain deadline."},
	{v1alpha1.ServerFailed, "Something went wrong. The pod is kept for diagnosis; players who may still be on it are moved."},
	{v1alpha1.ServerTerminating, "The pod is going, and the server with it."},
}

const head = `<!-- Generated from the rules of internal/phase by "make docs". Do not edit. -->

# The life of a server

Every server, of whatever type of group, moves through the phases below. In
each phase the rules are asked in their order, and the first that holds
decides. The phase is the column PHASE of ` + "`kubectl get servers`" + `; the reason and a
sentence are those of the server's condition Ready.

`

const standing = `
## Whatever the rule

* A server that is Ready is in the proxies' list, and in no other phase is it
  there. Leaving the list precedes everything else that a decision orders.
* Players are moved all through Draining, and off a Failed server that may have
  some while its pod still runs.
* A server is *occupied* unless it is known that nobody is on it or on the way
  to it. Counts that are unknown or stale mean occupied, unless every proxy has
  agreed for 60 s that nobody is there. A server that never was in the proxies'
  list carries nobody.
* A pod is *lost* when it is absent, terminating though the operator did not
  delete it, or evicted. A lost pod is replaced at once and counts as no
  failure.

## Clocks

| field of status | starts | limit |
|---|---|---|
| startedAt | when the server is accepted; again when a held name comes free, and at a loss of readiness | startupDeadlineSeconds |
| readySince | each time the server becomes Ready from Starting; a loss leaves it standing | 10 min, after which readinessLosses is 0 again |
| retiringSince | on entering Retiring | update.maxStaleSeconds, for the reasons Changeover and Pin |
| drainStartedAt | when players begin to be moved | drain.timeoutSeconds |
| failedAt | on entering Failed | failedRetentionSeconds |

While another pod holds the name of the server's pod, the startup deadline does
not run.
`

// page is the whole reference.
func page() string {
	var b strings.Builder
	b.WriteString(head)
	diagram(&b)
	for _, c := range chapters {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n\n", c.phase, c.meaning)
		table(&b, c.phase)
	}
	b.WriteString(standing)
	return b.String()
}

// diagram draws one arrow per pair of phases that a rule connects.
func diagram(b *strings.Builder) {
	b.WriteString("```mermaid\nstateDiagram-v2\n    [*] --> Pending\n")
	for _, from := range chapters {
		for _, to := range chapters {
			if from.phase != to.phase && connected(from.phase, to.phase) {
				fmt.Fprintf(b, "    %s --> %s\n", from.phase, to.phase)
			}
		}
	}
	fmt.Fprintf(b, "    %s --> [*]\n```\n", v1alpha1.ServerTerminating)
}

func connected(from, to v1alpha1.ServerPhase) bool {
	return slices.ContainsFunc(phase.Rules(), func(r phase.Rule) bool {
		return r.Next == to && slices.Contains(r.From, from)
	})
}

func table(b *strings.Builder, from v1alpha1.ServerPhase) {
	b.WriteString("| when | next phase | reason | besides |\n|---|---|---|---|\n")
	for _, r := range phase.Rules() {
		if !slices.Contains(r.From, from) {
			continue
		}
		next := string(r.Next)
		if r.Next == from {
			next = "stays"
		}
		fmt.Fprintf(b, "| %s | %s | %s | %s |\n", r.Name, next, r.Reason, words(r.Effects))
	}
}

// words says what a rule orders besides what follows from the next phase.
func words(e phase.Effects) string {
	var said []string
	for _, w := range []struct {
		effect phase.Effects
		words  string
	}{
		{phase.CountLoss, "counts one readiness loss"},
		{phase.DeletePod, "saves the world, deletes the pod"},
		{phase.Release, "deletes the Server"},
	} {
		if e.Has(w.effect) {
			said = append(said, w.words)
		}
	}
	return strings.Join(said, ", ")
}
