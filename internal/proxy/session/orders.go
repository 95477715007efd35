// SPDX-License-Identifier: Apache-2.0

package session

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spawnery/spawnery-operator/internal/mcproto"
	"github.com/spawnery/spawnery-operator/internal/proxy/commands"
	"github.com/spawnery/spawnery-operator/internal/proxy/messages"
	"github.com/spawnery/spawnery-operator/internal/proxy/placing"
	"github.com/spawnery/spawnery-operator/internal/routing"
)

// moveAttempts bounds the servers of a group that are logged in to in search
// of one that lets the player in.
const moveAttempts = 4

// order is a wish that the player be somewhere else. While it is carried out
// they play on where they are.
type order struct {
	request placing.Request
	from    string             // the server that is to be left; empty: any
	why     messages.Key       // shown on landing; empty: nothing
	done    chan<- error       // with room for one; nil: nobody waits
	target  string             // for people
	limit   chan struct{}      // bounds how many move at once; nil: nothing does
	stuck   func(lacking bool) // told whether a seat is lacking; nil: nobody is
}

// errBusy says that the player is on the way to a server already.
var errBusy = errors.New("the player is on the way to a server already")

// errDenied says that the player lacks the permission of a group.
var errDenied = errors.New("the player may not join the group")

// Switched says why a switch did not happen, in words for the player.
type Switched struct {
	Reason mcproto.Text
	Cause  error
}

// Error implements error.
func (s *Switched) Error() string { return s.Reason.String() }

// Unwrap returns the cause.
func (s *Switched) Unwrap() error { return s.Cause }

// Leave asks the player to go from a server to the fallback groups. It does
// not wait, and asking again does no harm.
func (p *Player) Leave(server string) {
	o := order{
		request: p.request(routing.ByNeed), from: server, why: messages.FallbackClosing, limit: p.world.Moves,
		stuck: func(lacking bool) { p.stand(func(s *Standing) { s.Stuck = lacking }) },
	}
	o.request.Groups = p.joinable(p.world.Store.View().Settings.GetFallbackGroups())
	select {
	case p.orders <- o:
	default:
	}
}

// Switch takes the player to a server or to any server of a group. On an error
// they have stayed where they are; a *Switched says why.
func (p *Player) Switch(ctx context.Context, target string) error {
	view := p.world.Store.View()
	o := order{target: target}
	switch {
	case view.Server(target) != nil:
		if p.Standing().Server == target {
			return &Switched{Reason: messages.Text(messages.JoinHere, mcproto.Plain(target))}
		}
		if group := view.Server(target).GetGroup(); !p.mayJoin(group) {
			return p.denied(group)
		}
		o.request = p.request(routing.ByName)
		o.request.Server = target
	case view.HasGroup(target):
		if !p.mayJoin(target) {
			return p.denied(target)
		}
		o.request = p.request(routing.ByChoice)
		o.request.Groups = []string{target}
	default:
		return &Switched{Reason: messages.Text(messages.JoinUnknown, mcproto.Plain(target))}
	}
	return p.await(ctx, o)
}

// Send takes the player where they want to be, and returns why they stayed; nil:
// they did not.
func (p *Player) Send(ctx context.Context, to commands.Target) *mcproto.Text {
	var err error
	if to.Place != "" {
		err = p.Switch(ctx, to.Place)
	} else {
		o := order{target: strings.Join(to.Groups, ", "), request: p.request(routing.ByChoice)}
		o.request.Groups = to.Groups
		err = p.await(ctx, o)
	}
	if err == nil {
		return nil
	}
	if stays, ok := errors.AsType[*Switched](err); ok {
		return &stays.Reason
	}
	// It is not known whether they stay.
	return new(messages.Text(messages.JoinSlow))
}

// await has the director carry the order out.
func (p *Player) await(ctx context.Context, o order) error {
	done := make(chan error, 1)
	o.done = done
	select {
	case p.orders <- o:
	default:
		return &Switched{Reason: messages.Text(messages.JoinBusy), Cause: errBusy}
	}
	select {
	case err := <-done:
		return err
	case <-p.gone:
		return errOver
	case <-ctx.Done():
		return fmt.Errorf("switching to %s: %w", o.target, context.Cause(ctx))
	}
}

// denied is the answer to who may not join a group.
func (p *Player) denied(group string) error {
	return &Switched{Reason: messages.Text(messages.JoinDenied, p.groupName(group)), Cause: errDenied}
}

// carryOut moves a player who is in a world, or leaves them there.
func (p *Player) carryOut(ctx context.Context, o order) {
	began := p.world.Clock.Now()
	err := p.move(ctx, o)
	// Whoever must leave and cannot is tried again and again.
	if err != nil && o.done != nil {
		p.world.Meter.Switched(p.world.Clock.Since(began), err)
	}
	if err != nil {
		p.log.V(1).Info("a player stays where they are", "target", o.target, "cause", err.Error())
		err = &Switched{Reason: refusalText(p.groupName(o.target), err), Cause: err}
	}
	if o.done != nil {
		o.done <- err
	}
}

func (p *Player) move(ctx context.Context, o order) error {
	was := p.current
	if o.from != "" && was.name != o.from {
		return nil
	}
	if o.limit != nil {
		select {
		case o.limit <- struct{}{}:
			defer func() { <-o.limit }()
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	began := p.world.Clock.Now()
	trial := newJourney(o.request.Claim, began, 0)
	trial.avoid(was.name)
	l, err := p.tryOut(ctx, o, trial)
	if o.stuck != nil {
		_, lacking := errors.AsType[*placing.NoPlace](err)
		o.stuck(lacking)
	}
	if err != nil {
		return err
	}
	// From here on the player is on a journey: should the new server fail
	// before its world, another one is looked for.
	p.journey = p.begin(routing.ByNeed)
	p.journey.switching = began
	delete(trial.shunned, was.name)
	p.journey.shunned, p.journey.first = trial.shunned, o.request.Groups
	if o.why != "" {
		p.onLanding(messages.Text(messages.Fallback, mcproto.Plain(was.name), messages.Text(o.why)))
	}
	if err := p.enter(ctx, l); err != nil {
		p.giveUp(ctx, err)
		return err
	}
	return nil
}

// tryOut logs in to servers until one lets the player in.
func (p *Player) tryOut(ctx context.Context, o order, trial *journey) (*link, error) {
	var last error
	for range moveAttempts {
		now := p.world.Clock.Now()
		o.request.Exclude = trial.excluded(now)
		place, err := p.world.Finder.Find(ctx, o.request)
		if err != nil {
			if last != nil {
				return nil, last
			}
			return nil, err
		}
		conn, err := p.logIn(ctx, place)
		if err == nil {
			return newLink(place, conn, p.client.Protocol), nil
		}
		last = err
		trial.learn(place.Server.GetName(), err, now)
		if o.request.Claim == routing.ByName {
			break
		}
	}
	return nil, last
}
