// SPDX-License-Identifier: Apache-2.0

package mcproto

import (
	"encoding/binary"
	"fmt"
	"math"
	"unicode/utf8"

	"github.com/google/uuid"
)

// Reader takes fields from the payload of a packet. After the first error
// every method returns zero values; Err tells it once, at the end.
type Reader struct {
	rest []byte
	err  error
}

// NewReader reads from payload, which it does not copy.
func NewReader(payload []byte) *Reader { return &Reader{rest: payload} }

// Err is the first error, wrapping ErrMalformed, or nil.
func (r *Reader) Err() error { return r.err }

// Rest is what has not been read yet.
func (r *Reader) Rest() []byte { return r.rest }

// Len is the number of bytes that have not been read yet.
func (r *Reader) Len() int { return len(r.rest) }

func (r *Reader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf("%w: "+format, append([]any{ErrMalformed}, args...)...)
	}
	r.rest = nil
}

// Bytes takes n bytes without copying them.
func (r *Reader) Bytes(n int) []byte {
	if n < 0 || n > len(r.rest) {
		r.fail("%d bytes wanted, %d left", n, len(r.rest))
		return nil
	}
	b := r.rest[:n:n]
	r.rest = r.rest[n:]
	return b
}

// VarInt takes a variable-length 32-bit number.
func (r *Reader) VarInt() int32 {
	v, n := ParseVarInt(r.rest)
	if n == 0 {
		r.fail("no varint")
		return 0
	}
	r.rest = r.rest[n:]
	return v
}

// VarLong takes a variable-length 64-bit number.
func (r *Reader) VarLong() int64 {
	var v uint64
	for i := range min(len(r.rest), maxVarLong) {
		b := r.rest[i]
		v |= uint64(b&0x7f) << (7 * i)
		if b&0x80 == 0 {
			r.rest = r.rest[i+1:]
			return int64(v)
		}
	}
	r.fail("no varlong")
	return 0
}

// JavaString takes a string as Java's DataOutput writes it. What is no modified
// UTF-8 becomes replacement characters.
func (r *Reader) JavaString() string { return nbtString(r.Bytes(int(r.Uint16()))) }

// Count takes a varint that counts elements of at least elementSize bytes
// each, so that a claim the payload cannot fulfil fails before memory is made
// for it.
func (r *Reader) Count(elementSize int) int {
	n := int(r.VarInt())
	if n < 0 || n > len(r.rest)/max(elementSize, 1) {
		r.fail("%d elements claimed, %d bytes left", n, len(r.rest))
		return 0
	}
	return n
}

// String takes a string of at most maxChars UTF-16 code units and copies it.
func (r *Reader) String(maxChars int) string {
	n := int(r.VarInt())
	if r.err != nil {
		return ""
	}
	if n < 0 || n > maxChars*3 {
		r.fail("string of %d bytes, at most %d characters allowed", n, maxChars)
		return ""
	}
	b := r.Bytes(n)
	if !utf8.Valid(b) {
		r.fail("string is not UTF-8")
		return ""
	}
	if units := utf16Len(b); units > maxChars {
		r.fail("string of %d characters, at most %d allowed", units, maxChars)
		return ""
	}
	return string(b)
}

func utf16Len(b []byte) int {
	n := 0
	for len(b) > 0 {
		c, size := utf8.DecodeRune(b)
		b = b[size:]
		n++
		if c > math.MaxUint16 {
			n++
		}
	}
	return n
}

// ByteArray takes a varint length of at most limit and that many bytes,
// without copying them.
func (r *Reader) ByteArray(limit int) []byte {
	n := int(r.VarInt())
	if n < 0 || n > limit {
		r.fail("array of %d bytes, at most %d allowed", n, limit)
		return nil
	}
	return r.Bytes(n)
}

// Byte takes one byte.
func (r *Reader) Byte() byte {
	b := r.Bytes(1)
	if b == nil {
		return 0
	}
	return b[0]
}

// Bool takes a boolean; any byte but 0 is true, as in the game.
func (r *Reader) Bool() bool { return r.Byte() != 0 }

// Uint16 takes an unsigned 16-bit number.
func (r *Reader) Uint16() uint16 {
	b := r.Bytes(2)
	if b == nil {
		return 0
	}
	return binary.BigEndian.Uint16(b)
}

// Int32 takes a fixed-size 32-bit number.
func (r *Reader) Int32() int32 {
	b := r.Bytes(4)
	if b == nil {
		return 0
	}
	return int32(binary.BigEndian.Uint32(b))
}

// Int64 takes a fixed-size 64-bit number.
func (r *Reader) Int64() int64 {
	b := r.Bytes(8)
	if b == nil {
		return 0
	}
	return int64(binary.BigEndian.Uint64(b))
}

// UUID takes a UUID in its binary form.
func (r *Reader) UUID() uuid.UUID {
	var id uuid.UUID
	copy(id[:], r.Bytes(len(id)))
	return id
}
