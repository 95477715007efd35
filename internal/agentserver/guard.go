// SPDX-License-Identifier: Apache-2.0

package agentserver

import (
	"cmp"
	"context"
	"net"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// Limits bound who may take the manager's memory and time. They are hard, and
// so wide that every agent behind one address (a node, a NAT) may connect in
// one instant; what has proven no token is held tighter.
type Limits struct {
	// Connections in total and from one address. Default 16384 and 8192.
	Connections, PerAddress int
	// Unproven counts connections on which no token was accepted yet, in total
	// and from one address. Default 4096 and 2048.
	Unproven, UnprovenPerAddress int
	// HandshakeWithin bounds the handshake of a connection. Default 10 s.
	HandshakeWithin time.Duration
	// ProveWithin is how long a connection may stay unproven. Default 10 s.
	ProveWithin time.Duration
	// Refusals is how many bad tokens end a connection. Default 3.
	Refusals int
	// SessionsPerSecond and SessionBurst bound how often one pod may open a
	// session. Default 1 and 20.
	SessionsPerSecond, SessionBurst int
}

func (l Limits) withDefaults() Limits {
	return Limits{
		Connections:        cmp.Or(l.Connections, 16384),
		PerAddress:         cmp.Or(l.PerAddress, 8192),
		Unproven:           cmp.Or(l.Unproven, 4096),
		UnprovenPerAddress: cmp.Or(l.UnprovenPerAddress, 2048),
		HandshakeWithin:    cmp.Or(l.HandshakeWithin, 10*time.Second),
		ProveWithin:        cmp.Or(l.ProveWithin, 10*time.Second),
		Refusals:           cmp.Or(l.Refusals, 3),
		SessionsPerSecond:  cmp.Or(l.SessionsPerSecond, 1),
		SessionBurst:       cmp.Or(l.SessionBurst, 20),
	}
}

// count is how many connections there are, in total or of one address.
type count struct{ all, unproven int }

// guard admits connections and closes those that prove nothing in time.
type guard struct {
	limits Limits
	clock  clock.WithTicker

	mu        sync.Mutex
	total     count
	addresses map[string]count
	// conns are keyed by remote address and port, by which a stream finds the
	// connection it came on.
	conns map[string]*guarded
}

// guarded is one admitted connection.
type guarded struct {
	net.Conn
	guard    *guard
	address  string
	since    time.Time
	proven   bool
	refusals int
	closed   sync.Once
}

func newGuard(limits Limits, clk clock.WithTicker) *guard {
	return &guard{limits: limits, clock: clk, addresses: map[string]count{}, conns: map[string]*guarded{}}
}

// run closes what stays unproven for too long.
func (g *guard) run(ctx context.Context) {
	ticker := g.clock.NewTicker(time.Second)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C():
			for _, late := range g.late() {
				// The peer of a connection that is dropped needs no reason.
				_ = late.Close()
			}
		}
	}
}

func (g *guard) late() []*guarded {
	g.mu.Lock()
	defer g.mu.Unlock()
	var late []*guarded
	for _, conn := range g.conns {
		if !conn.proven && g.clock.Since(conn.since) >= g.limits.ProveWithin {
			late = append(late, conn)
		}
	}
	return late
}

func (g *guard) admit(conn net.Conn) (*guarded, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	address := hostOf(conn.RemoteAddr())
	here := g.addresses[address]
	if g.total.all >= g.limits.Connections || here.all >= g.limits.PerAddress ||
		g.total.unproven >= g.limits.Unproven || here.unproven >= g.limits.UnprovenPerAddress {
		return nil, false
	}
	admitted := &guarded{Conn: conn, guard: g, address: address, since: g.clock.Now()}
	g.conns[conn.RemoteAddr().String()] = admitted
	g.count(address, count{all: 1, unproven: 1})
	return admitted, true
}

// count adds a difference to what is counted; the caller holds the lock.
func (g *guard) count(address string, by count) {
	g.total.all += by.all
	g.total.unproven += by.unproven
	here := g.addresses[address]
	here.all += by.all
	here.unproven += by.unproven
	g.addresses[address] = here
	if here.all == 0 {
		delete(g.addresses, address)
	}
}

// prove notes that a token was accepted on the connection from remote.
func (g *guard) prove(remote net.Addr) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if conn, ok := g.conns[remote.String()]; ok && !conn.proven {
		conn.proven = true
		g.count(conn.address, count{unproven: -1})
	}
}

// refuse notes that a token was refused on the connection from remote, and
// closes it when that is no accident any more.
func (g *guard) refuse(remote net.Addr) {
	g.mu.Lock()
	conn, ok := g.conns[remote.String()]
	guessing := false
	if ok {
		conn.refusals++
		guessing = conn.refusals >= g.limits.Refusals
	}
	g.mu.Unlock()
	if guessing {
		_ = conn.Close()
	}
}

// Close closes the connection and gives its place back, once.
func (c *guarded) Close() error {
	c.closed.Do(func() {
		c.guard.mu.Lock()
		defer c.guard.mu.Unlock()
		left := count{all: -1}
		if !c.proven {
			left.unproven = -1
		}
		c.guard.count(c.address, left)
		delete(c.guard.conns, c.RemoteAddr().String())
	})
	return c.Conn.Close()
}

// listener hands on the connections that the guard admits.
type listener struct {
	net.Listener
	guard *guard
}

func (g *guard) listen(inner net.Listener) net.Listener {
	return &listener{Listener: inner, guard: g}
}

// Accept waits for the next connection within the limits. The others are
// closed: a peer that is refused now tries again.
func (l *listener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if admitted, ok := l.guard.admit(conn); ok {
			return admitted, nil
		}
		_ = conn.Close()
	}
}

func hostOf(address net.Addr) string {
	host, _, err := net.SplitHostPort(address.String())
	if err != nil {
		return address.String()
	}
	return host
}
