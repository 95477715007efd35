// SPDX-License-Identifier: Apache-2.0

package network

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/conditions"
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
		reportSecret(set, network, seen, acted)
		reportMode(set, decided)
	}
	status := v1alpha1.NetworkStatus{
		Conditions:    set.List(),
		OnlineMode:    decided.onlineMode,
		ProxyGroups:   new(int32(len(seen.proxyGroups))),
		ServerGroups:  new(int32(len(seen.serverGroups))),
		OnlinePlayers: new(onlinePlayers(seen)),
	}
	wait := r.pacer.Wait(network.UID, seen.now)
	if wait > 0 && onlyPlayersChanged(network.Status, status) {
		return wait, errors.Join(acted.prepared, acted.secret)
	}
	written := ssa.Status(ctx, r.Client, fieldOwner, network, &network.Status, &status)
	r.pacer.Written(network.UID, seen.now)
	set.Tell(r.Events, network)
	return 0, errors.Join(acted.prepared, acted.secret, written)
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
// heard last.
func onlinePlayers(seen observation) int32 {
	var total int32
	for _, server := range seen.servers {
		total += server.said.Report.GetOnline()
	}
	return total
}
