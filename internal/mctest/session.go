// SPDX-License-Identifier: Apache-2.0

package mctest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/spawnery/spawnery-operator/internal/mcproto"
)

// session is one connection. Its own goroutine reads; keep-alives and the
// methods of Server write beside it.
type session struct {
	server    *Server
	conn      *mcproto.Conn
	protocol  *mcproto.Protocol
	game      *gameData
	handshake mcproto.Handshake
	profile   mcproto.Profile
	address   string // of the client, as forwarded
	frame     mcproto.Frame
	inbound   mcproto.State
	gone      chan struct{} // closed when the player has left play

	mu         sync.Mutex // guards what follows
	outbound   mcproto.State
	kicked     bool // told to go, and nothing more is written
	between    bool // a packet that ends a state was sent and not answered yet
	keepAlives map[int64]time.Time
	lastID     int64
	pings      map[int32]struct{}
	packs      map[uuid.UUID]struct{} // pushed, without a final status
	cookies    map[string]struct{}    // asked for
	given      map[string][]byte      // cookies as the client answered; nil: it has none
	channels   map[string]struct{}    // registered by the client
	brand      string
	locale     string
	received   []mcproto.PluginMessage
}

func (s *Server) serve(ctx context.Context, nc net.Conn) {
	select {
	case <-s.started:
	case <-s.stopping:
		return
	}
	p := &session{
		server:     s,
		conn:       mcproto.NewConn(nc),
		gone:       make(chan struct{}),
		keepAlives: make(map[int64]time.Time),
		pings:      make(map[int32]struct{}),
		packs:      make(map[uuid.UUID]struct{}),
		cookies:    make(map[string]struct{}),
		given:      make(map[string][]byte),
		channels:   make(map[string]struct{}),
	}
	p.end(p.run(ctx))
	p.linger()
}

func (p *session) run(ctx context.Context) error {
	p.deadline()
	payload, err := p.expect(mcproto.HandshakeIntention)
	if err != nil {
		return err
	}
	if p.handshake, err = mcproto.ParseHandshake(payload); err != nil {
		return err
	}
	if p.handshake.Intent == mcproto.IntentStatus {
		return p.status()
	}
	p.inbound, p.outbound = mcproto.StateLogin, mcproto.StateLogin
	known := false
	if p.protocol, known = p.server.protocols.Lookup(p.handshake.Protocol); !known {
		return &refused{reason: mcproto.Text{Translate: "multiplayer.disconnect.incompatible", Fallback: "Incompatible client!"}}
	}
	if p.game, err = gameDataFor(p.protocol); err != nil {
		return err
	}
	if p.handshake.Intent == mcproto.IntentTransfer {
		// accepts-transfers is off by default.
		return &refused{reason: mcproto.Text{Translate: "multiplayer.disconnect.transfers_disabled", Fallback: "Server does not accept transfers"}}
	}
	if err := p.login(ctx); err != nil {
		return err
	}
	stop := p.keepAlive()
	defer stop()
	if err := p.configure(); err != nil {
		return err
	}
	return p.play()
}

// end tells the client why, if it is told anything, and keeps the books.
func (p *session) end(err error) {
	var refusal *refused
	var breach *broken
	switch {
	case errors.As(err, &breach):
		p.server.record(Violation{Player: p.profile.Name, Rule: breach.rule, Detail: breach.detail})
		p.kick(mcproto.Plain(breach.detail))
	case errors.As(err, &refusal):
		p.server.logf("Disconnecting %s (%s): %s", p.profile.Name, p.conn.NetConn().RemoteAddr(), refusal.reason)
		p.kick(refusal.reason)
	case errors.Is(err, mcproto.ErrMalformed) && p.inbound != mcproto.StateHandshake:
		p.server.record(Violation{Player: p.profile.Name, Rule: brokenWire(err, p.server.settings), Detail: err.Error()})
		p.kick(mcproto.Plain("Internal Exception: " + err.Error()))
	case errors.Is(err, os.ErrDeadlineExceeded) && p.profile.Name != "":
		reason := mcproto.Text{Translate: "disconnect.timeout", Fallback: "Timed out"}
		if p.inbound == mcproto.StateLogin {
			reason = mcproto.Text{Translate: "multiplayer.disconnect.slow_login", Fallback: "Took too long to log in"}
		}
		p.kick(reason)
	case err != nil && !errors.Is(err, io.EOF) && p.profile.Name != "":
		p.server.logf("%s lost connection: %v", p.profile.Name, err)
	}
}

