// SPDX-License-Identifier: Apache-2.0

package session

import (
	"testing"

	"github.com/google/uuid"

	"github.com/spawnery/spawnery-operator/internal/mcproto"
	"github.com/spawnery/spawnery-operator/internal/proxy/login"
)

// within is a frame around a packet, or false where there is none.
func within(id int32, payload []byte) ([]byte, bool) {
	frame, err := mcproto.AppendFrame(nil, login.CompressionThreshold, id, payload)
	return frame, err == nil
}

// FuzzFromClient shows the proxy one packet of a client, in play and in the
// configuration.
func FuzzFromClient(f *testing.F) {
	play, config := protocol(f).PlayServer, protocol(f).ConfigServer
	information := mcproto.ClientInformation{Locale: "de_de", ViewDistance: 10}.Payload(769)
	register := mcproto.PluginMessage{Channel: mcproto.RegisterChannel, Data: []byte("a:b\x00c:d")}.Payload()
	f.Add(true, play.ChatCommand, mcproto.NewWriter().String("cloud list").Bytes())
	f.Add(true, play.Suggestions, mcproto.SuggestionsRequest{ID: 1, Text: "/cloud l"}.Payload())
	f.Add(true, play.PluginMessage, register)
	f.Add(true, play.ClientInformation, information)
	f.Add(true, play.ResourcePack, mcproto.ResourcePackStatus{ID: uuid.New()}.Payload())
	f.Add(true, play.CookieResponse, mcproto.Cookie{Key: "k:v"}.ResponsePayload())
	f.Add(true, play.KeepAlive, mcproto.KeepAlivePayload(1))
	f.Add(true, play.ConfigurationAck, []byte{})
	f.Add(false, config.PluginMessage, register)
	f.Add(false, config.ClientInformation, information)
	f.Add(false, config.KnownPacks, []byte{0})
	f.Add(false, config.Finish, []byte{})
	f.Add(false, int32(-1), []byte{1})
	f.Fuzz(func(t *testing.T, inPlay bool, id int32, payload []byte) {
		frame, ok := within(id, payload)
		if !ok {
			return
		}
		p, _ := playing(t, &tape{in: frame, again: 1}, &tape{})
		if !inPlay {
			p.state = mcproto.StateConfiguration
		}
		_ = p.readClient()
		p.flushServer()
		if len(p.questions.open) > maxQuestions || len(p.habits.channels) > maxChannels {
			t.Fatalf("%d questions and %d channels are kept", len(p.questions.open), len(p.habits.channels))
		}
	})
}

// FuzzFromServer shows the proxy one packet of a server, in play and in the
// configuration.
func FuzzFromServer(f *testing.F) {
	play, config := protocol(f).PlayClient, protocol(f).ConfigClient
	kick := func(state mcproto.State) []byte {
		return mcproto.DisconnectPayload(state, 769, mcproto.Plain("Server closed"))
	}
	f.Add(true, play.Disconnect, kick(mcproto.StatePlay))
	f.Add(true, play.KeepAlive, mcproto.KeepAlivePayload(1))
	f.Add(true, play.Ping, mcproto.NewWriter().Int32(1).Bytes())
	f.Add(true, play.CookieRequest, mcproto.NewWriter().String("k:v").Bytes())
	f.Add(true, play.ResourcePackPush, mcproto.ResourcePackPush{URL: "http://pack.test"}.Payload())
	f.Add(true, play.Bundle, []byte{})
	f.Add(true, play.StartConfiguration, []byte{})
	f.Add(true, play.Commands, []byte{1, 0, 0, 0})
	f.Add(true, play.PluginMessage, mcproto.PluginMessage{Channel: "bungeecord:main", Data: mcproto.NewWriter().String("x").Bytes()}.Payload())
	f.Add(false, config.Disconnect, kick(mcproto.StateConfiguration))
	f.Add(false, config.Finish, []byte{})
	f.Add(false, config.KnownPacks, []byte{0})
	f.Fuzz(func(t *testing.T, inPlay bool, id int32, payload []byte) {
		if inPlay && id == play.Login {
			t.Skip("only a player who has a seat is let into a world, and nobody gives any here")
		}
		frame, ok := within(id, payload)
		if !ok {
			return
		}
		p, l := playing(t, &tape{}, &tape{in: frame, again: 1})
		if !inPlay {
			l.state = mcproto.StateConfiguration
		}
		_ = p.relayServer(l)
		if len(p.questions.open) > maxQuestions {
			t.Fatalf("%d questions are kept", len(p.questions.open))
		}
	})
}
