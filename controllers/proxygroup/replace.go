// SPDX-License-Identifier: Apache-2.0

package proxygroup

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/spawnery/spawnery-operator/internal/fleet"
)

const (
	// placingPatience is how long a replacement may be without a node before one
	// of an old spec makes room: an autoscaler may still bring a node.
	placingPatience = time.Minute
	// exchangeRecheck is when an exchange is looked at that waits for what wakes
	// nobody: another group, or what a proxy knows.
	exchangeRecheck = 5 * time.Second
)

// state is where the replacement of a group's proxies stands.
type state int

const (
	// settled means that no proxy is to be replaced.
	settled state = iota
	// queued means that another group of the Network comes first.
	queued
	// exchanging means that one is being replaced, or about to be.
	exchanging
	// cramped means that a proxy of an old spec goes before another can come.
	cramped
)

// exchange is how the replacement of a group's proxies goes.
type exchange struct {
	state state
	// old is how many are still to go, those who are withdrawn included.
	old int
	// note says what comes next, or what it waits for.
	note string
}

// replace exchanges proxies that cannot stay, one at a time: another one comes
// first, and when it takes players the one with the fewest is withdrawn.
func (p *plan) replace(w world, r ranks) {
	old := cannotStay(r.inService)
	p.exchange.old = len(old) + len(cannotStay(r.leaving))
	if p.exchange.old == 0 {
		p.shed(w, r, r.count-w.replicas)
		return
	}
	p.exchange.state = exchanging
	surplus := r.count - w.replicas
	begun := surplus > 0 || len(r.leaving) > 0
	switch {
	case len(r.leaving) > 0:
		p.shed(w, r, surplus)
		p.exchange.note = r.leaving[0].name + " is withdrawn and waits for its players to leave"
	case len(old) == 0 || surplus < 0:
		p.exchange.note = "new ones come first"
	case w.ahead != "" && !begun:
		p.exchange.state = queued
		p.wait(w, fmt.Sprintf("ProxyGroup %s of the same Network exchanges one first; its own condition Progressing says how that goes", w.ahead))
	case surplus > 1:
		p.shed(w, r, surplus-1)
		p.exchange.note = "there are more than the spec wants"
	default:
		p.surge(w, r, old, surplus)
	}
	p.sayCramped(w, r)
}

// surge makes the one that comes first, or withdraws the one that it replaces.
func (p *plan) surge(w world, r ranks, old []proxy, surplus int) {
	first := slices.MinFunc(old, inTurn)
	i := slices.IndexFunc(r.inService, func(one proxy) bool { return one.making == asWanted && !one.able })
	switch {
	case i >= 0 && surplus > 0 && makesRoom(w, r, r.inService[i], old):
		room := slices.MinFunc(roomy(old), inTurn)
		p.withdraw = append(p.withdraw, intent{room.name, fmt.Sprintf(
			"it is of an old spec, and no node has the port free for %s, which replaces it", r.inService[i].name)})
	case i >= 0:
		p.wait(w, r.inService[i].name+" is to be ready and to know the servers")
	case w.ordered > 0:
		p.exchange.note = "the next one is being made"
	case surplus == 0:
		p.create, p.because = 1, fmt.Sprintf("it replaces %s, which %s", first.name, first.making)
		p.exchange.note = "the next one is being made"
	default:
		p.withdraw = append(p.withdraw, intent{first.name, fmt.Sprintf("it %s, and another one takes its place", first.making)})
		p.exchange.note = first.name + " is being withdrawn"
	}
}

func (p *plan) wait(w world, note string) {
	p.exchange.note = note
	p.recheck = fleet.Earliest(p.recheck, w.now.Add(exchangeRecheck))
}

// makesRoom is true when only another one's end may give a replacement a node.
// Each replacement gets one, and has it when that one is gone.
func makesRoom(w world, r ranks, fresh proxy, old []proxy) bool {
	return w.port == portOfTheNode && r.ending == 0 && homeless(w, fresh) && len(roomy(old)) > 0
}

// roomy are those whose end leaves a port free. One on a node that leaves does
// not: its port goes with the node.
func roomy(old []proxy) []proxy {
	return slices.DeleteFunc(slices.Clone(old), func(one proxy) bool { return one.making != ofOldSpec })
}

// inTurn sorts those that take nobody first, then by players.
func inTurn(a, b proxy) int {
	return cmp.Or(compareAble(a, b), byLoad(a, b))
}

func homeless(w world, one proxy) bool {
	return !one.unplacedSince.IsZero() && !w.now.Before(one.unplacedSince.Add(placingPatience))
}

// sayCramped names the one that waits for a node, as long as it does, and the
// one that makes room for it.
func (p *plan) sayCramped(w world, r ranks) {
	i := slices.IndexFunc(r.inService, func(one proxy) bool { return homeless(w, one) })
	if w.port != portOfTheNode || i < 0 || p.exchange.state == queued {
		return
	}
	p.exchange.state = cramped
	p.exchange.note = fmt.Sprintf("no node takes %s (%s)", r.inService[i].name, r.inService[i].unplacedWhy)
	leaving := ""
	switch {
	case len(r.leaving) > 0:
		leaving = r.leaving[0].name
	case len(p.withdraw) > 0:
		leaving = p.withdraw[0].name
	default:
		p.exchange.note += "; add a node, or want fewer replicas than there are nodes"
		return
	}
	p.exchange.note += fmt.Sprintf(", so %s is withdrawn first, and goes when its players have left", leaving)
}

func cannotStay(proxies []proxy) []proxy {
	return slices.DeleteFunc(slices.Clone(proxies), func(one proxy) bool { return one.making == asWanted })
}

// compareAble sorts those that take nobody first.
func compareAble(a, b proxy) int {
	switch {
	case a.able == b.able:
		return 0
	case a.able:
		return 1
	}
	return -1
}

// String completes "it ...".
func (m making) String() string {
	switch m {
	case ofOldSpec:
		return "is of an old spec"
	case onLeavingNode:
		return "is on a node that leaves"
	case asWanted:
	}
	return "is of the spec"
}
