// SPDX-License-Identifier: Apache-2.0

package session

import (
	"context"
	"net"
	"strconv"
	"time"

	"github.com/spawnery/spawnery-operator/internal/mcproto"
	"github.com/spawnery/spawnery-operator/internal/proxy/messages"
	"github.com/spawnery/spawnery-operator/internal/proxy/placing"
	"github.com/spawnery/spawnery-operator/internal/proxy/ticket"
	"github.com/spawnery/spawnery-operator/internal/routing"
)

const (
	// departWithin is how long a client that was sent elsewhere may take to hang
	// up: it does so from its main thread, which may be loading.
	departWithin = 20 * time.Second
	// defaultPort is the one that players need not type.
	defaultPort = 25565
	// maxRefusals bounds the transfers in one search for a place: servers that
	// all send players away too late would keep them on the way for ever.
	maxRefusals = 3
	// maxAvoided bounds the servers a ticket keeps a player away from.
	maxAvoided = 8
)

// Departure is an order to go to another proxy of the network.
type Departure struct {
	// Hops counts the proxies that passed the player on, this one included.
	Hops int
}

// Depart asks the player to go on at another proxy, by the way they came in. It
// does not wait, and asking again does no harm.
func (p *Player) Depart(d Departure) {
	select {
	case p.leaves <- d:
	default:
	}
}

// Transferred reports whether a proxy of this network has sent the player here.
func (p *Player) Transferred() bool { return p.client.Ticket != nil }

// Came is when the player came to this proxy.
func (p *Player) Came() time.Time { return p.came }

// Hops counts the proxies that passed the player on, one after the other, before
// they came to this one.
func (p *Player) Hops() int {
	if p.sent == nil {
		return 0
	}
	return p.sent.Hops
}

// takeUp begins the journey of somebody who has just come: where one ended at
// another proxy, or from the beginning.
func (p *Player) takeUp() *journey {
	t := p.sent
	if t == nil {
		j := p.begin(routing.ByChoice)
		j.first = p.forced()
		return j
	}
	claim := routing.ByChoice
	if t.Server != "" || len(t.Avoid) > 0 {
		claim = routing.ByNeed
	}
	j := p.begin(claim)
	j.first, j.back, j.refusals = t.Groups, t.Server, t.Refusals
	for _, server := range t.Avoid {
		j.avoid(server)
	}
	if t.Why != nil {
		j.explain(*t.Why)
	}
	j.refused = t.Refused
	return j
}

// depart sends the player away as ordered. False: there is no way to send them,
// and they stay. Otherwise it ends with their stay.
func (p *Player) depart(ctx context.Context, d Departure) bool {
	t := p.writeTicket()
	t.Hops = d.Hops
	return p.transfer(ctx, t)
}

// tryElsewhere has a client whom no server can take over any more come anew, to
// where it is no longer what this connection made of it. False: it cannot.
func (p *Player) tryElsewhere(ctx context.Context) bool {
	if p.journey == nil || p.journey.refusals >= maxRefusals || p.screen.now() == phaseLeaving {
		return false
	}
	t := p.writeTicket()
	t.Hops = p.Hops()
	t.Refusals = p.journey.refusals + 1
	if p.journey.told && !p.screen.travelled() {
		t.Landing = append(t.Landing, p.journey.why)
	}
	return p.transfer(ctx, t)
}

// writeTicket says where the player is and what they are on the way to.
func (p *Player) writeTicket() ticket.Ticket {
	t := ticket.Ticket{
		Profile: p.client.Profile, Authentication: p.identity.Authentication, Address: p.address,
		Network: p.world.Store.View().Settings.GetNetwork(),
	}
	if p.current != nil {
		t.Server = p.current.name
	}
	if j := p.journey; j != nil {
		t.Groups, t.Refusals, t.Refused = j.first, j.refusals, j.refused
		if t.Server == "" {
			t.Server = j.back
		}
		t.Avoid = j.avoided()
		if j.told {
			t.Why = &j.why
		}
	}
	p.screen.mu.Lock()
	t.Landing = append(t.Landing, p.screen.landing...)
	p.screen.mu.Unlock()
	return t
}

// transfer leaves the server before the client learns of it: the next proxy
// would otherwise log the player in where they still are. It returns true when
// the stay is over.
func (p *Player) transfer(ctx context.Context, t ticket.Ticket) bool {
	to, ok := p.wayIn()
	if !ok {
		p.log.Info("a player has to stay: their client named no host to go to")
		return false
	}
	p.world.Sent.remember(t.Profile.ID, t, p.world.Clock.Now())
	p.leaveCurrent()
	if p.screen.now() == phaseLeaving {
		if err := p.toConfiguration(ctx); err != nil {
			p.giveUp(ctx, err)
			return true
		}
	}
	sealed, err := p.world.Tickets.Seal(t)
	if err != nil {
		// They come as everybody does.
		p.log.Error(err, "a player goes without a ticket")
	}
	p.screen.show(p, func(s *screen) error { return s.depart(p, to, sealed) })
	p.ending.Store(true)
	p.log.Info("a player was sent to another proxy", "to", net.JoinHostPort(to.Host, strconv.Itoa(int(to.Port))),
		"backTo", t.Server, "hops", t.Hops, "refusals", t.Refusals)
	timer := p.world.Clock.NewTimer(departWithin)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C():
		p.conn.Close()
		<-ctx.Done()
	}
	return true
}

// wayIn is where the network is reached: by its own word, or by where the client
// came in.
func (p *Player) wayIn() (mcproto.Transfer, bool) {
	if address := p.world.Store.View().Settings.GetTransfer().GetAddress(); address != "" {
		return parseWay(address), true
	}
	host, port := p.client.Handshake.CleanHost(), p.client.Handshake.Port
	return mcproto.Transfer{Host: host, Port: int32(port)}, host != "" && port != 0
}

// parseWay reads host or host:port, of which the API server has seen that it is
// one of them.
func parseWay(address string) mcproto.Transfer {
	host, portText, err := net.SplitHostPort(address)
	if err != nil {
		return mcproto.Transfer{Host: address, Port: defaultPort}
	}
	port, err := strconv.ParseUint(portText, 10, 16)
	if err != nil || port == 0 {
		return mcproto.Transfer{Host: host, Port: defaultPort}
	}
	return mcproto.Transfer{Host: host, Port: int32(port)}
}

// searchBack looks for a seat on the server that the player was on at another
// proxy; nil: there is none to be had. It is done once.
func (p *Player) searchBack(ctx context.Context) *placing.Place {
	name := p.journey.back
	server := p.world.Store.View().Server(name)
	p.journey.back = ""
	if server == nil || !p.mayJoin(server.GetGroup()) {
		return nil
	}
	request := p.request(routing.ByName)
	request.Server = name
	place, err := p.world.Finder.Find(ctx, request)
	if err != nil && ctx.Err() == nil {
		p.onLanding(messages.Text(messages.Fallback, mcproto.Plain(name), refusalText(mcproto.Plain(name), err)))
	}
	p.journey.returning = name
	return place
}

// departed carries out an order to go elsewhere that waits, if one does. True:
// the stay is over.
func (p *Player) departed(ctx context.Context) bool {
	select {
	case d := <-p.leaves:
		return p.depart(ctx, d)
	default:
		return false
	}
}
