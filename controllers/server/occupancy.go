// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spawnery/spawnery-operator/internal/outcome"
	"github.com/spawnery/spawnery-operator/internal/podspec"
)

// markOccupancy tells node autoscalers whether the pod may go: its label and
// annotations follow who may be on it, unknown being occupied.
func (r *Reconciler) markOccupancy(ctx context.Context, p *pass) outcome.Outcome {
	if p.seen.pod == nil || p.seen.pod.DeletionTimestamp != nil {
		return outcome.Continue()
	}
	occupancy := podspec.Vacant
	if p.seen.presence.Occupied(p.seen.now) {
		occupancy = podspec.Occupied
	}
	marked := p.seen.pod.DeepCopy()
	if !podspec.SetOccupancy(marked, occupancy) {
		return outcome.Continue()
	}
	err := r.Client.Patch(ctx, marked, client.MergeFrom(p.seen.pod), fieldOwner)
	if client.IgnoreNotFound(err) != nil {
		return outcome.Retry(fmt.Errorf("mark pod %s: %w", marked.Name, err))
	}
	return outcome.Continue()
}
