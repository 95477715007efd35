// SPDX-License-Identifier: Apache-2.0

package session

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/spawnery/spawnery-operator/internal/mcproto"
	"github.com/spawnery/spawnery-operator/internal/proxy/messages"
	"github.com/spawnery/spawnery-operator/internal/proxy/placing"
	"github.com/spawnery/spawnery-operator/internal/routing"
	"github.com/spawnery/spawnery-operator/internal/seats"
)

const (
	// searchAgain is how often a held player looks for a place when nothing
	// was heard: seats become free without a word.
	searchAgain = time.Second
	// aliveEvery is how often a client without a server is asked for a sign
	// of life. It gives up after 30 s without one of ours.
	aliveEvery = 5 * time.Second
)

// direct decides where the player is until ctx ends.
func (p *Player) direct(ctx context.Context) {
	defer p.leaveCurrent()
	p.journey = p.takeUp()
	for _, group := range p.journey.first {
		if !p.mayJoin(group) && !p.Transferred() {
			p.onLanding(messages.Text(messages.JoinDenied, p.groupName(group)))
		}
	}
	for p.settle(ctx) {
		for p.journey == nil {
			select {
			case <-ctx.Done():
				return
			case o := <-p.orders:
				p.carryOut(ctx, o)
			case l := <-p.lost:
				p.onLost(l)
			case d := <-p.leaves:
				p.depart(ctx, d)
			}
		}
	}
}

func (p *Player) begin(claim routing.Claim) *journey {
	hold := time.Duration(p.world.Store.View().Settings.GetHoldSeconds()) * time.Second
	return newJourney(claim, p.world.Clock.Now(), hold)
}

// onLost begins the journey of a player whose server is gone, or goes on with
// the one that had led there without reaching a world.
func (p *Player) onLost(l *link) {
	if l != p.current {
		return
	}
	p.leaveCurrent()
	reason := messages.Text(messages.FallbackLost)
	if l.end.spoken {
		reason = l.end.reason
	}
	p.log.Info("a player lost their server", "server", l.name, "said", l.end.spoken, "cause", l.end.cause.Error())
	name := mcproto.Plain(l.name)
	if p.journey == nil {
		p.journey = p.begin(routing.ByNeed)
	}
	p.journey.avoid(l.name)
	p.journey.explain(messages.Text(messages.Lost, name, reason))
	if p.screen.travelled() {
		p.onLanding(messages.Text(messages.Fallback, name, reason))
	}
}

// settle gets the player into a world; false when the stay is over.
func (p *Player) settle(ctx context.Context) bool {
	stop := p.keepAlive(ctx)
	defer stop()
	held := false
	defer func() {
		if held {
			p.world.Held.leave()
		}
	}()
	for ctx.Err() == nil {
		if p.ending.Load() {
			<-ctx.Done()
			break
		}
		if p.departed(ctx) {
			break
		}
		if p.current != nil {
			if p.awaitWorld(ctx) {
				return true
			}
			continue
		}
		changed := p.world.Store.Changed()
		place, err := p.search(ctx)
		if err == nil {
			p.travel(ctx, place)
			continue
		}
		lack, ok := errors.AsType[*placing.NoPlace](err)
		if !ok {
			return false
		}
		if p.journey.over(lack, p.world.Clock.Now()) {
			p.Disconnect(p.journey.farewell(lack, p.groupName(lack.Group)))
			return false
		}
		if !held && !p.world.Held.enter(p.maxHeld()) {
			p.Disconnect(p.journey.turnedAway(p.groupName(lack.Group)))
			return false
		}
		held = true
		p.hold(ctx, lack.Group, changed)
	}
	return false
}

// awaitWorld waits until the server that was attached has the player in its
// world, which ends the journey; false when it was lost before.
func (p *Player) awaitWorld(ctx context.Context) bool {
	select {
	case <-p.current.arrived:
		if began := p.journey.switching; !began.IsZero() {
			p.world.Meter.Switched(p.world.Clock.Since(began), nil)
		}
		p.journey = nil
		return true
	case l := <-p.lost:
		p.onLost(l)
		if p.current == nil && p.screen.now() == phaseFilled {
			p.giveUp(ctx, errFilled)
		}
	case d := <-p.leaves:
		p.depart(ctx, d)
	case <-ctx.Done():
	}
	return false
}

