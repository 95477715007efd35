// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"cmp"
	"slices"
	"sort"
	"time"
)

// clairvoyant knows everybody who comes and how long they stay. It keeps the
// spare seats free at every instant, starts servers exactly their boot time
// ahead, stops only empty ones, and places players where that costs least; they
// stay where they joined. What it pays is the least that a group could cost.
//
// Who shares a server with whom is bin packing over time, so the least is known
// for a handful of players only: exact. For a week it lies between two bounds:
// what it would be if players could be moved at will, atLeast, and what a good
// plan costs, atMost. Tests compare all three on small traces.
type clairvoyant struct {
	// visits in the order of time.
	visits     []Visit
	start, end time.Time
	// capacity, spare and least are the group's numbers; its ceiling is out of
	// reach.
	capacity, spare, least int
	boot                   time.Duration
}

// turning is an instant at which somebody comes (by +1) or goes (by -1).
type turning struct {
	at    time.Time
	by    int
	visit int
}

// turnings in the order of time; who goes makes room for who comes.
func (c *clairvoyant) turnings() []turning {
	var all []turning
	for i := range c.visits {
		all = append(all, turning{c.visits[i].At, 1, i})
		if c.visits[i].Until.Before(c.end) {
			all = append(all, turning{c.visits[i].Until, -1, i})
		}
	}
	slices.SortStableFunc(all, func(a, b turning) int { return cmp.Or(a.at.Compare(b.at), a.by-b.by) })
	return all
}

// needed is how many servers so many players and the spare seats need.
func (c *clairvoyant) needed(players int) int {
	return max(c.least, (players+c.spare+c.capacity-1)/c.capacity)
}

// stretch is a time in which at least some number of servers is needed.
type stretch struct{ from, to time.Time }

// stretches are those of each number of servers, from one on. A gap that is no
// longer than a boot is none: to keep a server is cheaper than to start one.
func (c *clairvoyant) stretches() [][]stretch {
	var all [][]stretch
	raise := func(from, to int, at time.Time) {
		for k := from; k < to; k++ {
			if k == len(all) {
				all = append(all, nil)
			}
			if n := len(all[k]); n > 0 && at.Sub(all[k][n-1].to) <= c.boot {
				all[k][n-1].to = c.end
			} else {
				all[k] = append(all[k], stretch{at, c.end})
			}
		}
	}
	now, players := c.needed(0), 0
	raise(0, now, c.start)
	for _, one := range c.turnings() {
		players += one.by
		next := c.needed(players)
		raise(now, next, one.at)
		for k := next; k < now; k++ {
			all[k][len(all[k])-1].to = one.at
		}
		now = next
	}
	return all
}

// atLeast is what servers would cost if players could be moved at will: at each
// instant as many as the seats need, and a boot for each start.
func (c *clairvoyant) atLeast() time.Duration {
	cost := time.Duration(0)
	for _, stretches := range c.stretches() {
		for _, one := range stretches {
			cost += one.to.Sub(one.from)
			if one.from.After(c.start) {
				cost += c.boot
			}
		}
	}
	return cost
}

// seatPlan is a plan in progress.
type seatPlan struct {
	*clairvoyant
	stretches [][]stretch
	servers   []*planned
	on        map[int]*planned
	cost      time.Duration
	since     time.Time
}

// planned is a server of a plan: who is on it, by index, and when the last of
// them leaves.
type planned struct {
	visits []int
	last   time.Time
}

// atMost is what a plan costs that has everybody join a server which runs as
// long as they stay anyway, the one that ends soonest; and where there is none,
// the one that has to run on the least.
func (c *clairvoyant) atMost() time.Duration {
	p := &seatPlan{clairvoyant: c, stretches: c.stretches(), on: map[int]*planned{}, since: c.start}
	for range c.needed(0) {
		p.servers = append(p.servers, &planned{})
	}
	for _, one := range c.turnings() {
		p.pass(one.at)
		if one.by > 0 {
			p.join(one)
		} else {
			p.leave(one)
		}
	}
	p.pass(c.end)
	return p.cost
}

func (p *seatPlan) pass(at time.Time) {
	p.cost += time.Duration(len(p.servers)) * at.Sub(p.since)
	p.since = at
}

func (p *seatPlan) join(one turning) {
	until := p.visits[one.visit].Until
	for len(p.servers) < p.needed(len(p.on)+1) {
		p.servers = append(p.servers, &planned{})
		p.cost += p.boot
	}
	best := p.best(one.at, until)
	best.visits = append(best.visits, one.visit)
	if until.After(best.last) {
		best.last = until
	}
	p.on[one.visit] = best
}

// best is the server for somebody who stays until then.
func (p *seatPlan) best(now, until time.Time) *planned {
	slices.SortStableFunc(p.servers, func(a, b *planned) int { return b.last.Compare(a.last) })
	var best *planned
	var bestEnd time.Time
	for rank, s := range p.servers {
		if len(s.visits) == p.capacity {
			continue
		}
		end := s.last
		if runs := p.runsUntil(rank, now); runs.After(end) {
			end = runs
		}
		lasts := !end.Before(until)
		switch {
		case best == nil, lasts && (bestEnd.Before(until) || end.Before(bestEnd)), !lasts && end.After(bestEnd):
			best, bestEnd = s, end
		}
	}
	return best
}

// runsUntil is how long the seats need one more server than a rank says.
func (p *seatPlan) runsUntil(rank int, at time.Time) time.Time {
	if rank >= len(p.stretches) {
		return at
	}
	all := p.stretches[rank]
	next := sort.Search(len(all), func(i int) bool { return all[i].to.After(at) })
	if next < len(all) && !all[next].from.After(at) {
		return all[next].to
	}
	return at
}

func (p *seatPlan) leave(one turning) {
	s := p.on[one.visit]
	delete(p.on, one.visit)
	at := slices.Index(s.visits, one.visit)
	s.visits = slices.Delete(s.visits, at, at+1)
	p.stop(one.at)
}

// stop gives up the empty servers that the seats do not need for longer than a
// boot.
func (p *seatPlan) stop(now time.Time) {
	for len(p.servers) > 0 && !p.runsUntil(len(p.servers)-1, now).After(now) {
		empty := slices.IndexFunc(p.servers, func(s *planned) bool { return len(s.visits) == 0 })
		if empty < 0 {
			return
		}
		p.servers = slices.Delete(p.servers, empty, empty+1)
	}
}
