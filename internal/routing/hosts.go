// SPDX-License-Identifier: Apache-2.0

package routing

import "strings"

// wildcard begins a host that stands for every name below it.
const wildcard = "*."

// ForcedHost sends who connects to a host to groups of its own.
type ForcedHost struct {
	// Host is a clean name, or *. and one: every name below it, at any depth,
	// and not the name itself.
	Host   string
	Groups []string
}

// Forced returns the groups of the host that a player connected to, in the order
// in which they are tried; none when nothing is forced. The host itself wins
// over a wildcard, and the longest wildcard over shorter ones.
func Forced(hosts []ForcedHost, connectedTo string) []string {
	var best *ForcedHost
	for i := range hosts {
		h := &hosts[i]
		if h.Host == connectedTo {
			return h.Groups
		}
		if h.covers(connectedTo) && (best == nil || len(h.Host) > len(best.Host)) {
			best = h
		}
	}
	if best == nil {
		return nil
	}
	return best.Groups
}

// covers is true for a wildcard and a name below it.
func (h *ForcedHost) covers(name string) bool {
	parent, ok := strings.CutPrefix(h.Host, wildcard)
	return ok && strings.HasSuffix(name, "."+parent)
}
