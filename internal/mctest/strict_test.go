// SPDX-License-Identifier: Apache-2.0

package mctest

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/spawnery/spawnery-operator/internal/mcproto"
)

// misdeed is one thing a careless proxy lets through.
type misdeed struct {
	rule  Switch
	state mcproto.State
	// do is called once, at the first packet that comes in the state.
	do func(b *Bot) error
}

func misdeeds() map[string]misdeed {
	foreign := mcproto.ResourcePackStatus{ID: uuid.New(), Result: mcproto.PackLoaded}.Payload()
	return map[string]misdeed{
		"an answer to a keep-alive of another server, in configuration": {
			UnaskedKeepAlive, mcproto.StateConfiguration,
			func(b *Bot) error {
				return b.send(mcproto.StateConfiguration, b.protocol.ConfigServer.KeepAlive, mcproto.KeepAlivePayload(1))
			},
		},
		"an answer to a keep-alive of another server, in play": {
			UnaskedKeepAlive, mcproto.StatePlay,
			func(b *Bot) error {
				return b.send(mcproto.StatePlay, b.protocol.PlayServer.KeepAlive, mcproto.KeepAlivePayload(1))
			},
		},
		"a status of another server's pack, in configuration": {
			UnaskedResourcePack, mcproto.StateConfiguration,
			func(b *Bot) error {
				return b.send(mcproto.StateConfiguration, b.protocol.ConfigServer.ResourcePack, foreign)
			},
		},
		"a status of another server's pack, in play": {
			UnaskedResourcePack, mcproto.StatePlay,
			func(b *Bot) error {
				return b.send(mcproto.StatePlay, b.protocol.PlayServer.ResourcePack, foreign)
			},
		},
		"known packs before they are asked for": {
			UnaskedKnownPacks, mcproto.StateConfiguration,
			func(b *Bot) error {
				packs := knownPacksPayload(nil)
				return errors.Join(
					b.send(mcproto.StateConfiguration, b.protocol.ConfigServer.KnownPacks, packs),
					b.send(mcproto.StateConfiguration, b.protocol.ConfigServer.KnownPacks, packs))
			},
		},
		"a pong without its ping, in configuration": {
			UnaskedPong, mcproto.StateConfiguration,
			func(b *Bot) error {
				return b.send(mcproto.StateConfiguration, b.protocol.ConfigServer.Pong, make([]byte, 4))
			},
		},
		"a pong without its ping, in play": {
			UnaskedPong, mcproto.StatePlay,
			func(b *Bot) error { return b.send(mcproto.StatePlay, b.protocol.PlayServer.Pong, make([]byte, 4)) },
		},
		"a cookie nobody asked for": {
			UnaskedCookie, mcproto.StateConfiguration,
			func(b *Bot) error {
				cookie := mcproto.Cookie{Key: "other:server"}
				return b.send(mcproto.StateConfiguration, b.protocol.ConfigServer.CookieResponse, cookie.ResponsePayload())
			},
		},
		"a plugin message that is longer than servers take": {
			PayloadMaximum, mcproto.StatePlay,
			func(b *Bot) error {
				return b.SendPluginMessage(mcproto.PluginMessage{Channel: "bungeecord:main", Data: make([]byte, maxPayload+1)})
			},
		},
		"a small packet that is compressed": {
			CompressionMinimum, mcproto.StatePlay,
			func(b *Bot) error {
				frame, err := mcproto.AppendFrame(nil, 0, b.protocol.PlayServer.Move, []byte{1})
				if err == nil {
					_, err = b.conn.NetConn().Write(frame)
				}
				return err
			},
		},
	}
}

// careless is a bot's intercept that commits the misdeed once.
func careless(m misdeed) func(*Bot, mcproto.State, int32, []byte) (bool, error) {
	done := false
	return func(b *Bot, state mcproto.State, _ int32, _ []byte) (bool, error) {
		if done || state != m.state {
			return false, nil
		}
		done = true
		return false, m.do(b)
	}
}

func TestEachRuleCatchesTheProxyThatBreaksIt(t *testing.T) {
	for name, m := range misdeeds() {
		t.Run(name, func(t *testing.T) {
			s := startServer(t, Settings{})
			b := joinBot(t, BotSettings{Address: s.Address(), Name: "careless", intercept: careless(m)})
			<-b.Done()
			var told *Disconnected
			if err := b.Err(); !errors.As(err, &told) || told.Reason.String() == "" {
				t.Fatalf("the bot ended with %v", err)
			}
			eventually(t, "the breach is recorded", func() bool { return len(s.Violations()) > 0 })
			if v := s.Violations(); len(v) != 1 || v[0].Rule != m.rule || v[0].Player != "careless" {
				t.Fatalf("got %+v", v)
			}
		})
	}
}

