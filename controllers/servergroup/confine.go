// SPDX-License-Identifier: Apache-2.0

package servergroup

import (
	"context"
	"encoding/json"
	"fmt"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/children"
	"github.com/spawnery/spawnery-operator/internal/outcome"
	"github.com/spawnery/spawnery-operator/internal/podspec"
)

// confine sees to the policy that says who may reach the group's servers, before
// any of them is made. One that cannot be had holds up nobody: that it is
// missing is told. Without the group's Network what stands is kept.
func (r *Reconciler) confine(ctx context.Context, group *v1alpha1.ServerGroup, seen observation) outcome.Outcome {
	if seen.network == nil {
		return outcome.Continue()
	}
	return children.Ended(r.keepPolicy(ctx, group, podspec.BuildServerPolicy(seen.network, group, r.Manager)), v1alpha1.ReasonPolicyRefused, refusedRecheck)
}

// keepPolicy makes, changes or removes the policy; nil is for none.
func (r *Reconciler) keepPolicy(ctx context.Context, group *v1alpha1.ServerGroup, wanted *networkingv1.NetworkPolicy) error {
	there, err := r.readPolicy(ctx, group)
	ours := there != nil && children.OwnedBy(there, group.UID)
	switch {
	case err != nil:
		return err
	case wanted == nil && ours && there.DeletionTimestamp == nil:
		return children.Delete(ctx, r.Client, there)
	case wanted == nil:
		return nil
	case there == nil:
		return r.createPolicy(ctx, wanted)
	case !ours:
		return policyTaken(there.Name)
	case equality.Semantic.DeepEqual(wanted.Spec, there.Spec):
		return nil
	}
	return r.changePolicy(ctx, there, wanted)
}

// readPolicy returns nil while the cache shows none.
func (r *Reconciler) readPolicy(ctx context.Context, group *v1alpha1.ServerGroup) (*networkingv1.NetworkPolicy, error) {
	var policy networkingv1.NetworkPolicy
	name := podspec.PolicyName(group.Name)
	err := r.Client.Get(ctx, client.ObjectKey{Namespace: group.Namespace, Name: name}, &policy)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read network policy %s: %w", name, err)
	}
	return &policy, nil
}

func (r *Reconciler) createPolicy(ctx context.Context, wanted *networkingv1.NetworkPolicy) error {
	verdict, err := children.Create(ctx, r.Client, r.Live, wanted)
	if err == nil && verdict == children.NotOurs {
		return policyTaken(wanted.Name)
	}
	return err
}

func policyTaken(name string) error {
	return fmt.Errorf("networkpolicy %s exists and does not belong to this group; delete it: %w", name, children.ErrTaken)
}

// changePolicy writes every part of the spec, also those that are to go: by
// server-side apply a part that the create wrote would stay.
func (r *Reconciler) changePolicy(ctx context.Context, there, wanted *networkingv1.NetworkPolicy) error {
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": there.UID, "resourceVersion": there.ResourceVersion},
		"spec": map[string]any{
			"podSelector": wanted.Spec.PodSelector, "policyTypes": wanted.Spec.PolicyTypes,
			"ingress": wanted.Spec.Ingress, "egress": wanted.Spec.Egress,
		},
	})
	if err != nil {
		return fmt.Errorf("render network policy %s: %w", there.Name, err)
	}
	if err := r.Client.Patch(ctx, there.DeepCopy(), client.RawPatch(types.MergePatchType, patch), fieldOwner); err != nil {
		return fmt.Errorf("change network policy %s: %w", there.Name, err)
	}
	return nil
}
