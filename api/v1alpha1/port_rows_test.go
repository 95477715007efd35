// SPDX-License-Identifier: Apache-2.0

package v1alpha1_test

import (
	"fmt"
	"strings"
)

// portRows are about ports beside the game's own, and about who reaches servers.
func portRows() map[string]admissionRow {
	const portName = "name of a port has lower case letters, digits and single dashes between them, and at least one letter"
	return map[string]admissionRow{
		"a port has a name that a container can use": {
			base:   "ephemeral",
			accept: ports(`{name: voice-chat-1, port: 24454, protocol: UDP, from: Anywhere}, {name: 8bit, port: 8080}`),
			reject: ports(`{name: Voice, port: 24454}`),
			want:   `spec.ports[0].name: Invalid value: "Voice": ` + portName,
		},
		"a port's name has a letter": {
			base:   "ephemeral",
			accept: ports(`{name: 9x, port: 24454}`),
			reject: ports(`{name: "9940", port: 9940}`),
			want:   `spec.ports[0].name: Invalid value: "9940": ` + portName,
		},
		"a port's name has at most 15 characters": {
			base:   "ephemeral",
			accept: ports(`{name: a23456789-12345, port: 9940}`),
			reject: ports(`{name: a23456789-123456, port: 9940}`),
			want:   "spec.ports[0].name: Too long: may not be more than 15 bytes",
		},
		"a port's name is not the operator's": {
			base:   "ephemeral",
			accept: ports(`{name: agents, port: 9940}`),
			reject: ports(`{name: minecraft, port: 9940}`),
			want:   `spec.ports[0].name: Invalid value: "minecraft": the names minecraft and agent belong to the operator`,
		},
		"a port is named once": {
			base:   "ephemeral",
			accept: ports(`{name: a, port: 1}, {name: b, port: 2}`),
			reject: ports(`{name: a, port: 1}, {name: a, port: 2}`),
			want:   `spec.ports[1]: Duplicate value: {"name":"a"}`,
		},
		"a port is given once": {
			base:   "ephemeral",
			accept: ports(`{name: a, port: 9940}, {name: b, port: 9940, protocol: UDP}`),
			reject: ports(`{name: a, port: 9940}, {name: b, port: 9940, protocol: TCP}`),
			want:   "spec.ports: Invalid value: every port is given once with the same protocol",
		},
		"a port is a port": {
			base:   "ephemeral",
			accept: ports(`{name: a, port: 65535}`),
			reject: ports(`{name: a, port: 0}`),
			want:   "spec.ports[0].port: Invalid value: 0: spec.ports[0].port in body should be greater than or equal to 1",
		},
		"a port is not the game's": {
			base:   "ephemeral",
			accept: `spec: {server: {port: 25570}, ports: [{name: a, port: 25565}, {name: b, port: 25570, protocol: UDP}]}`,
			reject: `spec: {server: {port: 25570}, ports: [{name: a, port: 25570}]}`,
			want:   "spec: Invalid value: server.port is the game's own and needs no entry in ports",
		},
		"a port is not the agent's": {
			base:   "persistent",
			accept: ports(`{name: a, port: 9359}, {name: b, port: 9357, protocol: UDP}`),
			reject: ports(`{name: a, port: 9357}`),
			want:   "spec.ports[0]: Invalid value: ports 9357, 9358, 25585 and 25586 belong to the operator's agent",
		},
		"a port speaks a known protocol": {
			base:   "ephemeral",
			accept: ports(`{name: a, port: 9940, protocol: TCP}`),
			reject: ports(`{name: a, port: 9940, protocol: SCTP}`),
			want:   `spec.ports[0].protocol: Unsupported value: "SCTP": supported values: "TCP", "UDP"`,
		},
		"a port is open to somebody known": {
			base:   "ephemeral",
			accept: ports(`{name: a, port: 9940, from: Cluster}`),
			reject: ports(`{name: a, port: 9940, from: Namespace}`),
			want:   `spec.ports[0].from: Unsupported value: "Namespace": supported values: "Cluster", "Anywhere"`,
		},
		"there are few ports": {
			base:   "ephemeral",
			accept: ports(manyPorts(16)),
			reject: ports(manyPorts(17)),
			want:   "spec.ports: Too many: 17: must have at most 16 items",
		},
	}
}

func ports(list string) string { return `spec: {ports: [` + list + `]}` }

func manyPorts(n int) string {
	all := make([]string, 0, n)
	for i := range n {
		all = append(all, fmt.Sprintf("{name: a%d, port: %d}", i, 10000+i))
	}
	return strings.Join(all, ", ")
}

// policyRows are about the policies of a Network's servers.
func policyRows() map[string]admissionRow {
	const aRange = "cidr must be a range of addresses by its first one, as in 10.0.0.0/8"
	egress := func(rules string) string {
		return `spec: {networkPolicy: Strict, networkPolicyEgress: [` + rules + `]}`
	}
	return map[string]admissionRow{
		"a policy has a known mode": {
			base:   "network",
			accept: `spec: {networkPolicy: Disabled}`,
			reject: `spec: {networkPolicy: Open}`,
			want:   `spec.networkPolicy: Unsupported value: "Open": supported values: "Ingress", "Strict", "Disabled"`,
		},
		"egress is named where it is bounded": {
			base:   "network",
			accept: egress(`{cidr: 10.0.0.0/8, ports: [{port: 3306}, {port: 3306, protocol: UDP}]}, {cidr: "2001:db8::/32"}`),
			reject: `spec: {networkPolicyEgress: [{cidr: 10.0.0.0/8}]}`,
			want:   "spec: Invalid value: networkPolicyEgress is only allowed with networkPolicy Strict",
		},
		"egress goes to a range of addresses": {
			base:   "network",
			accept: egress(`{cidr: 192.0.2.7/32}`),
			reject: egress(`{cidr: database}`),
			want:   `spec.networkPolicyEgress[0].cidr: Invalid value: "database": ` + aRange,
		},
		"egress names a range by its first address": {
			base:   "network",
			accept: egress(`{cidr: 0.0.0.0/0}`),
			reject: egress(`{cidr: 10.1.2.3/8}`),
			want:   `spec.networkPolicyEgress[0].cidr: Invalid value: "10.1.2.3/8": ` + aRange,
		},
		"egress names a range once": {
			base:   "network",
			accept: egress(`{cidr: 10.0.0.0/8}, {cidr: 10.0.0.0/9}`),
			reject: egress(`{cidr: 10.0.0.0/8}, {cidr: 10.0.0.0/8}`),
			want:   `spec.networkPolicyEgress[1]: Duplicate value: {"cidr":"10.0.0.0/8"}`,
		},
		"egress goes to a port": {
			base:   "network",
			accept: egress(`{cidr: 10.0.0.0/8, ports: [{port: 1}]}`),
			reject: egress(`{cidr: 10.0.0.0/8, ports: [{port: 0}]}`),
			want:   "spec.networkPolicyEgress[0].ports[0].port: Invalid value: 0: spec.networkPolicyEgress[0].ports[0].port in body should be greater than or equal to 1",
		},
		"egress speaks a known protocol": {
			base:   "network",
			accept: egress(`{cidr: 10.0.0.0/8, ports: [{port: 65535, protocol: TCP}]}`),
			reject: egress(`{cidr: 10.0.0.0/8, ports: [{port: 1, protocol: SCTP}]}`),
			want:   `spec.networkPolicyEgress[0].ports[0].protocol: Unsupported value: "SCTP": supported values: "TCP", "UDP"`,
		},
	}
}
