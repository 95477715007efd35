// SPDX-License-Identifier: Apache-2.0

package proxygroup

import (
	"context"

	policyv1 "k8s.io/api/policy/v1"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/budget"
	"github.com/spawnery/spawnery-operator/internal/children"
	"github.com/spawnery/spawnery-operator/internal/outcome"
	"github.com/spawnery/spawnery-operator/internal/podspec"
)

// protect keeps node drains and autoscalers away from the proxies that may have
// players. A withdrawn one is on its way out, and never holds up a node. It goes
// on without the group's Network: what runs is kept, and so are its players.
func (r *Reconciler) protect(ctx context.Context, group *v1alpha1.ProxyGroup, seen observation, decided plan) outcome.Outcome {
	due, err := r.budgets.Keep(ctx, budget.API{Client: r.Client, Live: r.Live, Owner: fieldOwner}, budget.Group{
		UID:    group.UID,
		Pods:   seen.protected(decided),
		Budget: func(occupied int32) *policyv1.PodDisruptionBudget { return podspec.BuildProxyBudget(group, occupied) },
	}, seen.now)
	if err == nil && due > 0 {
		return outcome.Wait(due, "", "")
	}
	return children.Ended(err, v1alpha1.ReasonBudgetRefused, refusedRecheck)
}

// protected says of every pod whether anybody may be on it. One that was
// withdrawn in this very pass counts as it is from now on.
func (o observation) protected(decided plan) []budget.Pod {
	pods := make([]budget.Pod, 0, len(o.pods))
	for _, pod := range o.pods {
		one := o.proxyOf(pod)
		occupancy := podspec.Vacant
		if one.standing == serving && one.players != 0 && !decided.withdraws(pod.Name) {
			occupancy = podspec.Occupied
		}
		pods = append(pods, budget.Pod{Pod: pod.Pod, Occupancy: occupancy})
	}
	return pods
}
