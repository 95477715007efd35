// SPDX-License-Identifier: Apache-2.0

// Package catalogue lists, as data, every condition and reason that a status
// of the API can carry. No controller writes one that is not in it.
package catalogue

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
)

// Entry is one row: a condition of a kind can have this status for this
// reason.
type Entry struct {
	// Kind of the object that carries the condition.
	Kind string
	// Type of the condition.
	Type string
	// Status that goes with the reason.
	Status metav1.ConditionStatus
	// Reason, in one word.
	Reason string
	// Means is what it tells the owner, in one sentence.
	Means string
}

// Conditions returns the whole catalogue, by kind and type.
func Conditions() []Entry {
	var rows []Entry
	for _, part := range [][]Entry{
		networkConditions(), proxyGroupConditions(), serverGroupConditions(), serverConditions(),
	} {
		rows = append(rows, part...)
	}
	return rows
}

func entries(kind, conditionType string, rows ...Entry) []Entry {
	for i := range rows {
		rows[i].Kind, rows[i].Type = kind, conditionType
	}
	return rows
}

func isTrue(reason, means string) Entry {
	return Entry{Status: metav1.ConditionTrue, Reason: reason, Means: means}
}

func isFalse(reason, means string) Entry {
	return Entry{Status: metav1.ConditionFalse, Reason: reason, Means: means}
}

func networkConditions() []Entry {
	const kind = "Network"
	rows := entries(kind, v1alpha1.ConditionAccepted,
		isTrue(v1alpha1.ReasonAccepted, "This Network is the one of its namespace."),
		isFalse(v1alpha1.ReasonDuplicateNetwork, "An older Network of the namespace is accepted; the message names it."),
	)
	rows = append(rows, entries(kind, v1alpha1.ConditionNamespacePrepared,
		isTrue(v1alpha1.ReasonNamespacePrepared, "The accounts and the channel's settings are in the namespace."),
		isFalse(v1alpha1.ReasonNamespaceNotPrepared, "They could not be made; the message says what stands in the way."),
	)...)
	rows = append(rows, entries(kind, v1alpha1.ConditionForwardingSecretReady,
		isTrue(v1alpha1.ReasonSecretPresent, "The forwarding secret was made, or existed."),
		isFalse(v1alpha1.ReasonSecretMissing, "The forwarding secret is named by the owner, or could not be made, and pods wait for it."),
	)...)
	rows = append(rows, entries(kind, v1alpha1.ConditionOnlineModeSettled,
		isTrue(v1alpha1.ReasonOnlineModeInForce, "The wanted online mode is in force."),
		isFalse(v1alpha1.ReasonConfirmationRequired, "Worlds exist whose players would get other UUIDs; the message names the claims and the annotation that confirms it."),
	)...)
	return append(rows, entries(kind, v1alpha1.ConditionChannelDegraded,
		isTrue(v1alpha1.ReasonAgentsSilent, "Most agents whose pods are ready are silent; nothing is created, removed or retired meanwhile."),
		isFalse(v1alpha1.ReasonAgentsReporting, "The agents report."),
	)...)
}

func proxyGroupConditions() []Entry {
	const kind = "ProxyGroup"
	rows := entries(kind, v1alpha1.ConditionAccepted,
		isTrue(v1alpha1.ReasonAccepted, "The group is acted upon; the message names groups of its routing that do not exist."),
		isFalse(v1alpha1.ReasonNetworkNotFound, "No Network of that name is in the namespace; what runs is kept."),
		isFalse(v1alpha1.ReasonNetworkNotAccepted, "The Network is not the accepted one of its namespace."),
		isFalse(v1alpha1.ReasonPodRefused, "The API server refuses the pod; the message holds its words."),
		isFalse(v1alpha1.ReasonQuotaExceeded, "A quota of the namespace refuses the pod or the Service."),
		isFalse(v1alpha1.ReasonServiceRefused, "The Service's name or port is taken; the message says which."),
		isFalse(v1alpha1.ReasonBudgetRefused, "The disruption budget could not be made; the message says why. Node drains may throw players out."),
		isFalse(v1alpha1.ReasonNamespaceNotPrepared, "The accounts and the channel's settings are not yet in the namespace."),
		isFalse(v1alpha1.ReasonNamespaceTerminating, "The namespace is being deleted; nothing is created in it."),
		isFalse(v1alpha1.ReasonPermissionDenied, "The operator lacks a permission; the message holds the API server's words."),
	)
	rows = append(rows, entries(kind, v1alpha1.ConditionAvailable,
		isTrue(v1alpha1.ReasonMinimumReplicasReady, "As many proxies let players in as the spec wants."),
		isFalse(v1alpha1.ReasonMinimumReplicasUnready, "Fewer proxies let players in than the spec wants; the message says how many."),
	)...)
	rows = append(rows, progressing(kind)...)
	rows = append(rows, entries(kind, v1alpha1.ConditionProgressing,
		isTrue(v1alpha1.ReasonRollingOut, "Proxies of an old spec, or on nodes that leave, are replaced one at a time; the message says how many, and what comes next."),
		isFalse(v1alpha1.ReasonNoNodeToSurge, "No node has the port free for a replacement; the message names the proxy that makes room, or says what to do."),
	)...)
	rows = append(rows, entries(kind, v1alpha1.ConditionNodeDraining,
		isTrue(v1alpha1.ReasonNodeDraining, "Proxies stand on nodes that are about to leave; the message names both."),
		isFalse(v1alpha1.ReasonNoNodesDraining, "No proxy is on a node that is about to leave."),
	)...)
	rows = append(rows, entries(kind, v1alpha1.ConditionConfigApplied,
		isTrue(v1alpha1.ReasonConfigApplied, "The proxies use all that config names in ConfigMaps, or it names none."),
		isFalse(v1alpha1.ReasonConfigMapInvalid, "Proxies do without a part of it; the message names ConfigMap, key and reason, and what to do."),
	)...)
	return append(rows, entries(kind, v1alpha1.ConditionClientAddressHidden,
		isTrue(v1alpha1.ReasonClusterAddresses, "Servers see the address of a node in place of the player's: a ban by address hits everybody."),
		isFalse(v1alpha1.ReasonPlayerAddresses, "Servers see the players' own addresses."),
	)...)
}

