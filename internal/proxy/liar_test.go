// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/spawnery/spawnery-operator/internal/mcproto"
	"github.com/spawnery/spawnery-operator/internal/mctest"
)

// liar is a game server that does what it likes with a connection, behind an
// agent that praises it. met is closed when it had one.
func (n *network) liar(name string, lie func(*mcproto.Conn, *mcproto.Protocol)) <-chan struct{} {
	n.t.Helper()
	l := listen(n.t)
	met, first := make(chan struct{}), true
	protocols, err := mcproto.DefaultProtocols()
	if err != nil {
		n.t.Fatal(err)
	}
	protocol, _ := protocols.Lookup(769)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			nc, err := l.Accept()
			if err != nil {
				return
			}
			_ = nc.SetDeadline(time.Now().Add(5 * time.Second))
			conn := mcproto.NewConn(nc)
			var f mcproto.Frame
			for range 2 {
				_ = conn.ReadFrame(&f) // handshake and login
			}
			lie(conn, protocol)
			nc.Close()
			if first {
				first = false
				close(met)
			}
		}
	}()
	n.t.Cleanup(func() { l.Close(); <-done })
	s := n.start(name, rig{})
	s.entry.Address = l.Addr().String()
	n.mu.Lock()
	n.servers[name] = s
	n.mu.Unlock()
	n.publish()
	return met
}

// accept lets a player in as a server with forwarding does.
func accept(conn *mcproto.Conn, p *mcproto.Protocol) {
	var f mcproto.Frame
	ask(conn)
	_ = conn.ReadFrame(&f)
	who := mcproto.Profile{Name: "Ada", ID: mcproto.OfflineUUID("Ada")}
	_ = conn.WritePacket(mcproto.LoginSuccess, mcproto.LoginSuccessPayload(p, who, who.ID))
	_ = conn.ReadFrame(&f)
}

func ask(conn *mcproto.Conn) {
	question := mcproto.LoginPluginQuestion{ID: 1, Channel: mcproto.ForwardingChannel, Data: []byte{4}}
	_ = conn.WritePacket(mcproto.LoginPluginRequest, question.Payload())
}

// bomb is a text of a few kilobytes that unfolds to hundreds of megabytes.
var bomb = mcproto.Text{
	Translate: "x", Fallback: strings.Repeat("%1$s", 20_000), With: []mcproto.Text{mcproto.Plain(strings.Repeat("y", 20_000))},
}

func nested(depth int) []byte {
	text := strings.Repeat(`{"extra":[`, depth) + `"x"` + strings.Repeat(`]}`, depth)
	return mcproto.NewWriter().String(text).Bytes()
}

