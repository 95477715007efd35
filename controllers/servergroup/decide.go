// SPDX-License-Identifier: Apache-2.0

package servergroup

import (
	"slices"
	"time"

	"k8s.io/utils/ptr"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/backoff"
	"github.com/spawnery/spawnery-operator/internal/conditions"
	"github.com/spawnery/spawnery-operator/internal/fleet"
	"github.com/spawnery/spawnery-operator/internal/ordinals"
	"github.com/spawnery/spawnery-operator/internal/podspec"
	"github.com/spawnery/spawnery-operator/internal/scaling"
	"github.com/spawnery/spawnery-operator/internal/sighting"
)

// creation is one Server to make; ordinal is nil in an ephemeral group.
type creation struct {
	ordinal *int32
}

// removal is one Server to delete, and why.
type removal struct {
	name string
	note string
}

// plan is what the decisions came to, for a group of either type.
type plan struct {
	create   []creation
	remove   []removal
	failures backoff.Decision
	limit    scaling.Limit
	// floor is how many ready servers make the group available.
	floor   int
	note    string
	recheck time.Time
}

// decide asks the decision packages, in the order in which they depend on one
// another: failures first, since they gate what the size wants to create.
func (r *Reconciler) decide(group *v1alpha1.ServerGroup, seen observation) plan {
	failures := backoff.DecideBackoff(countFailures(group, seen), seen.now)
	decided := plan{failures: failures}
	if group.IsEphemeral() {
		r.decideEphemeral(group, seen, &decided)
	} else {
		r.decidePersistent(group, seen, &decided)
	}
	decided.recheck = fleet.Earliest(decided.recheck, failures.Recheck)
	decided.restrain(group, seen)
	return decided
}

// restrain takes from a plan what the state of things outside of the group
// forbids, so that nothing is told that does not happen.
func (p *plan) restrain(group *v1alpha1.ServerGroup, seen observation) {
	switch {
	case seen.network == nil:
		p.create, p.remove = nil, nil
		p.note = "nothing is created or removed without Network " + group.Spec.NetworkRef.Name
	case seen.mounts != nil && len(p.create) > 0:
		p.create = nil
		p.note = "nothing is created: a mount is invalid"
	}
}

func (r *Reconciler) decideEphemeral(group *v1alpha1.ServerGroup, seen observation, decided *plan) {
	in := scaling.Input{
		Now:     seen.now,
		Trigger: scaling.OnEvent,
		Sizes: scaling.Sizes{
			MinReplicas:   int(ptr.Deref(group.Spec.Scaling.MinReplicas, 0)),
			MaxReplicas:   int(group.Spec.Scaling.MaxReplicas),
			SpareSlots:    int(ptr.Deref(group.Spec.Scaling.SpareSlots, 0)),
			Capacity:      fleet.Capacity(int(group.Spec.PlayableSlots), int(group.Spec.MaxPlayers)),
			Stabilization: time.Duration(ptr.Deref(group.Spec.Scaling.ScaleDownStabilizationSeconds, 0)) * time.Second,
		},
		Boosts:            scaling.Boosts{Added: seen.boosts.Added, NextExpiry: seen.boosts.NextExpiry},
		Servers:           seen.servers,
		Expected:          scaling.Expected{Creates: len(seen.pending.Creates)},
		Waiting:           seen.waiting,
		Gate:              backoff.MayCreate(decided.failures),
		Channel:           seen.channel,
		LeaderSince:       r.LeaderSince(),
		FirstRegisteredAt: sighting.Instant(group.Status.FirstRegisteredAt),
	}
	if seen.ticking {
		in.Trigger = scaling.OnTick
	}
	sized := scaling.Decide(in)
	decided.create = make([]creation, sized.Creates)
	for _, one := range sized.Removals {
		decided.remove = append(decided.remove, removal{one.Name, one.Note})
	}
	if seen.channel == fleet.ChannelHealthy {
		decided.remove = append(decided.remove, pruneFailed(seen.servers)...)
	}
	decided.limit, decided.note, decided.recheck = sized.Limit, sized.LastDecision, sized.Recheck
	decided.floor = min(sized.Floor, sized.Ceiling)
}

func (r *Reconciler) decidePersistent(group *v1alpha1.ServerGroup, seen observation, decided *plan) {
	replicas := int(ptr.Deref(group.Spec.Replicas, 0))
	sized := ordinals.DecidePersistentSize(ordinals.Input{
		Now:         seen.now,
		Replicas:    replicas,
		Servers:     seen.servers,
		Expected:    ordinals.Expected{Creates: pendingOrdinals(group, seen, replicas)},
		Gate:        backoff.MayCreate(decided.failures),
		Channel:     seen.channel,
		LeaderSince: r.LeaderSince(),
	})
	for _, ordinal := range sized.CreateOrdinals {
		decided.create = append(decided.create, creation{ordinal: new(int32(ordinal))})
	}
	if down := sized.TakeDown; down != nil {
		decided.remove = append(decided.remove, removal{down.Name, down.Note})
	}
	decided.note, decided.recheck = sized.Note, sized.Recheck
	decided.floor = replicas
}

// pendingOrdinals are the ordinals whose Servers were ordered and are not
// shown by the cache yet.
func pendingOrdinals(group *v1alpha1.ServerGroup, seen observation, replicas int) []int {
	var pending []int
	for ordinal := range replicas {
		if slices.Contains(seen.pending.Creates, podspec.PersistentServerName(group.Name, int32(ordinal))) {
			pending = append(pending, ordinal)
		}
	}
	return pending
}

// pruneFailed keeps the newest failed server for diagnosis and gives up the
// others. It is for ephemeral groups only: a failed ordinal holds its place.
func pruneFailed(servers []fleet.Server) []removal {
	var failed []fleet.Server
	for i := range servers {
		if servers[i].Phase == v1alpha1.ServerFailed && servers[i].Deletion == fleet.DeletionNone {
			failed = append(failed, servers[i])
		}
	}
	slices.SortFunc(failed, func(a, b fleet.Server) int { return b.FailedAt.Compare(a.FailedAt) })
	var pruned []removal
	for i := 1; i < len(failed); i++ {
		pruned = append(pruned, removal{failed[i].Name, "a newer failed server is kept for diagnosis"})
	}
	return pruned
}

func countFailures(group *v1alpha1.ServerGroup, seen observation) backoff.Streak {
	history := backoff.History{
		Streak: backoff.Streak{
			Failures:      int(ptr.Deref(group.Status.ConsecutiveFailures, 0)),
			LastFailureAt: sighting.Instant(group.Status.LastFailureAt),
		},
		Seen:       ptr.Deref(group.Status.ObservedGeneration, group.Generation),
		Generation: group.Generation,
		Success:    backoff.AnyCurrentReady,
		Servers:    seen.servers,
	}
	var required []int
	if !group.IsEphemeral() {
		history.Success = backoff.AllRequiredReady
		for ordinal := range int(ptr.Deref(group.Spec.Replicas, 0)) {
			required = append(required, ordinal)
		}
	}
	return backoff.CountFailures(history, required)
}

// reportLimit says what the ceiling holds back, and why.
func reportLimit(set *conditions.Set, decided plan) {
	if decided.limit.Cause == scaling.NotLimited {
		set.False(v1alpha1.ConditionScalingLimited, v1alpha1.ReasonWithinLimits, "the group has what it wants")
		return
	}
	set.True(v1alpha1.ConditionScalingLimited, v1alpha1.ReasonMaxReplicasReached, decided.limit.Note)
}