func progressing(kind string) []Entry {
	return entries(kind, v1alpha1.ConditionProgressing,
		isTrue(v1alpha1.ReasonScalingUp, "More members are on their way; the message says how many of how many are ready."),
		isFalse(v1alpha1.ReasonSettled, "The group has the size it wants."),
	)
}

func serverGroupConditions() []Entry {
	const kind = "ServerGroup"
	rows := entries(kind, v1alpha1.ConditionAccepted,
		isTrue(v1alpha1.ReasonAccepted, "The group is acted upon."),
		isFalse(v1alpha1.ReasonNetworkNotFound, "No Network of that name is in the namespace; what runs is kept."),
		isFalse(v1alpha1.ReasonNetworkNotAccepted, "The Network is not the accepted one of its namespace."),
		isFalse(v1alpha1.ReasonInvalidMount, "A mount cannot be made; the message names it."),
		isFalse(v1alpha1.ReasonTemplateUnsupported, "A layer of server.template is an image, and Kubernetes is too old to mount one; the message says which it is and what to use instead."),
		isFalse(v1alpha1.ReasonServerNameTaken, "The name of an ordinal's Server is taken by one of another group; the message names it."),
		isFalse(v1alpha1.ReasonBudgetRefused, "The disruption budget could not be made; the message says why. Node drains may throw players out."),
		isFalse(v1alpha1.ReasonPolicyRefused, "The network policy could not be made; the message says why. More than the proxies may reach the servers."),
		isFalse(v1alpha1.ReasonQuotaExceeded, "A quota of the namespace refuses the Server."),
		isFalse(v1alpha1.ReasonNamespaceTerminating, "The namespace is being deleted; nothing is created in it."),
		isFalse(v1alpha1.ReasonPermissionDenied, "The operator lacks a permission; the message holds the API server's words."),
	)
	rows = append(rows, entries(kind, v1alpha1.ConditionAvailable,
		isTrue(v1alpha1.ReasonMinimumReplicasReady, "As many servers let players in as the floor wants."),
		isFalse(v1alpha1.ReasonMinimumReplicasUnready, "Fewer servers let players in than the floor wants; the message says how many."),
	)...)
	rows = append(rows, entries(kind, v1alpha1.ConditionProgressing,
		isTrue(v1alpha1.ReasonRollingOut, "Servers of an old spec are replaced; the message says how many of how many are of the new one, and what comes next."),
	)...)
	rows = append(rows, progressing(kind)...)
	rows = append(rows, entries(kind, v1alpha1.ConditionScalingLimited,
		isTrue(v1alpha1.ReasonMaxReplicasReached, "The ceiling holds servers back; the message says how many were wanted, and by whom."),
		isTrue(v1alpha1.ReasonPinned, "A boost of mode Exact holds servers back; the message names it and says how many were wanted."),
		isFalse(v1alpha1.ReasonWithinLimits, "The group has what it wants within its limits."),
	)...)
	rows = append(rows, entries(kind, v1alpha1.ConditionBackingOff,
		isTrue(v1alpha1.ReasonCrashLoopBackoff, "A server failed to start; the message says when the next attempt is."),
		isFalse(v1alpha1.ReasonNoRecentFailures, "No failed start delays anything."),
		isFalse(v1alpha1.ReasonGaveUp, "Six starts failed; nothing more is tried until the spec or the annotation spawnery.cloud/retry changes."),
	)...)
	rows = append(rows, entries(kind, v1alpha1.ConditionDegraded,
		isTrue(v1alpha1.ReasonCrashLoopBackoff, "Six starts failed in a row."),
		isFalse(v1alpha1.ReasonNoRecentFailures, "The group has not given up."),
	)...)
	rows = append(rows, entries(kind, v1alpha1.ConditionNodeDraining,
		isTrue(v1alpha1.ReasonNodeDraining, "Servers stand on nodes that are about to leave; the message names both, and what the next one waits for."),
		isFalse(v1alpha1.ReasonNoNodesDraining, "No server stands on such a node."),
	)...)
	return append(rows, entries(kind, v1alpha1.ConditionStorageResize,
		isTrue(v1alpha1.ReasonStorageResized, "Every claim asks for the wanted size, or more."),
		isFalse(v1alpha1.ReasonStorageResizeRefused, "A claim could not grow; the message names it, holds the words of the API server or of the storage, and says what to do."),
	)...)
}

