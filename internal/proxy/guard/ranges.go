// SPDX-License-Identifier: Apache-2.0

package guard

import "net/netip"

// Ranges are addresses for which something holds.
type Ranges []netip.Prefix

// ParseRanges reads ranges. One that cannot be read holds nobody.
func ParseRanges(cidrs []string) Ranges {
	ranges := make(Ranges, 0, len(cidrs))
	for _, cidr := range cidrs {
		if prefix, err := netip.ParsePrefix(cidr); err == nil {
			ranges = append(ranges, prefix.Masked())
		}
	}
	return ranges
}

// Contain reports whether an address is in one of the ranges.
func (r Ranges) Contain(address netip.Addr) bool {
	for _, prefix := range r {
		if prefix.Contains(address.Unmap()) {
			return true
		}
	}
	return false
}
