// SPDX-License-Identifier: Apache-2.0

package msmp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"

	"github.com/coder/websocket"
	"github.com/sourcegraph/jsonrpc2"
)

// maxMessage bounds one message: the list of players of the largest servers
// takes a tenth of it.
const maxMessage = 4 << 20

// Client is one connection to a server. Its methods may be called from any
// goroutine, and fail once the connection is lost; it does not reconnect.
type Client struct{ conn *jsonrpc2.Conn }

// Dial connects to a server without TLS. Address is host:port; ctx bounds the
// dialling only. Every notification is passed to notify in the order in which
// the server sent it: notify must not block, nor call the client. It may be
// called before Dial returns. A refused secret is ErrUnauthorized.
func Dial(ctx context.Context, address, secret string, notify func(Notification)) (*Client, error) {
	// A transport of our own: no proxy from the environment stands between an
	// agent and the server beside it.
	transport := &http.Transport{}
	ws, resp, err := websocket.Dial(ctx, "ws://"+address+"/", &websocket.DialOptions{
		HTTPClient: &http.Client{Transport: transport},
		HTTPHeader: http.Header{"Authorization": {"Bearer " + secret}},
	})
	if resp != nil && resp.StatusCode == http.StatusUnauthorized {
		return nil, ErrUnauthorized
	}
	if err != nil {
		return nil, fmt.Errorf("dial the management protocol at %s: %w", address, err)
	}
	ctx = context.WithoutCancel(ctx)
	conn := jsonrpc2.NewConn(ctx, NewStream(ctx, ws), notifier(notify), jsonrpc2.SetLogger(quiet))
	return &Client{conn: conn}, nil
}

// Status asks for the state of the server.
func (c *Client) Status(ctx context.Context) (Status, error) {
	var status Status
	err := c.call(ctx, MethodStatus, nil, &status)
	return status, err
}

// Players asks who is online.
func (c *Client) Players(ctx context.Context) ([]Player, error) {
	var players []Player
	err := c.call(ctx, MethodPlayers, nil, &players)
	return players, err
}

// SaveMode is how far a save goes before it is answered.
type SaveMode int

// The modes of a save.
const (
	SaveSoon  SaveMode = iota // queued for the disk
	SaveFlush                 // on the disk
)

// Save writes the world. It returns when the server has answered, which with
// SaveFlush may take minutes: bound it by ctx.
func (c *Client) Save(ctx context.Context, mode SaveMode) error {
	return c.call(ctx, MethodSave, []bool{mode == SaveFlush}, nil)
}

// Stop begins the server's own orderly stop and returns at once.
func (c *Client) Stop(ctx context.Context) error {
	return c.call(ctx, MethodStop, nil, nil)
}

// Done is closed when the connection is lost or closed.
func (c *Client) Done() <-chan struct{} { return c.conn.DisconnectNotify() }

// Close ends the connection. Closing twice is no error.
func (c *Client) Close() error {
	if err := c.conn.Close(); err != nil && !errors.Is(err, jsonrpc2.ErrClosed) {
		return fmt.Errorf("close the management protocol: %w", err)
	}
	return nil
}

func (c *Client) call(ctx context.Context, method Method, params, result any) error {
	if params == nil {
		params = []any{}
	}
	if err := c.conn.Call(ctx, string(method), params, result); err != nil {
		return fmt.Errorf("management protocol: %s: %w", method, err)
	}
	return nil
}

// notifier turns requests of the server into notifications. jsonrpc2 handles
// one message after the other, which keeps the order.
type notifier func(Notification)

// Handle implements jsonrpc2.Handler.
func (n notifier) Handle(_ context.Context, _ *jsonrpc2.Conn, req *jsonrpc2.Request) {
	if n == nil || !req.Notif {
		return
	}
	event := Notification{Event: Event(req.Method)}
	switch event.Event {
	case EventJoined, EventLeft:
		if err := param(req.Params, "player", &event.Player); err != nil {
			return
		}
	case EventStatus:
		if err := param(req.Params, "status", &event.Status); err != nil {
			return
		}
	case EventStarted, EventStopping, EventSaving, EventSaved:
	}
	n(event)
}

// param decodes the one parameter of a notification, which servers may give by
// position or by name. Without it nothing is known, and the event is dropped:
// the next status tells the whole truth.
func param(params *json.RawMessage, name string, into any) error {
	if params == nil {
		return errors.New("no parameters")
	}
	var list []json.RawMessage
	if err := json.Unmarshal(*params, &list); err == nil {
		if len(list) == 0 {
			return errors.New("no parameters")
		}
		return json.Unmarshal(list[0], into)
	}
	var named map[string]json.RawMessage
	if err := json.Unmarshal(*params, &named); err != nil {
		return err
	}
	return json.Unmarshal(named[name], into)
}

// quiet drops what jsonrpc2 would print: a lost connection shows in Done and
// in the error of each call.
var quiet = log.New(io.Discard, "", 0)
