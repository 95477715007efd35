// SPDX-License-Identifier: Apache-2.0

package servergroup

import (
	"context"
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/outcome"
	"github.com/spawnery/spawnery-operator/internal/refusal"
	"github.com/spawnery/spawnery-operator/internal/sizing"
)

// retire tells servers to take nobody new. One that cannot be told holds up no
// other.
func (r *Reconciler) retire(ctx context.Context, group *v1alpha1.ServerGroup, seen observation, all []sizing.Retirement) outcome.Outcome {
	ends := make([]outcome.Outcome, 0, len(all))
	for _, one := range all {
		if server := seen.object(one.Name); server != nil {
			ends = append(ends, r.setRetireReason(ctx, group, seen, server, one.Reason, one.Note))
		}
	}
	return outcome.Join(ends...)
}

// withdraw takes the reason to retire back; the server's own phases say whether
// it can serve again.
func (r *Reconciler) withdraw(ctx context.Context, group *v1alpha1.ServerGroup, seen observation, all []sizing.Withdrawal) outcome.Outcome {
	ends := make([]outcome.Outcome, 0, len(all))
	for _, one := range all {
		if server := seen.object(one.Name); server != nil {
			ends = append(ends, r.setRetireReason(ctx, group, seen, server, v1alpha1.RetireNone, one.Note))
		}
	}
	return outcome.Join(ends...)
}

// setRetireReason writes the reason, or removes it, on the very Server that the
// decision was about, and tells why: one that has changed since is looked at
// again.
func (r *Reconciler) setRetireReason(
	ctx context.Context, group *v1alpha1.ServerGroup, seen observation, server *v1alpha1.Server, reason v1alpha1.RetireReason, why string,
) outcome.Outcome {
	var value any // null removes the field
	done := takenBack
	if reason != v1alpha1.RetireNone {
		value, done = reason, retired
	}
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": server.UID, "resourceVersion": server.ResourceVersion},
		"spec":     map[string]any{"retireReason": value},
	})
	if err != nil {
		return outcome.Retry(fmt.Errorf("render the reason to retire %s: %w", server.Name, err))
	}
	r.writes.Retired(group.UID, server.UID, reason, seen.now)
	err = r.Client.Patch(ctx, server.DeepCopy(), client.RawPatch(types.MergePatchType, patch), fieldOwner)
	if err != nil && refusal.Certain(err) {
		r.writes.Unretired(group.UID, server.UID)
	}
	switch {
	case apierrors.IsConflict(err):
		return outcome.Wait(outcome.Stale, "", "")
	case client.IgnoreNotFound(err) != nil:
		return outcome.Retry(fmt.Errorf("write the reason to retire %s: %w", server.Name, err))
	}
	done.Tell(ctx, r.Events, group, server, why)
	return outcome.Continue()
}

// object is the Server of a name, nil when the pass does not see it.
func (o *observation) object(name string) *v1alpha1.Server {
	for i := range o.objects {
		if o.objects[i].Name == name {
			return &o.objects[i]
		}
	}
	return nil
}
