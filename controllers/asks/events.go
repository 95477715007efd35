// SPDX-License-Identifier: Apache-2.0

package asks

import (
	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/conditions"
)

// What plugins have done to their group.
var (
	boosted = conditions.Deed{Reason: v1alpha1.EventBoostAdded, Action: v1alpha1.EventActionBoost}
	ended   = conditions.Deed{Reason: v1alpha1.EventBoostEnded, Action: v1alpha1.EventActionBoost}
	retired = conditions.Deed{Reason: v1alpha1.EventServerRetired, Action: v1alpha1.EventActionRetire}
	sent    = conditions.Deed{Reason: v1alpha1.EventPlayerSent, Action: v1alpha1.EventActionSend}
	refused = conditions.Deed{Reason: v1alpha1.EventAskRefused, Action: v1alpha1.EventActionRefuse}
)
