// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/netip"
	"strconv"
	"sync"
	"time"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/mcproto"
	"github.com/spawnery/spawnery-operator/internal/proxy/configmaps"
	"github.com/spawnery/spawnery-operator/internal/proxy/grants"
	"github.com/spawnery/spawnery-operator/internal/proxy/guard"
	"github.com/spawnery/spawnery-operator/internal/proxy/login"
	"github.com/spawnery/spawnery-operator/internal/proxy/messages"
	"github.com/spawnery/spawnery-operator/internal/proxy/session"
	"github.com/spawnery/spawnery-operator/internal/proxy/status"
)

const (
	// statusWithin bounds a status connection.
	statusWithin = 10 * time.Second
	// headerWithin bounds the wait for a PROXY header, which comes first.
	headerWithin = 5 * time.Second
	// goodbye is how long a client that was sent away has to read why.
	goodbye = 2 * time.Second
	// acceptAgain is the pause after a failed accept, of which running out of
	// file descriptors is the likeliest.
	acceptAgain = 50 * time.Millisecond
)

// serve takes connections until ctx ends, and returns when none is left.
func (p *Proxy) serve(ctx context.Context) error {
	stop := context.AfterFunc(ctx, func() { p.config.Listener.Close() })
	defer stop()
	var connections sync.WaitGroup
	defer connections.Wait()
	for {
		nc, err := p.config.Listener.Accept()
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.Is(err, net.ErrClosed):
			return fmt.Errorf("taking connections: %w", err)
		case err != nil:
			p.log.Error(err, "a connection was not taken")
			p.pause(ctx, acceptAgain)
			continue
		}
		connections.Go(func() {
			// A stay begins on a new stack: what a login needed of its own
			// would be kept for hours.
			if stay := p.handle(ctx, nc); stay != nil {
				connections.Go(stay)
			}
		})
	}
}

func (p *Proxy) pause(ctx context.Context, d time.Duration) {
	timer := p.config.Clock.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C():
	}
}

// handle serves one connection: to its end, or to the point where it has become
// a player, whose stay it returns.
func (p *Proxy) handle(ctx context.Context, nc net.Conn) func() {
	nc, from := p.whose(nc)
	if nc == nil {
		return nil
	}
	pass := p.gate.Enter(from)
	if pass == nil {
		p.metrics.refused(limitConnections)
		nc.Close()
		return nil
	}
	stop := context.AfterFunc(ctx, func() { nc.Close() })
	leave := func() {
		stop()
		pass.Leave()
		nc.Close()
	}
	conn := guard.NewConn(nc, p.config.Clock)
	conn.Count(&p.clients)
	player, err := p.greet(ctx, guest{conn: conn, packets: mcproto.NewConnOfClient(conn), from: from})
	if player != nil {
		pass.Prove()
		return func() {
			defer leave()
			p.stay(ctx, player)
		}
	}
	defer leave()
	if _, rejected := errors.AsType[*login.Rejected](err); rejected {
		// Read to its end: a close with unread input would take the reason
		// with it.
		conn.Hurry(goodbye)
		_ = conn.CloseWrite()
		_, _ = io.Copy(io.Discard, conn)
	}
	if err != nil {
		p.log.V(1).Info("a connection ended", "from", from.String(), "cause", err.Error())
	}
	return nil
}

// whose tells whose connection one is: of its peer, or of the one for whom a
// trusted peer says it speaks. Nil: it was closed. A header of anybody else is no
// handshake, and ends there.
func (p *Proxy) whose(nc net.Conn) (net.Conn, netip.Addr) {
	peer := addressOf(nc)
	trusted := guard.ParseRanges(p.store.View().Settings.GetProxyProtocol().GetTrustedCidrs())
	if !trusted.Contain(peer) {
		return nc, peer
	}
	pass := p.gate.Enter(peer)
	if pass == nil {
		p.metrics.refused(limitConnections)
		nc.Close()
		return nil, peer
	}
	defer pass.Leave()
	err := nc.SetReadDeadline(p.config.Clock.Now().Add(headerWithin))
	var rest net.Conn
	from := peer
	if err == nil {
		rest, from, err = guard.ReadHeader(nc, peer)
	}
	if err != nil {
		p.metrics.refused(limitProxyProtocol)
		p.log.V(1).Info("a connection ended", "from", peer.String(), "cause", err.Error())
		nc.Close()
		return nil, peer
	}
	return rest, from
}

func (p *Proxy) stay(ctx context.Context, player *session.Player) {
	defer p.roster.remove(player)
	err := player.Run(ctx)
	p.log.Info("a player left", "player", player.Profile().Name, "cause", err.Error())
}

func addressOf(nc net.Conn) netip.Addr {
	if tcp, ok := nc.RemoteAddr().(*net.TCPAddr); ok {
		return tcp.AddrPort().Addr().Unmap()
	}
	return netip.Addr{}
}

// guest is a connection that nobody knows yet.
type guest struct {
	conn    *guard.Conn
	packets *mcproto.Conn
	from    netip.Addr
}

