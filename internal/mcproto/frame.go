// SPDX-License-Identifier: Apache-2.0

package mcproto

import "fmt"

// NoCompression is the threshold of a connection that frames without a
// compression header.
const NoCompression = -1

// Frame is one packet as it was on the wire. Its memory is reused by the next
// ReadFrame into it: what must outlive that has to be copied. The zero value
// is ready for use.
type Frame struct {
	// ID is the packet id.
	ID int32

	raw      []byte // length prefix and all that follows, decrypted
	body     []byte // raw after the headers: id and payload, maybe compressed
	size     int    // bytes of id and payload once inflated
	format   frameFormat
	inflated []byte // memory for the inflated form
	opened   bool   // inflated holds this frame
}

// frameFormat tells how the bytes of a frame are laid out.
type frameFormat int

const (
	formatBare       frameFormat = iota // no compression header
	formatStored                        // header says: not compressed
	formatCompressed                    // header gives the inflated size
)

// WireLen is the size of the frame on the wire in bytes, its length prefix
// included.
func (f *Frame) WireLen() int { return len(f.raw) }

// Size is the size of packet id and payload in bytes, decompressed.
func (f *Frame) Size() int { return f.size }

// Payload returns what follows the packet id, decompressed if need be. It is
// valid until the next ReadFrame into f.
func (f *Frame) Payload() ([]byte, error) {
	packet := f.body
	if f.format == formatCompressed {
		if !f.opened {
			inflated, err := inflateInto(f.inflated, f.body, f.size)
			f.inflated = inflated
			if err != nil {
				return nil, err
			}
			f.opened = true
		}
		packet = f.inflated
	}
	_, n := ParseVarInt(packet)
	if n == 0 {
		return nil, fmt.Errorf("%w: no packet id", ErrMalformed)
	}
	return packet[n:], nil
}

// fits reports whether a receiver with this threshold accepts the frame's
// bytes unchanged. Peers reject a packet compressed below the threshold, and
// some also one above it that is not compressed.
func (f *Frame) fits(threshold int) bool {
	switch f.format {
	case formatBare:
		return threshold < 0
	case formatStored:
		return threshold >= 0 && f.size < threshold
	case formatCompressed:
		return threshold >= 0 && f.size >= threshold
	}
	return false
}

// parse reads the headers of f.raw, whose length prefix takes prefix bytes.
func (f *Frame) parse(prefix, threshold int, check ThresholdCheck) error {
	f.body, f.opened, f.format = f.raw[prefix:], false, formatBare
	f.size = len(f.body)
	if threshold >= 0 {
		if err := f.parseCompression(threshold, check); err != nil {
			return err
		}
	}
	var err error
	if f.format == formatCompressed {
		f.ID, err = inflateID(f.body, f.size)
	} else {
		f.ID, err = packetID(f.body)
	}
	return err
}

func packetID(packet []byte) (int32, error) {
	id, n := ParseVarInt(packet)
	if n == 0 {
		return 0, fmt.Errorf("%w: no packet id", ErrMalformed)
	}
	return id, nil
}

func (f *Frame) parseCompression(threshold int, check ThresholdCheck) error {
	size, n := ParseVarInt(f.body)
	switch {
	case n == 0:
		return fmt.Errorf("%w: no inflated size", ErrMalformed)
	case size < 0 || size > MaxInflated:
		return fmt.Errorf("%w: inflated size %d", ErrMalformed, size)
	case size == 0:
		f.body = f.body[n:]
		f.size, f.format = len(f.body), formatStored
		return nil
	case int(size) < threshold && check == RejectBelowThreshold:
		return fmt.Errorf("%w: %d bytes, threshold %d", ErrBelowThreshold, size, threshold)
	}
	f.body = f.body[n:]
	f.size, f.format = int(size), formatCompressed
	return nil
}

// AppendFrame appends the wire form of one packet for a receiver with this
// compression threshold. A packet too large for one frame is an error.
func AppendFrame(dst []byte, threshold int, id int32, payload []byte) ([]byte, error) {
	var idBytes [maxVarInt]byte
	head := AppendVarInt(idBytes[:0], id)
	size := len(head) + len(payload)
	if size > MaxInflated {
		return dst, fmt.Errorf("packet of %d bytes is larger than %d", size, MaxInflated)
	}
	if threshold >= 0 && size >= threshold {
		return appendCompressed(dst, head, payload)
	}
	length := size
	if threshold >= 0 {
		length++
	}
	if length > MaxFrame {
		return dst, fmt.Errorf("frame of %d bytes is larger than %d", length, MaxFrame)
	}
	dst = AppendVarInt(dst, int32(length))
	if threshold >= 0 {
		dst = append(dst, 0)
	}
	dst = append(dst, head...)
	return append(dst, payload...), nil
}

func appendCompressed(dst, head, payload []byte) ([]byte, error) {
	start := len(dst)
	dst = append(dst, 0, 0, 0)
	dst = AppendVarInt(dst, int32(len(head)+len(payload)))
	dst = appendDeflated(dst, head, payload)
	length := len(dst) - start - maxLengthPrefix
	if length > MaxFrame {
		return dst[:start], fmt.Errorf("frame of %d bytes is larger than %d", length, MaxFrame)
	}
	paddedLength(dst[start:], length)
	return dst, nil
}
