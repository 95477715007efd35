// SPDX-License-Identifier: Apache-2.0

package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/conditions"
	"github.com/spawnery/spawnery-operator/internal/fleet"
	"github.com/spawnery/spawnery-operator/internal/outcome"
	"github.com/spawnery/spawnery-operator/internal/phase"
	"github.com/spawnery/spawnery-operator/internal/podspec"
	"github.com/spawnery/spawnery-operator/internal/sessions"
	"github.com/spawnery/spawnery-operator/internal/ssa"
)

// report writes the Server's status whole, and returns when a count that was
// held back is due.
func (r *Reconciler) report(ctx context.Context, p *pass, ended outcome.Outcome) (time.Duration, error) {
	was := p.server.Status
	set := conditions.From(was.Conditions, p.server.Generation, p.seen.now)
	reportAccepted(set, p, ended)
	reportReady(set, p)
	r.reportForwarding(set, p)
	reportCounts(set, p.seen.tally)
	r.reportDrain(set, p)
	status := statusOf(p)
	status.Conditions = set.List()
	changed := !equality.Semantic.DeepEqual(was, status)
	if wait := r.heldBack(p, was, status); wait > 0 && changed {
		return wait, ended.Err
	}
	err := ssa.Status(ctx, r.Client, fieldOwner, p.server, &was, &status)
	switch {
	case apierrors.IsConflict(err):
		return outcome.Stale, ended.Err
	case err != nil:
		return 0, errors.Join(ended.Err, err)
	}
	if changed {
		r.pacer.Written(p.server.UID, p.seen.now)
	}
	if pluginChanged(was, status) {
		r.whims.Spend(p.server.UID, p.seen.now)
	}
	set.Tell(r.Events, p.server)
	return 0, ended.Err
}

// heldBack is how long a status may wait that differs in nothing but numbers, or
// in what a plugin of the server may change ten times a second.
func (r *Reconciler) heldBack(p *pass, was, now v1alpha1.ServerStatus) time.Duration {
	if onlyCountsChanged(was, now) {
		return r.pacer.Wait(p.server.UID, p.seen.now)
	}
	if !pluginChanged(was, now) {
		return 0
	}
	was.JoinsOpen, was.PlayableSlots, was.RoundEndedAt = now.JoinsOpen, now.PlayableSlots, now.RoundEndedAt
	if onlyCountsChanged(was, now) {
		return r.whims.Wait(p.server.UID, p.seen.now)
	}
	return 0
}

// pluginChanged is true when a plugin of the server wants something else.
func pluginChanged(was, now v1alpha1.ServerStatus) bool {
	return !ptr.Equal(was.JoinsOpen, now.JoinsOpen) || !ptr.Equal(was.PlayableSlots, now.PlayableSlots) ||
		(was.RoundEndedAt == nil) != (now.RoundEndedAt == nil)
}

// statusOf is the status that follows from the observation, the decision and
// what was done.
func statusOf(p *pass) v1alpha1.ServerStatus {
	status := p.life.Record(&p.server.Status, p.decision)
	status.PodName, status.PodUID = p.podName, string(p.podUID)
	status.Address = addressOf(p)
	status.StorageResizeError = p.resizeError
	if p.resizePending {
		status.StorageResizePending = new(true)
	}
	return status
}

// onlyCountsChanged is true when the difference can wait: numbers of players
// that cross nothing a decision looks at.
func onlyCountsChanged(was, now v1alpha1.ServerStatus) bool {
	if occupancyOf(was) != occupancyOf(now) {
		return false
	}
	was.Players = now.Players
	// What CountsAgree says is numbers of players too.
	told := apimeta.FindStatusCondition(now.Conditions, v1alpha1.ConditionCountsAgree)
	if before := apimeta.FindStatusCondition(was.Conditions, v1alpha1.ConditionCountsAgree); before != nil && told != nil && before.Reason == told.Reason {
		was.Conditions = slices.Clone(was.Conditions)
		apimeta.FindStatusCondition(was.Conditions, v1alpha1.ConditionCountsAgree).Message = told.Message
	}
	return equality.Semantic.DeepEqual(was, now)
}

// occupancy sorts a number of players by what decisions tell apart.
type occupancy int

const (
	unknown occupancy = iota
	empty
	partly
	full
)

func occupancyOf(status v1alpha1.ServerStatus) occupancy {
	if status.Players == nil {
		return unknown
	}
	seats := fleet.NewSeats(fleet.Figures{
		Plugin: int(ptr.Deref(status.PlayableSlots, 0)), Slots: int(ptr.Deref(status.Slots, 0)),
	})
	switch players := int(*status.Players); {
	case players == 0:
		return empty
	case seats.Free(players) == 0:
		return full
	}
	return partly
}

func addressOf(p *pass) string {
	if p.seen.pod == nil || p.seen.pod.Status.PodIP == "" {
		return p.server.Status.Address
	}
	return net.JoinHostPort(p.seen.pod.Status.PodIP, strconv.Itoa(int(podspec.GamePort(p.seen.pod))))
}

func reportAccepted(set *conditions.Set, p *pass, ended outcome.Outcome) {
	switch {
	case ended.Explained():
		set.False(v1alpha1.ConditionAccepted, ended.Reason, ended.Message)
	case p.seen.accepted() && ended.Err == nil:
		set.True(v1alpha1.ConditionAccepted, v1alpha1.ReasonAccepted, "its group and its Network stand")
	default:
		set.Keep(v1alpha1.ConditionAccepted)
	}
}

