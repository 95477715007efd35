// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"sync"
)

// Limits bound open connections.
type Limits struct {
	// Total connections of the proxy.
	Total int
	// Unproven connections: those that have not finished a login.
	Unproven int
	// UnprovenPerAddress is Unproven of one IPv4 address or IPv6 /64.
	UnprovenPerAddress int
}

// DefaultLimits leave room for a proxy many times as full as one should be,
// and for everybody of a house to join at once.
func DefaultLimits() Limits {
	return Limits{Total: 16384, Unproven: 2048, UnprovenPerAddress: 512}
}

// ParseLimits reads "total=N,unproven=N,unproven-per-address=N"; what is left
// out keeps its default.
func ParseLimits(s string) (Limits, error) {
	limits := DefaultLimits()
	fields := map[string]*int{
		"total": &limits.Total, "unproven": &limits.Unproven, "unproven-per-address": &limits.UnprovenPerAddress,
	}
	for part := range strings.SplitSeq(s, ",") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		name, value, _ := strings.Cut(part, "=")
		field, known := fields[name]
		if !known {
			return Limits{}, fmt.Errorf("connection limit %q is none of total, unproven, unproven-per-address", name)
		}
		n, err := strconv.Atoi(value)
		if err != nil || n < 1 {
			return Limits{}, fmt.Errorf("connection limit %s: %q is no number above 0", name, value)
		}
		*field = n
	}
	return limits, nil
}

// Gate counts connections against Limits.
type Gate struct {
	limits Limits

	mu         sync.Mutex
	total      int
	unproven   int
	perAddress map[netip.Prefix]int
}

// NewGate has nobody inside.
func NewGate(limits Limits) *Gate {
	return &Gate{limits: limits, perAddress: map[netip.Prefix]int{}}
}

// Pass is one connection inside the gate.
type Pass struct {
	gate   *Gate
	prefix netip.Prefix
	proven bool
	left   bool
}

// Enter counts a connection in, or returns nil when there are too many.
func (g *Gate) Enter(from netip.Addr) *Pass {
	prefix := PrefixOf(from)
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.total >= g.limits.Total || g.unproven >= g.limits.Unproven || g.perAddress[prefix] >= g.limits.UnprovenPerAddress {
		return nil
	}
	g.total++
	g.unproven++
	g.perAddress[prefix]++
	return &Pass{gate: g, prefix: prefix}
}

// PrefixOf is what counts as one address: providers hand out IPv6 by /64.
func PrefixOf(from netip.Addr) netip.Prefix {
	from = from.Unmap()
	bits := from.BitLen()
	if from.Is6() {
		bits = 64
	}
	// An invalid address is one of its own.
	prefix, _ := from.Prefix(bits)
	return prefix
}

// Prove says that the login is finished.
func (p *Pass) Prove() {
	p.gate.mu.Lock()
	defer p.gate.mu.Unlock()
	p.prove()
}

func (p *Pass) prove() {
	if p.proven {
		return
	}
	p.proven = true
	p.gate.unproven--
	if p.gate.perAddress[p.prefix]--; p.gate.perAddress[p.prefix] == 0 {
		delete(p.gate.perAddress, p.prefix)
	}
}

// Leave counts the connection out. It may be called more than once.
func (p *Pass) Leave() {
	p.gate.mu.Lock()
	defer p.gate.mu.Unlock()
	if p.left {
		return
	}
	p.left = true
	p.prove()
	p.gate.total--
}

// Inside is the number of open connections.
func (g *Gate) Inside() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.total
}
