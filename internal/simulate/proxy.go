// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"slices"
	"time"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/fleet"
	"github.com/spawnery/spawnery-operator/internal/routing"
	"github.com/spawnery/spawnery-operator/internal/sessions"
	"github.com/spawnery/spawnery-operator/internal/sighting"
)

const (
	// lookAgain is when who found no seat looks again when nothing was heard.
	lookAgain = 2 * time.Second
	// switches is how often a player tries to get from one group to another.
	switches = 6
	// switchAgain is the time between two such attempts.
	switchAgain = 20 * time.Second
)

// proxy stands for all proxies of the network: it knows its own players at
// once, and of servers what the directory says.
type proxy struct {
	w    *World
	held []*player
	// online is how many players there are, wherever they are.
	online  int
	looking alarm
	// reporting is true while a report about held players is on its way.
	reporting bool
}

// entry is one server in the directory.
type entry struct {
	listed bool
	door   agentv1alpha1.DoorState
	seats  fleet.Seats
	counts fleet.CountState
}

// player is one visit in progress.
type player struct {
	visit *Visit
	stop  int
	// on is the pod they play on, to the one they have a seat on.
	on, to *pod
	claim  routing.Claim
	shun   []string
	// waits is the group they are held for, nil while they are not held.
	waits    *group
	deadline time.Time
	// journey counts what they set out for; plans made for an earlier one fail.
	journey int
	away    bool
}

func (p *proxy) connect() {
	w := p.w
	w.in(Range{500 * time.Millisecond, 5 * time.Second}.draw(w.chance), func() {
		if !w.manager.leading {
			return
		}
		w.manager.proxiesFrom = w.now
		w.manager.hearProxies()
		for _, s := range w.servers {
			p.list(s)
			s.viewed = false
			w.manager.wakeServer(s)
			w.manager.wakeGroup(s.group)
		}
	})
}

// presence is whom the proxies have on a server, and on the way there.
func (p *proxy) presence(s *server) sessions.Presence {
	if s.pod == nil {
		return sessions.Presence{}
	}
	return sessions.Presence{On: len(s.pod.players), Coming: s.pod.coming}
}

// list has the directory say what the manager knows of a server now.
func (p *proxy) list(s *server) {
	if s.entryDue {
		return
	}
	s.entryDue = true
	w := p.w
	w.in(w.pace.Directory.draw(w.chance), func() {
		s.entryDue = false
		if w.manager.leading && !w.manager.proxiesFrom.IsZero() {
			p.learn(s)
		} else if s.written == nil {
			s.entry = entry{}
		}
	})
}

func (p *proxy) learn(s *server) {
	if s.shown == nil || s.shown.Status.WasRegistered == nil || !*s.shown.Status.WasRegistered {
		s.entry = entry{}
		return
	}
	look := s.look(&p.w.manager)
	was := s.entry
	s.entry = entry{
		listed: true, door: sighting.DoorOf(&s.shown.Status), seats: look.Seats, counts: look.Counts.State(),
	}
	if s.entry == was {
		return
	}
	p.room()
	if s.entry.door == agentv1alpha1.DoorState_DOOR_STATE_MOVING {
		p.moveOff(s)
	}
}

// place finds a seat by the rules of routing, and asks for it.
func (p *proxy) place(one *player, claim routing.Claim, groups ...*group) *pod {
	request := routing.Request{Claim: claim, Strategy: p.w.scenario.Strategy, Exclude: one.shun}
	for i, g := range groups {
		if slices.Contains(groups[:i], g) {
			continue
		}
		listed := routing.Group{Name: g.plan.Name, Servers: make([]routing.Server, 0, len(g.servers))}
		for _, s := range g.servers {
			if server, ok := p.describe(s); ok {
				listed.Servers = append(listed.Servers, server)
			}
		}
		request.Groups = append(request.Groups, listed)
	}
	for _, candidate := range routing.Rank(request).Candidates {
		if pod := p.w.named[candidate.Server].pod; pod.seat(claim) {
			return pod
		}
	}
	return nil
}

