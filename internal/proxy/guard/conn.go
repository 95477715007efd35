// SPDX-License-Identifier: Apache-2.0

// Package guard bounds what a single peer can cost the proxy: time, packets
// and connections.
package guard

import (
	"errors"
	"net"
	"os"
	"sync/atomic"
	"time"

	"k8s.io/utils/clock"
)

// Patience is how long a peer may take nothing of what is written to it.
const Patience = 30 * time.Second

// Conn gives up on a peer that has not taken a byte for Patience. A slow peer
// is waited for instead: writes block, and with them the reading of whatever
// is relayed, so that nothing has to be queued.
type Conn struct {
	net.Conn
	clock    clock.PassiveClock
	patience atomic.Int64 // a time.Duration
	last     atomic.Pointer[time.Time]
	bounded  time.Time // when ReadOn last renewed; the reader's own
	traffic  *Traffic  // nil: nobody counts
}

// Traffic counts the bytes of many connections.
type Traffic struct {
	// In was read from the peers, Out was taken by them.
	In, Out atomic.Uint64
}

// Count has the bytes of the connection counted from now on. It is called before
// the connection is used.
func (c *Conn) Count(traffic *Traffic) { c.traffic = traffic }

// NewConn guards a connection.
func NewConn(nc net.Conn, clk clock.PassiveClock) *Conn {
	c := &Conn{Conn: nc, clock: clk}
	c.patience.Store(int64(Patience))
	return c
}

// Hurry lowers the patience, also of a write that waits already, and bounds
// the reads that follow by the same time.
func (c *Conn) Hurry(d time.Duration) {
	c.patience.Store(int64(d))
	last := c.clock.Now().Add(d)
	c.last.Store(&last)
	// A connection that fails here fails at the next write.
	_ = c.SetDeadline(last)
}

// Read reads what there is.
func (c *Conn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if c.traffic != nil {
		c.traffic.In.Add(uint64(n))
	}
	return n, err
}

// Write writes all of b, however slowly it is taken.
func (c *Conn) Write(b []byte) (int, error) {
	written := 0
	for {
		if err := c.SetWriteDeadline(c.clock.Now().Add(time.Duration(c.patience.Load()))); err != nil {
			return written, err
		}
		n, err := c.Conn.Write(b[written:])
		written += n
		if c.traffic != nil {
			c.traffic.Out.Add(uint64(n))
		}
		if err == nil || n == 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
			return written, err
		}
	}
}

// CloseWrite ends the stream to the peer and leaves the other one open, so
// that the last packet is not lost to a reset.
func (c *Conn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return c.Close()
}

// ReadWithin bounds the next reads: they fail once that much time has passed.
// After Hurry that stays the bound.
func (c *Conn) ReadWithin(d time.Duration) error {
	err := c.SetReadDeadline(c.clock.Now().Add(d))
	if last := c.last.Load(); last != nil {
		err = c.SetReadDeadline(*last)
	}
	return err
}

// readOnEvery is how often ReadOn renews the bound.
const readOnEvery = time.Second

// ReadOn bounds the next reads like ReadWithin, up to a second less. It is
// cheap enough to be called for each packet, and has to be: while packets wait
// in memory time passes too, because what takes them may be slow.
func (c *Conn) ReadOn(d time.Duration) error {
	now := c.clock.Now()
	if now.Sub(c.bounded) < readOnEvery {
		return nil
	}
	c.bounded = now
	return c.ReadWithin(d)
}
