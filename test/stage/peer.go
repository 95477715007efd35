// SPDX-License-Identifier: Apache-2.0

package stage

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spawnery/spawnery-operator/internal/mctest"
	"github.com/spawnery/spawnery-operator/test/peers"
)

// peerVersion is the game version that the client from npm speaks.
const peerVersion = "1.21.4"

// Peer is a player with the client of the npm package minecraft-protocol.
type Peer struct {
	Watcher

	client  *peers.Peer
	leaving atomic.Bool
}

func joinPeer(ctx context.Context, address, name string) (*Peer, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	client, err := peers.StartClient(ctx, peers.ClientSettings{Host: host, Port: port, Version: peerVersion, Name: name})
	if err != nil {
		return nil, err
	}
	return &Peer{client: client}, nil
}

// Server is where the player is; empty while on none.
func (p *Peer) Server() string {
	server := ""
	for _, event := range p.client.Events() {
		switch event.Kind {
		case "start_configuration", "end":
			server = ""
		case "chat":
			if name, welcome := strings.CutPrefix(event.Text, mctest.WelcomePrefix); welcome {
				server = name
			}
		}
	}
	return server
}

// Err tells why the connection ended; nil while it lasts.
func (p *Peer) Err() error {
	select {
	case <-p.client.Done():
	default:
		return nil
	}
	if p.leaving.Load() {
		return nil
	}
	return fmt.Errorf("the client from npm has ended; it saw %s", p.client.Story())
}

// Leave ends the game and waits for the end of the process.
func (p *Peer) Leave() {
	p.leaving.Store(true)
	p.client.Stop()
}

// Ask runs a command, given without its slash, and returns the lines of chat
// that came since, once one of them fits.
func (p *Peer) Ask(ctx context.Context, command string, limit time.Duration, fits func(line string) bool) ([]string, error) {
	before := len(p.lines())
	if err := p.client.Send("/" + command); err != nil {
		return nil, fmt.Errorf("asking /%s: %w", command, err)
	}
	err := p.Await(ctx, "the answer to /"+command, limit, func(context.Context) (string, bool) {
		lines := p.lines()[before:]
		return fmt.Sprintf("%q", lines), slices.ContainsFunc(lines, fits) || p.Err() != nil
	})
	return p.lines()[before:], errors.Join(err, p.Err())
}

func (p *Peer) lines() []string {
	var lines []string
	for _, event := range p.client.Events() {
		if event.Kind == "chat" {
			lines = append(lines, event.Text)
		}
	}
	return lines
}
