// SPDX-License-Identifier: Apache-2.0

package mcproto

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
)

// ThresholdCheck says what to do with a packet that was compressed although
// it is smaller than the threshold.
type ThresholdCheck int

const (
	// AcceptBelowThreshold is what the game's client does.
	AcceptBelowThreshold ThresholdCheck = iota
	// RejectBelowThreshold is what the game's server does.
	RejectBelowThreshold
)

// Conn frames packets on a connection. One goroutine may read; any number may
// write. SetCompression and EnableEncryption belong to the reading goroutine.
type Conn struct {
	nc       net.Conn
	br       *bufio.Reader
	maxFrame int
	readAt   int // threshold of what is read
	check    ThresholdCheck

	mu      sync.Mutex // guards the fields below
	out     outbox
	writeAt int // threshold of what is written
	scratch []byte
}

const (
	bufferSize = 4096
	// clientBufferSize holds several packets of a client, which are small and
	// of which a proxy reads from thousands.
	clientBufferSize = 512
	// keepScratch is the largest buffer kept between packets: one large
	// packet must not cost every connection its size for ever.
	keepScratch = 64 << 10
)

// NewConn frames nc, uncompressed and unencrypted.
func NewConn(nc net.Conn) *Conn { return newConn(nc, bufferSize) }

// NewConnOfClient is NewConn for the one end that reads from a game's client:
// it reads less ahead.
func NewConnOfClient(nc net.Conn) *Conn { return newConn(nc, clientBufferSize) }

func newConn(nc net.Conn, ahead int) *Conn {
	return &Conn{
		nc:       nc,
		br:       bufio.NewReaderSize(nc, ahead),
		out:      outbox{dst: nc},
		maxFrame: MaxFrame,
		readAt:   NoCompression,
		writeAt:  NoCompression,
	}
}

// NetConn is the connection below, for deadlines and addresses.
func (c *Conn) NetConn() net.Conn { return c.nc }

// Close closes the connection; blocked reads and writes return.
func (c *Conn) Close() error { return c.nc.Close() }

// SetMaxFrame bounds the frames that are read from now on, in bytes; before a
// login a peer needs few. Values above MaxFrame mean MaxFrame.
func (c *Conn) SetMaxFrame(n int) { c.maxFrame = min(n, MaxFrame) }

// SetCompression turns compression on in both directions, or off with
// NoCompression. The packet that announces it must have been written before.
func (c *Conn) SetCompression(threshold int, check ThresholdCheck) {
	c.readAt, c.check = max(threshold, NoCompression), check
	c.mu.Lock()
	c.writeAt = max(threshold, NoCompression)
	c.mu.Unlock()
}

// EnableEncryption encrypts both directions with AES/CFB8 under the shared
// secret of 16 bytes, which is also the first vector. Bytes already buffered
// are taken as encrypted.
func (c *Conn) EnableEncryption(secret []byte) error {
	decrypt, err := newCFB8(secret, cfb8Decrypt)
	if err != nil {
		return fmt.Errorf("decrypt with the shared secret: %w", err)
	}
	encrypt, err := newCFB8(secret, cfb8Encrypt)
	if err != nil {
		return fmt.Errorf("encrypt with the shared secret: %w", err)
	}
	ahead, _ := c.br.Peek(c.br.Buffered())
	var src io.Reader = c.nc
	if len(ahead) > 0 {
		src = io.MultiReader(bytes.NewReader(bytes.Clone(ahead)), c.nc)
	}
	c.br = bufio.NewReaderSize(&cfb8Reader{src: src, stream: decrypt}, c.br.Size())
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.out.Flush(); err != nil {
		return fmt.Errorf("flush before encryption: %w", err)
	}
	c.out = outbox{dst: &cfb8Writer{dst: c.nc, stream: encrypt}}
	return nil
}

// Buffered is the number of bytes received but not read yet: 0 means that the
// next ReadFrame may block, and that a relay should flush.
func (c *Conn) Buffered() int { return c.br.Buffered() }

// ReadFrame reads the next packet into f, reusing its memory. Errors that wrap
// ErrMalformed are the peer's fault; others are those of the connection.
func (c *Conn) ReadFrame(f *Frame) error {
	if cap(f.raw) > keepScratch {
		f.raw = nil
	}
	if cap(f.inflated) > keepScratch {
		f.inflated = nil
	}
	f.raw = f.raw[:0]
	length, err := c.readLength(f)
	if err != nil {
		return err
	}
	prefix := len(f.raw)
	for rest := length; rest > 0; {
		step, from := min(rest, growStep), len(f.raw)
		f.raw = grow(f.raw, step)
		if _, err := io.ReadFull(c.br, f.raw[from:]); err != nil {
			return noEOF(err)
		}
		rest -= step
	}
	return f.parse(prefix, c.readAt, c.check)
}

func (c *Conn) readLength(f *Frame) (int, error) {
	length := 0
	for i := range maxLengthPrefix {
		b, err := c.br.ReadByte()
		if err != nil {
			if i > 0 {
				err = noEOF(err)
			}
			return 0, err
		}
		f.raw = append(f.raw, b)
		length |= int(b&0x7f) << (7 * i)
		if b&0x80 != 0 {
			continue
		}
		if length == 0 || length > c.maxFrame {
			return 0, fmt.Errorf("%w: frame of %d bytes, at most %d allowed", ErrMalformed, length, c.maxFrame)
		}
		return length, nil
	}
	return 0, fmt.Errorf("%w: length prefix of more than %d bytes", ErrMalformed, maxLengthPrefix)
}

// noEOF keeps a clean end of the stream apart from one inside a frame.
func noEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// WritePacket writes one packet and flushes.
func (c *Conn) WritePacket(id int32, payload []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.writeLocked(id, payload); err != nil {
		return err
	}
	return c.out.Flush()
}

// QueuePacket writes one packet into the buffer only: Flush, or the next
// WritePacket, sends it.
func (c *Conn) QueuePacket(id int32, payload []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.writeLocked(id, payload)
}

// Relay queues a frame read from another connection: unchanged when this
// side's compression accepts it, otherwise encoded anew. Nothing is allocated
// for a small frame that stays unchanged.
func (c *Conn) Relay(f *Frame) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if f.fits(c.writeAt) {
		_, err := c.out.Write(f.raw)
		return err
	}
	payload, err := f.Payload()
	if err != nil {
		return err
	}
	return c.writeLocked(f.ID, payload)
}

// Flush sends what is queued.
func (c *Conn) Flush() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.out.Flush()
}

func (c *Conn) writeLocked(id int32, payload []byte) error {
	if cap(c.scratch) > keepScratch {
		c.scratch = nil
	}
	frame, err := AppendFrame(c.scratch[:0], c.writeAt, id, payload)
	if err != nil {
		return err
	}
	c.scratch = frame
	_, err = c.out.Write(frame)
	return err
}