// greet answers a server list, or makes a player of whoever logs in.
func (p *Proxy) greet(ctx context.Context, g guest) (*session.Player, error) {
	if err := g.conn.ReadWithin(statusWithin); err != nil {
		return nil, err
	}
	handshake, err := login.ReadHandshake(g.packets)
	if err != nil {
		return nil, err
	}
	if handshake.Intent == mcproto.IntentStatus {
		if p.rates.list(g.from, p.store.View().Settings.GetRateLimits()) > 0 {
			p.metrics.refused(limitStatusRate)
			return nil, errTooOften
		}
		p.metrics.status.Inc()
		return nil, status.Serve(g.packets, p.given.Content().Protocols, handshake.Protocol, p.list)
	}
	p.origins.count(g.from, p.store.View().Settings.GetClusterCidrs())
	player, err := p.logIn(ctx, g, handshake)
	p.metrics.loggedIn(err)
	if err != nil {
		return nil, err
	}
	who := player.Profile()
	p.log.Info("a player came", "player", who.Name, "uuid", who.ID.String(), "from", g.from.String(),
		"host", handshake.CleanHost(), "protocol", handshake.Protocol)
	return player, nil
}

// list is what the server list shows.
func (p *Proxy) list() status.List {
	view := p.store.View()
	return status.List{
		MOTD:    view.Settings.GetMotd(),
		Favicon: p.given.Content().Favicon,
		Online:  p.online(),
		Limit:   int(view.Settings.GetPlayerLimit()),
	}
}

// givenBy is what the group says of its ConfigMaps.
func (p *Proxy) givenBy() configmaps.Settings {
	settings := p.store.View().Settings
	return configmaps.Settings{FaviconKey: settings.GetFaviconKey(), FallbackLocale: settings.GetFallbackLocale()}
}

// online is everybody on the network, as far as this proxy knows.
func (p *Proxy) online() int { return max(p.store.View().NetworkPlayers, p.roster.size()) }

// full reports whether the network has no room for a player who was just put on
// the roster, and how many it has room for.
func (p *Proxy) full(player *session.Player) (int, bool) {
	view := p.store.View()
	limit := int(view.Settings.GetPlayerLimit())
	// Who was sent here has been in already.
	if !view.Settings.GetEnforcePlayerLimit() || player.Transferred() || p.book.Holds(player.Identity(), grants.JoinLimit) {
		return limit, false
	}
	// The manager's number is about a second old; this proxy's own is not. A
	// number of before the manager went away says nothing: everybody may have left.
	players := p.roster.before(player)
	if p.connected.Load() {
		players = max(players, view.NetworkPlayers)
	}
	return limit, players >= limit
}

// refuses reports whether nobody new gets in, because this way in is about to
// go.
func (p *Proxy) refuses() bool {
	return p.withdrawn() && p.store.View().Settings.GetRefuseWhileWithdrawn()
}

func modeOf(settings *agentv1alpha1.ProxySettings) login.Mode {
	if settings.GetOnlineMode() {
		return login.Online
	}
	return login.Offline
}

// uninvited turns away who comes by themselves, too often or while nobody new
// gets in; nil: they may log in.
func (p *Proxy) uninvited(g guest, handshake mcproto.Handshake) error {
	if wait := p.rates.login(g.from, p.store.View().Settings.GetRateLimits()); wait > 0 {
		p.metrics.refused(limitLoginRate)
		seconds := strconv.Itoa(int(math.Ceil(wait.Seconds())))
		return p.desk.Reject(g.packets, handshake.Protocol, messages.Text(messages.LimitLogins, mcproto.Plain(seconds)), errTooOften)
	}
	if p.refuses() {
		return p.desk.Reject(g.packets, handshake.Protocol, messages.Text(messages.LoginReplaced), errReplaced)
	}
	return nil
}

// logIn takes a client to its configuration phase and onto the roster.
func (p *Proxy) logIn(ctx context.Context, g guest, handshake mcproto.Handshake) (*session.Player, error) {
	view := p.store.View()
	if !view.Complete() {
		return nil, p.desk.Reject(g.packets, handshake.Protocol, messages.Text(messages.LoginStarting), errStarting)
	}
	uninvited := func() error { return p.uninvited(g, handshake) }
	// Who was sent here is known only with their ticket.
	if handshake.Intent != mcproto.IntentTransfer {
		if err := uninvited(); err != nil {
			return nil, err
		}
	}
	mode := modeOf(view.Settings)
	ctx, cancel := context.WithTimeout(ctx, login.Within)
	defer cancel()
	if err := g.conn.ReadWithin(login.Within); err != nil {
		return nil, err
	}
	client, err := p.desk.Identify(ctx, g.packets, handshake, login.Rules{
		Mode: mode, Network: view.Settings.GetNetwork(), From: g.from, Uninvited: uninvited,
	})
	if err != nil {
		return nil, err
	}
	player := session.New(p.world, client, mode, g.from)
	if reason := p.admit(ctx, player, precedence(player, mode)); reason != nil {
		return nil, p.desk.Reject(g.packets, handshake.Protocol, *reason, causeOf(*reason))
	}
	if err := p.desk.Accept(client); err != nil {
		p.roster.remove(player)
		player.Abandon()
		return nil, err
	}
	return player, nil
}

// admit makes a client one of the network's players. A text is why they may not
// come in.
func (p *Proxy) admit(ctx context.Context, player *session.Player, rule agentv1alpha1.Precedence) *mcproto.Text {
	if reason := p.roster.admit(ctx, player, rule); reason != nil {
		return reason
	}
	var reason *mcproto.Text
	if limit, full := p.full(player); full {
		reason = new(messages.Text(messages.LoginFull, mcproto.Plain(strconv.Itoa(limit))))
	} else {
		reason = p.letIn(ctx, player, rule)
	}
	if reason != nil {
		p.roster.remove(player)
		player.Abandon()
	}
	return reason
}
