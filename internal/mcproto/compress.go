// SPDX-License-Identifier: Apache-2.0

package mcproto

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/klauspost/compress/zlib"
)

// inflater decompresses one frame at a time. They are pooled rather than kept
// per connection: each holds a window of 32 KiB, most connections are idle.
type inflater struct {
	src  bytes.Reader
	zr   io.ReadCloser
	head [maxVarInt]byte
}

var inflaters = sync.Pool{New: func() any { return new(inflater) }}

func (z *inflater) open(compressed []byte) error {
	z.src.Reset(compressed)
	if z.zr == nil {
		zr, err := zlib.NewReader(&z.src)
		if err != nil {
			return malformed("inflate", err)
		}
		z.zr = zr
		return nil
	}
	if err := z.zr.(zlib.Resetter).Reset(&z.src, nil); err != nil {
		return malformed("inflate", err)
	}
	return nil
}

// inflateID reads no more of the compressed packet than its id.
func inflateID(compressed []byte, size int) (int32, error) {
	z := inflaters.Get().(*inflater)
	defer inflaters.Put(z)
	if err := z.open(compressed); err != nil {
		return 0, err
	}
	n, err := io.ReadAtLeast(z.zr, z.head[:min(len(z.head), size)], 1)
	if err != nil {
		return 0, malformed("inflate", err)
	}
	return packetID(z.head[:n])
}

// inflateInto decompresses a packet whose size was announced, into dst's
// memory if it is large enough. A packet of any other size is an error: the
// game rejects it too.
func inflateInto(dst, compressed []byte, size int) ([]byte, error) {
	z := inflaters.Get().(*inflater)
	defer inflaters.Put(z)
	if err := z.open(compressed); err != nil {
		return dst, err
	}
	dst = dst[:0]
	for len(dst) < size {
		from := len(dst)
		dst = grow(dst, min(size-from, growStep))
		if _, err := io.ReadFull(z.zr, dst[from:]); err != nil {
			return dst, malformed("inflate", err)
		}
	}
	var extra [1]byte
	if n, err := z.zr.Read(extra[:]); n != 0 || !errors.Is(err, io.EOF) {
		return dst, fmt.Errorf("%w: packet is larger than the %d bytes announced", ErrMalformed, size)
	}
	return dst, nil
}

// growStep bounds what is allocated ahead of the bytes that justify it.
const growStep = 64 << 10

// grow makes b longer by n bytes; their content is undefined.
func grow(b []byte, n int) []byte {
	if free := cap(b) - len(b); free < n {
		bigger := make([]byte, len(b), max(len(b)+n, 2*cap(b)))
		copy(bigger, b)
		b = bigger
	}
	return b[:len(b)+n]
}

// deflater compresses at the fastest level: the reader is a network away, and
// a proxy compresses only what it changed.
type deflater struct {
	out sliceWriter
	zw  *zlib.Writer
}

type sliceWriter struct{ b []byte }

func (w *sliceWriter) Write(p []byte) (int, error) {
	w.b = append(w.b, p...)
	return len(p), nil
}

var deflaters = sync.Pool{New: func() any {
	d := new(deflater)
	// The level is a constant the library knows: the error cannot happen.
	d.zw, _ = zlib.NewWriterLevel(&d.out, zlib.BestSpeed)
	return d
}}

// appendDeflated appends the compressed form of head and body, one after the
// other. Writing to memory cannot fail, so neither can this.
func appendDeflated(dst, head, body []byte) []byte {
	d := deflaters.Get().(*deflater)
	defer deflaters.Put(d)
	d.out.b = dst
	d.zw.Reset(&d.out)
	_, _ = d.zw.Write(head)
	_, _ = d.zw.Write(body)
	_ = d.zw.Close()
	dst, d.out.b = d.out.b, nil
	return dst
}

func malformed(doing string, cause error) error {
	return fmt.Errorf("%w: %s: %w", ErrMalformed, doing, cause)
}
