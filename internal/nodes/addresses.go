// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// Addresses are those of the nodes and of the pods on them, as ranges in a fixed
// order. Where the network gives pods addresses by itself, and says so on no node,
// theirs are missing.
func (v View) Addresses() []string {
	var ranges []string
	for _, node := range v.byName {
		for _, at := range node.Status.Addresses {
			address, err := netip.ParseAddr(at.Address)
			if err == nil && (at.Type == corev1.NodeInternalIP || at.Type == corev1.NodeExternalIP) {
				ranges = append(ranges, netip.PrefixFrom(address.WithZone(""), address.BitLen()).String())
			}
		}
		ranges = append(ranges, node.Spec.PodCIDRs...)
	}
	slices.Sort(ranges)
	return slices.Compact(ranges)
}
