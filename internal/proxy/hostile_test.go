// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"bytes"
	"context"
	"errors"
	"net"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spawnery/spawnery-operator/internal/mcproto"
	"github.com/spawnery/spawnery-operator/internal/mctest"
	"github.com/spawnery/spawnery-operator/internal/proxy/session"
)

// hostile is a client that sends whatever it likes.
type hostile struct {
	*mcproto.Conn
	t        testing.TB
	protocol *mcproto.Protocol
}

func (n *network) hostile(p *Proxy) *hostile {
	n.t.Helper()
	nc, err := net.Dial("tcp", p.address())
	if err != nil {
		n.t.Fatal(err)
	}
	n.t.Cleanup(func() { nc.Close() })
	if err := nc.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		n.t.Fatal(err)
	}
	return &hostile{Conn: mcproto.NewConn(nc), t: n.t, protocol: p.given.Content().Protocols.Oldest()}
}

func (h *hostile) send(id int32, payload []byte) {
	h.t.Helper()
	if err := h.WritePacket(id, payload); err != nil {
		h.t.Fatal(err)
	}
}

// read returns the next packet.
func (h *hostile) read() (int32, []byte, error) {
	var f mcproto.Frame
	if err := h.ReadFrame(&f); err != nil {
		return 0, nil, err
	}
	payload, err := f.Payload()
	return f.ID, payload, err
}

// greet asks to log in under a name, valid or not.
func (h *hostile) greet(name string) {
	h.t.Helper()
	hello := mcproto.Handshake{Protocol: h.protocol.Number, RawHost: "localhost", Port: 25565, Intent: mcproto.IntentLogin}
	h.send(mcproto.HandshakeIntention, hello.Payload())
	h.send(mcproto.LoginStart, mcproto.LoginStartPayload(mcproto.Profile{Name: name}))
}

// accepted follows a login up to Login Success, or returns why there is none.
func (h *hostile) accepted() error {
	for {
		id, payload, err := h.read()
		if err != nil {
			return err
		}
		switch id {
		case mcproto.LoginDisconnect:
			reason, err := mcproto.ParseDisconnect(mcproto.StateLogin, payload)
			return errors.Join(errors.New(reason.String()), err)
		case mcproto.LoginCompression:
			h.SetCompression(int(mcproto.NewReader(payload).VarInt()), mcproto.AcceptBelowThreshold)
		case mcproto.LoginSuccess:
			return nil
		}
	}
}

// configuring is a client in its configuration phase.
func (n *network) configuring(p *Proxy, name string) *hostile {
	n.t.Helper()
	h := n.hostile(p)
	h.greet(name)
	if err := h.accepted(); err != nil {
		n.t.Fatal(err)
	}
	h.send(mcproto.LoginAcknowledged, nil)
	n.eventually("the client is on the roster", func() bool { return p.present(name) })
	return h
}

func (p *Proxy) present(name string) bool {
	return slices.ContainsFunc(p.roster.all(), func(player *session.Player) bool { return player.Profile().Name == name })
}

// closed waits for the end of the connection.
func (h *hostile) closed() {
	h.t.Helper()
	for {
		if _, _, err := h.read(); err != nil {
			if nerr, ok := errors.AsType[net.Error](err); ok && nerr.Timeout() {
				h.t.Fatal("the connection was not closed")
			}
			return
		}
	}
}

func TestAFloodOfTheSameNameThrowsNobodyOut(t *testing.T) {
	n := newNetwork(t)
	n.add("lobby-a", rig{})
	p := n.front()
	victim := n.bot(p, "Ada", func(s *mctest.BotSettings) { s.Latency = 300 * time.Millisecond })
	n.on(victim, "lobby-a")

	var flood sync.WaitGroup
	admitted := make(chan string, 400)
	for range 400 {
		thief := n.hostile(p)
		thief.greet("aDA")
		flood.Go(func() {
			if thief.accepted() == nil {
				admitted <- "one"
			}
		})
	}
	flood.Wait()
	if len(admitted) > 0 {
		t.Errorf("%d of the flood were let in as a player who is here", len(admitted))
	}
	select {
	case <-victim.Done():
		t.Errorf("the player was thrown out: %v", victim.Err())
	default:
	}
	n.unharmed()
}

func TestNobodyIsDeadForSomebodyWhoseTimeIsUp(t *testing.T) {
	n := newNetwork(t)
	n.add("lobby-a", rig{})
	p := n.front()
	n.joined(p, "Ada", "lobby-a")
	ctx, cancel := context.WithCancel(n.ctx)
	cancel()
	if !p.roster.all()[0].Alive(ctx) {
		t.Error("a player who was not waited for is called dead")
	}
}

func TestWhatAClientSaysAboutItselfIsBounded(t *testing.T) {
	large := bytes.Repeat([]byte{0}, 8<<20-1024)
	tests := map[string]func(*mcproto.Protocol) (int32, []byte){
		"information": func(p *mcproto.Protocol) (int32, []byte) {
			return p.ConfigServer.ClientInformation, append(mcproto.ClientInformation{Locale: "en_us"}.Payload(p.Number), large...)
		},
		"brand": func(p *mcproto.Protocol) (int32, []byte) {
			return p.ConfigServer.PluginMessage, mcproto.PluginMessage{Channel: mcproto.BrandChannel, Data: large}.Payload()
		},
		"channels taken back": func(p *mcproto.Protocol) (int32, []byte) {
			return p.ConfigServer.PluginMessage, mcproto.PluginMessage{Channel: mcproto.UnregisterChannel, Data: large}.Payload()
		},
	}
	for name, packet := range tests {
		t.Run(name, func(t *testing.T) {
			n := newNetwork(t)
			p := n.front()
			h := n.configuring(p, "Mallory")
			id, payload := packet(h.protocol)
			h.send(id, payload)
			h.closed()
		})
	}
}

