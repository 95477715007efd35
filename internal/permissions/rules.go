// SPDX-License-Identifier: Apache-2.0

// Package permissions answers whether a player holds a permission node, by the
// grants written in a Network.
package permissions

import (
	"fmt"
	"slices"
	"strings"
)

// Entry is one entry of a Network's permissions.
type Entry struct {
	Name string
	// TrustOfflineNames lets the grants hold for players nobody authenticated.
	TrustOfflineNames bool
	// Players are names or UUIDs, in any case.
	Players []string
	// Permissions are nodes. A trailing * covers whatever begins like it, a
	// leading - denies.
	Permissions []string
	// Inherits names entries whose nodes hold for this one too.
	Inherits []string
}

// Authentication says whether a player is who they say.
type Authentication uint8

const (
	// Unauthenticated players chose their name themselves, and with it their
	// UUID.
	Unauthenticated Authentication = iota
	// Authenticated players were confirmed by the session server.
	Authenticated
)

// Player is somebody who may hold permissions.
type Player struct {
	Name           string
	UUID           string
	Authentication Authentication
}

// Answer is what the grants say about one node.
type Answer uint8

const (
	// Unknown means that no node matches.
	Unknown Answer = iota
	// Granted means the longest match grants.
	Granted
	// Denied means the longest match denies, alone or beside a grant.
	Denied
)

// Rules are a Network's grants, ready to be asked by any goroutine.
type Rules struct {
	members  map[string][]int // entries by the player's name or UUID
	reach    []nodes
	warnings []string
}

// nodes are all that an entry says with what it inherits.
type nodes struct {
	all []node
	// trusted are the ones that hold for players nobody authenticated: the
	// denials, and those grants for which every entry on the way, the first
	// and the last included, trusts their names.
	trusted []node
}

// New prepares entries. What it cannot use it leaves out, and says so in
// Warnings.
func New(entries []Entry) *Rules {
	r := &Rules{members: map[string][]int{}, reach: make([]nodes, len(entries))}
	byName := map[string]int{}
	for i, e := range entries {
		if _, twice := byName[e.Name]; twice {
			r.warn("permissions: %q is there more than once; the first is inherited from", e.Name)
			continue
		}
		byName[e.Name] = i
	}
	for i, e := range entries {
		for _, player := range e.Players {
			if key := identity(player); key != "" {
				r.members[key] = append(r.members[key], i)
			}
		}
		for _, parent := range e.Inherits {
			if _, found := byName[parent]; !found {
				r.warn("permissions: %q inherits from %q, which does not exist", e.Name, parent)
			}
		}
		c := collector{entries: entries, byName: byName}
		c.visit(i, holds)
		r.reach[i] = c.found
	}
	return r
}

func (r *Rules) warn(format string, args ...any) {
	r.warnings = append(r.warnings, fmt.Sprintf(format, args...))
}

// Warnings are sentences about entries that do not do what they seem to.
func (r *Rules) Warnings() []string { return slices.Clone(r.warnings) }

// Check answers by the longest match among everything said of the player; of
// two equally long ones a denial wins.
func (r *Rules) Check(p Player, wanted string) Answer {
	wanted = strings.ToLower(wanted)
	best := verdict{}
	for _, i := range r.entriesOf(p) {
		said := r.reach[i].all
		if p.Authentication == Unauthenticated {
			said = r.reach[i].trusted
		}
		for j := range said {
			best = best.or(said[j].on(wanted))
		}
	}
	return best.answer
}

func (r *Rules) entriesOf(p Player) []int {
	byName, byUUID := r.members[identity(p.Name)], r.members[identity(p.UUID)]
	if len(byUUID) == 0 {
		return byName
	}
	return append(slices.Clip(byName), byUUID...)
}

// identity makes names and UUIDs comparable: no name has 32 characters.
func identity(s string) string {
	return strings.ToLower(strings.ReplaceAll(s, "-", ""))
}

// trust says whether the way to an entry is one of trusting entries only.
type trust bool

const holds trust = true

// collector walks what an entry inherits. Cycles end where they began.
type collector struct {
	entries []Entry
	byName  map[string]int
	seen    []visit
	found   nodes
}

type visit struct {
	entry int
	trust trust
}

// visit may come to an entry twice, on a way that trusts and on one that does
// not; what it finds twice changes no answer.
func (c *collector) visit(entry int, way trust) {
	e := &c.entries[entry]
	way = way && trust(e.TrustOfflineNames)
	if slices.Contains(c.seen, visit{entry, way}) {
		return
	}
	c.seen = append(c.seen, visit{entry, way})
	for _, text := range e.Permissions {
		n := parse(text)
		c.found.all = append(c.found.all, n)
		if way == holds || n.answer == Denied {
			c.found.trusted = append(c.found.trusted, n)
		}
	}
	for _, parent := range e.Inherits {
		if i, found := c.byName[parent]; found {
			c.visit(i, way)
		}
	}
}
