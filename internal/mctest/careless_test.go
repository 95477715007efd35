// SPDX-License-Identifier: Apache-2.0

package mctest

import (
	"errors"
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/spawnery/spawnery-operator/internal/mcproto"
)

// carelessProxy relays between one faithful client and a server, and makes one
// mistake.
type carelessProxy struct {
	protocol       *mcproto.Protocol
	client, server *mcproto.Conn
	mistake        mistake
	// toClient and toServer are the states of what comes from the other end;
	// each belongs to the goroutine that reads there.
	toClient, toServer mcproto.State
}

// passing is one packet on its way through the proxy.
type passing struct {
	state   mcproto.State
	id      int32
	payload []byte
}

// is reports whether the packet is the one of this state and id.
func (p passing) is(state mcproto.State, id int32) bool { return p.state == state && p.id == id }

// mistake is what a proxy does wrong. Its functions see each packet, and say
// whether it goes on.
type mistake struct {
	breaks     Switch
	fromServer func(c *carelessProxy, p passing) (goesOn bool, err error)
	fromClient func(c *carelessProxy, p passing) (goesOn bool, err error)
	// needed says that the game's client cannot do without what the switch
	// makes the server do.
	needed bool
}

// startCareless listens for one client and returns the address to join.
func startCareless(t *testing.T, server string, m mistake) string {
	t.Helper()
	table, err := mcproto.DefaultProtocols()
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", loopback)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		client, err := listener.Accept()
		if err != nil {
			return
		}
		backend, err := net.Dial("tcp", server)
		if err != nil {
			_ = client.Close()
			return
		}
		c := &carelessProxy{
			client: mcproto.NewConn(client), server: mcproto.NewConn(backend), mistake: m,
			toClient: mcproto.StateLogin, toServer: mcproto.StateHandshake,
		}
		c.protocol, _ = table.Lookup(defaultProtocol)
		go c.relay(c.client, c.fromClient)
		c.relay(c.server, c.fromServer)
	}()
	return listener.Addr().String()
}

// relay passes packets on until one end is gone, and takes the other with it.
func (c *carelessProxy) relay(from *mcproto.Conn, pass func(passing) error) {
	var f mcproto.Frame
	for {
		err := from.ReadFrame(&f)
		var payload []byte
		if err == nil {
			payload, err = f.Payload()
		}
		if err == nil {
			err = pass(passing{id: f.ID, payload: payload})
		}
		if err != nil {
			_, _ = c.client.Close(), c.server.Close()
			return
		}
	}
}

func (c *carelessProxy) fromServer(p passing) error {
	p.state = c.toClient
	ids := c.protocol
	switch {
	case p.is(mcproto.StateLogin, mcproto.LoginCompression):
		// The client's side stays as it is.
		threshold, _ := mcproto.ParseVarInt(p.payload)
		c.server.SetCompression(int(threshold), mcproto.AcceptBelowThreshold)
		return nil
	case p.is(mcproto.StateLogin, mcproto.LoginSuccess):
		c.toClient = mcproto.StateConfiguration
	case p.is(mcproto.StateConfiguration, ids.ConfigClient.Finish):
		c.toClient = mcproto.StatePlay
	}
	if c.mistake.fromServer != nil {
		if goesOn, err := c.mistake.fromServer(c, p); !goesOn || err != nil {
			return err
		}
	}
	return c.client.WritePacket(p.id, p.payload)
}

func (c *carelessProxy) fromClient(p passing) error {
	p.state = c.toServer
	ids := c.protocol
	switch {
	case p.state == mcproto.StateHandshake:
		c.toServer = mcproto.StateLogin
	case p.is(mcproto.StateLogin, mcproto.LoginAcknowledged):
		c.toServer = mcproto.StateConfiguration
	case p.is(mcproto.StateConfiguration, ids.ConfigServer.Finish):
		c.toServer = mcproto.StatePlay
	}
	if c.mistake.fromClient != nil {
		if goesOn, err := c.mistake.fromClient(c, p); !goesOn || err != nil {
			return err
		}
	}
	return c.server.WritePacket(p.id, p.payload)
}