func TestEachRuleCanBeSwitchedOff(t *testing.T) {
	for name, m := range misdeeds() {
		t.Run(name, func(t *testing.T) {
			s := startServer(t, Settings{Off: m.rule, KeepAlive: 5 * time.Millisecond})
			b := joinBot(t, BotSettings{Address: s.Address(), Name: "careless", intercept: careless(m)})
			onServer(t, b)
			before := b.Stats().Packets
			eventually(t, "the server goes on", func() bool { return b.Stats().Packets > before+20 })
			if v := s.Violations(); len(v) > 0 || b.Err() != nil {
				t.Fatalf("got %+v, %v", v, b.Err())
			}
		})
	}
}

func TestForwardingIsRequired(t *testing.T) {
	for name, tc := range map[string]struct {
		answer func() []byte
		off    Switch
		want   string
	}{
		"not understood":       {func() []byte { return nil }, 0, "This server requires you to connect with Velocity."},
		"not understood, off":  {func() []byte { return nil }, ForwardingRequired, ""},
		"another secret":       {func() []byte { return forwarded("other") }, 0, "Unable to verify player details"},
		"the network's secret": {func() []byte { return forwarded("secret") }, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := startServer(t, Settings{ForwardingSecret: "secret", Off: tc.off})
			b := joinBot(t, BotSettings{Address: s.Address(), Name: "someone", intercept: forwards(tc.answer())})
			if tc.want == "" {
				onServer(t, b)
				return
			}
			<-b.Done()
			var told *Disconnected
			if err := b.Err(); !errors.As(err, &told) || told.State != mcproto.StateLogin || told.Reason.String() != tc.want {
				t.Fatalf("got %v", err)
			}
			if v := s.Violations(); len(v) != 1 || v[0].Rule != ForwardingRequired {
				t.Fatalf("got %+v", v)
			}
		})
	}
}

func forwarded(secret string) []byte {
	who := mcproto.Profile{ID: uuid.MustParse("01234567-89ab-cdef-0123-456789abcdef"), Name: "someone"}
	return mcproto.Forwarded{Address: "203.0.113.7", Profile: who}.Sign([]byte(secret))
}

// forwards answers the forwarding question as a proxy would.
func forwards(data []byte) func(*Bot, mcproto.State, int32, []byte) (bool, error) {
	return func(b *Bot, state mcproto.State, id int32, payload []byte) (bool, error) {
		if state != mcproto.StateLogin || id != mcproto.LoginPluginRequest {
			return false, nil
		}
		question, err := mcproto.ParseLoginPluginQuestion(payload)
		if err != nil {
			return true, err
		}
		answer := mcproto.LoginPluginAnswer{ID: question.ID, Data: data}
		return true, b.send(mcproto.StateLogin, mcproto.LoginPluginResponse, answer.Payload())
	}
}

func TestForwardedPlayerIsWhoTheProxySays(t *testing.T) {
	s := startServer(t, Settings{ForwardingSecret: "secret"})
	b := joinBot(t, BotSettings{Address: s.Address(), Name: "someone", Host: "play.example.net\x00FML3", intercept: forwards(forwarded("secret"))})
	onServer(t, b)
	client, err := s.ClientOf("someone")
	if err != nil || client.Address != "203.0.113.7" || client.Handshake.RawHost != "play.example.net\x00FML3" {
		t.Fatalf("got %+v, %v", client, err)
	}
	if id := s.Players()[0].ID.String(); id != "01234567-89ab-cdef-0123-456789abcdef" || b.Profile().ID.String() != id {
		t.Fatalf("got %s and %s", id, b.Profile().ID)
	}
}

func TestMessagesOnUnregisteredChannelsAreDropped(t *testing.T) {
	s := startServer(t, Settings{})
	b := joinBot(t, BotSettings{Address: s.Address(), Name: "plugin"})
	onServer(t, b)
	message := mcproto.PluginMessage{Channel: "bungeecord:main", Data: []byte("Connect")}
	if sent, err := s.SendPluginMessage("plugin", message); sent || err != nil {
		t.Fatalf("sent %v, %v", sent, err)
	}
	register := mcproto.PluginMessage{Channel: mcproto.RegisterChannel, Data: []byte("other:one\x00bungeecord:main")}
	if err := b.SendPluginMessage(register); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the message is sent", func() bool {
		sent, err := s.SendPluginMessage("plugin", message)
		return sent && err == nil
	})
	lenient := startServer(t, Settings{Off: UnregisteredChannels})
	onServer(t, joinBot(t, BotSettings{Address: lenient.Address(), Name: "plugin"}))
	if sent, err := lenient.SendPluginMessage("plugin", message); !sent || err != nil {
		t.Fatalf("with the rule off: sent %v, %v", sent, err)
	}
}

