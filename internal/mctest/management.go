// SPDX-License-Identifier: Apache-2.0

package mctest

import (
	"cmp"
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"
	"github.com/sourcegraph/jsonrpc2"

	"github.com/spawnery/spawnery-operator/internal/mcproto"
	"github.com/spawnery/spawnery-operator/internal/msmp"
)

// management serves the management protocol.
type management struct {
	server   *Server
	secret   string
	listener net.Listener
	http     *http.Server

	closing chan struct{}
	serving sync.WaitGroup

	mu    sync.Mutex
	peers map[*managementPeer]struct{}
}

// managementPeer is one client. Notifications wait in a queue: a client that
// does not read must not stop the game.
type managementPeer struct {
	conn  *jsonrpc2.Conn
	queue chan notification
}

type notification struct {
	event  msmp.Event
	params []any
}

const notificationQueue = 1024

func startManagement(ctx context.Context, s *Server, settings ManagementSettings) (*management, error) {
	if err := msmp.ValidSecret(settings.Secret); err != nil {
		return nil, err
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", cmp.Or(settings.Address, loopback))
	if err != nil {
		return nil, fmt.Errorf("listen for management: %w", err)
	}
	m := &management{
		server: s, secret: settings.Secret, listener: listener,
		closing: make(chan struct{}), peers: make(map[*managementPeer]struct{}),
	}
	ctx = context.WithoutCancel(ctx)
	m.http = &http.Server{
		Handler:           m,
		ReadHeaderTimeout: 10 * time.Second,
		BaseContext:       func(net.Listener) context.Context { return ctx },
	}
	go func() { _ = m.http.Serve(listener) }()
	return m, nil
}

func (m *management) address() string { return m.listener.Addr().String() }

// close sends what is queued, then closes.
func (m *management) close() {
	close(m.closing)
	m.serving.Wait()
	_ = m.http.Close()
}

// ServeHTTP implements http.Handler: one request is one client for as long as
// it stays.
func (m *management) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	if subtle.ConstantTimeCompare([]byte(token), []byte(m.secret)) != 1 {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = w.Write([]byte(`{"error":"unauthorized","message":"Invalid authorization"}`))
		return
	}
	ws, err := websocket.Accept(w, r, nil)
	if err != nil {
		return
	}
	ctx := r.Context()
	peer := &managementPeer{queue: make(chan notification, notificationQueue)}
	m.serving.Add(1)
	defer m.serving.Done()
	m.mu.Lock()
	peer.conn = jsonrpc2.NewConn(ctx, msmp.NewStream(ctx, ws), m, jsonrpc2.SetLogger(quiet))
	m.peers[peer] = struct{}{}
	m.mu.Unlock()
	m.serve(ctx, peer)
	m.mu.Lock()
	delete(m.peers, peer)
	m.mu.Unlock()
	_ = peer.conn.Close()
}

func (m *management) serve(ctx context.Context, peer *managementPeer) {
	closing := m.closing
	for {
		select {
		case <-peer.conn.DisconnectNotify():
			return
		case n := <-peer.queue:
			if n.event == "" || peer.conn.Notify(ctx, string(n.event), n.params) != nil {
				return
			}
		case <-closing:
			// From here on only the queue is left, and then a notification
			// without a name ends it.
			closing = nil
			peer.queue <- notification{}
		}
	}
}

func (m *management) notify(event msmp.Event, params ...any) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for peer := range m.peers {
		select {
		case peer.queue <- notification{event, params}:
		default:
			_ = peer.conn.Close()
		}
	}
}

// Handle implements jsonrpc2.Handler.
func (m *management) Handle(ctx context.Context, conn *jsonrpc2.Conn, req *jsonrpc2.Request) {
	if req.Notif {
		return
	}
	result, err := m.call(msmp.Method(req.Method), req.Params)
	var refusal *jsonrpc2.Error
	switch {
	case errors.As(err, &refusal):
		_ = conn.ReplyWithError(ctx, req.ID, refusal)
	case err != nil:
		_ = conn.ReplyWithError(ctx, req.ID, &jsonrpc2.Error{Code: jsonrpc2.CodeInternalError, Message: err.Error()})
	default:
		_ = conn.Reply(ctx, req.ID, result)
	}
	if msmp.Method(req.Method) == msmp.MethodStop {
		// Only now: the stop closes this connection.
		m.server.Stop()
	}
}

