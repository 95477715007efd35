// SPDX-License-Identifier: Apache-2.0

package proxygroup

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// standing is where a proxy pod is in its life.
type standing int

const (
	// serving takes players.
	serving standing = iota
	// withdrawn takes itself out of the load balancer and serves on.
	withdrawn
	// ended does not run any more, though nobody deleted it.
	ended
	// going was deleted.
	going
)

// proxy is one proxy pod as a decision sees it.
type proxy struct {
	name     string
	standing standing
	// players is -1 while the proxy has not been heard lately: unknown is
	// occupied.
	players     int
	createdAt   time.Time
	withdrawnAt time.Time
}

// world is everything decide knows of a group.
type world struct {
	now      time.Time
	replicas int
	proxies  []proxy
	// ordered is how many creates the cache does not show yet.
	ordered int
	drain   time.Duration
}

// intent is one thing to do to one proxy, and why.
type intent struct {
	name string
	note string
}

// plan is what to do now. Recheck is when the same world would give another
// answer by the mere passing of time; zero for never.
type plan struct {
	create    int
	reinstate []intent
	withdraw  []intent
	remove    []intent
	recheck   time.Time
}

// decide keeps the group at its number. A surplus is withdrawn, fewest players
// first, and taken back when the number rises again; a withdrawn proxy goes
// once nobody is on it, or when its drain deadline is over.
func decide(w world) plan {
	var p plan
	count := w.ordered
	var inService, leaving []proxy
	for _, one := range w.proxies {
		switch one.standing {
		case serving:
			inService = append(inService, one)
			count++
		case withdrawn:
			leaving = append(leaving, one)
		case ended:
			p.remove = append(p.remove, intent{one.name, "it has ended"})
		case going:
		}
	}
	leaving = p.fill(w, count, leaving)
	p.shed(w, count, inService)
	p.finish(w, leaving)
	return p
}

// fill brings the group up to its number: whoever is on the way out and has
// the most players is taken back before a new one is made.
func (p *plan) fill(w world, count int, leaving []proxy) []proxy {
	missing := max(0, w.replicas-count)
	slices.SortFunc(leaving, func(a, b proxy) int { return -byLoad(a, b) })
	back := min(missing, len(leaving))
	for _, one := range leaving[:back] {
		p.reinstate = append(p.reinstate, intent{one.name, fmt.Sprintf("replicas is %d again", w.replicas)})
	}
	p.create = missing - back
	return leaving[back:]
}

// shed withdraws what is too many. Creates that are still on order wait for
// the cache to show them: which of them are real is not known yet.
func (p *plan) shed(w world, count int, inService []proxy) {
	surplus := min(max(0, count-w.replicas), len(inService))
	slices.SortFunc(inService, byLoad)
	for _, one := range inService[:surplus] {
		p.withdraw = append(p.withdraw, intent{one.name, fmt.Sprintf("replicas is %d", w.replicas)})
	}
}

func (p *plan) finish(w world, leaving []proxy) {
	for _, one := range leaving {
		deadline := one.withdrawnAt.Add(w.drain)
		switch {
		case one.players == 0:
			p.remove = append(p.remove, intent{one.name, "nobody is on it"})
		case !w.now.Before(deadline):
			p.remove = append(p.remove, intent{one.name, fmt.Sprintf("its drain has taken %s (drain.timeoutSeconds)", w.drain)})
		case p.recheck.IsZero() || deadline.Before(p.recheck):
			p.recheck = deadline
		}
	}
}

// byLoad sorts the fewest players first, then the youngest; a proxy nobody
// hears counts as full.
func byLoad(a, b proxy) int {
	return cmp.Or(
		cmp.Compare(uint(a.players), uint(b.players)),
		b.createdAt.Compare(a.createdAt),
		strings.Compare(a.name, b.name),
	)
}
