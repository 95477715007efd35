// SPDX-License-Identifier: Apache-2.0

package proxygroup

import (
	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/conditions"
)

// What a group does with its proxies.
var (
	created    = conditions.Deed{Reason: v1alpha1.EventProxyCreated, Action: v1alpha1.EventActionCreate}
	withdrawal = conditions.Deed{Reason: v1alpha1.EventProxyWithdrawn, Action: v1alpha1.EventActionRetire}
	takenBack  = conditions.Deed{Reason: v1alpha1.EventProxyTakenBack, Action: v1alpha1.EventActionTakeBack}
	deleted    = conditions.Deed{Reason: v1alpha1.EventProxyDeleted, Action: v1alpha1.EventActionDelete}
)
