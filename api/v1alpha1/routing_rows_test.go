// SPDX-License-Identifier: Apache-2.0

package v1alpha1_test

func routingRows() map[string]admissionRow {
	return map[string]admissionRow{
		"a forced host is a name": {
			base:   "proxygroup",
			accept: `spec: {routing: {forcedHosts: [{host: play.example.org, groups: [duels]}, {host: "*.münchen.example", groups: [duels, hub]}, {host: 203.0.113.7, groups: [hub]}]}}`,
			reject: `spec: {routing: {forcedHosts: [{host: "play.example.org:25565", groups: [duels]}]}}`,
			want:   `spec.routing.forcedHosts[0].host: Invalid value: "play.example.org:25565": host must be a DNS name in lower case without a port, such as play.example.org, or *. and one`,
		},
		"a forced host is in lower case": {
			base:   "proxygroup",
			accept: `spec: {routing: {forcedHosts: [{host: play.example.org, groups: [duels]}]}}`,
			reject: `spec: {routing: {forcedHosts: [{host: Play.example.org, groups: [duels]}]}}`,
			want:   `spec.routing.forcedHosts[0].host: Invalid value: "Play.example.org": host must be a DNS name in lower case without a port, such as play.example.org, or *. and one`,
		},
		"a wildcard stands for whole labels": {
			base:   "proxygroup",
			accept: `spec: {routing: {forcedHosts: [{host: "*.example.org", groups: [duels]}]}}`,
			reject: `spec: {routing: {forcedHosts: [{host: "*lay.example.org", groups: [duels]}]}}`,
			want:   `spec.routing.forcedHosts[0].host: Invalid value: "*lay.example.org": host must be a DNS name in lower case without a port, such as play.example.org, or *. and one`,
		},
		"a host is forced once": {
			base:   "proxygroup",
			accept: `spec: {routing: {forcedHosts: [{host: a.example.org, groups: [duels]}, {host: b.example.org, groups: [duels]}]}}`,
			reject: `spec: {routing: {forcedHosts: [{host: a.example.org, groups: [duels]}, {host: a.example.org, groups: [hub]}]}}`,
			want:   `spec.routing.forcedHosts[1]: Duplicate value: {"host":"a.example.org"}`,
		},
		"a forced host leads somewhere": {
			base:   "proxygroup",
			accept: `spec: {routing: {forcedHosts: [{host: a.example.org, groups: [duels]}]}}`,
			reject: `spec: {routing: {forcedHosts: [{host: a.example.org, groups: []}]}}`,
			want:   "spec.routing.forcedHosts[0].groups: Invalid value: 0: spec.routing.forcedHosts[0].groups in body should have at least 1 items",
		},
	}
}

func proxyBoundsRows() map[string]admissionRow {
	return map[string]admissionRow{
		"a proxy holds somebody": {
			base:   "proxygroup",
			accept: `spec: {config: {maxHeld: 1, enforcePlayerLimit: true}}`,
			reject: `spec: {config: {maxHeld: 0}}`,
			want:   "spec.config.maxHeld: Invalid value: 0: spec.config.maxHeld in body should be greater than or equal to 1",
		},
		"a proxy takes commands that it knows, or none": {
			base:   "proxygroup",
			accept: `spec: {config: {commands: []}}`,
			reject: `spec: {config: {commands: [cloud]}}`,
			want:   `spec.config.commands[0]: Unsupported value: "cloud": supported values: "server", "send", "glist", "hub", "lobby"`,
		},
		"a command is taken once": {
			base:   "proxygroup",
			accept: `spec: {config: {commands: [server, send, glist, hub, lobby]}}`,
			reject: `spec: {config: {commands: [hub, hub]}}`,
			want:   `spec.config.commands[1]: Duplicate value: "hub"`,
		},
	}
}

