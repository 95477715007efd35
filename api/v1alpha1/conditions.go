// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Types of conditions. The package catalogue lists the reasons each can carry.
const (
	// ConditionAccepted says whether the object is acted upon at all.
	ConditionAccepted = "Accepted"
	// ConditionAvailable says whether the floor of a group is met.
	ConditionAvailable = "Available"
	// ConditionProgressing says whether a group is on its way to a new size.
	ConditionProgressing = "Progressing"
	// ConditionScalingLimited says whether a ceiling holds servers back.
	ConditionScalingLimited = "ScalingLimited"
	// ConditionBackingOff says whether a failed start delays the next.
	ConditionBackingOff = "BackingOff"
	// ConditionDegraded says whether a group gave up and needs a person.
	ConditionDegraded = "Degraded"
	// ConditionNodeDraining says whether members of a group stand on nodes that
	// are about to leave.
	ConditionNodeDraining = "NodeDraining"
	// ConditionStorageResize says whether the claims have the wanted size.
	ConditionStorageResize = "StorageResize"
	// ConditionNamespacePrepared says whether what pods need of their namespace
	// stands: accounts, and where to find the manager.
	ConditionNamespacePrepared = "NamespacePrepared"
	// ConditionForwardingSecretReady says whether the forwarding secret exists.
	ConditionForwardingSecretReady = "ForwardingSecretReady"
	// ConditionOnlineModeSettled says whether the wanted online mode is in force.
	ConditionOnlineModeSettled = "OnlineModeSettled"
	// ConditionChannelDegraded says whether most agents are silent.
	ConditionChannelDegraded = "ChannelDegraded"
	// ConditionClientAddressHidden says whether servers see a node's address
	// in place of a player's.
	ConditionClientAddressHidden = "ClientAddressHidden"
	// ConditionConfigApplied says whether the proxies of a group use all that its
	// config names in ConfigMaps.
	ConditionConfigApplied = "ConfigApplied"
	// ConditionReady says whether a server lets players in, and if not why.
	ConditionReady = "Ready"
	// ConditionForwardingActive says whether a server takes identities from
	// the proxies.
	ConditionForwardingActive = "ForwardingActive"
	// ConditionCountsAgree says whether the game and the proxies count the same
	// players on a server.
	ConditionCountsAgree = "CountsAgree"
	// ConditionDrainProgressing says whether a draining server gets emptier.
	ConditionDrainProgressing = "DrainProgressing"
)

// Reasons of Accepted.
const (
	ReasonAccepted             = "Accepted"
	ReasonDuplicateNetwork     = "DuplicateNetwork"
	ReasonNetworkNotFound      = "NetworkNotFound"
	ReasonNetworkNotAccepted   = "NetworkNotAccepted"
	ReasonGroupNotFound        = "GroupNotFound"
	ReasonInvalidMount         = "InvalidMount"
	ReasonTemplateUnsupported  = "TemplateUnsupported"
	ReasonPodRefused           = "PodRefused"
	ReasonQuotaExceeded        = "QuotaExceeded"
	ReasonPermissionDenied     = "PermissionDenied"
	ReasonNamespaceNotPrepared = "NamespaceNotPrepared"
	ReasonNamespaceTerminating = "NamespaceTerminating"
	ReasonPodNameTerminating   = "PodNameTerminating"
	ReasonPodNameConflict      = "PodNameConflict"
	ReasonClaimNotOurs         = "ClaimNotOurs"
	ReasonClaimTerminating     = "ClaimTerminating"
	ReasonDuplicateOrdinal     = "DuplicateOrdinal"
)

// Reasons of a group's other conditions.
const (
	ReasonMinimumReplicasReady   = "MinimumReplicasReady"
	ReasonMinimumReplicasUnready = "MinimumReplicasUnready"
	ReasonRollingOut             = "RollingOut"
	ReasonScalingUp              = "ScalingUp"
	ReasonSettled                = "Settled"
	ReasonNoNodeToSurge          = "NoNodeToSurge"
	ReasonMaxReplicasReached     = "MaxReplicasReached"
	ReasonPinned                 = "Pinned"
	ReasonWithinLimits           = "WithinLimits"
	ReasonCrashLoopBackoff       = "CrashLoopBackoff"
	ReasonNoRecentFailures       = "NoRecentFailures"
	ReasonGaveUp                 = "GaveUp"
	ReasonNodeDraining           = "NodeDraining"
	ReasonNoNodesDraining        = "NoNodesDraining"
	ReasonStorageResized         = "StorageResized"
	ReasonStorageResizeRefused   = "StorageResizeRefused"
	ReasonServerNameTaken        = "ServerNameTaken"
	ReasonServiceRefused         = "ServiceRefused"
	ReasonBudgetRefused          = "BudgetRefused"
	ReasonPolicyRefused          = "PolicyRefused"
	ReasonClusterAddresses       = "ClusterAddresses"
	ReasonPlayerAddresses        = "PlayerAddresses"
	ReasonConfigApplied          = "ConfigApplied"
	ReasonConfigMapInvalid       = "ConfigMapInvalid"
)

// Reasons of a Network's other conditions.
const (
	ReasonNamespacePrepared    = "NamespacePrepared"
	ReasonSecretPresent        = "SecretPresent"
	ReasonSecretMissing        = "SecretMissing"
	ReasonOnlineModeInForce    = "OnlineModeInForce"
	ReasonConfirmationRequired = "ConfirmationRequired"
	ReasonAgentsSilent         = "AgentsSilent"
	ReasonAgentsReporting      = "AgentsReporting"
)

// Reasons of a Server's other conditions.
const (
	ReasonGameReady         = "GameReady"
	ReasonGameNotReady      = "GameNotReady"
	ReasonPrepareFailed     = "PrepareFailed"
	ReasonStartupTimeout    = "StartupTimeout"
	ReasonRecoveryTimeout   = "RecoveryTimeout"
	ReasonFlapping          = "Flapping"
	ReasonUnresponsive      = "Unresponsive"
	ReasonGameExited        = "GameExited"
	ReasonRoundEnded        = "RoundEnded"
	ReasonOutOfMemory       = "OutOfMemory"
	ReasonRetiring          = "Retiring"
	ReasonDraining          = "Draining"
	ReasonSurplusOrdinal    = "SurplusOrdinal"
	ReasonForwarding        = "Forwarding"
	ReasonNotForwarding     = "NotForwarding"
	ReasonOnlineModeBackend = "OnlineModeBackend"
	ReasonPlayersMoving     = "PlayersMoving"
	ReasonNoFallbackSeat    = "NoFallbackSeat"
	ReasonCountsMatch       = "CountsMatch"
	ReasonRosterDisagrees   = "RosterDisagrees"
)