func serverConditions() []Entry {
	const kind = "Server"
	rows := entries(kind, v1alpha1.ConditionAccepted,
		isTrue(v1alpha1.ReasonAccepted, "The server is acted upon."),
		isFalse(v1alpha1.ReasonGroupNotFound, "The group is gone."),
		isFalse(v1alpha1.ReasonNetworkNotFound, "No Network of that name is in the namespace."),
		isFalse(v1alpha1.ReasonPodNameTerminating, "A pod of this name is still terminating; the message names it."),
		isFalse(v1alpha1.ReasonPodNameConflict, "A pod of this name belongs to somebody else; the message names it."),
		isFalse(v1alpha1.ReasonClaimNotOurs, "A claim of this name belongs to somebody else; the message names the label that hands it over."),
		isFalse(v1alpha1.ReasonClaimTerminating, "Somebody deletes the claim, and its world goes with it; no new pod mounts it. The message says what holds it and what comes after."),
		isFalse(v1alpha1.ReasonDuplicateOrdinal, "Another Server carries the same ordinal."),
		isFalse(v1alpha1.ReasonNamespaceNotPrepared, "The accounts and the channel's settings are not yet in the namespace."),
		isFalse(v1alpha1.ReasonPodRefused, "The API server refuses the pod; the message holds its words."),
		isFalse(v1alpha1.ReasonQuotaExceeded, "A quota of the namespace refuses the pod or the claim."),
		isFalse(v1alpha1.ReasonNamespaceTerminating, "The namespace is being deleted; nothing is created in it."),
		isFalse(v1alpha1.ReasonPermissionDenied, "The operator lacks a permission; the message holds the API server's words."),
	)
	rows = append(rows, serverReadiness(kind)...)
	rows = append(rows, entries(kind, v1alpha1.ConditionForwardingActive,
		isTrue(v1alpha1.ReasonForwarding, "The server takes identities from the proxies."),
		isFalse(v1alpha1.ReasonNotForwarding, "The server did not ask for forwarding; nobody is sent there. The message names file and key."),
		isFalse(v1alpha1.ReasonOnlineModeBackend, "The server asks players to prove their account; nobody is sent there."),
	)...)
	rows = append(rows, entries(kind, v1alpha1.ConditionCountsAgree,
		isTrue(v1alpha1.ReasonCountsMatch, "The game and the proxies count the same players."),
		isFalse(v1alpha1.ReasonRosterDisagrees, "For half a minute the game and the proxies have counted different players; the higher number counts. The message holds both and says where to look."),
	)...)
	return append(rows, entries(kind, v1alpha1.ConditionDrainProgressing,
		isTrue(v1alpha1.ReasonPlayersMoving, "Players are being moved."),
		isFalse(v1alpha1.ReasonNoFallbackSeat, "No server of the fallback groups has a seat; moving waits."),
	)...)
}

func serverReadiness(kind string) []Entry {
	return entries(kind, v1alpha1.ConditionReady,
		isTrue(v1alpha1.ReasonGameReady, "The server lets players in."),
		isFalse(v1alpha1.ReasonGameNotReady, "The game does not let players in yet, or no more."),
		isFalse(v1alpha1.ReasonPrepareFailed, "The files could not be prepared; the message names the layer of server.template, or file and key."),
		isFalse(v1alpha1.ReasonStartupTimeout, "The startup deadline passed."),
		isFalse(v1alpha1.ReasonRecoveryTimeout, "The startup deadline passed after a loss of readiness."),
		isFalse(v1alpha1.ReasonFlapping, "Readiness was lost three times."),
		isFalse(v1alpha1.ReasonUnresponsive, "The game runs and answers nothing."),
		isFalse(v1alpha1.ReasonGameExited, "The game exited; the message holds the code."),
		isFalse(v1alpha1.ReasonRoundEnded, "The round ended and the game with it; this is no failure."),
		isFalse(v1alpha1.ReasonOutOfMemory, "The game was killed for want of memory."),
		isFalse(v1alpha1.ReasonRetiring, "The server takes nobody new."),
		isFalse(v1alpha1.ReasonDraining, "The players are being moved."),
		isFalse(v1alpha1.ReasonSurplusOrdinal, "The ordinal is no longer wanted."),
	)
}
