// SPDX-License-Identifier: Apache-2.0

package msmp

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/coder/websocket"
)

// Stream carries one JSON object per text frame, as jsonrpc2 wants it.
type Stream struct {
	ctx context.Context
	ws  *websocket.Conn
}

// NewStream makes a stream of an established connection. The end of ctx ends
// reads and writes.
func NewStream(ctx context.Context, ws *websocket.Conn) *Stream {
	ws.SetReadLimit(maxMessage)
	return &Stream{ctx: ctx, ws: ws}
}

// WriteObject sends one object.
func (s *Stream) WriteObject(object any) error {
	b, err := json.Marshal(object)
	if err != nil {
		return fmt.Errorf("encode a message: %w", err)
	}
	return s.ws.Write(s.ctx, websocket.MessageText, b)
}

// ReadObject waits for the next object.
func (s *Stream) ReadObject(into any) error {
	_, b, err := s.ws.Read(s.ctx)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(b, into); err != nil {
		return fmt.Errorf("decode a message: %w", err)
	}
	return nil
}

// Close drops the connection without waiting for the other side's goodbye.
func (s *Stream) Close() error { return s.ws.CloseNow() }
