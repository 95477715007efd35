// SPDX-License-Identifier: Apache-2.0

package mcproto

import (
	"encoding/binary"
	"maps"
	"math"
	"slices"
	"unicode/utf16"
	"unicode/utf8"
)

// NBT tags.
const (
	tagEnd byte = iota
	tagByte
	tagShort
	tagInt
	tagLong
	tagFloat
	tagDouble
	tagByteArray
	tagString
	tagList
	tagCompound
	tagIntArray
	tagLongArray
)

const (
	maxNBTDepth = 64
	// maxNBTValues bounds the values of one tree: the smallest takes one byte
	// on the wire and far more in memory.
	maxNBTValues = 1 << 16
)

// appendNBT writes a tree of maps, lists of maps, strings and booleans as
// nameless network NBT. Keys are sorted: equal trees have equal bytes.
func appendNBT(b []byte, v any) []byte {
	return appendTag(append(b, tagOf(v)), v)
}

func tagOf(v any) byte {
	switch v.(type) {
	case bool:
		return tagByte
	case string:
		return tagString
	case []any:
		return tagList
	case map[string]any:
		return tagCompound
	}
	return tagEnd
}

func appendTag(b []byte, v any) []byte {
	switch v := v.(type) {
	case bool:
		if v {
			return append(b, 1)
		}
		return append(b, 0)
	case string:
		return appendNBTString(b, v)
	case []any:
		element := tagEnd
		if len(v) > 0 {
			element = tagOf(v[0])
		}
		b = append(b, element)
		b = binary.BigEndian.AppendUint32(b, uint32(len(v)))
		for _, e := range v {
			b = appendTag(b, e)
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			b = append(b, tagOf(v[key]))
			b = appendNBTString(b, key)
			b = appendTag(b, v[key])
		}
		b = append(b, tagEnd)
	}
	return b
}

// appendNBTString writes Java's modified UTF-8: NUL as two bytes, characters
// beyond the basic plane as two surrogates of three bytes each. What does not
// fit the length field is cut between characters.
func appendNBTString(b []byte, s string) []byte {
	at := len(b)
	b = append(b, 0, 0)
	for _, c := range s {
		before := len(b)
		switch {
		case c == 0:
			b = append(b, 0xc0, 0x80)
		case c > math.MaxUint16:
			high, low := utf16.EncodeRune(c)
			b = appendSurrogate(appendSurrogate(b, high), low)
		default:
			b = utf8.AppendRune(b, c)
		}
		if len(b)-at-2 > math.MaxUint16 {
			b = b[:before]
			break
		}
	}
	binary.BigEndian.PutUint16(b[at:], uint16(len(b)-at-2))
	return b
}

func appendSurrogate(b []byte, c rune) []byte {
	return append(b, 0xe0|byte(c>>12), 0x80|byte(c>>6)&0x3f, 0x80|byte(c)&0x3f)
}

func nbtString(b []byte) string {
	plain := true
	for _, c := range b {
		// 0xc0 begins an encoded NUL, 0xed a surrogate.
		if c == 0xc0 || c == 0xed {
			plain = false
			break
		}
	}
	if plain && utf8.Valid(b) {
		return string(b)
	}
	return string(utf16.Decode(modifiedUnits(b)))
}

func modifiedUnits(b []byte) []uint16 {
	units := make([]uint16, 0, len(b))
	for len(b) > 0 {
		switch {
		case b[0] < 0x80:
			units, b = append(units, uint16(b[0])), b[1:]
		case b[0]&0xe0 == 0xc0 && len(b) >= 2:
			units, b = append(units, uint16(b[0]&0x1f)<<6|uint16(b[1]&0x3f)), b[2:]
		case b[0]&0xf0 == 0xe0 && len(b) >= 3:
			units = append(units, uint16(b[0]&0x0f)<<12|uint16(b[1]&0x3f)<<6|uint16(b[2]&0x3f))
			b = b[3:]
		default:
			units, b = append(units, utf8.RuneError), b[1:]
		}
	}
	return units
}

// parseNBT reads nameless network NBT into maps, lists, strings and float64,
// the types JSON has, and returns the bytes that follow.
func parseNBT(b []byte) (any, []byte, error) {
	p := nbtParser{r: NewReader(b)}
	v := p.value(p.r.Byte(), maxNBTDepth)
	return v, p.r.Rest(), p.r.Err()
}

type nbtParser struct {
	r      *Reader
	values int
}

func (p *nbtParser) value(tag byte, depth int) any {
	p.values++
	if depth == 0 || p.values > maxNBTValues {
		p.r.fail("nbt is too deep or too large")
		return nil
	}
	switch tag {
	case tagString:
		return p.str()
	case tagList:
		return p.elements(p.r.Byte(), depth)
	case tagCompound:
		return p.compound(depth)
	case tagByteArray:
		return p.elements(tagByte, depth)
	case tagIntArray:
		return p.elements(tagInt, depth)
	case tagLongArray:
		return p.elements(tagLong, depth)
	}
	return p.number(tag)
}

func (p *nbtParser) number(tag byte) any {
	switch tag {
	case tagByte:
		return float64(int8(p.r.Byte()))
	case tagShort:
		return float64(int16(p.r.Uint16()))
	case tagInt:
		return float64(p.r.Int32())
	case tagLong:
		return float64(p.r.Int64())
	case tagFloat:
		return float64(math.Float32frombits(uint32(p.r.Int32())))
	case tagDouble:
		return math.Float64frombits(uint64(p.r.Int64()))
	}
	p.r.fail("nbt tag %d", tag)
	return nil
}

func (p *nbtParser) str() string { return nbtString(p.r.Bytes(int(p.r.Uint16()))) }

func (p *nbtParser) elements(tag byte, depth int) any {
	n := int(p.r.Int32())
	if n > 0 && (tag == tagEnd || n > p.r.Len()) {
		p.r.fail("nbt list of %d elements, %d bytes left", n, p.r.Len())
		return nil
	}
	list := []any{}
	for range n {
		list = append(list, p.value(tag, depth-1))
		if p.r.Err() != nil {
			return nil
		}
	}
	return list
}

func (p *nbtParser) compound(depth int) any {
	m := make(map[string]any)
	for {
		tag := p.r.Byte()
		if p.r.Err() != nil {
			return nil
		}
		if tag == tagEnd {
			return m
		}
		key := p.str()
		m[key] = p.value(tag, depth-1)
		if p.r.Err() != nil {
			return nil
		}
	}
}
