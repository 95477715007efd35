// SPDX-License-Identifier: Apache-2.0

// Package sizing decides one pass over a ServerGroup of either type: it asks
// the decision packages in the order in which they depend on one another, and
// makes one plan of their answers.
package sizing

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"k8s.io/utils/ptr"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/backoff"
	"github.com/spawnery/spawnery-operator/internal/boosts"
	"github.com/spawnery/spawnery-operator/internal/fleet"
	"github.com/spawnery/spawnery-operator/internal/nodedrain"
	"github.com/spawnery/spawnery-operator/internal/ordinals"
	"github.com/spawnery/spawnery-operator/internal/podspec"
	"github.com/spawnery/spawnery-operator/internal/rollout"
	"github.com/spawnery/spawnery-operator/internal/scaling"
	"github.com/spawnery/spawnery-operator/internal/sighting"
)

// Input is everything a decision about a group may rest on.
type Input struct {
	Now time.Time
	// Trigger says what woke the group; it matters to ephemeral ones.
	Trigger scaling.Trigger
	Group   *v1alpha1.ServerGroup
	Servers []fleet.Server
	// Pending are the names of Servers that were ordered and are not seen yet.
	Pending []string
	Boosts  boosts.Effect
	// Waiting is how many players the proxies hold for this group.
	Waiting int
	Channel fleet.Channel
	// LeaderSince is when this manager began to lead.
	LeaderSince time.Time
	// Spareable is that of the last plan.
	Spareable scaling.Spareable
	// Unmakeable says why no server could be made now, empty when one could.
	Unmakeable string
}

// Creation is one Server to make.
type Creation struct {
	// Ordinal is nil in an ephemeral group.
	Ordinal *int32
}

// Removal is one Server to delete, and why.
type Removal struct {
	Name string
	Note string
}

// Retirement is one Server to tell that it takes nobody new, and why.
type Retirement struct {
	Name   string
	Reason v1alpha1.RetireReason
	Note   string
}

// Withdrawal is one Server whose reason to retire is to be taken back, and why.
type Withdrawal struct {
	Name string
	Note string
}

// Plan is what the decisions came to. No Server is in it twice.
type Plan struct {
	Create   []Creation
	Remove   []Removal
	Retire   []Retirement
	Withdraw []Withdrawal
	Failures backoff.Decision
	// Limit is what the ceiling of an ephemeral group refuses.
	Limit scaling.Limit
	// Spareable is for the next decision.
	Spareable scaling.Spareable
	// Changeover is the step a group takes to a new spec. What it asks for is in
	// the plan; for a persistent group it holds the progress and the note alone.
	Changeover rollout.Plan
	// Unready says of each required ordinal that does not serve which it is, why,
	// since when, and what comes next.
	Unready []string
	// NodeWait says what the next server on a node that leaves waits for; empty
	// when it waits for nothing.
	NodeWait string
	// Floor is how many ready servers make the group available.
	Floor int
	// Note is the whole decision as one line.
	Note string
	// Recheck is when time alone changes the plan, zero if it does not.
	Recheck time.Time
}

// Decide asks the decision packages: failures first, since they gate what the
// size wants to create.
func Decide(in Input) Plan {
	failures := backoff.DecideBackoff(countFailures(in), in.Now)
	decided := Plan{Failures: failures}
	if in.Group.IsEphemeral() {
		decided.ephemeral(in)
	} else {
		decided.persistent(in)
	}
	decided.Recheck = fleet.Earliest(decided.Recheck, failures.Recheck)
	return decided
}

// ephemeral takes the next step of a changeover first: whom that tells to go is
// as good as gone when the size is decided on, which has the last word on what
// is created.
func (p *Plan) ephemeral(in Input) {
	in.Servers = p.stayAfterAll(in.Servers)
	p.changeover(in)
	sized := scaling.Decide(scaling.Input{
		Now:               in.Now,
		Trigger:           in.Trigger,
		Sizes:             sizesOf(&in.Group.Spec),
		Boosts:            scaling.Boosts{Added: in.Boosts.Added, Pin: pinOf(in.Boosts), NextExpiry: in.Boosts.NextExpiry},
		Servers:           p.Changeover.After(in.Servers),
		Expected:          scaling.Expected{Creates: len(in.Pending)},
		Waiting:           in.Waiting,
		Surge:             p.Changeover.Surge,
		MinAvailable:      int(in.Group.Spec.Update.MinAvailable),
		Displaced:         nodedrain.Displaced(in.Servers, in.Now),
		Gate:              backoff.MayCreate(p.Failures),
		Channel:           in.Channel,
		LeaderSince:       in.LeaderSince,
		FirstRegisteredAt: sighting.Instant(in.Group.Status.FirstRegisteredAt),
		Spareable:         in.Spareable,
	})
	p.Create = make([]Creation, sized.Creates)
	for _, one := range sized.Removals {
		p.Remove = append(p.Remove, Removal{one.Name, one.Note})
	}
	for _, one := range sized.Retirements {
		p.Retire = append(p.Retire, Retirement{one.Name, one.Reason, one.Note})
	}
	for _, one := range sized.Withdrawals {
		p.Withdraw = append(p.Withdraw, Withdrawal{one.Name, one.Note})
	}
	if in.Channel == fleet.ChannelHealthy {
		p.Remove = append(p.Remove, pruneFailed(in.Servers)...)
	}
	p.Limit, p.Note, p.Spareable = sized.Limit, sized.LastDecision, sized.Spareable
	if note := p.Changeover.Note; note != "" {
		p.Note += "; changeover: " + note
	}
	p.Recheck = fleet.Earliest(sized.Recheck, p.Changeover.Recheck)
	p.Floor = min(sized.Floor, sized.Ceiling)
	p.drainNodes(in)
	p.keepLastWord()
}

