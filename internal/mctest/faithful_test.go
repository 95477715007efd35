// SPDX-License-Identifier: Apache-2.0

package mctest

import (
	"errors"
	"net"
	"strings"
	"testing"

	"github.com/spawnery/spawnery-operator/internal/mcproto"
)

// meddler relays between a bot and a server and may add packets on the way to
// the bot, as a careless proxy does.
type meddler struct {
	protocol *mcproto.Protocol
	client   *mcproto.Conn
	server   *mcproto.Conn
	toClient mcproto.State // state of what the server sends
	// before is called for each packet to the client and returns packets that
	// go before it, all in the same state.
	before func(state mcproto.State, id int32) []int32
	after  func(state mcproto.State, id int32) bool // send it twice
}

// meddle listens for one bot and returns the address to join.
func meddle(t *testing.T, server string, m *meddler) string {
	t.Helper()
	table, err := mcproto.DefaultProtocols()
	if err != nil {
		t.Fatal(err)
	}
	m.toClient = mcproto.StateLogin
	m.protocol, _ = table.Lookup(defaultProtocol)
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
		defer func() { _ = client.Close() }()
		backend, err := net.Dial("tcp", server)
		if err != nil {
			return
		}
		defer func() { _ = backend.Close() }()
		m.client, m.server = mcproto.NewConn(client), mcproto.NewConn(backend)
		go func() {
			defer func() { _ = backend.Close() }()
			var f mcproto.Frame
			var err error
			for err == nil {
				err = m.client.ReadFrame(&f)
				if err == nil {
					err = errors.Join(m.server.Relay(&f), m.server.Flush())
				}
			}
		}()
		var f mcproto.Frame
		for err == nil {
			if err = m.server.ReadFrame(&f); err == nil {
				err = m.pass(&f)
			}
		}
	}()
	return listener.Addr().String()
}

func (m *meddler) pass(f *mcproto.Frame) error {
	state := m.toClient
	if m.before != nil {
		for _, id := range m.before(state, f.ID) {
			if err := m.client.WritePacket(id, nil); err != nil {
				return err
			}
		}
	}
	err := errors.Join(m.client.Relay(f), m.client.Flush())
	if m.after != nil && m.after(state, f.ID) {
		err = errors.Join(err, m.client.Relay(f), m.client.Flush())
	}
	m.follow(state, f)
	return err
}

// follow keeps track of the state the server is in.
func (m *meddler) follow(state mcproto.State, f *mcproto.Frame) {
	switch {
	case state == mcproto.StateLogin && f.ID == mcproto.LoginCompression:
		payload, _ := f.Payload()
		threshold, _ := mcproto.ParseVarInt(payload)
		m.client.SetCompression(int(threshold), mcproto.RejectBelowThreshold)
		m.server.SetCompression(int(threshold), mcproto.AcceptBelowThreshold)
	case state == mcproto.StateLogin && f.ID == mcproto.LoginSuccess:
		m.toClient = mcproto.StateConfiguration
	case state == mcproto.StateConfiguration && f.ID == m.protocol.ConfigClient.Finish:
		m.toClient = mcproto.StatePlay
	case state == mcproto.StatePlay && f.ID == m.protocol.PlayClient.StartConfiguration:
		m.toClient = mcproto.StateConfiguration
	}
}

func TestBotIsAsEasilyOffendedAsTheGamesClient(t *testing.T) {
	for name, tc := range map[string]struct {
		meddler func(p *mcproto.Protocol) *meddler
		want    string
	}{
		"a second registry of the same name": {
			func(p *mcproto.Protocol) *meddler {
				return &meddler{after: func(state mcproto.State, id int32) bool {
					return state == mcproto.StateConfiguration && id == p.ConfigClient.RegistryData
				}}
			}, "came twice in one configuration",
		},
		"a configuration inside a bundle": {
			func(p *mcproto.Protocol) *meddler {
				return &meddler{before: func(state mcproto.State, id int32) []int32 {
					if state == mcproto.StatePlay && id == p.PlayClient.StartConfiguration {
						return []int32{p.PlayClient.Bundle}
					}
					return nil
				}}
			}, "inside a bundle",
		},
		"a packet of another state in the login": {
			func(*mcproto.Protocol) *meddler {
				return &meddler{before: func(state mcproto.State, id int32) []int32 {
					if state == mcproto.StateLogin && id == mcproto.LoginSuccess {
						return []int32{0x2b}
					}
					return nil
				}}
			}, "in login",
		},
	} {
		t.Run(name, func(t *testing.T) {
			table, err := mcproto.DefaultProtocols()
			if err != nil {
				t.Fatal(err)
			}
			row, _ := table.Lookup(defaultProtocol)
			s := startServer(t, Settings{})
			b := joinBot(t, BotSettings{Address: meddle(t, s.Address(), tc.meddler(row)), Name: "offended"})
			if _, err := b.WaitServer(testContext(t)); err == nil {
				if err := s.Reconfigure("offended"); err != nil {
					t.Fatal(err)
				}
			}
			<-b.Done()
			if err := b.Err(); !errors.Is(err, errUnfaithful) || !strings.Contains(err.Error(), tc.want) {
				t.Fatalf("got %v", err)
			}
		})
	}
}

func TestBotIsContentWithAProxyThatOnlyRelays(t *testing.T) {
	s := startServer(t, Settings{Traffic: Traffic{Small: 100, Large: 20}})
	b := joinBot(t, BotSettings{Address: meddle(t, s.Address(), &meddler{}), Name: "content"})
	onServer(t, b)
	if err := s.Reconfigure("content"); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the bot is back", func() bool { return len(b.Stats().Switches) == 1 })
	eventually(t, "a hundred kilobytes", func() bool { return b.Stats().Bytes > 100_000 })
	if v := s.Violations(); len(v) > 0 || b.Err() != nil {
		t.Fatalf("%+v, %v", v, b.Err())
	}
}
