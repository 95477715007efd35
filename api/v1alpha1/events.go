// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Reasons of events that tell what a group did with one of its members, which
// the event names as its related object. Conditions are told as events under
// their own reasons.
const (
	// EventServerCreated tells of a Server that was ordered, and what for.
	EventServerCreated = "ServerCreated"
	// EventServerRetired tells of a Server that takes nobody new, and why.
	EventServerRetired = "ServerRetired"
	// EventServerTakenBack tells of a retired Server that may serve again.
	EventServerTakenBack = "ServerTakenBack"
	// EventServerDeleted tells of a Server that was asked to go, and why.
	EventServerDeleted = "ServerDeleted"
	// EventBoostAdded tells of a boost that a plugin of a server asked for.
	EventBoostAdded = "BoostAdded"
	// EventBoostEnded tells of a boost that a plugin of its server ended.
	EventBoostEnded = "BoostEnded"
	// EventPlayerSent tells of a player whom a plugin of their server sent
	// elsewhere.
	EventPlayerSent = "PlayerSent"
	// EventAskRefused tells of a wish of a plugin that passed a bound.
	EventAskRefused = "AskRefused"
	// EventProxyCreated tells of a proxy that was made, and what for.
	EventProxyCreated = "ProxyCreated"
	// EventProxyWithdrawn tells of a proxy that takes nobody new, and why.
	EventProxyWithdrawn = "ProxyWithdrawn"
	// EventProxyTakenBack tells of a withdrawn proxy that serves again.
	EventProxyTakenBack = "ProxyTakenBack"
	// EventProxyDeleted tells of a proxy that was asked to go.
	EventProxyDeleted = "ProxyDeleted"
)

// Actions of those events.
const (
	EventActionCreate   = "Create"
	EventActionRetire   = "Retire"
	EventActionTakeBack = "TakeBack"
	EventActionDelete   = "Delete"
	EventActionBoost    = "Boost"
	EventActionRefuse   = "Refuse"
	EventActionSend     = "Send"
)
