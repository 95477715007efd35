// SPDX-License-Identifier: Apache-2.0

package mctest

import (
	"net"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// delayedConn holds every byte back for the same time, in each direction, as a
// long cable would. It needs no rights to shape the kernel's traffic.
type delayedConn struct {
	net.Conn
	delay time.Duration
	clock clock.WithTicker
	in    chan chunk
	out   chan chunk
	rest  []byte // received and due
	end   error  // of reading

	once   sync.Once
	closed chan struct{}
}

// chunk is what one read or write carried.
type chunk struct {
	due  time.Time
	data []byte
	err  error
}

const (
	chunksInFlight = 1024
	chunkSize      = 16 << 10
)

func delayed(nc net.Conn, delay time.Duration, clk clock.WithTicker) *delayedConn {
	d := &delayedConn{
		Conn: nc, delay: delay, clock: clk,
		in: make(chan chunk, chunksInFlight), out: make(chan chunk, chunksInFlight),
		closed: make(chan struct{}),
	}
	go d.receive()
	go d.transmit()
	return d
}

func (d *delayedConn) receive() {
	for {
		b := make([]byte, chunkSize)
		n, err := d.Conn.Read(b)
		c := chunk{due: d.clock.Now().Add(d.delay), data: b[:n], err: err}
		select {
		case d.in <- c:
		case <-d.closed:
			return
		}
		if err != nil {
			return
		}
	}
}

func (d *delayedConn) transmit() {
	for {
		select {
		case <-d.closed:
			return
		case c := <-d.out:
			if !d.passes(c.due) {
				return
			}
			if _, err := d.Conn.Write(c.data); err != nil {
				_ = d.Close()
				return
			}
		}
	}
}

// passes waits until the time and reports whether the connection still lives.
func (d *delayedConn) passes(due time.Time) bool {
	wait := due.Sub(d.clock.Now())
	if wait <= 0 {
		return true
	}
	timer := d.clock.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C():
		return true
	case <-d.closed:
		return false
	}
}

// Read implements net.Conn.
func (d *delayedConn) Read(p []byte) (int, error) {
	for len(d.rest) == 0 {
		if d.end != nil {
			return 0, d.end
		}
		select {
		case <-d.closed:
			return 0, net.ErrClosed
		case c := <-d.in:
			if !d.passes(c.due) {
				return 0, net.ErrClosed
			}
			d.rest, d.end = c.data, c.err
		}
	}
	n := copy(p, d.rest)
	d.rest = d.rest[n:]
	return n, nil
}

// Write implements net.Conn. It takes the bytes at once; an error of the
// connection shows at the next read.
func (d *delayedConn) Write(p []byte) (int, error) {
	c := chunk{due: d.clock.Now().Add(d.delay), data: append([]byte(nil), p...)}
	select {
	case d.out <- c:
		return len(p), nil
	case <-d.closed:
		return 0, net.ErrClosed
	}
}

// Close implements net.Conn.
func (d *delayedConn) Close() error {
	d.once.Do(func() { close(d.closed) })
	return d.Conn.Close()
}