func sizesOf(spec *v1alpha1.ServerGroupSpec) scaling.Sizes {
	return scaling.Sizes{
		MinReplicas:   int(ptr.Deref(spec.Scaling.MinReplicas, 0)),
		MaxReplicas:   int(spec.Scaling.MaxReplicas),
		SpareSlots:    int(ptr.Deref(spec.Scaling.SpareSlots, 0)),
		Capacity:      fleet.Capacity(int(spec.PlayableSlots), int(spec.MaxPlayers)),
		Stabilization: time.Duration(ptr.Deref(spec.Scaling.ScaleDownStabilizationSeconds, 0)) * time.Second,
		Consolidation: spec.Scaling.Consolidation,
	}
}

func (p *Plan) persistent(in Input) {
	replicas := int(ptr.Deref(in.Group.Spec.Replicas, 0))
	sized := ordinals.DecidePersistentSize(ordinals.Input{
		Now:         in.Now,
		Replicas:    replicas,
		Servers:     in.Servers,
		Expected:    ordinals.Expected{Creates: pendingOrdinals(in, replicas)},
		Gate:        backoff.MayCreate(p.Failures),
		Channel:     in.Channel,
		LeaderSince: in.LeaderSince,
		Retention:   time.Duration(ptr.Deref(in.Group.Spec.FailedRetentionSeconds, 0)) * time.Second,
		Unmakeable:  in.Unmakeable,

		LastFailureAt: p.Failures.Streak.LastFailureAt,
	})
	for _, ordinal := range sized.CreateOrdinals {
		p.Create = append(p.Create, Creation{Ordinal: new(int32(ordinal))})
	}
	if down := sized.TakeDown; down != nil {
		p.Remove = append(p.Remove, Removal{down.Name, down.Note})
	}
	p.Note, p.Recheck, p.NodeWait = sized.Note, sized.Recheck, sized.NodeWait
	p.Floor, p.Unready = replicas, sized.Unready
	p.Changeover.Note = sized.Update.Note
	p.Changeover.Progress = rollout.Progress{
		Updated: sized.Update.Updated, Old: sized.Update.Old, Leaving: sized.Update.Leaving,
	}
	if note := p.Changeover.Note; note != "" {
		p.Note += "; update: " + note
	}
}

// pendingOrdinals are the ordinals whose Servers were ordered and are not
// shown by the cache yet.
func pendingOrdinals(in Input, replicas int) []int {
	var pending []int
	for ordinal := range replicas {
		if slices.Contains(in.Pending, podspec.PersistentServerName(in.Group.Name, int32(ordinal))) {
			pending = append(pending, ordinal)
		}
	}
	return pending
}

// pruneFailed keeps the newest failed server for diagnosis and gives up the
// others. It is for ephemeral groups only: a failed ordinal holds its place.
func pruneFailed(servers []fleet.Server) []Removal {
	var failed []fleet.Server
	for i := range servers {
		if servers[i].Phase == v1alpha1.ServerFailed && servers[i].Deletion == fleet.DeletionNone {
			failed = append(failed, servers[i])
		}
	}
	// Those of one round may have failed in the same second.
	slices.SortFunc(failed, func(a, b fleet.Server) int {
		return cmp.Or(b.FailedAt.Compare(a.FailedAt), cmp.Compare(a.Name, b.Name))
	})
	var pruned []Removal
	for i := 1; i < len(failed); i++ {
		pruned = append(pruned, Removal{failed[i].Name, "a newer failed server is kept for diagnosis"})
	}
	return pruned
}

// maxRetry is how much of a retry a status holds, in bytes.
const maxRetry = 253

// RetryOf is the retry that a group's owner asks for, as far as a status can
// hold it; empty for none.
func RetryOf(group *v1alpha1.ServerGroup) string {
	asked := group.Annotations[v1alpha1.AnnotationRetry]
	if len(asked) > maxRetry {
		asked = strings.ToValidUTF8(asked[:maxRetry], "")
	}
	return asked
}

func countFailures(in Input) backoff.Streak {
	status := &in.Group.Status
	history := backoff.History{
		Streak: backoff.Streak{
			Failures:      int(ptr.Deref(status.ConsecutiveFailures, 0)),
			LastFailureAt: sighting.Instant(status.LastFailureAt),
		},
		Seen:       ptr.Deref(status.ObservedGeneration, in.Group.Generation),
		Generation: in.Group.Generation,
		Retried:    status.ObservedRetry,
		Retry:      RetryOf(in.Group),
		Success:    backoff.AnyCurrentReady,
		Servers:    in.Servers,
	}
	var required []int
	if !in.Group.IsEphemeral() {
		history.Success = backoff.AllRequiredReady
		for ordinal := range int(ptr.Deref(in.Group.Spec.Replicas, 0)) {
			required = append(required, ordinal)
		}
	}
	return backoff.CountFailures(history, required)
}