func TestServerAsksInPlayAndGetsItsAnswers(t *testing.T) {
	s := startServer(t, Settings{})
	b := joinBot(t, BotSettings{Address: s.Address(), Name: "asked"})
	onServer(t, b)
	pack := mcproto.ResourcePackPush{ID: uuid.New(), URL: packURL}
	if err := errors.Join(s.PushPackTo("asked", pack), s.PingPlayer("asked", 7), s.AskCookieOf("asked", "a:b")); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the pack is loaded", func() bool {
		pending, err := s.PackPending("asked", pack.ID)
		return err == nil && !pending
	})
	eventually(t, "everything is answered", func() bool {
		player, err := s.player("asked")
		if err != nil {
			return false
		}
		player.mu.Lock()
		defer player.mu.Unlock()
		return len(player.pings)+len(player.cookies) == 0
	})
	if v := s.Violations(); len(v) > 0 {
		t.Fatalf("got %+v", v)
	}
}

func TestEachHabitCanBeSwitchedOff(t *testing.T) {
	table, err := mcproto.DefaultProtocols()
	if err != nil {
		t.Fatal(err)
	}
	row, _ := table.Lookup(defaultProtocol)
	ids := row.ConfigClient
	for name, tc := range map[string]struct {
		habit Switch
		state mcproto.State
		id    int32
	}{
		"registries":          {SendRegistries, mcproto.StateConfiguration, ids.RegistryData},
		"known packs":         {SendRegistries, mcproto.StateConfiguration, ids.KnownPacks},
		"tags":                {SendRegistries, mcproto.StateConfiguration, ids.Tags},
		"a cookie in a login": {AskCookie, mcproto.StateLogin, mcproto.LoginCookieRequest},
		"a resource pack":     {PushPack, mcproto.StateConfiguration, ids.ResourcePackPush},
		"a ping":              {PingClient, mcproto.StateConfiguration, ids.Ping},
	} {
		t.Run(name, func(t *testing.T) {
			for _, off := range []Switch{0, tc.habit} {
				s := startServer(t, Settings{Off: off})
				seen := 0
				b := joinBot(t, BotSettings{Address: s.Address(), Name: "observer", intercept: func(_ *Bot, state mcproto.State, id int32, _ []byte) (bool, error) {
					if state == tc.state && id == tc.id {
						seen++
					}
					return false, nil
				}})
				if off == SendRegistries {
					if <-b.Done(); !errors.Is(b.Err(), errUnfaithful) {
						t.Fatalf("a client without registries ended with %v", b.Err())
					}
				} else {
					onServer(t, b)
				}
				b.Leave()
				if (seen > 0) != (off == 0) {
					t.Fatalf("with %d off it came %d times", off, seen)
				}
			}
		})
	}
}

func TestEachHabitStopsThePeerThatDoesNotFollow(t *testing.T) {
	table, err := mcproto.DefaultProtocols()
	if err != nil {
		t.Fatal(err)
	}
	row, _ := table.Lookup(defaultProtocol)
	for name, tc := range map[string]struct {
		state mcproto.State
		id    int32
		want  string
	}{
		"a cookie in a login": {mcproto.StateLogin, mcproto.LoginCookieRequest, "Took too long to log in"},
		"known packs":         {mcproto.StateConfiguration, row.ConfigClient.KnownPacks, "Timed out"},
		"a resource pack":     {mcproto.StateConfiguration, row.ConfigClient.ResourcePackPush, "Timed out"},
		"a ping":              {mcproto.StateConfiguration, row.ConfigClient.Ping, "Timed out"},
	} {
		t.Run(name, func(t *testing.T) {
			s := startServer(t, Settings{Timeout: 400 * time.Millisecond})
			b := joinBot(t, BotSettings{Address: s.Address(), Name: "deaf", intercept: func(_ *Bot, state mcproto.State, id int32, _ []byte) (bool, error) {
				return state == tc.state && id == tc.id, nil
			}})
			<-b.Done()
			var told *Disconnected
			if err := b.Err(); !errors.As(err, &told) || told.State != tc.state || told.Reason.String() != tc.want {
				t.Fatalf("got %v", err)
			}
		})
	}
}

func TestRegistriesAreInFullForAClientThatKnowsNothing(t *testing.T) {
	s := startServer(t, Settings{})
	sizes := make(map[bool]int)
	for _, knows := range []bool{true, false} {
		size := 0
		b := joinBot(t, BotSettings{Address: s.Address(), Name: "size", intercept: func(b *Bot, state mcproto.State, id int32, payload []byte) (bool, error) {
			ids := b.protocol.ConfigClient
			switch {
			case state != mcproto.StateConfiguration:
			case id == ids.RegistryData:
				size += len(payload)
			case id == ids.KnownPacks && !knows:
				return true, b.send(state, b.protocol.ConfigServer.KnownPacks, knownPacksPayload(nil))
			}
			return false, nil
		}})
		onServer(t, b)
		b.Leave()
		sizes[knows] = size
	}
	if sizes[true] == 0 || sizes[false] < 5*sizes[true] {
		t.Fatalf("known %d bytes, unknown %d bytes", sizes[true], sizes[false])
	}
}

// lockedLog keeps a server's console.
type lockedLog struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *lockedLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
