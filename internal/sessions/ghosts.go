// SPDX-License-Identifier: Apache-2.0

package sessions

import (
	"k8s.io/apimachinery/pkg/util/sets"
)

// layGhosts takes whom a proxy has just reported off the last words of proxies
// without a session: players of a proxy that died come back by another, and count
// once. What a connected proxy says is its own to take back.
func (s *Store) layGhosts(by *proxy) {
	var alive sets.Set[string]
	for dead := range s.within(by.pod.Pod.Namespace) {
		if dead.pod.Network != by.pod.Network || dead.connected() || len(dead.said.roster) == 0 || !dead.sampledAt.Before(by.sampledAt) {
			continue
		}
		if alive == nil {
			alive = by.said.people()
		}
		before := dead.said
		if dead.lay(alive) {
			s.wakeAboutRoster(dead, before, dead.said)
			s.wakeAboutProxy(dead.pod)
		}
	}
}

// people are the names of everybody whom a report speaks of.
func (s said) people() sets.Set[string] {
	names := sets.New[string]()
	for _, one := range s.roster {
		names.Insert(one.player)
	}
	for _, groups := range s.waiting {
		for _, held := range groups {
			names.Insert(held.players...)
		}
	}
	return names
}

// lay reads the last report again without those who are elsewhere, and reports
// whether there were any.
func (p *proxy) lay(elsewhere sets.Set[string]) bool {
	ghosts := sets.New[string]()
	for _, one := range p.said.roster {
		if elsewhere.Has(one.player) {
			ghosts.Insert(one.player)
		}
	}
	if len(ghosts) == 0 {
		return false
	}
	p.ghosts = p.ghosts.Union(ghosts)
	p.said = read(p.report, p.ghosts)
	return true
}
