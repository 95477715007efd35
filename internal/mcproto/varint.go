// SPDX-License-Identifier: Apache-2.0

package mcproto

// AppendVarInt appends v in the protocol's variable-length form, at most five
// bytes.
func AppendVarInt(b []byte, v int32) []byte {
	u := uint32(v)
	for u >= 0x80 {
		b = append(b, byte(u)|0x80)
		u >>= 7
	}
	return append(b, byte(u))
}

// VarIntLen is the number of bytes AppendVarInt writes for v.
func VarIntLen(v int32) int {
	n := 1
	for u := uint32(v); u >= 0x80; u >>= 7 {
		n++
	}
	return n
}

// ParseVarInt reads a varint from the start of b and returns it with the
// number of bytes it took: 0 when b is too short or the varint too long.
func ParseVarInt(b []byte) (int32, int) {
	var v uint32
	for i := range min(len(b), maxVarInt) {
		v |= uint32(b[i]&0x7f) << (7 * i)
		if b[i]&0x80 == 0 {
			return int32(v), i + 1
		}
	}
	return 0, 0
}

// paddedLength writes a frame length as three bytes whatever its value, so
// that room for it can be kept before the length is known.
func paddedLength(b []byte, n int) {
	b[0] = byte(n)&0x7f | 0x80
	b[1] = byte(n>>7)&0x7f | 0x80
	b[2] = byte(n>>14) & 0x7f
}