func TestAServerThatLiesHarmsNobody(t *testing.T) {
	tests := map[string]func(*mcproto.Conn, *mcproto.Protocol){
		"it hangs up": func(*mcproto.Conn, *mcproto.Protocol) {},
		"it believes every name": func(c *mcproto.Conn, p *mcproto.Protocol) {
			_ = c.WritePacket(mcproto.LoginSuccess, mcproto.LoginSuccessPayload(p, mcproto.Profile{Name: "Ada"}, mcproto.OfflineUUID("")))
		},
		"it wants to encrypt": func(c *mcproto.Conn, _ *mcproto.Protocol) {
			_ = c.WritePacket(mcproto.LoginEncryption, mcproto.EncryptionRequest{}.Payload())
		},
		"it wants to encrypt after it asked": func(c *mcproto.Conn, _ *mcproto.Protocol) {
			ask(c)
			_ = c.WritePacket(mcproto.LoginEncryption, mcproto.EncryptionRequest{}.Payload())
		},
		"it speaks another protocol": func(c *mcproto.Conn, _ *mcproto.Protocol) {
			_, _ = c.NetConn().Write([]byte("HTTP/1.1 400 Bad Request\r\n\r\n"))
		},
		"it asks without end": func(c *mcproto.Conn, _ *mcproto.Protocol) {
			for i := range 200 {
				question := mcproto.LoginPluginQuestion{ID: int32(i), Channel: "x:y"}
				if c.WritePacket(mcproto.LoginPluginRequest, question.Payload()) != nil {
					return
				}
			}
		},
		"it inflates": func(c *mcproto.Conn, _ *mcproto.Protocol) {
			_ = c.WritePacket(mcproto.LoginCompression, mcproto.NewWriter().VarInt(0).Bytes())
			c.SetCompression(0, mcproto.AcceptBelowThreshold)
			_ = c.WritePacket(mcproto.LoginPluginRequest, bytes.Repeat([]byte{0x80}, 8<<20-16))
		},
		"its refusal is too deep": func(c *mcproto.Conn, _ *mcproto.Protocol) {
			_ = c.WritePacket(mcproto.LoginDisconnect, nested(5000))
		},
		"its goodbye is cut off": func(c *mcproto.Conn, p *mcproto.Protocol) {
			accept(c, p)
			_ = c.WritePacket(p.ConfigClient.Disconnect, []byte{10, 8, 0})
		},
		"its goodbye is too deep": func(c *mcproto.Conn, p *mcproto.Protocol) {
			accept(c, p)
			_ = c.WritePacket(p.ConfigClient.Disconnect, bytes.Repeat([]byte{9}, 4096))
		},
		"its goodbye unfolds": func(c *mcproto.Conn, p *mcproto.Protocol) {
			accept(c, p)
			_ = c.WritePacket(p.ConfigClient.Disconnect, mcproto.DisconnectPayload(mcproto.StateConfiguration, p.Number, bomb))
		},
		"its questions are cut off": func(c *mcproto.Conn, p *mcproto.Protocol) {
			accept(c, p)
			_ = c.WritePacket(p.ConfigClient.KeepAlive, []byte{1})
		},
		"its frames are none": func(c *mcproto.Conn, p *mcproto.Protocol) {
			accept(c, p)
			_, _ = c.NetConn().Write([]byte{0xff, 0xff, 0xff, 0xff})
		},
	}
	for name, lie := range tests {
		t.Run(name, func(t *testing.T) {
			n := newNetwork(t)
			met := n.liar("lobby-liar", lie)
			p := n.front()
			b := n.bot(p, "Ada", func(s *mctest.BotSettings) { s.Protocol = 769 })
			select {
			case <-met:
			case <-n.ctx.Done():
				t.Fatal("nobody came")
			}
			n.add("lobby-b", rig{})
			n.on(b, "lobby-b")
			b.Leave()
			n.mu.Lock()
			delete(n.servers, "lobby-liar")
			n.mu.Unlock()
			n.unharmed()
		})
	}
}

func TestARefusalInStrangeWordsIsStillOne(t *testing.T) {
	tests := map[string]func(*mcproto.Conn, *mcproto.Protocol){
		"its refusal is nothing": func(c *mcproto.Conn, _ *mcproto.Protocol) {
			_ = c.WritePacket(mcproto.LoginDisconnect, mcproto.NewWriter().String("null").Bytes())
		},
		"its refusal unfolds": func(c *mcproto.Conn, p *mcproto.Protocol) {
			_ = c.WritePacket(mcproto.LoginDisconnect, mcproto.DisconnectPayload(mcproto.StateLogin, p.Number, bomb))
		},
	}
	for name, lie := range tests {
		t.Run(name, func(t *testing.T) {
			n := newNetwork(t)
			n.liar("lobby-liar", lie)
			b := n.bot(n.front(), "Ada")
			if reason := n.ends(b); !strings.HasPrefix(reason, "lobby-liar could not be joined") {
				t.Errorf("the player was told %.100q", reason)
			}
		})
	}
}

func TestASpoofedHostChangesNobody(t *testing.T) {
	n := newNetwork(t)
	lobby := n.add("lobby-a", rig{})
	p := n.front()
	// What a proxy of the older kind of forwarding would have put there.
	host := "localhost\x0010.9.9.9\x00" + strings.ReplaceAll(mcproto.OfflineUUID("Admin").String(), "-", "") + "\x00[]"
	b := n.bot(p, "Mallory", func(s *mctest.BotSettings) { s.Host = host })
	n.on(b, "lobby-a")
	want := mcproto.Profile{Name: "Mallory", ID: mcproto.OfflineUUID("Mallory")}
	if got := lobby.Players(); len(got) != 1 || got[0].ID != want.ID || got[0].Name != want.Name {
		t.Errorf("the server has %v, want %v", got, want)
	}
	if got := p.roster.all()[0].Profile(); got.ID != want.ID {
		t.Errorf("the proxy has %v", got)
	}
	n.unharmed()
}
