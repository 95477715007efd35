// SPDX-License-Identifier: Apache-2.0

// Package gameconfig turns a server's spec into what the game reads: the bytes
// of its configuration files, merged over those that exist, and the variables
// of images that render such files themselves. It reads and writes nothing.
package gameconfig

import (
	"slices"
	"strconv"

	"github.com/spawnery/spawnery-operator/internal/agent/serverspec"
)

// StopMarginSeconds is how long before the end of the grace period a game must
// have been stopped: what is left is for the kubelet and the agent.
const StopMarginSeconds = 10

// Variable is one environment variable of the game container.
type Variable struct {
	Name  string
	Value string
}

// Memory says what is known about the game container's memory.
type Memory struct {
	// Limited is true when the container has a memory limit.
	Limited bool
	// OwnerVariables are the names in the owner's env.
	OwnerVariables []string
}

// Variables are passed to every game container whatever its image, in this
// order: the settings of the prepared files under the names that
// itzg/minecraft-server documents, where a set variable wins and an unset one
// leaves a file alone. No secret is among them.
func Variables(spec serverspec.Spec, memory Memory) []Variable {
	variables := []Variable{
		{"SERVER_PORT", strconv.Itoa(int(spec.Port))},
		{"ONLINE_MODE", "FALSE"},
		{"MAX_PLAYERS", strconv.Itoa(int(spec.MaxPlayers))},
		{"ENABLE_STATUS", "TRUE"},
		{"MANAGEMENT_SERVER_ENABLED", "TRUE"},
		{"MANAGEMENT_SERVER_HOST", managementHost},
		{"MANAGEMENT_SERVER_PORT", strconv.Itoa(int(spec.ManagementPort()))},
		{"MANAGEMENT_SERVER_TLS_ENABLED", "FALSE"},
		{"STOP_DURATION", strconv.Itoa(max(1, int(spec.GraceSeconds)-StopMarginSeconds))},
	}
	if spec.AcceptEULA {
		variables = append(variables, Variable{"EULA", "TRUE"})
	}
	if memory.Limited && !memory.chosenByOwner() {
		variables = append(variables, Variable{"INIT_MEMORY", "50%"}, Variable{"MAX_MEMORY", "75%"})
	}
	return variables
}

// chosenByOwner is true when the owner sizes the heap, so that we must not.
func (m Memory) chosenByOwner() bool {
	return slices.ContainsFunc(m.OwnerVariables, func(name string) bool {
		return slices.Contains([]string{"MEMORY", "INIT_MEMORY", "MAX_MEMORY", "JVM_OPTS", "JVM_XX_OPTS"}, name)
	})
}

// managementHost keeps the management protocol, which owns the server, inside
// the pod. A number, because what localhost means is the image's.
const managementHost = "127.0.0.1"
