// SPDX-License-Identifier: Apache-2.0

package mctest

import (
	"encoding/json"
	"fmt"

	"github.com/spawnery/spawnery-operator/internal/mcproto"
)

// maxSample is how many names a server shows in the list.
const maxSample = 12

// status answers the server list.
func (p *session) status() error {
	p.inbound = mcproto.StateStatus
	if p.server.settings.Status == IgnoreStatus {
		return nil
	}
	for {
		id, payload, err := p.read()
		if err != nil {
			return err
		}
		switch id {
		case mcproto.StatusRequest:
			answer, err := p.server.statusJSON(p.handshake.Protocol)
			if err != nil {
				return err
			}
			err = p.conn.WritePacket(mcproto.StatusResponse, mcproto.NewWriter().String(answer).Bytes())
			if err != nil {
				return err
			}
		case mcproto.StatusPing:
			return p.conn.WritePacket(mcproto.StatusPong, payload)
		default:
			return fmt.Errorf("%w: packet %#x in status", mcproto.ErrMalformed, id)
		}
	}
}

// statusJSON claims the client's version if it can join with it.
func (s *Server) statusJSON(protocol int32) (string, error) {
	row, ok := s.protocols.Lookup(protocol)
	if !ok {
		row = s.protocols.Newest()
	}
	sample := []map[string]string{}
	for _, who := range s.Players() {
		if len(sample) < maxSample {
			sample = append(sample, map[string]string{"name": who.Name, "id": who.ID.String()})
		}
	}
	answer, err := json.Marshal(map[string]any{
		"version":     map[string]any{"name": "Double " + row.Versions[len(row.Versions)-1], "protocol": row.Number},
		"players":     map[string]any{"max": s.settings.MaxPlayers, "online": s.online(), "sample": sample},
		"description": map[string]any{"text": s.settings.Name},
	})
	if err != nil {
		return "", fmt.Errorf("encode the status: %w", err)
	}
	return string(answer), nil
}
