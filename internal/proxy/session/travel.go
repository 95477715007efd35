// SPDX-License-Identifier: Apache-2.0

package session

import (
	"context"
	"errors"
	"fmt"
	"time"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/mcproto"
	"github.com/spawnery/spawnery-operator/internal/proxy/backend"
	"github.com/spawnery/spawnery-operator/internal/proxy/messages"
	"github.com/spawnery/spawnery-operator/internal/proxy/placing"
)

const (
	// loginWithin bounds a login to a server.
	loginWithin = 10 * time.Second
	// ackWithin is how long a client may take to go back to configuration: it
	// answers from its main thread, which may be loading.
	ackWithin = 20 * time.Second
)

// Why a client cannot be taken to another server.
var (
	errFilled = errors.New("the client holds the registries of the server it lost and takes no second set")
	errNoAck  = errors.New("the client did not go back to configuration in time")
)

// travel takes a player without a server to a place. When the server does not
// let them in, the journey knows.
func (p *Player) travel(ctx context.Context, place *placing.Place) {
	conn, err := p.logIn(ctx, place)
	if err != nil {
		p.journey.learn(place.Server.GetName(), err, p.world.Clock.Now())
		if name := place.Server.GetName(); name == p.journey.returning {
			p.onLanding(messages.Text(messages.Fallback, mcproto.Plain(name), refusalText(mcproto.Plain(name), err)))
		}
		return
	}
	if err := p.enter(ctx, newLink(place, conn, p.client.Protocol)); err != nil {
		p.giveUp(ctx, err)
	}
}

// logIn logs the player in to the place's server. They notice nothing of it
// yet. When it fails the place is closed.
func (p *Player) logIn(ctx context.Context, place *placing.Place) (*mcproto.Conn, error) {
	name := place.Server.GetName()
	p.stand(func(s *Standing) { s.Destination = name })
	ctx, cancel := context.WithTimeout(ctx, loginWithin)
	defer cancel()
	target := backend.Target{Server: place.Server, Secret: p.world.Secrets[place.SignedWith], Traffic: p.world.Traffic}
	conn, err := backend.Login(ctx, p.world.Clock, target, backend.Player{
		Protocol: p.client.Protocol, Handshake: p.client.Handshake, Profile: p.client.Profile,
		Address: p.address.String(), Cookie: p.askCookie,
	})
	if err != nil {
		place.Close()
		p.stand(func(s *Standing) { s.Destination = "" })
		p.log.Info("a player was not let in", "server", name, "cause", err.Error())
		if unsafe, ok := errors.AsType[*backend.Unsafe](err); ok {
			p.world.Judged(name, unsafe.State)
		}
		return nil, err
	}
	if place.Server.GetForwarding() {
		p.world.Judged(name, agentv1alpha1.ForwardingState_FORWARDING_STATE_ACTIVE)
	}
	return conn, nil
}

// askCookie asks the client for a cookie on behalf of a server that is being
// logged in to.
func (p *Player) askCookie(ctx context.Context, key string) []byte {
	if reserved(key) {
		return nil
	}
	answer := make(chan []byte, 1)
	asked := false
	p.screen.show(p, func(s *screen) error {
		var err error
		asked, err = s.cookie(p, key, asker{reply: answer})
		return err
	})
	if !asked {
		return nil
	}
	select {
	case payload := <-answer:
		cookie, err := mcproto.ParseCookieResponse(payload)
		if err != nil {
			return nil
		}
		return cookie.Value
	case <-ctx.Done():
		return nil
	}
}

// enter is the point of no return: the server before is left, the client goes
// to configuration, and the new server takes over.
func (p *Player) enter(ctx context.Context, l *link) error {
	p.leaveCurrent()
	if err := p.toConfiguration(ctx); err != nil {
		l.leave()
		l.place.Close()
		return err
	}
	p.attach(ctx, l)
	p.stand(func(s *Standing) { *s = Standing{Server: l.name, Watches: l.place.Watches()} })
	p.log.Info("a player is on a server", "server", l.name)
	return nil
}

// leaveCurrent leaves the server the player is on, and waits until nothing of
// it reaches the client any more.
func (p *Player) leaveCurrent() {
	l := p.current
	if l == nil {
		return
	}
	p.current = nil
	p.route.CompareAndSwap(l, nil)
	l.leave()
	<-l.done
	p.bundled = l.bundled
	p.stand(func(s *Standing) { s.Server, s.Watches, s.Stuck = "", false, false })
}

// toConfiguration brings the client to where a server can configure it.
func (p *Player) toConfiguration(ctx context.Context) error {
	var acked <-chan struct{}
	filled := false
	p.screen.show(p, func(s *screen) error {
		var err error
		filled = s.phase == phaseFilled
		acked, err = s.leave(p)
		return err
	})
	if filled {
		return errFilled
	}
	timer := p.world.Clock.NewTimer(ackWithin)
	defer timer.Stop()
	select {
	case <-acked:
		return nil
	case <-timer.C():
		return errNoAck
	case <-ctx.Done():
		return fmt.Errorf("going back to configuration: %w", context.Cause(ctx))
	}
}

// attach makes a server that has accepted the player the one they are on. What
// the client said about itself is told before anything new reaches the server.
func (p *Player) attach(ctx context.Context, l *link) {
	p.current = l
	p.habits.mu.Lock()
	defer p.habits.mu.Unlock()
	err := l.conn.QueuePacket(mcproto.LoginAcknowledged, nil)
	if err == nil {
		err = p.habits.tell(l.conn, p.client.Protocol)
	}
	if err == nil {
		err = l.conn.Flush()
	}
	if err != nil {
		// Its reader notices too, and reports the loss like any other.
		l.conn.Close()
	}
	p.route.Store(l)
	go p.readServer(ctx, l)
}
