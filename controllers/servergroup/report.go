// SPDX-License-Identifier: Apache-2.0

package servergroup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/ptr"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/backoff"
	"github.com/spawnery/spawnery-operator/internal/conditions"
	"github.com/spawnery/spawnery-operator/internal/fleet"
	"github.com/spawnery/spawnery-operator/internal/outcome"
	"github.com/spawnery/spawnery-operator/internal/rollout"
	"github.com/spawnery/spawnery-operator/internal/scaling"
	"github.com/spawnery/spawnery-operator/internal/sighting"
	"github.com/spawnery/spawnery-operator/internal/sizing"
	"github.com/spawnery/spawnery-operator/internal/ssa"
)

// report writes the group's status whole, and returns when a count that was
// held back is due.
func (r *Reconciler) report(
	ctx context.Context, group *v1alpha1.ServerGroup, seen observation, decided sizing.Plan, ended outcome.Outcome,
) (time.Duration, error) {
	was := group.Status
	set := conditions.From(was.Conditions, group.Generation, seen.now)
	reportAccepted(set, group, seen, ended)
	reportSize(set, seen, decided)
	reportFailures(set, decided)
	reportNodes(set, seen, decided)
	if group.IsEphemeral() {
		reportLimit(set, decided)
	} else {
		reportResize(set, seen)
	}
	status := statusOf(group, seen, decided)
	status.Conditions = set.List()
	changed := !equality.Semantic.DeepEqual(was, status)
	if wait := r.pacer.Wait(group.UID, seen.now); wait > 0 && changed && onlyCountsChanged(was, status) {
		return wait, ended.Err
	}
	err := ssa.Status(ctx, r.Client, fieldOwner, group, &was, &status)
	switch {
	case apierrors.IsConflict(err):
		return outcome.Stale, ended.Err
	case err != nil:
		return 0, errors.Join(ended.Err, err)
	}
	if changed {
		r.pacer.Written(group.UID, seen.now)
	}
	set.Tell(r.Events, group)
	return 0, ended.Err
}

func statusOf(group *v1alpha1.ServerGroup, seen observation, decided sizing.Plan) v1alpha1.ServerGroupStatus {
	was := group.Status
	count := countServers(seen)
	status := v1alpha1.ServerGroupStatus{
		ObservedGeneration:  new(group.Generation),
		Phase:               phaseOf(count.ready, decided),
		Replicas:            new(int32(len(seen.servers))),
		ReadyReplicas:       new(int32(count.ready)),
		UpdatedReplicas:     new(int32(count.updated)),
		OnlinePlayers:       new(int32(count.players)),
		FreeSlots:           new(int32(count.free)),
		BoostedReplicas:     new(int32(seen.boosts.Added)),
		ConsecutiveFailures: new(int32(decided.Failures.Streak.Failures)),
		LastFailureAt:       sighting.Stamp(decided.Failures.Streak.LastFailureAt),
		FirstRegisteredAt:   was.FirstRegisteredAt,
		LastDecision:        conditions.Note(decided.Note),
		ObservedRetry:       cmp.Or(sizing.RetryOf(group), was.ObservedRetry),
	}
	if pin := seen.boosts.Pin; pin.Holds() {
		status.PinnedReplicas, status.PinnedUntil = new(int32(pin.Replicas)), sighting.Stamp(pin.Until)
	}
	if status.FirstRegisteredAt == nil && count.everRegistered {
		status.FirstRegisteredAt = sighting.Stamp(seen.now)
	}
	return status
}

// totals sums up a group's servers.
type totals struct {
	ready, updated, players, free int
	everRegistered                bool
}

func countServers(seen observation) totals {
	var t totals
	for i := range seen.servers {
		server := &seen.servers[i]
		if server.Phase == v1alpha1.ServerReady {
			t.ready++
		}
		if server.Spec == fleet.SpecCurrent {
			t.updated++
		}
		t.players += playersOn(server.Counts, &seen.objects[i])
		t.free += server.FreeSeats()
		t.everRegistered = t.everRegistered || server.Registration.Ever()
	}
	return t
}

// playersOn is the last number heard, by this manager or the one before.
func playersOn(counts fleet.Counts, object *v1alpha1.Server) int {
	if counts.State() == fleet.CountsUnknown {
		return int(ptr.Deref(object.Status.Players, 0))
	}
	return counts.Players()
}

// phaseOf sums up: the floor a group cannot reach because of its ceiling does
// not keep it Pending.
func phaseOf(ready int, decided sizing.Plan) v1alpha1.GroupPhase {
	switch {
	case decided.Failures.State == backoff.GaveUp:
		return v1alpha1.GroupDegraded
	case ready >= decided.Floor:
		return v1alpha1.GroupReady
	}
	return v1alpha1.GroupPending
}

// onlyCountsChanged is true when nothing but numbers that move with every
// player differs, and none of them crosses zero.
func onlyCountsChanged(was, now v1alpha1.ServerGroupStatus) bool {
	if zero(was.FreeSlots) != zero(now.FreeSlots) || zero(was.OnlinePlayers) != zero(now.OnlinePlayers) {
		return false
	}
	was.OnlinePlayers, was.FreeSlots, was.LastDecision = now.OnlinePlayers, now.FreeSlots, now.LastDecision
	return equality.Semantic.DeepEqual(was, now)
}