func TestAFloodOfChannelsCostsLittle(t *testing.T) {
	n := newNetwork(t)
	p := n.front()
	h := n.configuring(p, "Mallory")
	var names []string
	for i := range 256 {
		names = append(names, "x:"+strings.Repeat("y", i/2)+string(rune('a'+i%2)))
	}
	id := h.protocol.ConfigServer.PluginMessage
	h.send(id, mcproto.PluginMessage{Channel: mcproto.RegisterChannel, Data: []byte(strings.Join(names, "\x00"))}.Payload())
	before := time.Now()
	for range 150 {
		h.send(id, mcproto.PluginMessage{Channel: mcproto.UnregisterChannel, Data: bytes.Repeat([]byte("q:q\x00"), 60000)}.Payload())
	}
	// The proxy answers in order: what follows the flood shows that it is over.
	h.send(h.protocol.ConfigServer.Finish, nil)
	h.closed()
	// Without a bound on what is opened it takes minutes; the limit leaves room
	// for the race detector on a busy machine.
	if took := time.Since(before); took > 30*time.Second {
		t.Errorf("150 messages took %s", took)
	}
}

func TestMalformedBeginningsAreRefused(t *testing.T) {
	n := newNetwork(t)
	n.add("lobby-a", rig{})
	p := n.front()
	hello := func(host string, intent mcproto.Intent) []byte {
		return mcproto.Handshake{Protocol: 769, RawHost: host, Port: 1, Intent: intent}.Payload()
	}
	framed := func(packets ...[]byte) []byte {
		var all []byte
		for _, packet := range packets {
			all = append(mcproto.AppendVarInt(all, int32(len(packet))), packet...)
		}
		return all
	}
	login := append([]byte{0}, hello("h", mcproto.IntentLogin)...)
	named := func(name string) []byte {
		return framed(login, append([]byte{0}, mcproto.NewWriter().String(name).Raw(make([]byte, 16)...).Bytes()...))
	}
	tests := map[string][]byte{
		"an endless length":           {0xff, 0xff, 0xff, 0xff, 0xff, 0xff},
		"a length of none":            {0},
		"a length beyond the login":   {0xff, 0xff, 0x7f},
		"an old server list":          {0xfe, 0x01},
		"another protocol":            []byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n"),
		"a handshake of nothing":      framed([]byte{0}),
		"a negative host":             framed([]byte{0, 1, 0xff, 0xff, 0xff, 0xff, 0x0f}),
		"a host that is not text":     framed([]byte{0, 1, 2, 0xc3, 0x28, 0, 1, 2}),
		"an unknown intent":           framed(append([]byte{0}, hello("h", 9)...)),
		"a host too long":             framed(append([]byte{0}, hello(strings.Repeat("h", 2049), mcproto.IntentLogin)...)),
		"bytes after the handshake":   framed(append(append([]byte{0}, hello("h", mcproto.IntentLogin)...), 1)),
		"an answer before a question": framed(login, []byte{1, 0, 0}),
		"no name":                     named(""),
		"a name with a space":         named("Ada Lovelace"),
		"a name too long":             named("ABCDEFGHIJKLMNOPQ"),
		"a name in other letters":     named("Адa"),
		"a name with a section sign":  named("§cAda"),
		"a name with a line end":      named("Ada\n"),
		"a name with a NUL":           named("Ada\x00"),
		"a status of a login":         framed(append([]byte{0}, hello("h", mcproto.IntentStatus)...), named("Ada")),
	}
	for name, sent := range tests {
		t.Run(name, func(t *testing.T) {
			n.t = t
			h := n.hostile(p)
			if _, err := h.NetConn().Write(sent); err != nil {
				t.Fatal(err)
			}
			_ = h.NetConn().(*net.TCPConn).CloseWrite()
			if err := h.accepted(); err == nil {
				t.Error("it was let in")
			}
			h.closed()
		})
	}
	n.t = t
	n.joined(p, "Ada", "lobby-a").Leave()
}

func TestNothingIsLeftOfThoseWhoWent(t *testing.T) {
	n := newNetwork(t)
	lobby := n.add("lobby-a", rig{})
	p := n.front()
	round := func() {
		var bots []*mctest.Bot
		for _, name := range []string{"A", "B", "C", "D", "E", "F", "G", "H"} {
			bots = append(bots, n.joined(p, name, "lobby-a"))
		}
		for _, bot := range bots {
			bot.Leave()
		}
		for range 8 {
			h := n.configuring(p, "Mallory")
			h.NetConn().Close()
			n.eventually("it is gone", func() bool { return !p.present("Mallory") })
		}
		n.eventually("everybody is gone", func() bool {
			return p.roster.size() == 0 && p.gate.Inside() == 0 && len(lobby.Players()) == 0
		})
	}
	round()
	began := runtime.NumGoroutine()
	for range 5 {
		round()
	}
	n.eventually("as many goroutines run as before", func() bool { return runtime.NumGoroutine() <= began+4 })
}
