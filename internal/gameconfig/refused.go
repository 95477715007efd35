// SPDX-License-Identifier: Apache-2.0

package gameconfig

// Refusal names a setting that an owner cannot make because the operator
// makes it, and what to do instead.
type Refusal struct {
	// Name of the setting. A trailing * stands for any ending.
	Name string
	// Instead is the field to use, or why there is none.
	Instead string
}

// RefusedProperties are the keys that spec.server.properties must not name.
func RefusedProperties() []Refusal {
	return []Refusal{
		{"server-port", "use spec.server.port"},
		{"server-ip", "the game listens on the pod's address"},
		{"online-mode", "use onlineMode of the Network; proxies authenticate players"},
		{"max-players", "use spec.maxPlayers"},
		{"enable-status", "players are counted by it"},
		{"prevent-proxy-connections", "players come through proxies"},
		{"accepts-transfers", "players come through proxies"},
		{"network-compression-threshold", "proxies and servers share one"},
		{"management-server-*", "the agent counts, saves and stops with it"},
	}
}

// refusedPaperGlobal are the keys of Paper's file that no overlay may set.
func refusedPaperGlobal() []Refusal {
	return []Refusal{
		{"proxies.velocity.enabled", "use spec.server.forwarding"},
		{"proxies.velocity.online-mode", "use onlineMode of the Network"},
		{"proxies.velocity.secret", "use forwardingSecretRef of the Network"},
		{"proxies.proxy-protocol", "the proxies do not speak it to servers"},
	}
}

// refusedFabricProxy is the same for the file of Fabric's mod, where it takes
// forwarding.
func refusedFabricProxy() []Refusal {
	return []Refusal{{fabricSecret, "use forwardingSecretRef of the Network"}}
}

// RefusedVariables are the names that spec.env must not contain: images which
// render their own files would let them win over what prepare wrote.
func RefusedVariables() []Refusal {
	return []Refusal{
		{"SPAWNERY_*", "these names are the operator's"},
		{"EULA", "use spec.server.acceptEula"},
		{"SERVER_PORT", "use spec.server.port"},
		{"SERVER_IP", "the game listens on the pod's address"},
		{"ONLINE_MODE", "use onlineMode of the Network; proxies authenticate players"},
		{"MAX_PLAYERS", "use spec.maxPlayers"},
		{"ENABLE_STATUS", "players are counted by it"},
		{"PREVENT_PROXY_CONNECTIONS", "players come through proxies"},
		{"ACCEPTS_TRANSFERS", "players come through proxies"},
		{"NETWORK_COMPRESSION_THRESHOLD", "proxies and servers share one"},
		{"MANAGEMENT_SERVER_*", "the agent counts, saves and stops with it"},
		{"STOP_DURATION", "use spec.terminationGracePeriodSeconds"},
		{"ENABLE_AUTOPAUSE", "a paused process answers nobody; use scaling.minReplicas"},
		{"ENABLE_AUTOSTOP", "servers are stopped by the operator; use scaling"},
		{"PAPER_VELOCITY_SECRET", "use forwardingSecretRef of the Network"},
	}
}
