// SPDX-License-Identifier: Apache-2.0

package asks

import (
	"context"
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/allowance"
	"github.com/spawnery/spawnery-operator/internal/sighting"
)

// retire has the server take nobody new and go once it is empty.
func (o *Office) retire(ctx context.Context, by asker) (*agentv1alpha1.Answer, error) {
	wish := allowance.Server{
		Name: by.server.Name, Group: by.group.Name, Size: by.size(), Phase: phaseOf(&by.server),
		ReadySince: sighting.Instant(by.server.Status.ReadySince),
	}
	if denial := wish.Retire(o.Clock.Now()); denial != nil {
		return o.denied(ctx, by, "its retirement", denial), nil
	}
	if wish.Phase == allowance.Leaving {
		return verdict(agentv1alpha1.Verdict_VERDICT_DONE, ""), nil
	}
	if err := o.setRetireReason(ctx, &by.server, v1alpha1.RetireRequested); err != nil {
		return nil, err
	}
	retired.Tell(ctx, o.Events, &by.group, &by.server, "a plugin of it asked for that")
	return verdict(agentv1alpha1.Verdict_VERDICT_DONE, ""), nil
}

// setRetireReason writes the reason, or removes it, on the very Server that was
// read.
func (o *Office) setRetireReason(ctx context.Context, server *v1alpha1.Server, reason v1alpha1.RetireReason) error {
	var value any // null removes the field
	if reason != v1alpha1.RetireNone {
		value = reason
	}
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": server.UID, "resourceVersion": server.ResourceVersion},
		"spec":     map[string]any{"retireReason": value},
	})
	if err != nil {
		return fmt.Errorf("render the reason to retire %s: %w", server.Name, err)
	}
	if err := o.Client.Patch(ctx, server.DeepCopy(), client.RawPatch(types.MergePatchType, patch), fieldOwner); err != nil {
		return fmt.Errorf("write the reason to retire %s: %w", server.Name, err)
	}
	return nil
}

// phaseOf takes a server that somebody retired or deleted for one that leaves.
func phaseOf(server *v1alpha1.Server) allowance.Phase {
	if server.Spec.RetireReason != v1alpha1.RetireNone || server.DeletionTimestamp != nil {
		return allowance.Leaving
	}
	switch server.Status.Phase {
	case v1alpha1.ServerReady:
		return allowance.Serving
	case v1alpha1.ServerRetiring, v1alpha1.ServerDraining, v1alpha1.ServerTerminating, v1alpha1.ServerFailed:
		return allowance.Leaving
	case v1alpha1.ServerPending, v1alpha1.ServerStarting:
	}
	return allowance.Growing
}
