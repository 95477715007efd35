// SPDX-License-Identifier: Apache-2.0

package servergroup

import (
	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/conditions"
)

// What a group does with its Servers.
var (
	created   = conditions.Deed{Reason: v1alpha1.EventServerCreated, Action: v1alpha1.EventActionCreate}
	retired   = conditions.Deed{Reason: v1alpha1.EventServerRetired, Action: v1alpha1.EventActionRetire}
	takenBack = conditions.Deed{Reason: v1alpha1.EventServerTakenBack, Action: v1alpha1.EventActionTakeBack}
	deleted   = conditions.Deed{Reason: v1alpha1.EventServerDeleted, Action: v1alpha1.EventActionDelete}
)
