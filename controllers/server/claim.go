// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/outcome"
	"github.com/spawnery/spawnery-operator/internal/podspec"
)

// keepClaim sees to the claim of a persistent server: it exists before the
// pod, it is ours, and it asks for the size the group wants.
func (r *Reconciler) keepClaim(ctx context.Context, p *pass) outcome.Outcome {
	if p.seen.group.IsEphemeral() || p.server.Spec.Ordinal == nil {
		return outcome.Continue()
	}
	claim, ended := r.ensureClaim(ctx, p)
	if claim == nil {
		return ended
	}
	return r.growClaim(ctx, p, claim)
}

// ensureClaim returns the claim, made now or found. A claim is matched by its
// name and by LabelManagedBy alone: it has no owner, so that no mistake with a
// group costs a world.
func (r *Reconciler) ensureClaim(ctx context.Context, p *pass) (*corev1.PersistentVolumeClaim, outcome.Outcome) {
	wanted := podspec.BuildDataClaim(p.seen.group, *p.server.Spec.Ordinal)
	key := client.ObjectKeyFromObject(wanted)
	var there corev1.PersistentVolumeClaim
	err := r.Client.Get(ctx, key, &there)
	if err == nil {
		return &there, outcome.Continue()
	}
	if !apierrors.IsNotFound(err) {
		return nil, outcome.Retry(fmt.Errorf("read claim %s: %w", key.Name, err))
	}
	if p.decision.Next != v1alpha1.ServerPending {
		// Its pod has mounted it: the cache is behind, or a person deleted it.
		return nil, outcome.Continue()
	}
	err = r.Client.Create(ctx, wanted, fieldOwner)
	if err == nil {
		return wanted, outcome.Continue()
	}
	if !apierrors.IsAlreadyExists(err) {
		return nil, refused(fmt.Errorf("create claim %s: %w", key.Name, err))
	}
	if err := r.Live.Get(ctx, key, &there); err != nil {
		return nil, outcome.Retry(fmt.Errorf("read claim %s, whose name is taken: %w", key.Name, err))
	}
	if there.Labels[podspec.LabelManagedBy] != podspec.ManagedBy {
		return nil, outcome.Wait(refusedRecheck, v1alpha1.ReasonClaimNotOurs, fmt.Sprintf(
			"claim %s exists and is not managed by this operator; label it %s=%s to hand it over",
			key.Name, podspec.LabelManagedBy, podspec.ManagedBy))
	}
	return &there, outcome.Continue()
}

// growClaim is the only write on a claim after its creation: it raises the
// requested size, and touches no other field. A refusal does not stop the
// server from running on what it has.
func (r *Reconciler) growClaim(ctx context.Context, p *pass, claim *corev1.PersistentVolumeClaim) outcome.Outcome {
	p.resizePending = fileSystemPending(claim)
	wanted := p.seen.group.Spec.Storage.Size
	requested := claim.Spec.Resources.Requests[corev1.ResourceStorage]
	capacity := claim.Status.Capacity[corev1.ResourceStorage]
	if wanted == nil || wanted.Cmp(requested) <= 0 || wanted.Cmp(capacity) <= 0 {
		return outcome.Continue()
	}
	if r.growth.Wait(claim.UID, p.seen.now) > 0 {
		p.resizeError, p.recheck = p.server.Status.StorageResizeError, refusedRecheck
		return outcome.Continue()
	}
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": claim.UID, "resourceVersion": claim.ResourceVersion},
		"spec": map[string]any{"resources": map[string]any{
			"requests": map[string]any{string(corev1.ResourceStorage): wanted.String()},
		}},
	})
	if err != nil {
		return outcome.Retry(fmt.Errorf("render the size of claim %s: %w", claim.Name, err))
	}
	err = r.Client.Patch(ctx, claim.DeepCopy(), client.RawPatch(types.MergePatchType, patch), fieldOwner)
	switch {
	case apierrors.IsForbidden(err), apierrors.IsInvalid(err):
		r.growth.Written(claim.UID, p.seen.now)
		p.resizeError, p.recheck = err.Error(), refusedRecheck
		return outcome.Continue()
	case apierrors.IsConflict(err):
		return outcome.Wait(preparedRecheck, "", "")
	case err != nil:
		return outcome.Retry(fmt.Errorf("grow claim %s: %w", claim.Name, err))
	}
	return outcome.Continue()
}

func fileSystemPending(claim *corev1.PersistentVolumeClaim) bool {
	for _, condition := range claim.Status.Conditions {
		if condition.Type == corev1.PersistentVolumeClaimFileSystemResizePending && condition.Status == corev1.ConditionTrue {
			return true
		}
	}
	return false
}
