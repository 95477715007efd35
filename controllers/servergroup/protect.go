// SPDX-License-Identifier: Apache-2.0

package servergroup

import (
	"context"
	"time"

	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/budget"
	"github.com/spawnery/spawnery-operator/internal/children"
	"github.com/spawnery/spawnery-operator/internal/fleet"
	"github.com/spawnery/spawnery-operator/internal/outcome"
	"github.com/spawnery/spawnery-operator/internal/podspec"
)

// protect keeps node drains and autoscalers away from the servers that may have
// players, unknown being occupied. It goes on without the group's Network: what
// runs is kept, and so are its players.
func (r *Reconciler) protect(ctx context.Context, group *v1alpha1.ServerGroup, seen observation) outcome.Outcome {
	due, err := r.budgets.Keep(ctx, budget.API{Client: r.Client, Live: r.Live, Owner: fieldOwner}, budget.Group{
		UID:    group.UID,
		Pods:   seen.protected(),
		Budget: func(occupied int32) *policyv1.PodDisruptionBudget { return podspec.BuildServerBudget(group, occupied) },
	}, seen.now)
	if err != nil {
		return children.Ended(err, v1alpha1.ReasonBudgetRefused, refusedRecheck)
	}
	if wait := outcome.Soonest(due, outcome.Until(seen.clears(), seen.now)); wait > 0 {
		return outcome.Wait(wait, "", "")
	}
	return outcome.Continue()
}

// protected says of every pod whether anybody may be on it. Of a pod that is no
// Server's nothing is known, and its marks stay what they are.
func (o observation) protected() []budget.Pod {
	occupancies := map[types.UID]podspec.Occupancy{}
	for i := range o.objects {
		occupancies[types.UID(o.objects[i].Status.PodUID)] = occupancyOf(&o.servers[i], o.now)
	}
	pods := make([]budget.Pod, 0, len(o.pods))
	for uid, pod := range o.pods {
		occupancy, known := occupancies[uid]
		if !known {
			occupancy = podspec.OccupancyOf(pod)
		}
		pods = append(pods, budget.Pod{Pod: pod, Occupancy: occupancy})
	}
	return pods
}

func occupancyOf(server *fleet.Server, now time.Time) podspec.Occupancy {
	if server.Occupied(now) {
		return podspec.Occupied
	}
	return podspec.Vacant
}

// clears is when a server is known to be empty by the mere passing of time.
func (o observation) clears() time.Time {
	var first time.Time
	for i := range o.servers {
		first = fleet.Earliest(first, o.servers[i].ClearsAt(o.now))
	}
	return first
}
