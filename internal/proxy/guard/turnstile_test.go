// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"net/netip"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"
)

func TestHowOftenAddressesPass(t *testing.T) {
	allowed := Allowance{PerSecond: 1, Burst: 3}
	for name, row := range map[string]struct {
		address func(i int) netip.Addr
		want    int // of 100 at once
	}{
		"one address": {func(int) netip.Addr { return v4(7, 7) }, 3},
		"one address in two notations": {func(i int) netip.Addr {
			if i%2 == 0 {
				return v4(7, 7)
			}
			return netip.AddrFrom16(v4(7, 7).As16())
		}, 3},
		"the addresses of a /24": {func(i int) netip.Addr { return v4(7, byte(i)) }, 30},
		"addresses of two /24":   {func(i int) netip.Addr { return v4(byte(i%2), byte(i)) }, 60},
		"the addresses of a /64": {func(i int) netip.Addr { return v6(7, 7, byte(i)) }, 3},
		"the addresses of a /48": {func(i int) netip.Addr { return v6(7, byte(i), 1) }, 30},
		"addresses of many /48":  {func(i int) netip.Addr { return v6(byte(i), 7, 1) }, 100},
		"nobody in particular":   {func(int) netip.Addr { return netip.Addr{} }, 3},
	} {
		t.Run(name, func(t *testing.T) {
			stile := NewTurnstile(clocktesting.NewFakePassiveClock(time.Unix(0, 0)))
			got := 0
			for i := range 100 {
				if stile.Pass(row.address(i), allowed) == 0 {
					got++
				}
			}
			if got != row.want {
				t.Errorf("%d passed, want %d", got, row.want)
			}
		})
	}
}

func v4(c, d byte) netip.Addr { return netip.AddrFrom4([4]byte{203, 0, c, d}) }

// v6 is an address of a /48, of a /64 in it, and of a host in that.
func v6(network, subnet, host byte) netip.Addr {
	return netip.AddrFrom16([16]byte{0x20, 0x01, 0x0d, 0xb8, 0, network, 0, subnet, 15: host})
}

func TestWhoWasRefusedPassesAfterTheWait(t *testing.T) {
	clk := clocktesting.NewFakePassiveClock(time.Unix(0, 0))
	stile, allowed := NewTurnstile(clk), Allowance{PerSecond: 2, Burst: 1}
	if wait := stile.Pass(v4(1, 1), allowed); wait != 0 {
		t.Fatalf("the first waits %s", wait)
	}
	for range 50 {
		if wait := stile.Pass(v4(1, 1), allowed); wait != 500*time.Millisecond {
			t.Fatalf("the wait is %s", wait)
		}
	}
	clk.SetTime(clk.Now().Add(499 * time.Millisecond))
	if stile.Pass(v4(1, 1), allowed) == 0 {
		t.Error("passed too early")
	}
	clk.SetTime(clk.Now().Add(time.Millisecond))
	if wait := stile.Pass(v4(1, 1), allowed); wait != 0 {
		t.Errorf("waits another %s: being refused cost something", wait)
	}
}

func TestOneWhoIsRefusedTakesNothingFromTheNeighbours(t *testing.T) {
	stile, allowed := NewTurnstile(clocktesting.NewFakePassiveClock(time.Unix(0, 0))), Allowance{PerSecond: 1, Burst: 1}
	for range 1000 {
		stile.Pass(v4(1, 1), allowed)
	}
	if wait := stile.Pass(v4(1, 2), allowed); wait != 0 {
		t.Errorf("the neighbour waits %s", wait)
	}
}

func TestAnotherAllowanceHoldsAtOnce(t *testing.T) {
	stile := NewTurnstile(clocktesting.NewFakePassiveClock(time.Unix(0, 0)))
	if wait := stile.Pass(v4(1, 1), Allowance{PerSecond: 1, Burst: 1}); wait != 0 {
		t.Fatal(wait)
	}
	if wait := stile.Pass(v4(1, 1), Allowance{PerSecond: 4, Burst: 1}); wait != 250*time.Millisecond {
		t.Errorf("the wait is %s by the old allowance", wait)
	}
}

func TestATurnstileRemembersABoundedNumber(t *testing.T) {
	stile := NewTurnstile(clocktesting.NewFakePassiveClock(time.Unix(0, 0)))
	for i := range 3 * remembered {
		stile.Pass(netip.AddrFrom4([4]byte{byte(i >> 16), byte(i >> 8), byte(i), 1}), DefaultLogins())
	}
	if own, wide := stile.own.Len(), stile.wide.Len(); own != remembered || wide != remembered {
		t.Errorf("%d addresses and %d neighbourhoods are remembered, want %d", own, wide, remembered)
	}
}

func TestNumbersThatAreNotSetAreTheProxysOwn(t *testing.T) {
	for name, row := range map[string]struct{ got, want Allowance }{
		"none":       {DefaultLogins().Or(0, 0), Allowance{PerSecond: 1, Burst: 20}},
		"one":        {DefaultStatuses().Or(0, 7), Allowance{PerSecond: 10, Burst: 7}},
		"the other":  {DefaultStatuses().Or(7, 0), Allowance{PerSecond: 7, Burst: 50}},
		"none below": {DefaultLogins().Or(-1, -1), Allowance{PerSecond: 1, Burst: 20}},
	} {
		if row.got != row.want {
			t.Errorf("%s: %+v, want %+v", name, row.got, row.want)
		}
	}
}
