// SPDX-License-Identifier: Apache-2.0

package v1alpha1

const (
	// AnnotationConfirmOnlineMode on a Network holds "true" or "false": the
	// online mode its owner really wants, although every player gets another
	// UUID by it and worlds already exist.
	AnnotationConfirmOnlineMode = GroupName + "/confirm-online-mode"

	// FinalizerDrain keeps a Server until its players have left and its pod
	// is gone.
	FinalizerDrain = GroupName + "/drain"
)
