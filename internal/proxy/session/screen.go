// SPDX-License-Identifier: Apache-2.0

package session

import (
	"errors"
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/spawnery/spawnery-operator/internal/mcproto"
	"github.com/spawnery/spawnery-operator/internal/proxy/ticket"
)

// errGone ends a stay whose client was sent elsewhere and has not hung up.
var errGone = errors.New("the client was sent to another proxy")

// phase is what the client expects of packets sent to it.
type phase int

const (
	// phaseFresh: in configuration, and without registries: any server can
	// still configure it.
	phaseFresh phase = iota
	// phaseFilled: in configuration, with registries of a server; it takes no
	// second set.
	phaseFilled
	// phaseEntering: configured, and not in a world yet.
	phaseEntering
	// phasePlaying: in a world.
	phasePlaying
	// phaseLeaving: told to go back to configuration, which it has not
	// acknowledged. Nothing may be sent.
	phaseLeaving
	// phaseGone: sent to another proxy. It hangs up, and reads nothing more.
	phaseGone
)

// screen is the client as the receiver of packets. Whoever changes its phase,
// or writes by it, holds mu for both, so that no packet meets the wrong phase.
// Relaying what a server sends needs no lock: only the attached server's
// reader does that, and it changes the phase itself.
type screen struct {
	mu      sync.Mutex
	phase   phase
	acked   chan struct{}  // closed when the client is in configuration again
	landing []mcproto.Text // told when the player is in a world
	worlds  int            // how many the player has entered
}

// show lets write send something. An error ends the stay: the client's reader
// finds the connection closed.
func (s *screen) show(p *Player, write func(*screen) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := write(s); err != nil {
		p.conn.Close()
	}
}

// now is the phase at this moment.
func (s *screen) now() phase {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.phase
}

// travelled reports whether the player has been in a world: then they want to
// know why they are in another.
func (s *screen) travelled() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.worlds > 0
}

// tell shows lines in chat, or keeps them for the next world.
func (s *screen) tell(p *Player, lines ...mcproto.Text) error {
	if s.phase != phasePlaying {
		s.keep(lines)
		return nil
	}
	return s.chat(p, lines)
}

// onLanding keeps lines for the world the player enters next, also while they
// are still in another.
func (p *Player) onLanding(lines ...mcproto.Text) {
	p.screen.mu.Lock()
	defer p.screen.mu.Unlock()
	p.screen.keep(lines)
}

// maxLanding bounds what waits for the next world: a client may go on asking
// while it puts off its way there. It is more than a screen shows.
const maxLanding = 100

func (s *screen) keep(lines []mcproto.Text) {
	s.landing = append(s.landing, lines...)
	s.landing = slices.Clone(s.landing[max(0, len(s.landing)-maxLanding):])
}

func (s *screen) chat(p *Player, lines []mcproto.Text) error {
	number := p.client.Protocol.Number
	for _, line := range lines {
		payload := mcproto.SystemChatPayload(number, p.rendered(line), mcproto.InChat)
		if err := p.conn.QueuePacket(p.client.Protocol.PlayClient.SystemChat, payload); err != nil {
			return err
		}
	}
	return p.conn.Flush()
}

// land is called when the player has entered a world: what waited is told, and
// what the last world left on the screen is cleared.
func (s *screen) land(p *Player) error {
	s.phase = phasePlaying
	if s.worlds++; s.worlds > 1 {
		reset := mcproto.NewWriter().Bool(true).Bytes()
		if err := p.conn.QueuePacket(p.client.Protocol.PlayClient.ClearTitles, reset); err != nil {
			return err
		}
	}
	lines := s.landing
	s.landing = nil
	return s.chat(p, lines)
}

