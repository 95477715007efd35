// SPDX-License-Identifier: Apache-2.0

// Package status answers the server list from what the proxy knows; no server
// is asked or woken.
package status

import (
	"encoding/json"
	"fmt"

	"github.com/spawnery/spawnery-operator/internal/mcproto"
	"github.com/spawnery/spawnery-operator/internal/proxy/messages"
)

// List is what the server list shows.
type List struct {
	// MOTD as the owner wrote it.
	MOTD string
	// Favicon is a picture as a data URL; empty: none.
	Favicon string
	// Online is everybody on the network.
	Online int
	// Limit is shown.
	Limit int
}

// maxAnswer is how long an answer clients read, in characters.
const maxAnswer = 32767

// maxStatusFrame bounds the packets of a status connection, which are tiny.
const maxStatusFrame = 64

// Serve answers one connection: the list, then a ping, each once.
func Serve(conn *mcproto.Conn, protocols *mcproto.Protocols, client int32, list func() List) error {
	conn.SetMaxFrame(maxStatusFrame)
	var frame mcproto.Frame
	answered := false
	for {
		if err := conn.ReadFrame(&frame); err != nil {
			return fmt.Errorf("reading a status request: %w", err)
		}
		payload, err := frame.Payload()
		if err != nil {
			return fmt.Errorf("reading a status request: %w", err)
		}
		switch {
		case frame.ID == mcproto.StatusRequest && !answered:
			answered = true
			answer := mcproto.NewWriter().String(list().json(protocols, client))
			if err := conn.WritePacket(mcproto.StatusResponse, answer.Bytes()); err != nil {
				return fmt.Errorf("answering a status request: %w", err)
			}
		case frame.ID == mcproto.StatusPing:
			if err := conn.WritePacket(mcproto.StatusPong, payload); err != nil {
				return fmt.Errorf("answering a status ping: %w", err)
			}
			return nil
		default:
			return fmt.Errorf("%w: status packet %#x", mcproto.ErrMalformed, frame.ID)
		}
	}
}

// json is the answer, without the picture where that would make it longer than
// clients read.
func (l List) json(protocols *mcproto.Protocols, client int32) string {
	answer := l.whole(protocols, client)
	if len(answer) > maxAnswer && l.Favicon != "" {
		l.Favicon = ""
		return l.whole(protocols, client)
	}
	return answer
}

// whole is the answer. A client we speak with is told its own version; others are
// told ours, so that their list marks this network as another version.
func (l List) whole(protocols *mcproto.Protocols, client int32) string {
	oldest, newest := protocols.Oldest(), protocols.Newest()
	shown := newest.Number
	if _, ok := protocols.Lookup(client); ok {
		shown = client
	}
	type version struct {
		Name     string `json:"name"`
		Protocol int32  `json:"protocol"`
	}
	type players struct {
		Max    int `json:"max"`
		Online int `json:"online"`
	}
	answer, err := json.Marshal(struct {
		Version     version         `json:"version"`
		Players     players         `json:"players"`
		Description json.RawMessage `json:"description"`
		Favicon     string          `json:"favicon,omitempty"`
	}{
		Version:     version{Name: oldest.Versions[0] + " - " + newest.Versions[len(newest.Versions)-1], Protocol: shown},
		Players:     players{Max: l.Limit, Online: l.Online},
		Description: json.RawMessage(messages.Markup(l.MOTD).JSON(client)),
		Favicon:     l.Favicon,
	})
	if err != nil {
		// Numbers, strings and a component always marshal.
		return "{}"
	}
	return string(answer)
}