// describe leaves out servers that nobody new may come to.
func (p *proxy) describe(s *server) (routing.Server, bool) {
	if !s.entry.listed || s.pod == nil {
		return routing.Server{}, false
	}
	described := routing.Server{
		Name: s.name, Seats: s.entry.seats, Players: len(s.pod.players), InFlight: s.pod.coming, Counts: s.entry.counts,
	}
	switch s.entry.door {
	case agentv1alpha1.DoorState_DOOR_STATE_OPEN:
		return described, true
	case agentv1alpha1.DoorState_DOOR_STATE_BY_NAME:
		described.Door = fleet.DoorClosed
		return described, true
	case agentv1alpha1.DoorState_DOOR_STATE_CLOSED, agentv1alpha1.DoorState_DOOR_STATE_MOVING,
		agentv1alpha1.DoorState_DOOR_STATE_UNSPECIFIED:
	}
	return routing.Server{}, false
}

func (p *proxy) fallback() *group { return p.w.groups[p.w.scenario.Fallback] }

func (p *proxy) arrive(visit *Visit) {
	one := &player{visit: visit, claim: routing.ByChoice}
	p.online++
	p.w.at(visit.Until, func() { p.leave(one) })
	p.seek(one)
}

// wanted are the groups a player without a server is taken to.
func (p *proxy) wanted(one *player) []*group {
	if one.claim == routing.ByNeed || one.stop >= len(one.visit.Stops) {
		return []*group{p.fallback()}
	}
	return []*group{p.w.groups[one.visit.Stops[one.stop].Group], p.fallback()}
}

// seek looks for a place for who has none, and holds them when there is none.
func (p *proxy) seek(one *player) {
	groups := p.wanted(one)
	if pod := p.place(one, one.claim, groups...); pod != nil {
		p.travel(one, pod)
		return
	}
	if len(p.held) >= p.w.scenario.Held || p.w.scenario.Hold == 0 {
		p.refuse(one, "no seat, and too many are held")
		return
	}
	p.held = append(p.held, one)
	one.waits, one.deadline = groups[0], p.w.now.Add(p.w.scenario.Hold)
	p.await(groups[0], 1)
	p.w.tell(&happening{what: held, group: groups[0], player: one})
	journey := one.journey
	p.w.at(one.deadline, func() {
		if one.journey == journey && one.waits != nil {
			p.giveUp(one)
		}
	})
}

// giveUp is the end of a hold: any seat there is, or none.
func (p *proxy) giveUp(one *player) {
	g := one.waits
	pod := p.place(one, routing.ByNeed, g, p.fallback())
	p.unhold(one)
	if pod != nil {
		p.travel(one, pod)
		return
	}
	p.refuse(one, "held for "+p.w.scenario.Hold.String())
}

func (p *proxy) unhold(one *player) {
	at := slices.Index(p.held, one)
	p.held = slices.Delete(p.held, at, at+1)
	p.await(one.waits, -1)
	one.waits = nil
}

// await tells the manager how many wait for a group.
func (p *proxy) await(g *group, by int) {
	g.waiting += by
	g.stirred++
	if p.reporting {
		return
	}
	p.reporting = true
	p.w.in(p.w.pace.News.draw(p.w.chance), func() {
		p.reporting = false
		p.w.manager.hearProxies()
	})
}

func (p *proxy) refuse(one *player, why string) {
	p.w.tell(&happening{what: refused, group: p.wanted(one)[0], player: one, note: why})
	p.depart(one)
}

// room has those who are held look again, in their order. Where one finds no
// seat, nobody behind does.
func (p *proxy) room() {
	if len(p.held) == 0 {
		return
	}
	p.w.wake(&p.looking, p.w.now.Add(50*time.Millisecond), func() {
		full := map[*group]bool{}
		for _, one := range slices.Clone(p.held) {
			if one.waits == nil || full[one.waits] {
				continue
			}
			pod := p.place(one, one.claim, one.waits, p.fallback())
			if pod == nil {
				full[one.waits] = len(one.shun) == 0
				continue
			}
			p.unhold(one)
			p.travel(one, pod)
		}
		if len(p.held) > 0 {
			p.w.wake(&p.looking, p.w.now.Add(lookAgain), p.room)
		}
	})
}