// keepAlive asks for a sign of life; false when the phase allows no question.
func (s *screen) keepAlive(p *Player, who asker) (bool, error) {
	protocol := p.client.Protocol
	id := protocol.ConfigClient.KeepAlive
	switch s.phase {
	case phaseFresh, phaseFilled:
	case phaseEntering, phasePlaying:
		id = protocol.PlayClient.KeepAlive
	case phaseLeaving, phaseGone:
		return false, nil
	}
	number := rand.Int64()
	p.questions.ask(question{topic: topicKeepAlive, number: number}, who)
	return true, p.conn.WritePacket(id, mcproto.KeepAlivePayload(number))
}

// cookie asks for a cookie; false when the phase allows no question.
func (s *screen) cookie(p *Player, key string, who asker) (bool, error) {
	protocol := p.client.Protocol
	id := protocol.ConfigClient.CookieRequest
	switch s.phase {
	case phaseFresh, phaseFilled:
	case phaseEntering, phasePlaying:
		id = protocol.PlayClient.CookieRequest
	case phaseLeaving, phaseGone:
		return false, nil
	}
	p.questions.ask(question{topic: topicCookie, key: key}, who)
	return true, p.conn.WritePacket(id, mcproto.NewWriter().String(key).Bytes())
}

// disconnect tells the client why it has to go.
func (s *screen) disconnect(p *Player, reason mcproto.Text) error {
	protocol := p.client.Protocol
	id := protocol.ConfigClient.Disconnect
	switch s.phase {
	case phaseFresh, phaseFilled, phaseLeaving:
	case phaseEntering, phasePlaying:
		id = protocol.PlayClient.Disconnect
	case phaseGone:
		return errGone
	}
	return p.conn.WritePacket(id, mcproto.DisconnectPayload(mcproto.StateConfiguration, protocol.Number, p.rendered(reason)))
}

// leave sends the client back to configuration. The channel returned is closed
// once it is there.
func (s *screen) leave(p *Player) (<-chan struct{}, error) {
	switch s.phase {
	case phaseFresh, phaseFilled:
		done := make(chan struct{})
		close(done)
		return done, nil
	case phaseLeaving:
		return s.acked, nil
	case phaseGone:
		return nil, errGone
	case phaseEntering, phasePlaying:
	}
	ids := p.client.Protocol.PlayClient
	if err := s.closeBundle(p); err != nil {
		return nil, err
	}
	p.questions.ask(question{topic: topicConfiguration}, asker{})
	s.phase, s.acked = phaseLeaving, make(chan struct{})
	return s.acked, p.conn.WritePacket(ids.StartConfiguration, nil)
}

// closeBundle ends a bundle that a server left open: what is in one is looked at
// when it ends.
func (s *screen) closeBundle(p *Player) error {
	if !p.bundled {
		return nil
	}
	p.bundled = false
	return p.conn.QueuePacket(p.client.Protocol.PlayClient.Bundle, nil)
}

// depart sends the client to another address, with a ticket unless that is
// empty.
func (s *screen) depart(p *Player, to mcproto.Transfer, sealed []byte) error {
	store, transfer := p.client.Protocol.ConfigClient.StoreCookie, p.client.Protocol.ConfigClient.Transfer
	switch s.phase {
	case phaseFresh, phaseFilled:
	case phaseEntering, phasePlaying:
		store, transfer = p.client.Protocol.PlayClient.StoreCookie, p.client.Protocol.PlayClient.Transfer
		if err := s.closeBundle(p); err != nil {
			return err
		}
	case phaseLeaving, phaseGone:
		return errGone
	}
	if len(sealed) > 0 {
		cookie := mcproto.Cookie{Key: ticket.CookieKey, Value: sealed}
		if err := p.conn.QueuePacket(store, cookie.StorePayload()); err != nil {
			return err
		}
	}
	s.phase = phaseGone
	return p.conn.WritePacket(transfer, to.Payload())
}

// left is called when the client says that it is in configuration.
func (s *screen) left() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.phase == phaseLeaving {
		s.phase = phaseFresh
		close(s.acked)
	}
}
