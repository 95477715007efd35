// SPDX-License-Identifier: Apache-2.0

package catalogue

import "github.com/spawnery/spawnery-operator/api/v1alpha1"

// Deed is one row: an event tells that a group did this with a member.
type Deed struct {
	// Kind of the object whose event it is.
	Kind string
	// Reason, in one word.
	Reason string
	// Action of the event.
	Action string
	// Means is what it tells the owner, in one sentence.
	Means string
}

// Deeds returns every event that is not the flank of a condition.
func Deeds() []Deed {
	const servers, proxies = "ServerGroup", "ProxyGroup"
	return []Deed{
		{servers, v1alpha1.EventServerCreated, v1alpha1.EventActionCreate, "A Server was ordered; the note is the decision behind it."},
		{servers, v1alpha1.EventServerRetired, v1alpha1.EventActionRetire, "A Server takes nobody new from now on; its players stay."},
		{servers, v1alpha1.EventServerTakenBack, v1alpha1.EventActionTakeBack, "What a Server was retired for no longer holds, and it may serve again."},
		{servers, v1alpha1.EventServerDeleted, v1alpha1.EventActionDelete, "A Server was asked to go; whoever is on it is moved first."},
		{servers, v1alpha1.EventBoostAdded, v1alpha1.EventActionBoost, "A plugin of a server asked for more servers, and a ScaleBoost was made."},
		{servers, v1alpha1.EventBoostEnded, v1alpha1.EventActionBoost, "A plugin ended a ScaleBoost that its server had made."},
		{servers, v1alpha1.EventPlayerSent, v1alpha1.EventActionSend, "A plugin sent a player of its server to another server or group."},
		{servers, v1alpha1.EventAskRefused, v1alpha1.EventActionRefuse, "A plugin of a server asked for what passes a bound; the note says which."},
		{proxies, v1alpha1.EventProxyCreated, v1alpha1.EventActionCreate, "A proxy was made."},
		{proxies, v1alpha1.EventProxyWithdrawn, v1alpha1.EventActionRetire, "A proxy takes nobody new from now on; its players stay."},
		{proxies, v1alpha1.EventProxyTakenBack, v1alpha1.EventActionTakeBack, "A withdrawn proxy serves again."},
		{proxies, v1alpha1.EventProxyDeleted, v1alpha1.EventActionDelete, "A proxy was asked to go: nobody is on it, or its drain took too long."},
	}
}