// travel takes a player to a seat they were given. Who is on a server stays
// there until the new one has them.
func (p *proxy) travel(one *player, pod *pod) {
	one.journey++
	journey := one.journey
	one.to = pod
	pod.coming++
	pod.seatAt = p.w.now
	pod.news()
	p.w.tell(&happening{what: seated, group: pod.server.group, server: pod.server, player: one})
	p.w.in(p.w.pace.Join.draw(p.w.chance), func() {
		if one.journey == journey && one.to == pod {
			p.land(one, pod)
		}
	})
}

func (p *proxy) land(one *player, pod *pod) {
	one.to = nil
	pod.coming--
	if !pod.up() {
		pod.emptyFrom = p.w.now
		pod.news()
		one.shun = append(one.shun, pod.server.name)
		if one.on == nil {
			p.seek(one)
		}
		return
	}
	if one.on != nil {
		one.on.exit(one)
	}
	one.on, one.shun = pod, nil
	one.journey++
	pod.enter(one)
	p.w.tell(&happening{what: joined, group: pod.server.group, server: pod.server, player: one})
	one.claim = routing.ByChoice
	p.stay(one)
	if pod.server.entry.door == agentv1alpha1.DoorState_DOOR_STATE_MOVING {
		p.w.in(lookAgain, func() { p.moveOff(pod.server) })
	}
}

// stay plans the end of a stop.
func (p *proxy) stay(one *player) {
	if one.stop >= len(one.visit.Stops) || len(one.visit.Stops) == 1 {
		return
	}
	journey := one.journey
	p.w.in(one.visit.Stops[one.stop].Stay, func() {
		if one.journey == journey {
			p.nextStop(one)
		}
	})
}

// nextStop sends a player on to where they go next, by their own choice: where
// there is no seat they stay where they are, and try again.
func (p *proxy) nextStop(one *player) {
	if one.away {
		return
	}
	one.stop++
	one.journey++
	p.change(one, switches)
}

func (p *proxy) change(one *player, attempts int) {
	target := p.wanted(one)[0]
	if one.on == nil || one.to != nil || one.on.server.group == target {
		p.stay(one)
		return
	}
	if pod := p.place(one, routing.ByChoice, target); pod != nil {
		p.travel(one, pod)
		return
	}
	if attempts == 0 {
		p.stay(one)
		return
	}
	journey := one.journey
	p.w.in(switchAgain, func() {
		if one.journey == journey {
			p.change(one, attempts-1)
		}
	})
}

// moveOff moves players off a server that is to be left, until nobody is there.
func (p *proxy) moveOff(s *server) {
	pod := s.pod
	if pod == nil || pod.gone || s.entry.door != agentv1alpha1.DoorState_DOOR_STATE_MOVING {
		return
	}
	for _, one := range slices.Clone(pod.players) {
		if one.to != nil {
			continue
		}
		one.shun = []string{s.name}
		if to := p.place(one, routing.ByNeed, p.fallback()); to != nil {
			p.travel(one, to)
		}
	}
	if len(pod.players) > 0 {
		p.w.in(lookAgain, func() { p.moveOff(s) })
	}
}

// onLost is what becomes of a player whose server went under them.
func (p *proxy) onLost(one *player, pod *pod) {
	one.on = nil
	one.journey++
	p.w.tell(&happening{what: lost, group: pod.server.group, server: pod.server, player: one})
	one.claim, one.shun = routing.ByNeed, []string{pod.server.name}
	if one.to != nil {
		// They have a seat elsewhere and are on the way.
		to := one.to
		journey := one.journey
		p.w.in(p.w.pace.Join.draw(p.w.chance), func() {
			if one.journey == journey && one.to == to {
				p.land(one, to)
			}
		})
		return
	}
	p.seek(one)
}

// leave is the end of a visit, wherever the player is.
func (p *proxy) leave(one *player) {
	if one.away {
		return
	}
	if one.waits != nil {
		p.unhold(one)
	}
	if one.to != nil {
		one.to.coming--
		one.to.emptyFrom = p.w.now
		one.to.news()
		one.to = nil
		p.room()
	}
	if one.on != nil {
		pod := one.on
		one.on = nil
		pod.exit(one)
		p.w.tell(&happening{what: left, group: pod.server.group, server: pod.server, player: one})
	}
	p.depart(one)
}

func (p *proxy) depart(one *player) {
	one.away = true
	one.journey++
	p.online--
}