// mistakes are one for each switch: each is caught by its switch alone.
func mistakes() map[string]mistake {
	const login, config, play = mcproto.StateLogin, mcproto.StateConfiguration, mcproto.StatePlay
	return map[string]mistake{
		"answers keep-alives, and passes on the client's answers": {breaks: UnaskedKeepAlive, fromServer: func(c *carelessProxy, p passing) (bool, error) {
			if p.is(play, c.protocol.PlayClient.KeepAlive) {
				return true, c.server.WritePacket(c.protocol.PlayServer.KeepAlive, p.payload)
			}
			return true, nil
		}},
		"has loaded a pack, and passes on what the client does with it": {breaks: UnaskedResourcePack, fromServer: func(c *carelessProxy, p passing) (bool, error) {
			if !p.is(config, c.protocol.ConfigClient.ResourcePackPush) {
				return true, nil
			}
			push, err := mcproto.ParseResourcePackPush(p.payload)
			loaded := mcproto.ResourcePackStatus{ID: push.ID, Result: mcproto.PackLoaded}
			return true, errors.Join(err, c.server.WritePacket(c.protocol.ConfigServer.ResourcePack, loaded.Payload()))
		}},
		"knows the packs itself, and asks the client as well": {breaks: UnaskedKnownPacks, fromServer: func(c *carelessProxy, p passing) (bool, error) {
			if p.is(config, c.protocol.ConfigClient.KnownPacks) {
				return true, c.server.WritePacket(c.protocol.ConfigServer.KnownPacks, p.payload)
			}
			return true, nil
		}},
		"answers pings, and passes on the client's answers": {breaks: UnaskedPong, fromServer: func(c *carelessProxy, p passing) (bool, error) {
			if p.is(config, c.protocol.ConfigClient.Ping) {
				return true, c.server.WritePacket(c.protocol.ConfigServer.Pong, p.payload)
			}
			return true, nil
		}},
		"answers with the cookie of another server": {breaks: UnaskedCookie, fromClient: func(c *carelessProxy, p passing) (bool, error) {
			if p.is(login, mcproto.LoginCookieResponse) {
				return false, c.server.WritePacket(p.id, mcproto.Cookie{Key: "other:server"}.ResponsePayload())
			}
			return true, nil
		}},
		"compresses whatever it sends": {breaks: CompressionMinimum, fromClient: func(c *carelessProxy, p passing) (bool, error) {
			if p.state != play {
				return true, nil
			}
			frame, err := mcproto.AppendFrame(nil, 0, p.id, p.payload)
			if err == nil {
				_, err = c.server.NetConn().Write(frame)
			}
			return false, err
		}},
		"keeps to itself what the client registers": {breaks: UnregisteredChannels, fromClient: func(c *carelessProxy, p passing) (bool, error) {
			if !p.is(play, c.protocol.PlayServer.PluginMessage) {
				return true, nil
			}
			message, err := mcproto.ParsePluginMessage(p.payload)
			return message.Channel != mcproto.RegisterChannel, err
		}},
		"forwards what is longer than servers take": {breaks: PayloadMaximum, fromClient: func(c *carelessProxy, p passing) (bool, error) {
			if !p.is(play, c.protocol.PlayServer.PluginMessage) {
				return true, nil
			}
			long := mcproto.PluginMessage{Channel: "bungeecord:main", Data: make([]byte, maxPayload+1)}
			return true, c.server.WritePacket(p.id, long.Payload())
		}},
		"knows no forwarding":                    {breaks: ForwardingRequired},
		"keeps the registries":                   {breaks: SendRegistries, needed: true, fromServer: swallows(config, func(p *mcproto.Protocol) int32 { return p.ConfigClient.RegistryData })},
		"does not know cookies":                  {breaks: AskCookie, fromServer: swallows(login, func(*mcproto.Protocol) int32 { return mcproto.LoginCookieRequest })},
		"keeps resource packs from its clients":  {breaks: PushPack, fromServer: swallows(config, func(p *mcproto.Protocol) int32 { return p.ConfigClient.ResourcePackPush })},
		"does not know pings in a configuration": {breaks: PingClient, fromServer: swallows(config, func(p *mcproto.Protocol) int32 { return p.ConfigClient.Ping })},
	}
}

