// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"net/netip"
	"strings"
)

// facts is what the machine shows of one network.
type facts struct {
	network network
	// record is what the cluster's owner wrote down; nil if nobody did.
	record *record
	// processes are the living ones in the network's namespaces, or recorded.
	processes []int
	// things are the bridge and the namespaces that exist.
	things []string
	// routes are those of others that overlap the network's addresses.
	routes []netip.Prefix
}

// occupancy says who has a network.
type occupancy int

const (
	free occupancy = iota
	// leftover has namespaces, a bridge or a record, and no living process: the
	// cluster was killed. Anyone may take it over.
	leftover
	// living has processes; it is its owner's alone.
	living
	// blocked overlaps a route that no cluster made.
	blocked
)

func (f facts) occupancy() occupancy {
	switch {
	case len(f.processes) > 0:
		return living
	case len(f.routes) > 0:
		return blocked
	case f.record != nil || len(f.things) > 0:
		return leftover
	}
	return free
}

// owner names the folder of whoever made the cluster, as far as is known.
func (f facts) owner() string {
	if f.record == nil {
		return "an unknown folder"
	}
	return f.record.Folder
}

// belongsTo says whether the cluster of that folder left this network's record.
func (f facts) belongsTo(folder string) bool {
	return f.record != nil && f.record.Folder == folder
}

// why says, for a network that cannot be had, what is in the way.
func (f facts) why() string {
	if f.occupancy() == blocked {
		return fmt.Sprintf("network %d: the machine has a route to %s", f.network, f.routes[0])
	}
	return fmt.Sprintf("network %d: the living cluster of %s has it", f.network, f.owner())
}

// choose picks the network for a new cluster: the wanted one, or the first that
// nobody has. It also returns why it passed over others.
func choose(want int, seen []facts) (facts, []string, error) {
	var passed []string
	for _, f := range seen {
		if want != anyNetwork && int(f.network) != want {
			continue
		}
		if o := f.occupancy(); o == free || o == leftover {
			return f, passed, nil
		}
		passed = append(passed, f.why())
	}
	return facts{}, nil, fmt.Errorf("no network to be had:\n  %s\nstop a cluster with `make cluster-down` in its folder, or choose another with NETID=0..%d",
		strings.Join(passed, "\n  "), networks-1)
}
