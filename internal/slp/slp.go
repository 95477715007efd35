// SPDX-License-Identifier: Apache-2.0

// Package slp asks a game server for the entry it shows in the server list:
// the one question every server since ever answers.
package slp

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"strconv"

	"github.com/spawnery/spawnery-operator/internal/mcproto"
)

// maxStatusChars bounds the answer; icons make it large.
const maxStatusChars = 262144

// Status is a server's entry in the list.
type Status struct {
	Online, Max int
	Sample      []Player // some of those online, by the server's choice
	Version     string   // as the server words it
	Protocol    int32
	Description mcproto.Text
	Favicon     string // a picture as a data URL; empty: none
}

// Player is one name of the sample.
type Player struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

// Ping asks the server at host:port, naming the version protocol as our own.
// The end of ctx ends the wait.
func Ping(ctx context.Context, address string, protocol int32) (Status, error) {
	status, err := ping(ctx, address, protocol)
	if err != nil {
		return Status{}, fmt.Errorf("ask %s for its status: %w", address, err)
	}
	return status, nil
}

func ping(ctx context.Context, address string, protocol int32) (Status, error) {
	host, portText, err := net.SplitHostPort(address)
	if err != nil {
		return Status{}, err
	}
	port, err := strconv.ParseUint(portText, 10, 16)
	if err != nil {
		return Status{}, err
	}
	nc, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return Status{}, err
	}
	// Closing is the one way to end a read at the end of a context that has no
	// deadline.
	stop := context.AfterFunc(ctx, func() { _ = nc.Close() })
	defer func() {
		stop()
		_ = nc.Close()
	}()
	hello := mcproto.Handshake{Protocol: protocol, RawHost: host, Port: uint16(port), Intent: mcproto.IntentStatus}
	status, err := ask(mcproto.NewConn(nc), hello)
	if ctx.Err() != nil {
		return Status{}, context.Cause(ctx)
	}
	return status, err
}

func ask(conn *mcproto.Conn, hello mcproto.Handshake) (Status, error) {
	if err := conn.QueuePacket(mcproto.HandshakeIntention, hello.Payload()); err != nil {
		return Status{}, err
	}
	if err := conn.WritePacket(mcproto.StatusRequest, nil); err != nil {
		return Status{}, err
	}
	var f mcproto.Frame
	if err := conn.ReadFrame(&f); err != nil {
		return Status{}, err
	}
	if f.ID != mcproto.StatusResponse {
		return Status{}, fmt.Errorf("%w: packet %#x instead of a status", mcproto.ErrMalformed, f.ID)
	}
	payload, err := f.Payload()
	if err != nil {
		return Status{}, err
	}
	return parse(payload)
}

func parse(payload []byte) (Status, error) {
	r := mcproto.NewReader(payload)
	text := r.String(maxStatusChars)
	if err := r.Err(); err != nil {
		return Status{}, err
	}
	var answer struct {
		Version struct {
			Name     string `json:"name"`
			Protocol int32  `json:"protocol"`
		} `json:"version"`
		Players *struct {
			Online int      `json:"online"`
			Max    int      `json:"max"`
			Sample []Player `json:"sample"`
		} `json:"players"`
		Description json.RawMessage `json:"description"`
		Favicon     string          `json:"favicon"`
	}
	if err := json.Unmarshal([]byte(text), &answer); err != nil {
		return Status{}, fmt.Errorf("%w: status: %w", mcproto.ErrMalformed, err)
	}
	if answer.Players == nil || answer.Players.Online < 0 {
		return Status{}, fmt.Errorf("%w: the status does not say how many are online", mcproto.ErrMalformed)
	}
	status := Status{
		Online: answer.Players.Online, Max: answer.Players.Max, Sample: answer.Players.Sample,
		Version: answer.Version.Name, Protocol: answer.Version.Protocol,
		Favicon: answer.Favicon,
	}
	if len(answer.Description) > 0 {
		// What is shown to people never decides whether a server answers.
		status.Description, _ = mcproto.ParseTextJSON(string(answer.Description))
	}
	return status, nil
}