func (m *management) call(method msmp.Method, params *json.RawMessage) (any, error) {
	if method != msmp.MethodSave && method != msmp.MethodDiscover {
		// The save waits for its turn by itself.
		m.server.thread.Lock()
		defer m.server.thread.Unlock()
	}
	switch method {
	case msmp.MethodDiscover:
		return map[string]any{
			"openrpc": "1.3.2", "methods": []any{},
			"info": map[string]any{"title": "Minecraft Server JSON-RPC", "version": "2.0.0"},
		}, nil
	case msmp.MethodStatus:
		return m.server.managementStatus(), nil
	case msmp.MethodPlayers:
		return m.server.managementStatus().Players, nil
	case msmp.MethodMaxPlayers:
		return m.server.settings.MaxPlayers, nil
	case msmp.MethodSave:
		return true, m.server.save()
	case msmp.MethodStop:
		return true, nil
	case msmp.MethodKick:
		return m.kick(params)
	case msmp.MethodSystemMessage:
		return m.message(params)
	}
	return nil, &jsonrpc2.Error{Code: jsonrpc2.CodeMethodNotFound, Message: "Method not found: " + string(method)}
}

// message is a text as the management protocol words it.
type message struct {
	Literal      string `json:"literal"`
	Translatable string `json:"translatable"`
}

func (m message) text() mcproto.Text {
	return mcproto.Text{Text: m.Literal, Translate: m.Translatable}
}

func (m *management) kick(params *json.RawMessage) (any, error) {
	var args [][]struct {
		Player  msmp.Player `json:"player"`
		Message message     `json:"message"`
	}
	if err := decodeParams(params, &args); err != nil {
		return nil, err
	}
	kicked := []msmp.Player{}
	for _, arg := range args {
		for _, order := range arg {
			for _, who := range m.server.Players() {
				if who.ID == order.Player.ID || strings.EqualFold(who.Name, order.Player.Name) {
					_ = m.server.Kick(who.Name, order.Message.text())
					kicked = append(kicked, msmp.Player{ID: who.ID, Name: who.Name})
				}
			}
		}
	}
	return kicked, nil
}

func (m *management) message(params *json.RawMessage) (any, error) {
	var args []struct {
		Message message `json:"message"`
	}
	if err := decodeParams(params, &args); err != nil {
		return nil, err
	}
	for _, arg := range args {
		m.server.Broadcast(arg.Message.text().String())
	}
	return len(args) > 0, nil
}

func decodeParams(params *json.RawMessage, into any) error {
	if params == nil {
		return &jsonrpc2.Error{Code: jsonrpc2.CodeInvalidParams, Message: "Expected params"}
	}
	if err := json.Unmarshal(*params, into); err != nil {
		return &jsonrpc2.Error{Code: jsonrpc2.CodeInvalidParams, Message: err.Error()}
	}
	return nil
}

// managementStatus leaves the players out of an empty server, as servers do.
func (s *Server) managementStatus() msmp.Status {
	newest := s.protocols.Newest()
	status := msmp.Status{Version: msmp.Version{Name: newest.Versions[len(newest.Versions)-1], Protocol: newest.Number}}
	select {
	case <-s.started:
		status.Started = true
	default:
	}
	for _, who := range s.Players() {
		status.Players = append(status.Players, msmp.Player{ID: who.ID, Name: who.Name})
	}
	return status
}

func (s *Server) notify(event msmp.Event, params ...any) {
	if s.admin != nil {
		s.admin.notify(event, params...)
	}
}

func (s *Server) notifyJoined(who mcproto.Profile) {
	s.notify(msmp.EventJoined, msmp.Player{ID: who.ID, Name: who.Name})
}

func (s *Server) notifyLeft(who mcproto.Profile) {
	s.notify(msmp.EventLeft, msmp.Player{ID: who.ID, Name: who.Name})
}

// quiet drops what jsonrpc2 would print about clients that go.
var quiet = log.New(io.Discard, "", 0)
