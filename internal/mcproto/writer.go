// SPDX-License-Identifier: Apache-2.0

package mcproto

import (
	"encoding/binary"

	"github.com/google/uuid"
)

// Writer builds the payload of a packet; its methods chain. The zero value is
// an empty payload.
type Writer struct{ b []byte }

// NewWriter begins an empty payload.
func NewWriter() *Writer { return &Writer{} }

// Bytes is the payload so far.
func (w *Writer) Bytes() []byte { return w.b }

// VarInt appends a variable-length 32-bit number.
func (w *Writer) VarInt(v int32) *Writer {
	w.b = AppendVarInt(w.b, v)
	return w
}

// String appends a string with its length. Limits are the caller's.
func (w *Writer) String(s string) *Writer {
	w.b = AppendVarInt(w.b, int32(len(s)))
	w.b = append(w.b, s...)
	return w
}

// JavaString appends a string as Java's DataOutput writes it: a 16-bit length and
// modified UTF-8. What does not fit the length is cut between characters.
func (w *Writer) JavaString(s string) *Writer {
	w.b = appendNBTString(w.b, s)
	return w
}

// ByteArray appends a varint length and the bytes.
func (w *Writer) ByteArray(b []byte) *Writer {
	w.b = AppendVarInt(w.b, int32(len(b)))
	w.b = append(w.b, b...)
	return w
}

// Raw appends bytes as they are.
func (w *Writer) Raw(b ...byte) *Writer {
	w.b = append(w.b, b...)
	return w
}

// Bool appends a boolean.
func (w *Writer) Bool(v bool) *Writer {
	if v {
		return w.Raw(1)
	}
	return w.Raw(0)
}

// Uint16 appends an unsigned 16-bit number.
func (w *Writer) Uint16(v uint16) *Writer {
	w.b = binary.BigEndian.AppendUint16(w.b, v)
	return w
}

// Int32 appends a fixed-size 32-bit number.
func (w *Writer) Int32(v int32) *Writer {
	w.b = binary.BigEndian.AppendUint32(w.b, uint32(v))
	return w
}

// Int64 appends a fixed-size 64-bit number.
func (w *Writer) Int64(v int64) *Writer {
	w.b = binary.BigEndian.AppendUint64(w.b, uint64(v))
	return w
}

// UUID appends a UUID in its binary form.
func (w *Writer) UUID(id uuid.UUID) *Writer {
	w.b = append(w.b, id[:]...)
	return w
}
