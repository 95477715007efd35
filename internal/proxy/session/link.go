// SPDX-License-Identifier: Apache-2.0

package session

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"github.com/spawnery/spawnery-operator/internal/mcproto"
	"github.com/spawnery/spawnery-operator/internal/proxy/guard"
	"github.com/spawnery/spawnery-operator/internal/proxy/placing"
)

// serverSilence is how long a server may send nothing. Clients give up after
// 30 s of silence; the proxy does so a little earlier, while it can still take
// the player somewhere else.
const serverSilence = 25 * time.Second

// link is a server that the player is logged in to.
type link struct {
	name  string
	place *placing.Place
	conn  *mcproto.Conn
	left  atomic.Bool   // we left it: its end is no loss
	done  chan struct{} // closed when its reader has ended
	// arrived is closed when the player is in its world.
	arrived chan struct{}
	post    mailbox[[]byte]
	asks    *rate.Limiter // what its plugins want of other proxies

	// hearing orders what the proxy itself says to the server against the client's
	// words that change what the server expects next.
	hearing sync.Mutex
	hears   mcproto.State
	// plays tells of hears without waiting: hearing is held while a server is
	// written to that may take nothing.
	plays atomic.Bool

	// Of its reader, and of the director once done is closed.
	state   mcproto.State // of what it sends
	bundled bool          // a bundle is open
	joined  bool          // the player was in its world
	heard   *rate.Limiter // messages of its plugins
	end     ending
}

// ending is why a server's stream ended.
type ending struct {
	reason mcproto.Text // what the server said; empty when it said nothing
	spoken bool
	cause  error
}

func newLink(place *placing.Place, conn *mcproto.Conn, protocol *mcproto.Protocol) *link {
	l := &link{
		name: place.Server.GetName(), place: place, conn: conn,
		done: make(chan struct{}), arrived: make(chan struct{}), state: mcproto.StateConfiguration,
		hears: mcproto.StateConfiguration,
		heard: rate.NewLimiter(heardPerSecond, heardBurst), asks: rate.NewLimiter(asksPerSecond, asksBurst),
	}
	l.post.most, l.post.mostBytes = maxPosted, maxPostedBytes
	l.post.deliver = func(data []byte) error { return l.toPlugins(protocol, data) }
	return l
}

// leave ends the link on our side: the server sees a clean end at once.
func (l *link) leave() {
	l.left.Store(true)
	l.conn.Close()
}

// errEnded stops a server's reader after the server said goodbye.
var errEnded = errors.New("the server ended the connection")

// readServer relays what the server sends until its stream ends.
func (p *Player) readServer(ctx context.Context, l *link) {
	err := p.relayServer(l)
	l.end.cause = err
	l.conn.Close()
	l.place.Close()
	// What was queued before the end is still the client's.
	_ = p.conn.Flush()
	close(l.done)
	if l.left.Load() {
		return
	}
	select {
	case p.lost <- l:
	case <-ctx.Done():
	}
}

func (p *Player) relayServer(l *link) error {
	patient, _ := l.conn.NetConn().(*guard.Conn)
	var frame mcproto.Frame
	for {
		if l.conn.Buffered() == 0 {
			if err := p.conn.Flush(); err != nil {
				return p.clientFailed(err)
			}
		}
		// For each packet: with a client that takes them slowly there is
		// always another one that waits already.
		if patient != nil {
			if err := patient.ReadOn(serverSilence); err != nil {
				return err
			}
		}
		if err := l.conn.ReadFrame(&frame); err != nil {
			return fmt.Errorf("reading from %s: %w", l.name, err)
		}
		table := &p.dialect.playFromServer
		if l.state == mcproto.StateConfiguration {
			table = &p.dialect.configFromServer
		}
		handle := table.of(frame.ID)
		if handle == nil {
			if err := p.conn.Relay(&frame); err != nil {
				return p.clientFailed(err)
			}
			continue
		}
		if err := handle(p, l, &frame); err != nil {
			return err
		}
	}
}

// clientFailed ends the stay when the client takes nothing any more. One that
// was told to go is left to read that.
func (p *Player) clientFailed(err error) error {
	if !p.ending.Load() {
		p.conn.Close()
	}
	return fmt.Errorf("writing to the client: %w", err)
}
