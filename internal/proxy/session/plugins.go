// SPDX-License-Identifier: Apache-2.0

package session

import (
	"net"
	"net/netip"
	"sync"

	"github.com/spawnery/spawnery-operator/internal/mcproto"
	"github.com/spawnery/spawnery-operator/internal/proxy/bungee"
)

const (
	// heardPerSecond and heardBurst bound the messages of plugins that are taken
	// from one connection. A lobby selector asks for all its servers at once.
	heardPerSecond = 200
	heardBurst     = 400
	// asksPerSecond and asksBurst bound those of them that concern other proxies.
	asksPerSecond = 20
	asksBurst     = 100
	// maxLines and maxLineBytes bound what waits for a player to read it.
	maxLines     = 256
	maxLineBytes = 1 << 20
	// maxPosted and maxPostedBytes bound what waits for a server that takes it
	// slowly. The game itself waits for nothing that plugins say.
	maxPosted      = 256
	maxPostedBytes = 1 << 20
)

// Plugins answers what plugins of servers ask of the proxy.
type Plugins interface {
	// Hear takes in a message that came over via. It must neither block nor keep
	// data.
	Hear(via Via, data []byte)
	// Refused is told of a message that was one too many on its connection.
	Refused()
}

// Via is a player's connection to a server, over which plugins of the server
// speak with the proxy.
type Via struct {
	player *Player
	link   *link
}

// Player is whose connection it is.
func (v Via) Player() *Player { return v.player }

// Server is the server at its other end.
func (v Via) Server() string { return v.link.name }

// Plays reports whether the player is in the server's world, or about to enter
// it: before that no plugin listens.
func (v Via) Plays() bool { return v.link.plays.Load() }

// Send queues a message to the plugins of the server, in the order of the calls,
// and does not wait. False: too much waits for this server already.
func (v Via) Send(data []byte) bool {
	return v.link.post.put(data, len(data))
}

// MayAsk counts a message that concerns other proxies; false: it is one too many.
func (v Via) MayAsk() bool { return v.link.asks.AllowN(v.player.world.Clock.Now(), 1) }

// Via is the connection to the server that the player is on; false while they are
// on none.
func (p *Player) Via() (Via, bool) {
	l := p.route.Load()
	return Via{p, l}, l != nil
}

// Remote is where the player comes from. The port is 0 where somebody else
// connects for them.
func (p *Player) Remote() netip.AddrPort {
	if tcp, ok := p.conn.NetConn().RemoteAddr().(*net.TCPAddr); ok && tcp.AddrPort().Addr().Unmap() == p.address {
		return netip.AddrPortFrom(p.address, tcp.AddrPort().Port())
	}
	return netip.AddrPortFrom(p.address, 0)
}

// registration has a server's plugins send to the proxy: a message on a channel
// that nobody has registered is dropped there without a word.
var registration = mcproto.PluginMessage{Channel: mcproto.RegisterChannel, Data: []byte(bungee.Channel)}.Payload()

// mailbox is what the proxy itself has to say to somebody who may take it slowly:
// whoever has something to say does not wait.
type mailbox[T any] struct {
	mu      sync.Mutex
	waiting []letter[T]
	size    int
	busy    bool
	// most and mostBytes bound what waits; deliver hands one over.
	most, mostBytes int
	deliver         func(T) error
}

type letter[T any] struct {
	what T
	size int
}

// put keeps something of size bytes until it is taken; false: there is no room.
func (m *mailbox[T]) put(what T, size int) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.waiting) == m.most || m.size+size > m.mostBytes {
		return false
	}
	m.waiting, m.size = append(m.waiting, letter[T]{what, size}), m.size+size
	if !m.busy {
		m.busy = true
		go m.empty()
	}
	return true
}

// empty delivers until nothing waits. What cannot be delivered is dropped: the
// connection has gone.
func (m *mailbox[T]) empty() {
	for next, more := m.next(); more; next, more = m.next() {
		_ = m.deliver(next)
	}
}

func (m *mailbox[T]) next() (T, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.waiting) == 0 {
		m.busy, m.waiting = false, nil
		var none T
		return none, false
	}
	first := m.waiting[0]
	m.waiting, m.size = m.waiting[1:], m.size-first.size
	return first.what, true
}

// Hear shows a line in the player's chat, in the order of the calls, and does not
// wait for that. A player who reads too slowly misses some.
func (p *Player) Hear(line mcproto.Text) { p.lines.put(line, len(line.String())) }

// toPlugins writes a message to a server in the state that it expects.
func (l *link) toPlugins(p *mcproto.Protocol, data []byte) error {
	m := mcproto.PluginMessage{Channel: bungee.Channel, Data: data}
	l.hearing.Lock()
	defer l.hearing.Unlock()
	return l.conn.WritePacket(l.pluginMessage(p), m.Payload())
}

// pluginMessage is the packet's id in the state that the server expects. The
// caller holds hearing.
func (l *link) pluginMessage(p *mcproto.Protocol) int32 {
	if l.hears == mcproto.StateConfiguration {
		return p.ConfigServer.PluginMessage
	}
	return p.PlayServer.PluginMessage
}

// turn passes on the client's word that begins a state, as answer does, and has
// the server's plugins know in that state too that the proxy listens.
func (p *Player) turn(to mcproto.State, who asker, asked bool, f *mcproto.Frame) {
	l := who.link
	if l == nil {
		p.answer(who, asked, f)
		return
	}
	l.hearing.Lock()
	defer l.hearing.Unlock()
	p.answer(who, asked, f)
	l.hears = to
	l.plays.Store(to == mcproto.StatePlay)
	p.queueTo(l, l.pluginMessage(p.client.Protocol), registration)
}

// onServerPluginMessage keeps from the client what plugins say to the proxy.
// What cannot be read is for the client to judge.
func (p *Player) onServerPluginMessage(l *link, f *mcproto.Frame) error {
	payload, err := f.Payload()
	if err != nil {
		return err
	}
	message, err := mcproto.ParsePluginMessage(payload)
	if err != nil || !reserved(message.Channel) {
		return p.relay(f)
	}
	switch message.Channel {
	case bungee.Channel, bungee.LegacyChannel:
		if !l.heard.AllowN(p.world.Clock.Now(), 1) {
			p.world.Plugins.Refused()
			return nil
		}
		p.world.Plugins.Hear(Via{p, l}, message.Data)
	}
	return nil
}
