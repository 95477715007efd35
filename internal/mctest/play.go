// SPDX-License-Identifier: Apache-2.0

package mctest

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/spawnery/spawnery-operator/internal/mcproto"
)

// play ends with the connection.
func (p *session) play() error {
	joins, err := p.server.enter(p)
	if err != nil {
		return err
	}
	defer p.server.leave(p)
	if err := p.spawn(joins); err != nil {
		return err
	}
	if err := p.server.refusal(AtPlay); err != nil {
		return err
	}
	for _, message := range p.server.settings.JoinMessages {
		if _, err := p.plugin(message); err != nil && !errors.Is(err, errEnded) {
			return err
		}
	}
	stop := p.traffic()
	defer stop()
	for {
		id, payload, err := p.read()
		if err != nil {
			return err
		}
		p.server.hang.over()
		if err := p.playPacket(id, payload); err != nil {
			return err
		}
	}
}

// spawn sends what a server sends first. The welcome is how bots know where
// they are, the second line shows whether a world was kept.
func (p *session) spawn(joins int) error {
	ids := p.protocol.PlayClient
	login := slices.Clone([]byte(p.game.Login))
	binary.BigEndian.PutUint32(login, uint32(p.server.entity()))
	for _, packet := range []struct {
		id      int32
		payload []byte
	}{
		{ids.Login, login},
		{ids.Commands, commandTree(p.commands()...)},
		{ids.PlayerPosition, p.game.Position},
	} {
		err := p.send(mcproto.StatePlay, packet.id, packet.payload)
		if errors.Is(err, errEnded) {
			// The player was sent on before everything was said.
			return nil
		}
		if err != nil {
			return err
		}
	}
	if err := p.sendWorld(); err != nil {
		return err
	}
	for _, line := range []string{
		WelcomePrefix + p.server.settings.Name,
		fmt.Sprintf("This world has seen %d joins", joins),
	} {
		if err := p.say(line); err != nil {
			return err
		}
	}
	return nil
}

// WelcomePrefix begins the line a double greets players with; the server's name
// follows.
const WelcomePrefix = "Welcome to "

func (p *session) chat(text string) []byte {
	return mcproto.SystemChatPayload(p.protocol.Number, mcproto.Plain(text), mcproto.InChat)
}

func (p *session) playPacket(id int32, payload []byte) error {
	ids := p.protocol.PlayServer
	handled, err := p.reported(reports{
		information: ids.ClientInformation, cookie: ids.CookieResponse, message: ids.PluginMessage,
		keepAlive: ids.KeepAlive, pong: ids.Pong,
	}, id, payload)
	if handled || err != nil {
		return err
	}
	switch id {
	case ids.ResourcePack:
		_, err := p.packStatus(payload)
		return err
	case ids.ChatCommand, ids.ChatCommandSigned:
		return p.command(payload)
	case ids.ChatMessage:
		text, err := parseChat(p.protocol.Number, payload)
		if err == nil {
			p.server.Broadcast(fmt.Sprintf("<%s> %s", p.profile.Name, text))
		}
		return err
	case ids.ConfigurationAck:
		return p.reconfigure()
	}
	return nil
}

func (p *session) command(payload []byte) error {
	line, err := mcproto.ParseCommand(payload)
	if err != nil {
		return err
	}
	p.server.logf("%s issued server command: /%s", p.profile.Name, line)
	answer := "Unknown or incomplete command, see below for error"
	switch name, _, _ := strings.Cut(line, " "); {
	case !slices.Contains(p.commands(), name):
	case name == "list":
		answer = p.server.list()
	case name == "help":
		answer = "/" + strings.Join(p.commands(), ", /")
	case name == "stop":
		answer = "Stopping the server"
		defer p.server.Stop()
	}
	return p.say(answer)
}

// commands are those that the player may run; others are unknown to the client.
func (p *session) commands() []string {
	if p.server.operators.has(p.profile.ID) {
		return []string{"help", "list", "stop"}
	}
	return []string{"help", "list"}
}

// say shows a line to the player; one who is just being reconfigured misses it.
func (p *session) say(line string) error {
	err := p.send(mcproto.StatePlay, p.protocol.PlayClient.SystemChat, p.chat(line))
	if errors.Is(err, errEnded) {
		return nil
	}
	return err
}

func (s *Server) list() string {
	var names []string
	for _, who := range s.Players() {
		names = append(names, who.Name)
	}
	return fmt.Sprintf("There are %d of a max of %d players online: %s", len(names), s.settings.MaxPlayers, strings.Join(names, ", "))
}

