// SPDX-License-Identifier: Apache-2.0

package podspec

import (
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// Names of the objects that stand once in every namespace with a Network.
const (
	// ServerServiceAccount is the identity of server pods.
	ServerServiceAccount = "spawnery-server"
	// ProxyServiceAccount is the identity of proxy pods.
	ProxyServiceAccount = "spawnery-proxy"
	// ChannelConfigMap tells agents and proxies where the manager is.
	ChannelConfigMap = "spawnery-channel"
)

// longestGroupName is the API's bound on the names of groups.
const longestGroupName = 40

const (
	// suffixAlphabet leaves out what people misread or mistype.
	suffixAlphabet = "abcdefghjkmnpqrstuvwxyz23456789"
	suffixLength   = 4
)

// IntN draws a number of [0, n); math/rand/v2's IntN is one.
type IntN func(n int) int

// EphemeralServerName draws a name for a server of an ephemeral group. The
// caller draws again when the name is taken.
func EphemeralServerName(group string, random IntN) string {
	return group + "-" + suffix(random)
}

// PersistentServerName is the one name an ordinal of a persistent group has.
func PersistentServerName(group string, ordinal int32) string {
	return group + "-" + strconv.Itoa(int(ordinal))
}

// PolicyName is the NetworkPolicy of the servers of a group.
func PolicyName(group string) string { return group + "-" + string(RoleServer) }

// DataClaimName is the claim a persistent server mounts. A server made again
// under its name finds the world it had.
func DataClaimName(server string) string {
	return server + dataSuffix
}

const dataSuffix = "-data"

// OrdinalOfDataClaim says which ordinal of which group mounts a claim of that
// name, if any does: it reads back DataClaimName of a PersistentServerName. An
// ordinal has no dash and no leading zero, so there is only one way to read a
// name, also where the group's own ends in a number.
func OrdinalOfDataClaim(claim string) (string, int32, bool) {
	server, isData := strings.CutSuffix(claim, dataSuffix)
	dash := strings.LastIndexByte(server, '-')
	if !isData || dash < 0 {
		return "", 0, false
	}
	group := server[:dash]
	ordinal, err := strconv.ParseInt(server[dash+1:], 10, 32)
	if err != nil || PersistentServerName(group, int32(ordinal)) != server {
		return "", 0, false
	}
	if len(group) > longestGroupName || len(validation.IsDNS1123Label(group)) > 0 {
		return "", 0, false
	}
	return group, int32(ordinal), true
}

// ProxyPodName draws a name for a pod of a ProxyGroup. The caller draws again
// when the name is taken.
func ProxyPodName(group string, random IntN) string {
	return group + "-proxy-" + suffix(random)
}

// EphemeralServerPattern stands for a name that EphemeralServerName would draw.
func EphemeralServerPattern(group string) string {
	return group + "-" + strings.Repeat("?", suffixLength)
}

// ProxyPodPattern stands for a name that ProxyPodName would draw.
func ProxyPodPattern(group string) string {
	return group + "-proxy-" + strings.Repeat("?", suffixLength)
}

// ProxyServiceName is the Service players reach a ProxyGroup by.
func ProxyServiceName(group string) string {
	return group + "-proxy"
}

// BudgetName is the PodDisruptionBudget of a group. The role is part of it
// because a ServerGroup and a ProxyGroup may share a name.
func BudgetName(role Role, group string) string {
	return group + "-" + string(role)
}

// ForwardingSecretName is the Secret the operator makes for a Network that
// names none.
func ForwardingSecretName(network string) string {
	return network + "-forwarding"
}

func suffix(random IntN) string {
	letters := make([]byte, suffixLength)
	for i := range letters {
		letters[i] = suffixAlphabet[random(len(suffixAlphabet))]
	}
	return string(letters)
}