func rateLimitRows() map[string]admissionRow {
	return map[string]admissionRow{
		"an address may log in": {
			base:   "proxygroup",
			accept: `spec: {config: {rateLimits: {loginsPerSecond: 1, loginBurst: 1}}}`,
			reject: `spec: {config: {rateLimits: {loginsPerSecond: 0, loginBurst: 0}}}`,
			want: "spec.config.rateLimits.loginBurst: Invalid value: 0: spec.config.rateLimits.loginBurst in body should be greater than or equal to 1\n" +
				"spec.config.rateLimits.loginsPerSecond: Invalid value: 0: spec.config.rateLimits.loginsPerSecond in body should be greater than or equal to 1",
		},
		"an address may ask for the server list": {
			base:   "proxygroup",
			accept: `spec: {config: {rateLimits: {statusPerSecond: 1, statusBurst: 1}}}`,
			reject: `spec: {config: {rateLimits: {statusPerSecond: 0, statusBurst: 0}}}`,
			want: "spec.config.rateLimits.statusBurst: Invalid value: 0: spec.config.rateLimits.statusBurst in body should be greater than or equal to 1\n" +
				"spec.config.rateLimits.statusPerSecond: Invalid value: 0: spec.config.rateLimits.statusPerSecond in body should be greater than or equal to 1",
		},
		"ranges are exempt from rates": {
			base:   "proxygroup",
			accept: `spec: {config: {rateLimits: {exemptCIDRs: [10.0.0.0/8, "2001:db8::/32"]}}}`,
			reject: `spec: {config: {rateLimits: {exemptCIDRs: [10.0.0.1]}}}`,
			want:   `spec.config.rateLimits.exemptCIDRs[0]: Invalid value: "10.0.0.1": exemptCIDRs must be ranges of addresses such as 10.0.0.0/8`,
		},
		"somebody is exempt from rates": {
			base:   "proxygroup",
			accept: `spec: {config: {rateLimits: {exemptCIDRs: [0.0.0.0/0]}}}`,
			reject: `spec: {config: {rateLimits: {exemptCIDRs: []}}}`,
			want:   "spec.config.rateLimits.exemptCIDRs: Invalid value: 0: spec.config.rateLimits.exemptCIDRs in body should have at least 1 items",
		},
	}
}

func proxyProtocolRows() map[string]admissionRow {
	return map[string]admissionRow{
		"the PROXY protocol is for ranges": {
			base:   "proxygroup",
			accept: `spec: {config: {proxyProtocol: {trustedCIDRs: [10.0.0.0/8, "2001:db8::/32"]}}}`,
			reject: `spec: {config: {proxyProtocol: {trustedCIDRs: [10.0.0.1]}}}`,
			want:   `spec.config.proxyProtocol.trustedCIDRs[0]: Invalid value: "10.0.0.1": trustedCIDRs must be ranges of addresses such as 10.0.0.0/8`,
		},
		"the PROXY protocol is for somebody": {
			base:   "proxygroup",
			accept: `spec: {config: {proxyProtocol: {trustedCIDRs: [0.0.0.0/0]}}}`,
			reject: `spec: {config: {proxyProtocol: {trustedCIDRs: []}}}`,
			want:   "spec.config.proxyProtocol.trustedCIDRs: Invalid value: 0: spec.config.proxyProtocol.trustedCIDRs in body should have at least 1 items",
		},
	}
}

func joinPermissionRows() map[string]admissionRow {
	return map[string]admissionRow{
		"a permission to join has a mode": {
			base:   "ephemeral",
			accept: `spec: {joinPermission: {mode: Required}}`,
			reject: `spec: {joinPermission: {node: vip}}`,
			want:   "spec.joinPermission.mode: Required value",
		},
		"a mode to join is known": {
			base:   "persistent",
			accept: `spec: {joinPermission: {mode: DenyOnly, node: my-server.vip}}`,
			reject: `spec: {joinPermission: {mode: Optional}}`,
			want:   `spec.joinPermission.mode: Unsupported value: "Optional": supported values: "Required", "DenyOnly"`,
		},
		"a permission to join is one node": {
			base:   "ephemeral",
			accept: `spec: {joinPermission: {mode: Required, node: spawnery.join.vip}}`,
			reject: `spec: {joinPermission: {mode: Required, node: "spawnery.join.*"}}`,
			want:   `spec.joinPermission.node: Invalid value: "spawnery.join.*": spec.joinPermission.node in body should match '^[a-z0-9_-]+(\.[a-z0-9_-]+)*$'`,
		},
	}
}