// search looks for a place once. A player who has waited as long as anybody is
// made to gets any seat there is.
func (p *Player) search(ctx context.Context) (*placing.Place, error) {
	now := p.world.Clock.Now()
	view := p.world.Store.View()
	p.journey.forget(view)
	if p.journey.back != "" {
		if place := p.searchBack(ctx); place != nil {
			return place, nil
		}
	}
	request := p.request(p.journey.claim)
	groups := inOrder(p.journey.first, view.Settings.GetFallbackGroups())
	request.Groups = p.joinable(groups)
	if len(request.Groups) == 0 && len(groups) > 0 {
		return nil, &placing.NoPlace{Lack: placing.LackPermission, Group: groups[0]}
	}
	request.Exclude = p.journey.excluded(now)
	place, err := p.world.Finder.Find(ctx, request)
	if err == nil || now.Before(p.journey.deadline) || request.Claim != routing.ByChoice {
		return place, err
	}
	request.Claim = routing.ByNeed
	return p.world.Finder.Find(ctx, request)
}

// joinable are the groups the player may be sent to. Nobody waits for another.
func (p *Player) joinable(groups []string) []string {
	may := make([]string, 0, len(groups))
	for _, group := range groups {
		if p.mayJoin(group) {
			may = append(may, group)
		}
	}
	return may
}

func (p *Player) mayJoin(group string) bool { return p.world.Grants.MayJoin(p.identity, group) }

// forced are the groups of the host that the player connected to.
func (p *Player) forced() []string {
	var hosts []routing.ForcedHost
	for _, host := range p.world.Store.View().Settings.GetForcedHosts() {
		hosts = append(hosts, routing.ForcedHost{Host: cleanForced(host.GetHost()), Groups: host.GetGroups()})
	}
	return routing.Forced(hosts, p.client.Handshake.CleanHost())
}

// cleanForced makes a forced host comparable with what clients connect to.
func cleanForced(host string) string {
	if parent, wild := strings.CutPrefix(host, "*."); wild {
		return "*." + mcproto.CleanHost(parent)
	}
	return mcproto.CleanHost(host)
}

// inOrder has every group once.
func inOrder(first, then []string) []string {
	groups := slices.Clone(first)
	for _, group := range then {
		if !slices.Contains(first, group) {
			groups = append(groups, group)
		}
	}
	return groups
}

func (p *Player) request(claim routing.Claim) placing.Request {
	return placing.Request{
		Player:    seats.Player{UUID: p.client.Profile.ID, Name: p.client.Profile.Name},
		Claim:     claim,
		Privilege: func(group string) routing.Privilege { return p.world.Grants.Privilege(p.identity, group) },
	}
}

// hold keeps a player without a place in the configuration phase until there
// is reason to look again. What a client shows there is its own.
func (p *Player) hold(ctx context.Context, group string, changed <-chan struct{}) {
	if err := p.toConfiguration(ctx); err != nil {
		p.giveUp(ctx, err)
		return
	}
	p.stand(func(s *Standing) { s.Waiting = group })
	now := p.world.Clock.Now()
	timer := p.world.Clock.NewTimer(min(searchAgain, p.journey.deadline.Sub(now)))
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-changed:
	case d := <-p.leaves:
		p.depart(ctx, d)
	case <-timer.C():
	}
}

// keepAlive asks the client for signs of life while no server does.
func (p *Player) keepAlive(ctx context.Context) context.CancelFunc {
	ctx, stop := context.WithCancel(ctx)
	ticker := p.world.Clock.NewTicker(aliveEvery)
	go func() {
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C():
			}
			if p.route.Load() != nil {
				continue
			}
			p.screen.show(p, func(s *screen) error {
				_, err := s.keepAlive(p, asker{})
				return err
			})
		}
	}()
	return stop
}

// giveUp ends a stay that no server can take over any more. The director goes
// on until the client's reader has seen it end.
func (p *Player) giveUp(ctx context.Context, err error) {
	if errors.Is(err, errFilled) && p.tryElsewhere(ctx) {
		return
	}
	p.log.Info("a player cannot be taken to another server", "cause", err.Error())
	if p.journey != nil && p.journey.told {
		p.Disconnect(p.journey.why)
		return
	}
	p.Disconnect(messages.Text(messages.JoinNone))
}
