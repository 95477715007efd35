// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"net/netip"
	"strings"
)

const (
	// anyNetwork asks for whichever network is free.
	anyNetwork = -1
	// networks is how many clusters fit on one machine.
	networks = 10
	// maxNodes keeps an interface's name within the kernel's 15 characters.
	maxNodes = 9
	// prefix begins the name of everything the clusters make on the machine.
	prefix = "spawnery-"
)

// network numbers the addresses and names of one cluster. They follow from the
// number alone, so two clusters with different numbers never meet.
type network int

// name is the bridge's name, and how the names of all the rest begin.
func (n network) name() string { return fmt.Sprintf("%s%d", prefix, int(n)) }

// node names a node's network namespace, its end of the bridge and its cgroup.
func (n network) node(number int) string { return fmt.Sprintf("%s-n%d", n.name(), number) }

// isNode says whether a name is one that node gives.
func (n network) isNode(name string) bool { return strings.HasPrefix(name, n.name()+"-n") }

// machine is the machine's own address on the bridge, with the network's size.
func (n network) machine() netip.Prefix {
	return netip.PrefixFrom(netip.AddrFrom4([4]byte{172, 30, byte(n), 1}), 24)
}

func (n network) address(number int) netip.Addr {
	return netip.AddrFrom4([4]byte{172, 30, byte(n), byte(1 + number)})
}

// podsOf is where a node's pods get their addresses from.
func (n network) podsOf(number int) netip.Prefix {
	return netip.PrefixFrom(netip.AddrFrom4([4]byte{10, byte(244 + n), byte(number), 0}), 24)
}

func (n network) pods() netip.Prefix {
	return netip.PrefixFrom(netip.AddrFrom4([4]byte{10, byte(244 + n), 0, 0}), 16)
}

func (n network) services() netip.Prefix {
	return netip.PrefixFrom(netip.AddrFrom4([4]byte{10, byte(96 + n), 0, 0}), 16)
}

// apiService is the address of the Service kubernetes.default: the first one.
func (n network) apiService() netip.Addr { return n.services().Addr().Next() }

func (n network) dns() netip.Addr {
	return netip.AddrFrom4([4]byte{10, byte(96 + n), 0, 10})
}

// server is the API server's URL; it runs on node1.
func (n network) server() string { return fmt.Sprintf("https://%s:6443", n.address(1)) }

// overlaps says whether an address range of the machine is in the way.
func (n network) overlaps(r netip.Prefix) bool {
	return r.Overlaps(n.machine()) || r.Overlaps(n.pods()) || r.Overlaps(n.services())
}
