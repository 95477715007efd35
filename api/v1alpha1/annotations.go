// SPDX-License-Identifier: Apache-2.0

package v1alpha1

const (
	// AnnotationConfirmOnlineMode on a Network holds "true" or "false": the
	// online mode its owner really wants, although every player gets another
	// UUID by it and worlds already exist.
	AnnotationConfirmOnlineMode = GroupName + "/confirm-online-mode"

	// AnnotationRetry on a ServerGroup starts over after failed starts: each new
	// value that is not empty resets the streak once. Any text will do, such as
	// a time or a person's name.
	AnnotationRetry = GroupName + "/retry"

	// AnnotationRestartedAt on a ServerGroup or ProxyGroup is part of the digest of
	// its spec: another value replaces every server or proxy by the ordinary rules.
	AnnotationRestartedAt = GroupName + "/restartedAt"

	// FinalizerDrain keeps a Server until its players have left and its pod
	// is gone.
	FinalizerDrain = GroupName + "/drain"
)
