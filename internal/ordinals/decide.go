// SPDX-License-Identifier: Apache-2.0

// Package ordinals sizes a persistent group: which ordinals are missing, and
// which one may go, because nobody wants it any more or because it comes back
// better.
package ordinals

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/spawnery/spawnery-operator/internal/fleet"
)

// Expected are writes whose result the cache does not show yet.
type Expected struct {
	// Creates are the ordinals of Servers that were created.
	Creates []int
	// Deletes are the names of Servers that were deleted.
	Deletes []string
}

// Input is what DecidePersistentSize may know.
type Input struct {
	Now      time.Time
	Replicas int
	Servers  []fleet.Server
	Expected Expected
	// Gate is what earlier failures leave of the right to create.
	Gate    fleet.Gate
	Channel fleet.Channel
	// LeaderSince is when this manager began to lead.
	LeaderSince time.Time
	// Retention is how long a failed server is kept.
	Retention time.Duration
	// LastFailureAt is when a start failed last, zero for never.
	LastFailureAt time.Time
	// Unmakeable says why no server could be made now, empty when one could.
	Unmakeable string
}

// TakeDown is one server to delete. It drains before it goes.
type TakeDown struct {
	Name   string
	Reason string
	Note   string
}

// Plan is what a persistent group needs now.
type Plan struct {
	// CreateOrdinals are to be created, in this order.
	CreateOrdinals []int
	// TakeDown is to be deleted; nil when nothing is, or may be.
	TakeDown *TakeDown
	// NodeWait says what the next ordinal on a node that leaves waits for; empty
	// when it waits for nothing.
	NodeWait string
	// Waiting are the required ordinals no Server carries and that are not
	// created now either.
	Waiting []int
	// Duplicates are the ordinals that more than one Server carries. They are
	// reported and never acted on: nobody can tell which one is right.
	Duplicates []int
	// Update is how far a change of the spec is.
	Update Update
	// Unready says of each required ordinal that does not serve which it is, why,
	// since when, and what comes next.
	Unready []string
	// Recheck is when time alone changes the plan, zero if it does not.
	Recheck time.Time
	// Note says to a person what is done, and why.
	Note string
}

// Update is how far the required ordinals are with a change of the spec.
type Update struct {
	// Updated, Old and Leaving count servers: of the group's spec, of an old one,
	// and of an old one on the way out.
	Updated, Old, Leaving int
	// Note says to a person what comes next; empty when nothing does.
	Note string
}

// DecidePersistentSize creates what is missing below replicas, all of it in
// one pass, and takes down one server at a time. What is above replicas goes
// first, from the top and whoever is on it: no other server can take its place,
// and the drain protects its players. A required ordinal goes only to come back:
// off a node that leaves, of a new spec, or with a larger file system.
func DecidePersistentSize(in Input) Plan {
	in.Servers = slices.SortedFunc(slices.Values(in.Servers), func(a, b fleet.Server) int {
		return cmp.Or(cmp.Compare(a.Ordinal, b.Ordinal), cmp.Compare(a.Name, b.Name))
	})
	held := carriers(&in)
	plan := Plan{Duplicates: duplicates(held), Update: progress(&in)}
	for ordinal := range in.Replicas {
		if held[ordinal] == 0 {
			plan.Waiting = append(plan.Waiting, ordinal)
		}
	}
	sight, sighted := fleet.SightOf(in.Servers, in.LeaderSince, in.Now)
	switch {
	case in.Channel == fleet.ChannelDegraded:
		plan.Unready = unready(&in, held)
		plan.Note = "most agents are silent: nothing is created or removed"
		return plan
	case in.Gate.State() == fleet.GateOpen:
		plan.CreateOrdinals, plan.Waiting = plan.Waiting, nil
	case len(plan.Waiting) > 0:
		plan.Recheck = in.Gate.OpensAt()
	}
	if sight == fleet.SightComplete {
		plan.takeDown(&in, held)
	} else {
		plan.Recheck = fleet.Earliest(plan.Recheck, sighted)
	}
	plan.Unready = unready(&in, held)
	plan.Note = note(&in, &plan)
	return plan
}

// carriers counts the Servers on each ordinal. Any phase holds it, Failed and
// Terminating included: its claim serves one server at a time.
func carriers(in *Input) map[int]int {
	held := make(map[int]int, len(in.Servers))
	for i := range in.Servers {
		if ordinal := in.Servers[i].Ordinal; ordinal >= 0 {
			held[ordinal]++
		}
	}
	for _, ordinal := range in.Expected.Creates {
		held[ordinal] = max(held[ordinal], 1)
	}
	return held
}

func duplicates(held map[int]int) []int {
	var twice []int
	for ordinal, servers := range held {
		if servers > 1 {
			twice = append(twice, ordinal)
		}
	}
	slices.Sort(twice)
	return twice
}

func note(in *Input, plan *Plan) string {
	said := fmt.Sprintf("replicas %d: ", in.Replicas)
	switch {
	case len(plan.CreateOrdinals) > 0:
		said += fmt.Sprintf("create ordinals %v", plan.CreateOrdinals)
	case len(plan.Waiting) > 0:
		said += fmt.Sprintf("ordinals %v wait, because starts have failed", plan.Waiting)
	case plan.TakeDown != nil:
		said += "take down " + plan.TakeDown.Name
	default:
		said += "nothing to do"
	}
	if len(plan.Duplicates) > 0 {
		said += fmt.Sprintf("; ordinals %v are carried by several Servers, of which none is touched", plan.Duplicates)
	}
	return said
}
