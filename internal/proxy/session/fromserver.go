// SPDX-License-Identifier: Apache-2.0

package session

import (
	"fmt"

	"github.com/spawnery/spawnery-operator/internal/mcproto"
)

// relay passes a server's packet on.
func (p *Player) relay(f *mcproto.Frame) error {
	if err := p.conn.Relay(f); err != nil {
		return p.clientFailed(err)
	}
	return nil
}

// relayAs passes on a packet that changes what the client expects next.
func (p *Player) relayAs(next phase, f *mcproto.Frame) error {
	p.screen.mu.Lock()
	defer p.screen.mu.Unlock()
	p.screen.phase = next
	return p.relay(f)
}

// relayQuestion passes on a packet that the client answers.
func (p *Player) relayQuestion(l *link, what question, f *mcproto.Frame) error {
	p.questions.ask(what, asker{link: l})
	return p.relay(f)
}

func (p *Player) onConfigDisconnect(l *link, f *mcproto.Frame) error {
	return p.onGoodbye(l, f, mcproto.StateConfiguration)
}

func (p *Player) onPlayDisconnect(l *link, f *mcproto.Frame) error {
	return p.onGoodbye(l, f, mcproto.StatePlay)
}

// onGoodbye keeps the reason; the player goes to another server with it.
func (p *Player) onGoodbye(l *link, f *mcproto.Frame, state mcproto.State) error {
	payload, err := f.Payload()
	if err != nil {
		return err
	}
	reason, err := mcproto.ParseDisconnect(state, payload)
	if err != nil {
		return err
	}
	l.end.reason, l.end.spoken = reason, true
	return errEnded
}

func (p *Player) onRegistryData(_ *link, f *mcproto.Frame) error {
	return p.relayAs(phaseFilled, f)
}

func (p *Player) onKnownPacksRequest(l *link, f *mcproto.Frame) error {
	return p.relayQuestion(l, question{topic: topicKnownPacks}, f)
}

// onFinish: from here on the server speaks of its world.
func (p *Player) onFinish(l *link, f *mcproto.Frame) error {
	l.state = mcproto.StatePlay
	p.questions.ask(question{topic: topicFinish}, asker{link: l})
	return p.relayAs(phaseEntering, f)
}

// onStartConfiguration: the server itself sends the client back. It sends
// nothing more until the client has acknowledged.
func (p *Player) onStartConfiguration(l *link, f *mcproto.Frame) error {
	l.state = mcproto.StateConfiguration
	l.bundled = false
	p.questions.ask(question{topic: topicConfiguration}, asker{link: l})
	p.screen.mu.Lock()
	defer p.screen.mu.Unlock()
	p.screen.phase, p.screen.acked = phaseLeaving, make(chan struct{})
	if err := p.relay(f); err != nil {
		return err
	}
	return p.conn.Flush()
}

// onJoin: the player is in the server's world.
func (p *Player) onJoin(l *link, f *mcproto.Frame) error {
	l.place.Arrived()
	if !l.joined {
		l.joined = true
		defer close(l.arrived)
	}
	p.screen.mu.Lock()
	defer p.screen.mu.Unlock()
	if err := p.relay(f); err != nil {
		return err
	}
	return p.screen.land(p)
}

func (p *Player) onBundle(l *link, f *mcproto.Frame) error {
	l.bundled = !l.bundled
	return p.relay(f)
}

func (p *Player) onKeepAlive(l *link, f *mcproto.Frame) error {
	payload, err := f.Payload()
	if err != nil {
		return err
	}
	id, err := mcproto.ParseKeepAlive(payload)
	if err != nil {
		return err
	}
	return p.relayQuestion(l, question{topic: topicKeepAlive, number: id}, f)
}

func (p *Player) onPing(l *link, f *mcproto.Frame) error {
	payload, err := f.Payload()
	if err != nil {
		return err
	}
	id, err := mcproto.ParsePing(payload)
	if err != nil {
		return err
	}
	return p.relayQuestion(l, question{topic: topicPing, number: int64(id)}, f)
}

func (p *Player) onCookieRequest(l *link, f *mcproto.Frame) error {
	payload, err := f.Payload()
	if err != nil {
		return err
	}
	key, err := mcproto.ParseCookieRequest(payload)
	if err != nil {
		return err
	}
	if reserved(key) {
		return p.keepCookie(l, key)
	}
	return p.relayQuestion(l, question{topic: topicCookie, key: key}, f)
}

// keepCookie answers a server that asks for a cookie of the proxies as a client
// does that has none: a ticket is as good as its player.
func (p *Player) keepCookie(l *link, key string) error {
	id := p.client.Protocol.ConfigServer.CookieResponse
	if l.state == mcproto.StatePlay {
		id = p.client.Protocol.PlayServer.CookieResponse
	}
	if err := l.conn.WritePacket(id, mcproto.Cookie{Key: key}.ResponsePayload()); err != nil {
		return fmt.Errorf("answering %s: %w", l.name, err)
	}
	return nil
}

// onStoreCookie leaves out what a server would store in the proxies' name.
func (p *Player) onStoreCookie(_ *link, f *mcproto.Frame) error {
	payload, err := f.Payload()
	if err != nil {
		return err
	}
	cookie, err := mcproto.ParseStoreCookie(payload)
	if err == nil && reserved(cookie.Key) {
		return nil
	}
	return p.relay(f)
}

func (p *Player) onPackPush(l *link, f *mcproto.Frame) error {
	payload, err := f.Payload()
	if err != nil {
		return err
	}
	pack, err := mcproto.ParseResourcePackPush(payload)
	if err != nil {
		return err
	}
	return p.relayQuestion(l, question{topic: topicPack, pack: pack.ID}, f)
}

// onCommandTree adds the proxy's commands for those who may use them. A tree
// that cannot be read is the server's own and stays as it is.
func (p *Player) onCommandTree(_ *link, f *mcproto.Frame) error {
	literals := p.world.Commands.Literals(p.identity)
	if len(literals) == 0 {
		return p.relay(f)
	}
	payload, err := f.Payload()
	if err != nil {
		return err
	}
	tree, err := mcproto.InjectCommands(payload, literals...)
	if err != nil {
		return p.relay(f)
	}
	if err := p.conn.QueuePacket(f.ID, tree); err != nil {
		return p.clientFailed(err)
	}
	return nil
}