// reportReady says why the server is in its phase, with what its pod or agent
// waits for.
func reportReady(set *conditions.Set, p *pass) {
	reason, message := p.decision.Reason, p.decision.Note
	if detail := waitDetail(p); detail != "" {
		message = strings.TrimSuffix(message, ".") + ": " + detail
	}
	was, told := set.Previous(v1alpha1.ConditionReady)
	switch {
	case reason == "" && !told:
		reason = v1alpha1.ReasonGameNotReady
	case reason == "":
		reason = was.Reason
		if p.decision.Next == v1alpha1.ServerFailed {
			// How it failed stays readable for as long as it is kept for that.
			message = was.Message
		}
	case reason == v1alpha1.ReasonDraining && surplus(p):
		reason = v1alpha1.ReasonSurplusOrdinal
	}
	if p.decision.Next == v1alpha1.ServerReady {
		set.True(v1alpha1.ConditionReady, reason, message)
		return
	}
	set.False(v1alpha1.ConditionReady, reason, message)
}

// surplus tells an ordinal that its group no longer wants.
func surplus(p *pass) bool {
	ordinal, group := p.server.Spec.Ordinal, p.seen.group
	return ordinal != nil && group != nil && *ordinal >= ptr.Deref(group.Spec.Replicas, 0)
}

func waitDetail(p *pass) string {
	switch p.decision.Next {
	case v1alpha1.ServerPending, v1alpha1.ServerStarting:
		return cmp.Or(p.seen.said.Report.GetDetail(), pendingDetail(p.seen))
	case v1alpha1.ServerReady, v1alpha1.ServerRetiring, v1alpha1.ServerDraining, v1alpha1.ServerTerminating, v1alpha1.ServerFailed:
	}
	return ""
}

func pendingDetail(seen observation) string {
	if seen.podState == phase.PodWaiting {
		return seen.podDetail
	}
	return ""
}

// reportForwarding says whether proxies are the only way in. Both the agent's
// probe and a proxy that was let in without being asked count.
func (r *Reconciler) reportForwarding(set *conditions.Set, p *pass) {
	state := p.seen.said.Report.GetForwarding()
	if problem := r.Sessions.ForwardingProblem(client.ObjectKeyFromObject(p.server)); problem != agentv1alpha1.ForwardingState_FORWARDING_STATE_UNSPECIFIED {
		state = problem
	}
	switch state {
	case agentv1alpha1.ForwardingState_FORWARDING_STATE_ACTIVE:
		set.True(v1alpha1.ConditionForwardingActive, v1alpha1.ReasonForwarding, "the game takes players from proxies with the Network's secret only")
	case agentv1alpha1.ForwardingState_FORWARDING_STATE_NOT_ACTIVE:
		set.False(v1alpha1.ConditionForwardingActive, v1alpha1.ReasonNotForwarding, cmp.Or(p.seen.said.Report.GetDetail(),
			"the game lets players in without asking for forwarding: set proxies.velocity in config/paper-global.yml, or flavor in spec.server"))
	case agentv1alpha1.ForwardingState_FORWARDING_STATE_ONLINE_MODE:
		set.False(v1alpha1.ConditionForwardingActive, v1alpha1.ReasonOnlineModeBackend, cmp.Or(p.seen.said.Report.GetDetail(),
			"the game authenticates players itself: online-mode in server.properties must be false"))
	case agentv1alpha1.ForwardingState_FORWARDING_STATE_UNSPECIFIED:
		// Nobody has looked yet, or looks just now.
		set.Keep(v1alpha1.ConditionForwardingActive)
	case agentv1alpha1.ForwardingState_FORWARDING_STATE_NOT_WANTED:
	}
}

// reportCounts says whether the proxies know the same players as the game. The
// higher number counts either way.
func reportCounts(set *conditions.Set, tally sessions.Tally) {
	switch {
	case tally.Agreement == sessions.AgreementUnknown:
		set.Keep(v1alpha1.ConditionCountsAgree)
	case tally.Agreement == sessions.CountsAgree:
		set.True(v1alpha1.ConditionCountsAgree, v1alpha1.ReasonCountsMatch, "the game and the proxies count the same players")
	case tally.Game > tally.Proxies:
		set.False(v1alpha1.ConditionCountsAgree, v1alpha1.ReasonRosterDisagrees, fmt.Sprintf(
			"the game counts %d players and the proxies %d: somebody comes in past the proxies, or a plugin or mod adds players that are none; "+
				"%d count, so the server is not taken for empty", tally.Game, tally.Proxies, tally.Game))
	default:
		set.False(v1alpha1.ConditionCountsAgree, v1alpha1.ReasonRosterDisagrees, fmt.Sprintf(
			"the proxies count %d players and the game %d: a plugin hides players from the game's count, or the game hangs on to connections it gave up; "+
				"%d count, so the server is not taken for empty", tally.Proxies, tally.Game, tally.Proxies))
	}
}

// reportDrain says how moving the players off goes.
func (r *Reconciler) reportDrain(set *conditions.Set, p *pass) {
	if !p.decision.Effects.Has(phase.MovePlayers) {
		return
	}
	move, spoken := r.Sessions.Moving(client.ObjectKeyFromObject(p.server))
	switch {
	case spoken && move.WithoutSeat > 0:
		set.False(v1alpha1.ConditionDrainProgressing, v1alpha1.ReasonNoFallbackSeat, fmt.Sprintf(
			"%d of %d players wait for a free seat in the fallback groups; raise their maxReplicas, or drain.timeoutSeconds",
			move.WithoutSeat, move.Remaining))
	case spoken:
		set.True(v1alpha1.ConditionDrainProgressing, v1alpha1.ReasonPlayersMoving,
			fmt.Sprintf("%d players are still to be moved", move.Remaining))
	default:
		set.True(v1alpha1.ConditionDrainProgressing, v1alpha1.ReasonPlayersMoving, "the proxies are asked to move its players")
	}
}
