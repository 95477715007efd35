// SPDX-License-Identifier: Apache-2.0

package servergroup

import (
	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/scaling"
	"github.com/spawnery/spawnery-operator/internal/sizing"
)

// decide sizes the group, and takes from the plan what the state of things
// outside of it forbids, so that nothing is told that does not happen.
func (r *Reconciler) decide(group *v1alpha1.ServerGroup, seen observation) sizing.Plan {
	in := sizing.Input{
		Now:         seen.now,
		Trigger:     scaling.OnEvent,
		Group:       group,
		Servers:     seen.servers,
		Pending:     seen.pending.Creates,
		Boosts:      seen.boosts,
		Waiting:     seen.waiting,
		Channel:     seen.channel,
		LeaderSince: r.LeaderSince(),
		Spareable:   r.spareable.of(group.UID),
	}
	if seen.unmakeable != nil {
		in.Unmakeable = seen.unmakeable.message
	}
	if seen.ticking {
		in.Trigger = scaling.OnTick
	}
	decided := sizing.Decide(in)
	r.spareable.keep(group.UID, decided.Spareable)
	switch {
	case seen.network == nil:
		decided.Create, decided.Remove, decided.Retire, decided.Withdraw = nil, nil, nil, nil
		decided.Note = "nothing is created or removed without Network " + group.Spec.NetworkRef.Name
	case seen.unmakeable != nil && len(decided.Create) > 0:
		decided.Create = nil
		decided.Note = "nothing is created: " + seen.unmakeable.note
	}
	return decided
}