func zero(n *int32) bool { return ptr.Deref(n, 0) == 0 }

func reportAccepted(set *conditions.Set, group *v1alpha1.ServerGroup, seen observation, ended outcome.Outcome) {
	name := group.Spec.NetworkRef.Name
	switch {
	case !seen.found:
		set.False(v1alpha1.ConditionAccepted, v1alpha1.ReasonNetworkNotFound,
			fmt.Sprintf("no Network %s in namespace %s; create it. What runs is kept", name, group.Namespace))
	case seen.network == nil:
		set.False(v1alpha1.ConditionAccepted, v1alpha1.ReasonNetworkNotAccepted,
			fmt.Sprintf("Network %s is not accepted; its own condition Accepted says why. What runs is kept", name))
	case ended.Explained():
		set.False(v1alpha1.ConditionAccepted, ended.Reason, ended.Message)
	case ended.Err == nil:
		set.True(v1alpha1.ConditionAccepted, v1alpha1.ReasonAccepted, "its Network stands")
	default:
		set.Keep(v1alpha1.ConditionAccepted)
	}
}

func reportSize(set *conditions.Set, seen observation, decided sizing.Plan) {
	count := countServers(seen)
	message := withUnready(fmt.Sprintf("ready: %d, the floor is %d", count.ready, decided.Floor), decided)
	if count.ready >= decided.Floor {
		set.True(v1alpha1.ConditionAvailable, v1alpha1.ReasonMinimumReplicasReady, message)
	} else {
		set.False(v1alpha1.ConditionAvailable, v1alpha1.ReasonMinimumReplicasUnready, message)
	}
	if changeover := decided.Changeover; seen.network != nil && changeover.Progress.RollingOut() {
		set.True(v1alpha1.ConditionProgressing, v1alpha1.ReasonRollingOut, rollingOut(changeover))
		return
	}
	starting := len(decided.Create) + len(seen.pending.Creates)
	for i := range seen.servers {
		if seen.servers[i].FirstStart() {
			starting++
		}
	}
	if starting > 0 {
		set.True(v1alpha1.ConditionProgressing, v1alpha1.ReasonScalingUp,
			fmt.Sprintf("starting: %d, ready: %d", starting, count.ready))
		return
	}
	set.False(v1alpha1.ConditionProgressing, v1alpha1.ReasonSettled, fmt.Sprintf("servers: %d, none starting", len(seen.servers)))
}

func rollingOut(changeover rollout.Plan) string {
	done := fmt.Sprintf("%d of %d servers are of the new spec", changeover.Progress.Updated, changeover.Progress.Total())
	if changeover.Note == "" {
		return done
	}
	return done + "; " + changeover.Note
}

// withUnready adds to a message which ordinals do not serve, and why.
func withUnready(message string, decided sizing.Plan) string {
	few := decided.Unready
	if more := len(few) - namedServers; more > 0 {
		few = append(slices.Clone(few[:namedServers]), fmt.Sprintf("and %d more", more))
	}
	return strings.Join(append([]string{message}, few...), "; ")
}

func reportFailures(set *conditions.Set, decided sizing.Plan) {
	failures := decided.Failures
	note := failures.Note
	if failures.State != backoff.Calm {
		note = withUnready(note, decided)
	}
	switch failures.State {
	case backoff.BackingOff:
		set.True(v1alpha1.ConditionBackingOff, v1alpha1.ReasonCrashLoopBackoff, note)
	case backoff.GaveUp:
		set.False(v1alpha1.ConditionBackingOff, v1alpha1.ReasonGaveUp, note)
	case backoff.Calm, backoff.Retrying:
		set.False(v1alpha1.ConditionBackingOff, v1alpha1.ReasonNoRecentFailures, note)
	}
	if failures.State == backoff.GaveUp {
		set.True(v1alpha1.ConditionDegraded, v1alpha1.ReasonCrashLoopBackoff, withUnready(fmt.Sprintf(
			"%d attempts in a row failed, the last at %s; look at the failed Server, then edit this group, or give its annotation %s another value, to start over",
			failures.Streak.Failures, failures.Streak.LastFailureAt.UTC().Format(time.RFC3339), v1alpha1.AnnotationRetry), decided))
		return
	}
	set.False(v1alpha1.ConditionDegraded, v1alpha1.ReasonNoRecentFailures, note)
}

// reportLimit says what the ceiling holds back, and why.
func reportLimit(set *conditions.Set, decided sizing.Plan) {
	if decided.Limit.Cause == scaling.NotLimited {
		set.False(v1alpha1.ConditionScalingLimited, v1alpha1.ReasonWithinLimits, "the group has what it wants")
		return
	}
	reason := v1alpha1.ReasonMaxReplicasReached
	if decided.Limit.By == scaling.ByPin {
		reason = v1alpha1.ReasonPinned
	}
	set.True(v1alpha1.ConditionScalingLimited, reason, decided.Limit.Note)
}