func swallows(state mcproto.State, id func(*mcproto.Protocol) int32) func(*carelessProxy, passing) (bool, error) {
	return func(c *carelessProxy, p passing) (bool, error) { return !p.is(state, id(c.protocol)), nil }
}

// strictServer is a double that shows within a moment what the mistake leads to.
func strictServer(t *testing.T, m mistake, off Switch) *Server {
	t.Helper()
	settings := Settings{Off: off, Traffic: Traffic{Small: 200}}
	const habits = AskCookie | PushPack | PingClient
	if m.breaks == ForwardingRequired {
		settings.ForwardingSecret = "secret"
	}
	if m.breaks&habits != 0 && off == 0 {
		settings.Timeout = 400 * time.Millisecond
	}
	if m.breaks == UnaskedKeepAlive {
		// Elsewhere a client that is kept alive would wait for ever.
		settings.KeepAlive = 10 * time.Millisecond
	}
	return startServer(t, settings)
}

// journey joins through the proxy, registers a channel, and is sent a message
// on it; nil if all of that worked and the player stayed.
func journey(t *testing.T, m mistake, off Switch) error {
	t.Helper()
	s := strictServer(t, m, off)
	b := joinBot(t, BotSettings{Address: startCareless(t, s.Address(), m), Name: "player"})
	if _, err := b.WaitServer(testContext(t)); err != nil {
		<-b.Done()
		return b.Err()
	}
	const channel = "bungeecord:main"
	register := mcproto.PluginMessage{Channel: mcproto.RegisterChannel, Data: []byte(channel)}
	// What the server has heard after the channel, it has heard after it.
	if err := errors.Join(b.SendPluginMessage(register), b.Chat("registered")); err != nil {
		return err
	}
	if _, err := b.WaitLine(testContext(t), func(line string) bool { return line == "<player> registered" }); err != nil {
		<-b.Done()
		return b.Err()
	}
	before := b.Stats().Packets
	eventually(t, "the connection goes on, or ends", func() bool { return b.Err() != nil || b.Stats().Packets > before+20 })
	if b.Err() != nil {
		return b.Err()
	}
	sent, err := s.SendPluginMessage("player", mcproto.PluginMessage{Channel: channel, Data: []byte("Connect")})
	if !sent || err != nil {
		return fmt.Errorf("the message was dropped: %w", errors.Join(err, errUnregistered))
	}
	if v := s.Violations(); len(v) > 0 {
		return fmt.Errorf("violations: %v", v)
	}
	return nil
}

// errUnregistered is the end of a journey whose message the server dropped.
var errUnregistered = errors.New("the client has not registered its channel")

func TestEachSwitchStopsTheProxyThatIsCareless(t *testing.T) {
	covered := Switch(0)
	for name, m := range mistakes() {
		covered |= m.breaks
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if err := journey(t, m, 0); err == nil {
				t.Errorf("nothing happens to a proxy that breaks %s", m.breaks)
			}
			if err := journey(t, m, m.breaks); (err != nil) != m.needed {
				t.Errorf("with %s off: %v", m.breaks, err)
			}
		})
	}
	if covered != everySwitch {
		t.Errorf("no proxy breaks %s", everySwitch&^covered)
	}
}

func TestAProxyWithoutFaultPassesEverySwitch(t *testing.T) {
	if err := journey(t, mistake{}, 0); err != nil {
		t.Error(err)
	}
}

func TestEverySwitchHasItsName(t *testing.T) {
	if len(switchNames) != 13 || everySwitch != 1<<len(switchNames)-1 {
		t.Errorf("%d names for %b", len(switchNames), everySwitch)
	}
	if got := (UnaskedPong | PingClient).String(); got != "UnaskedPong, PingClient" {
		t.Errorf("got %q", got)
	}
}
