// SPDX-License-Identifier: Apache-2.0

package asks

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/allowance"
	"github.com/spawnery/spawnery-operator/internal/conditions"
	"github.com/spawnery/spawnery-operator/internal/podspec"
)

// What plugins have done to their group, and staff to any.
var (
	boosted = conditions.Deed{Reason: v1alpha1.EventBoostAdded, Action: v1alpha1.EventActionBoost}
	ended   = conditions.Deed{Reason: v1alpha1.EventBoostEnded, Action: v1alpha1.EventActionBoost}
	retired = conditions.Deed{Reason: v1alpha1.EventServerRetired, Action: v1alpha1.EventActionRetire}
	// takenBack tells of a server that may serve again.
	takenBack = conditions.Deed{Reason: v1alpha1.EventServerTakenBack, Action: v1alpha1.EventActionTakeBack}
	sent      = conditions.Deed{Reason: v1alpha1.EventPlayerSent, Action: v1alpha1.EventActionSend}
	refused   = conditions.Deed{Reason: v1alpha1.EventAskRefused, Action: v1alpha1.EventActionRefuse}
)

// sending is one player's way from a server: everybody who is sent is told by
// name, and whoever is sent the same way again is counted.
func sending(from *v1alpha1.Server, player, to string) *corev1.ObjectReference {
	return partOf(from, fmt.Sprintf("players{%s}.to{%s}", player, to))
}

// refusing is one thing that a server wanted and why it was refused.
func refusing(by *v1alpha1.Server, what string, cause allowance.Cause) *corev1.ObjectReference {
	return partOf(by, fmt.Sprintf("asks{%s}.refused{%s}", what, cause))
}

func partOf(server *v1alpha1.Server, part string) *corev1.ObjectReference {
	return &corev1.ObjectReference{
		APIVersion: v1alpha1.GroupVersion.String(), Kind: string(podspec.KindServer),
		Namespace: server.Namespace, Name: server.Name, UID: server.UID, FieldPath: part,
	}
}
