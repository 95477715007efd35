// SPDX-License-Identifier: Apache-2.0

package mcproto

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"
)

func FuzzParseVarInt(f *testing.F) {
	for _, v := range []int32{0, 1, 127, 128, 25565, -1, 1<<31 - 1, -1 << 31} {
		f.Add(AppendVarInt(nil, v))
	}
	f.Add([]byte{0x80, 0x80, 0x80, 0x80, 0x80, 0x00})
	f.Add([]byte{0x80, 0x00})
	f.Fuzz(func(t *testing.T, b []byte) {
		v, n := ParseVarInt(b)
		if n == 0 {
			return
		}
		shortest := AppendVarInt(nil, v)
		if n > min(len(b), maxVarInt) || len(shortest) > n || len(shortest) != VarIntLen(v) {
			t.Fatalf("%d took %d of %d bytes, its shortest form has %d", v, n, len(b), len(shortest))
		}
		if again, _ := ParseVarInt(shortest); again != v {
			t.Fatalf("%d became %d", v, again)
		}
	})
}

func FuzzReadString(f *testing.F) {
	for _, s := range []string{"", "Ada", "Grüße", "😀", strings.Repeat("x", 17)} {
		f.Add(NewWriter().String(s).Bytes(), 16)
	}
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0x07}, MaxStringChars)
	f.Add([]byte{2, 0xc3, 0x28}, 16)
	f.Fuzz(func(t *testing.T, payload []byte, maxChars int) {
		maxChars = min(max(maxChars, 0), MaxStringChars)
		r := NewReader(payload)
		s := r.String(maxChars)
		switch err := r.Err(); {
		case err != nil && !errors.Is(err, ErrMalformed):
			t.Fatal(err)
		case err != nil && s != "":
			t.Fatalf("%q beside %v", s, err)
		case err == nil && (!utf8.ValidString(s) || utf16Len([]byte(s)) > maxChars):
			t.Fatalf("%q has more than %d characters, or is none", s, maxChars)
		}
	})
}

// FuzzReadFields takes fields in an order that the input chooses.
func FuzzReadFields(f *testing.F) {
	f.Add([]byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, bytes.Repeat([]byte{1}, 100))
	f.Add([]byte{2, 2, 2}, []byte{0xff, 0xff, 0xff, 0xff, 0x0f})
	fields := []func(r *Reader){
		func(r *Reader) { r.VarInt() },
		func(r *Reader) { r.VarLong() },
		func(r *Reader) { _ = r.String(16) },
		func(r *Reader) { r.ByteArray(1 << 20) },
		func(r *Reader) { r.Bool() },
		func(r *Reader) { r.Uint16() },
		func(r *Reader) { r.Int32() },
		func(r *Reader) { r.Int64() },
		func(r *Reader) { r.UUID() },
	}
	f.Fuzz(func(t *testing.T, order, payload []byte) {
		r := NewReader(payload)
		for _, what := range order {
			before, failed := r.Len(), r.Err() != nil
			if which := int(what) % (len(fields) + 1); which < len(fields) {
				fields[which](r)
			} else if n := r.Count(3); n > before/3 {
				t.Fatalf("%d elements of three bytes in %d", n, before)
			}
			if r.Len() > before || failed && r.Err() == nil {
				t.Fatalf("%d bytes became %d, %v", before, r.Len(), r.Err())
			}
		}
	})
}

func FuzzParseNBT(f *testing.F) {
	f.Add(Plain("x").NBT(777))
	f.Add([]byte{tagCompound, tagIntArray, 0, 1, 'a', 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 2, tagEnd, 'r'})
	f.Add([]byte{tagList, tagByte, 0x7f, 0xff, 0xff, 0xff})
	f.Add(bytes.Repeat([]byte{tagList, tagList, 0, 0, 0, 1}, 600))
	f.Fuzz(func(t *testing.T, b []byte) {
		_, rest, err := parseNBT(b)
		switch {
		case err != nil && !errors.Is(err, ErrMalformed):
			t.Fatal(err)
		case err == nil && !bytes.HasSuffix(b, rest):
			t.Fatalf("%x is not the end of %x", rest, b)
		}
	})
}

func FuzzParseDisconnect(f *testing.F) {
	for _, state := range []State{StateLogin, StateConfiguration, StatePlay} {
		f.Add(int(state), DisconnectPayload(state, 769, Plain("Server closed")))
		f.Add(int(state), DisconnectPayload(state, 777, Text{Translate: "multiplayer.disconnect.kicked"}))
	}
	f.Fuzz(func(t *testing.T, state int, payload []byte) {
		reason, err := ParseDisconnect(State(state), payload)
		switch {
		case err != nil && !errors.Is(err, ErrMalformed):
			t.Fatal(err)
		case err == nil:
			assertStable(t, reason)
		}
	})
}
