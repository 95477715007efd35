// SPDX-License-Identifier: Apache-2.0

package network

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/ptr"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/conditions"
	"github.com/spawnery/spawnery-operator/internal/outcome"
	"github.com/spawnery/spawnery-operator/internal/ssa"
)

// report writes the Network's status and tells of what changed in it. It
// returns when a count that was held back is due, and what acting failed with,
// so that the pass is repeated.
func (r *Reconciler) report(
	ctx context.Context, network *v1alpha1.Network, seen observation, decided plan, acted done,
) (time.Duration, error) {
	set := conditions.From(network.Status.Conditions, network.Generation, seen.now)
	r.reportAccepted(set, network, decided)
	if decided.accepted {
		reportPrepared(set, acted)
		reportSecret(set, network, seen, acted)
		reportMode(set, decided)
		reportChannel(set, decided)
	}
	status := v1alpha1.NetworkStatus{
		Conditions:    set.List(),
		OnlineMode:    decided.onlineMode,
		ProxyGroups:   new(int32(len(seen.proxyGroups))),
		ServerGroups:  new(int32(len(seen.serverGroups))),
		OnlinePlayers: new(onlinePlayers(seen)),
	}
	changed := !equality.Semantic.DeepEqual(network.Status, status)
	wait := r.pacer.Wait(network.UID, seen.now)
	if wait > 0 && changed && onlyPlayersChanged(network.Status, status) {
		return wait, acted.retry()
	}
	err := ssa.Status(ctx, r.Client, fieldOwner, network, &network.Status, &status)
	switch {
	case apierrors.IsConflict(err):
		return outcome.Stale, acted.retry()
	case err != nil:
		return 0, errors.Join(acted.retry(), err)
	}
	if changed {
		r.pacer.Written(network.UID, seen.now)
	}
	set.Tell(r.Events, network)
	return 0, acted.retry()
}

// onlyPlayersChanged is true when nothing but the number of players, which is
// written at a pace, differs.
func onlyPlayersChanged(was, now v1alpha1.NetworkStatus) bool {
	was.OnlinePlayers = now.OnlinePlayers
	return equality.Semantic.DeepEqual(was, now)
}

func (r *Reconciler) reportAccepted(set *conditions.Set, network *v1alpha1.Network, decided plan) {
	if decided.accepted {
		set.True(v1alpha1.ConditionAccepted, v1alpha1.ReasonAccepted, "this Network is the one of namespace "+network.Namespace)
		return
	}
	set.False(v1alpha1.ConditionAccepted, v1alpha1.ReasonDuplicateNetwork, fmt.Sprintf(
		"Network %s is older and is the one of namespace %s; delete it, or use another namespace", decided.winner, network.Namespace))
}

func reportPrepared(set *conditions.Set, acted done) {
	switch {
	case acted.prepared == nil:
		set.True(v1alpha1.ConditionNamespacePrepared, v1alpha1.ReasonNamespacePrepared, "pods find their accounts and the manager")
	case errors.Is(acted.prepared, errNoCertificate):
		// What a manager that only just started lacks is no news.
		set.Keep(v1alpha1.ConditionNamespacePrepared)
	default:
		set.False(v1alpha1.ConditionNamespacePrepared, v1alpha1.ReasonNamespaceNotPrepared, acted.prepared.Error())
	}
}

func reportChannel(set *conditions.Set, decided plan) {
	if decided.degraded {
		set.True(v1alpha1.ConditionChannelDegraded, v1alpha1.ReasonAgentsSilent, "most agents whose pods are ready are silent, so the way "+
			"between them and the manager is to blame: look at the manager's Service and network policies. Servers keep running")
		return
	}
	set.False(v1alpha1.ConditionChannelDegraded, v1alpha1.ReasonAgentsReporting, "the agents report")
}

func reportSecret(set *conditions.Set, network *v1alpha1.Network, seen observation, acted done) {
	name := secretName(network)
	switch {
	case acted.secret != nil:
		set.False(v1alpha1.ConditionForwardingSecretReady, v1alpha1.ReasonSecretMissing,
			"the forwarding secret could not be made: "+acted.secret.Error())
	case seen.waiting && network.Spec.ForwardingSecretRef.Name != "":
		set.False(v1alpha1.ConditionForwardingSecretReady, v1alpha1.ReasonSecretMissing, fmt.Sprintf(
			"pods have been waiting for more than %s; if their events name Secret %s, create it with a key %q", podPatience, name, "secret"))
	default:
		set.True(v1alpha1.ConditionForwardingSecretReady, v1alpha1.ReasonSecretPresent,
			"proxies and servers share Secret "+name)
	}
}

func reportMode(set *conditions.Set, decided plan) {
	if decided.unsettled != "" {
		set.False(v1alpha1.ConditionOnlineModeSettled, v1alpha1.ReasonConfirmationRequired, decided.unsettled)
		return
	}
	set.True(v1alpha1.ConditionOnlineModeSettled, v1alpha1.ReasonOnlineModeInForce,
		fmt.Sprintf("onlineMode %t is in force", *decided.onlineMode))
}

// onlinePlayers sums what the agents know; a server nobody hears adds what was
// heard last, by this manager or the one before.
func onlinePlayers(seen observation) int32 {
	var total int32
	for _, server := range seen.servers {
		if server.said.Report == nil {
			total += ptr.Deref(server.Status.Players, 0)
		}
		total += server.said.Report.GetOnline()
	}
	return total
}
