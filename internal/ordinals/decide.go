// SPDX-License-Identifier: Apache-2.0

// Package ordinals sizes a persistent group: which ordinals are missing, and
// which one may go.
package ordinals

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
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
	// Recheck is when time alone changes the plan, zero if it does not.
	Recheck time.Time
	// Note says to a person what is done, and why.
	Note string
}

// DecidePersistentSize creates what is missing below replicas, all of it in
// one pass, and takes down what is above, one at a time from the top, whoever
// is on it: no other server can take its place, and the drain protects its
// players.
func DecidePersistentSize(in Input) Plan {
	held := carriers(&in)
	var plan Plan
	for ordinal := range in.Replicas {
		if held[ordinal] == 0 {
			plan.Waiting = append(plan.Waiting, ordinal)
		}
	}
	plan.Duplicates = duplicates(held)
	sight, sighted := fleet.SightOf(in.Servers, in.LeaderSince, in.Now)
	switch {
	case in.Channel == fleet.ChannelDegraded:
		plan.Note = "most agents are silent: nothing is created or removed"
		return plan
	case in.Gate.State() == fleet.GateOpen:
		plan.CreateOrdinals, plan.Waiting = plan.Waiting, nil
	case len(plan.Waiting) > 0:
		plan.Recheck = in.Gate.OpensAt()
	}
	if sight == fleet.SightComplete {
		plan.TakeDown = surplus(&in, held)
		plan.departing(&in, held)
	} else {
		plan.Recheck = fleet.Earliest(plan.Recheck, sighted)
	}
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

// surplus is the highest ordinal at or above replicas, unless somebody of the
// group is leaving already.
func surplus(in *Input, held map[int]int) *TakeDown {
	var above []fleet.Server
	for _, s := range in.Servers {
		if s.Leaving() || slices.Contains(in.Expected.Deletes, s.Name) {
			return nil
		}
		if s.Ordinal >= in.Replicas && held[s.Ordinal] == 1 {
			above = append(above, s)
		}
	}
	if len(above) == 0 {
		return nil
	}
	highest := slices.MaxFunc(above, func(a, b fleet.Server) int { return cmp.Compare(a.Ordinal, b.Ordinal) })
	return &TakeDown{
		Name:   highest.Name,
		Reason: v1alpha1.ReasonSurplusOrdinal,
		Note:   fmt.Sprintf("ordinal %d is not below the %d replicas wanted; its claim stays", highest.Ordinal, in.Replicas),
	}
}

func note(in *Input, plan *Plan) string {
	switch {
	case len(plan.CreateOrdinals) > 0:
		return fmt.Sprintf("replicas %d: create ordinals %v", in.Replicas, plan.CreateOrdinals)
	case len(plan.Waiting) > 0:
		return fmt.Sprintf("replicas %d: ordinals %v wait, because starts have failed", in.Replicas, plan.Waiting)
	case plan.TakeDown != nil:
		return fmt.Sprintf("replicas %d: take down %s", in.Replicas, plan.TakeDown.Name)
	}
	return fmt.Sprintf("replicas %d: nothing to do", in.Replicas)
}
