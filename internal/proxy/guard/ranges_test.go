// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"net/netip"
	"testing"
)

func TestAnAddressIsInTheRangesThatHoldIt(t *testing.T) {
	ranges := ParseRanges([]string{"10.1.2.3/8", "2001:db8::/32", "no range"})
	for address, want := range map[string]bool{
		"10.200.0.1": true, "::ffff:10.0.0.1": true, "2001:db8:1::1": true,
		"11.0.0.1": false, "2001:db9::1": false,
	} {
		if got := ranges.Contain(netip.MustParseAddr(address)); got != want {
			t.Errorf("%s: %t, want %t", address, got, want)
		}
	}
	if ranges.Contain(netip.Addr{}) || Ranges(nil).Contain(netip.MustParseAddr("10.0.0.1")) {
		t.Error("nobody in particular is in a range")
	}
}
