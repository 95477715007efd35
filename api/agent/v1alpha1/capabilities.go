// SPDX-License-Identifier: Apache-2.0

// Package agentv1alpha1 is the channel between the manager and what runs beside
// the players, as channel.proto describes it.
package agentv1alpha1

// Capabilities that a Hello or a Welcome may announce. Nobody relies on one
// that was not announced; a new field that may be absent needs none.
const (
	// CapabilityWatchers of an agent: it takes the order Watchers.
	CapabilityWatchers = "watchers"
	// CapabilityNetwork of a manager: it sends the network to the servers that
	// want to know it.
	CapabilityNetwork = "network"
	// CapabilityBoosts of a manager: it takes asks about boosts.
	CapabilityBoosts = "boosts"
	// CapabilityRetire of a manager: it takes the ask Retire.
	CapabilityRetire = "retire"
	// CapabilityConnect of a manager: it takes the ask Connect. Of a proxy: it
	// takes the ConnectOrder.
	CapabilityConnect = "connect"
	// CapabilityNewcomers of a manager: it takes a Newcomer. Of a proxy: it takes
	// the order MakeWay.
	CapabilityNewcomers = "newcomers"
	// CapabilityConfig of a proxy: it reads what its group's config names in
	// ConfigMaps, and reports what is wrong with it.
	CapabilityConfig = "config"
	// CapabilityErrands of a manager: it passes errands on. Of a proxy: it carries
	// them out.
	CapabilityErrands = "errands"
	// CapabilityCloud of a manager: it takes a CloudAsk.
	CapabilityCloud = "cloud"
)
