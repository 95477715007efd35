// SPDX-License-Identifier: Apache-2.0

package proxygroup

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spawnery/spawnery-operator/internal/fleet"
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

// making says what a proxy pod was made from, and for how long it can stay.
type making int

const (
	// asWanted is made of the group's choices, and stays.
	asWanted making = iota
	// ofOldSpec is made of choices that are not the group's any more.
	ofOldSpec
	// onLeavingNode stands on a node that is about to leave, and another could
	// take it.
	onLeavingNode
)

// proxy is one proxy pod as a decision sees it.
type proxy struct {
	name     string
	standing standing
	making   making
	// able is true for one that takes players and knows where to send them.
	able bool
	// unplacedSince is since when the scheduler finds no node for it, zero when
	// it found one or has not looked; unplacedWhy are the scheduler's words.
	unplacedSince time.Time
	unplacedWhy   string
	// players is -1 while the proxy has not been heard lately: unknown is
	// occupied.
	players     int
	createdAt   time.Time
	withdrawnAt time.Time
}

// port says whether proxies of a group can share a node.
type port int

const (
	// portOfItsOwn is inside of each pod.
	portOfItsOwn port = iota
	// portOfTheNode is one per node.
	portOfTheNode
)

// world is everything decide knows of a group.
type world struct {
	now      time.Time
	replicas int
	proxies  []proxy
	// ordered is how many creates the cache does not show yet.
	ordered int
	drain   time.Duration
	// ahead is the group of the Network that exchanges a proxy now, empty while
	// none does: one at a time network-wide, or players lose more ways in than one.
	ahead string
	port  port
}

// intent is one thing to do to one proxy, and why.
type intent struct {
	name string
	note string
}

// plan is what to do now. Recheck is when the same world would give another
// answer by the mere passing of time; zero for never.
type plan struct {
	create int
	// because is why proxies are created.
	because   string
	reinstate []intent
	withdraw  []intent
	remove    []intent
	// exchange is how the replacement of proxies goes.
	exchange exchange
	recheck  time.Time
}

// withdraws is true for a proxy that goes out of service in this very pass.
func (p *plan) withdraws(name string) bool {
	return slices.ContainsFunc(p.withdraw, func(one intent) bool { return one.name == name })
}

// ranks are a group's proxies by what can be done to them.
type ranks struct {
	inService, leaving []proxy
	// count is how many serve or are on order, ending how many were deleted and
	// are not gone.
	count, ending int
}

// decide keeps the group at its number, and at its spec. A surplus is withdrawn,
// fewest players first, and taken back when the number rises again; what is of an
// old spec is exchanged one at a time; a withdrawn proxy goes once nobody is on
// it, or when its drain deadline is over.
func decide(w world) plan {
	var p plan
	r := ranks{count: w.ordered}
	for _, one := range w.proxies {
		switch one.standing {
		case serving:
			r.inService = append(r.inService, one)
			r.count++
		case withdrawn:
			r.leaving = append(r.leaving, one)
		case ended:
			p.remove = append(p.remove, intent{one.name, "it has ended"})
		case going:
			r.ending++
		}
	}
	p.fill(w, &r)
	p.replace(w, r)
	p.finish(w, r.leaving)
	return p
}

// fill brings the group up to its number: whoever is on the way out, could stay
// and has the most players is taken back before a new one is made.
func (p *plan) fill(w world, r *ranks) {
	missing := max(0, w.replicas-r.count)
	slices.SortFunc(r.leaving, func(a, b proxy) int {
		return cmp.Or(cmp.Compare(a.making, b.making), -byLoad(a, b))
	})
	back := 0
	for back < min(missing, len(r.leaving)) && r.leaving[back].making == asWanted {
		p.reinstate = append(p.reinstate, intent{r.leaving[back].name, fmt.Sprintf("replicas is %d again", w.replicas)})
		back++
	}
	p.create, p.because = missing-back, fmt.Sprintf("replicas is %d", w.replicas)
	r.leaving = r.leaving[back:]
}

// shed withdraws what is too many. Creates that are still on order wait for
// the cache to show them: which of them are real is not known yet.
func (p *plan) shed(w world, r ranks, surplus int) {
	surplus = min(max(0, surplus), len(r.inService))
	slices.SortFunc(r.inService, func(a, b proxy) int {
		return cmp.Or(-cmp.Compare(min(a.making, 1), min(b.making, 1)), byLoad(a, b))
	})
	for _, one := range r.inService[:surplus] {
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
		default:
			p.recheck = fleet.Earliest(p.recheck, deadline)
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