// brokenWire is the rule a malformed packet breaks, if it is one of ours.
func brokenWire(err error, s Settings) Switch {
	if s.on(CompressionMinimum) && errors.Is(err, mcproto.ErrBelowThreshold) {
		return CompressionMinimum
	}
	return 0
}

// read waits for the next packet.
func (p *session) read() (int32, []byte, error) {
	p.deadline()
	if err := p.conn.ReadFrame(&p.frame); err != nil {
		return 0, nil, err
	}
	payload, err := p.frame.Payload()
	return p.frame.ID, payload, err
}

// expect reads a packet that must have the id.
func (p *session) expect(id int32) ([]byte, error) {
	got, payload, err := p.read()
	if err == nil && got != id {
		err = fmt.Errorf("%w: packet %#x in %s, want %#x", mcproto.ErrMalformed, got, p.inbound, id)
	}
	return payload, err
}

// deadline bounds the next read and the writes until then. After a kick the
// time is running already.
func (p *session) deadline() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.kicked {
		return
	}
	now := p.server.settings.Clock.Now()
	_ = p.conn.NetConn().SetReadDeadline(now.Add(p.server.settings.Timeout))
	_ = p.conn.NetConn().SetWriteDeadline(now.Add(p.server.settings.Timeout))
}

// send writes a packet that belongs to the state. In another state, or between
// two, the client could not read it, and it is dropped with errEnded.
func (p *session) send(state mcproto.State, id int32, payload []byte) error {
	return p.sendAfter(state, id, payload, func() {})
}

// sendAfter notes what the packet asks for before it is written: the answer may
// come at once.
func (p *session) sendAfter(state mcproto.State, id int32, payload []byte, note func()) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.outbound != state || p.between || p.kicked {
		return errEnded
	}
	note()
	return p.conn.WritePacket(id, payload)
}

// sendLast writes the packet that ends the outbound state; enter begins the
// next when the client has answered it.
func (p *session) sendLast(state mcproto.State, id int32) error {
	return p.sendAfter(state, id, nil, func() { p.between = true })
}

func (p *session) enter(state mcproto.State) {
	p.inbound = state
	p.mu.Lock()
	p.outbound, p.between = state, false
	p.mu.Unlock()
}

// kick disconnects with a reason, in whatever state the client is.
func (p *session) kick(reason mcproto.Text) {
	p.mu.Lock()
	state, between, kicked := p.outbound, p.between, p.kicked
	p.kicked = true
	_ = p.conn.NetConn().SetDeadline(p.server.settings.Clock.Now().Add(lingerTime))
	p.mu.Unlock()
	if kicked {
		return
	}
	if p.protocol == nil {
		// The client's version is unknown: the login packet is all it can read.
		_ = p.conn.WritePacket(mcproto.LoginDisconnect, mcproto.DisconnectPayload(mcproto.StateLogin, p.handshake.Protocol, reason))
	} else if !between {
		_ = p.conn.WritePacket(p.disconnectID(state), mcproto.DisconnectPayload(state, p.protocol.Number, reason))
	}
	if half, ok := p.conn.NetConn().(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
	}
}

// lingerTime is how long a kicked client may take to close.
const lingerTime = time.Second

// linger reads on until a kicked client has closed: closing with unread bytes
// would reset the connection, and could take the reason away from the client.
func (p *session) linger() {
	p.mu.Lock()
	kicked := p.kicked
	p.mu.Unlock()
	if kicked {
		_, _ = io.Copy(io.Discard, p.conn.NetConn())
	}
}

func (p *session) disconnectID(state mcproto.State) int32 {
	switch state {
	case mcproto.StateConfiguration:
		return p.protocol.ConfigClient.Disconnect
	case mcproto.StatePlay:
		return p.protocol.PlayClient.Disconnect
	case mcproto.StateHandshake, mcproto.StateStatus, mcproto.StateLogin:
	}
	return mcproto.LoginDisconnect
}