// reconfigure is the client's consent to go back to the configuration.
func (p *session) reconfigure() error {
	p.mu.Lock()
	asked := p.outbound == mcproto.StatePlay && p.between
	p.mu.Unlock()
	if !asked {
		return fmt.Errorf("%w: configuration acknowledged that was not started", mcproto.ErrMalformed)
	}
	p.enter(mcproto.StateConfiguration)
	if err := p.configure(); err != nil {
		return err
	}
	return p.spawn(p.server.world.joins())
}

// Broadcast shows a line to everybody.
func (s *Server) Broadcast(line string) {
	s.logf("%s", line)
	s.mu.Lock()
	players := make([]*session, 0, len(s.players))
	for _, player := range s.players {
		players = append(players, player)
	}
	s.mu.Unlock()
	for _, player := range players {
		_ = player.say(line)
	}
}

// Kick disconnects a player in play.
func (s *Server) Kick(name string, reason mcproto.Text) error {
	player, err := s.player(name)
	if err != nil {
		return err
	}
	player.kick(reason)
	return nil
}

// Cut drops a player's connection without a word, as a crash does.
func (s *Server) Cut(name string) error {
	player, err := s.player(name)
	if err != nil {
		return err
	}
	return player.conn.Close()
}

// Reconfigure sends a player in play back through the configuration, as
// Paper's API does.
func (s *Server) Reconfigure(name string) error {
	player, err := s.player(name)
	if err != nil {
		return err
	}
	return player.sendLast(mcproto.StatePlay, player.protocol.PlayClient.StartConfiguration)
}

// PushPackTo pushes a resource pack to a player in play.
func (s *Server) PushPackTo(name string, pack mcproto.ResourcePackPush) error {
	player, err := s.player(name)
	if err != nil {
		return err
	}
	return player.sendAfter(mcproto.StatePlay, player.protocol.PlayClient.ResourcePackPush, pack.Payload(), func() {
		player.packs[pack.ID] = struct{}{}
	})
}

// PackPending reports whether the player still owes the final status of a
// pack.
func (s *Server) PackPending(name string, pack uuid.UUID) (bool, error) {
	player, err := s.player(name)
	if err != nil {
		return false, err
	}
	player.mu.Lock()
	defer player.mu.Unlock()
	_, pending := player.packs[pack]
	return pending, nil
}

// AskCookieOf asks a player in play for a cookie.
func (s *Server) AskCookieOf(name, key string) error {
	player, err := s.player(name)
	if err != nil {
		return err
	}
	ask := mcproto.NewWriter().String(key).Bytes()
	return player.sendAfter(mcproto.StatePlay, player.protocol.PlayClient.CookieRequest, ask, func() {
		player.cookies[key] = struct{}{}
	})
}

// PingPlayer pings a player in play.
func (s *Server) PingPlayer(name string, id int32) error {
	player, err := s.player(name)
	if err != nil {
		return err
	}
	ping := mcproto.NewWriter().Int32(id).Bytes()
	return player.sendAfter(mcproto.StatePlay, player.protocol.PlayClient.Ping, ping, func() {
		player.pings[id] = struct{}{}
	})
}

// SendPluginMessage sends a message as a plugin would. Bukkit drops it without
// a word when the client has not registered the channel; the result tells
// whether it was sent.
func (s *Server) SendPluginMessage(name string, message mcproto.PluginMessage) (bool, error) {
	player, err := s.player(name)
	if err != nil {
		return false, err
	}
	return player.plugin(message)
}

func (p *session) plugin(message mcproto.PluginMessage) (bool, error) {
	p.mu.Lock()
	_, registered := p.channels[message.Channel]
	p.mu.Unlock()
	if !registered && p.server.settings.on(UnregisteredChannels) {
		return false, nil
	}
	err := p.send(mcproto.StatePlay, p.protocol.PlayClient.PluginMessage, message.Payload())
	return err == nil, err
}

// Client is what a server knows of a player's client.
type Client struct {
	Handshake mcproto.Handshake // as this server received it
	Address   string            // forwarded, or of the connection
	Brand     string
	Locale    string
	Channels  []string                // registered, sorted
	Messages  []mcproto.PluginMessage // all that came, oldest first
	Cookies   map[string][]byte       // as answered since the login; nil: it has none
}

// ClientOf tells what is known of the client of a player in play.
func (s *Server) ClientOf(name string) (Client, error) {
	player, err := s.player(name)
	if err != nil {
		return Client{}, err
	}
	player.mu.Lock()
	defer player.mu.Unlock()
	c := Client{
		Handshake: player.handshake, Address: player.address, Brand: player.brand, Locale: player.locale,
		Messages: slices.Clone(player.received), Cookies: maps.Clone(player.given),
	}
	for channel := range player.channels {
		c.Channels = append(c.Channels, channel)
	}
	slices.Sort(c.Channels)
	return c, nil
}
