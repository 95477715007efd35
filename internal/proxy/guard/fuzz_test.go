// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"bytes"
	"io"
	"net"
	"net/netip"
	"testing"
)

// wire is a connection that somebody has written to and closed.
type wire struct {
	net.Conn
	in io.Reader
}

func (w *wire) Read(b []byte) (int, error) { return w.in.Read(b) }

func FuzzReadHeader(f *testing.F) {
	const signature = "\r\n\r\n\x00\r\nQUIT\n"
	for _, seed := range []string{
		"PROXY TCP4 203.0.113.9 10.0.0.2 51234 25565\r\nrest",
		"PROXY TCP6 2001:db8::9 2001:db8::2 51234 25565\r\n",
		"PROXY UNKNOWN\r\nrest",
		"PROXY TCP4 203.0.113.9",
		signature + "\x21\x11\x00\x0c\xcb\x00\x71\x09\x0a\x00\x00\x02\xc8\x22\x63\xddrest",
		signature + "\x21\x11\x00\x10\xcb\x00\x71\x09\x0a\x00\x00\x02\xc8\x22\x63\xdd\x04\x00\x01xrest",
		signature + "\x20\x00\x00\x00rest",
		signature + "\x21\x31\xff\xff",
		"\x10\x00\x81\x06",
	} {
		f.Add([]byte(seed))
	}
	peer := netip.MustParseAddr("10.0.0.1")
	f.Fuzz(func(t *testing.T, sent []byte) {
		rest, from, err := ReadHeader(&wire{in: bytes.NewReader(sent)}, peer)
		if err != nil {
			if rest != nil || from.IsValid() {
				t.Fatalf("%v beside %v", from, err)
			}
			return
		}
		left, err := io.ReadAll(rest)
		if err != nil || !bytes.HasSuffix(sent, left) || len(left) == len(sent) {
			t.Fatalf("%q is not what follows the header in %q, %v", left, sent, err)
		}
		if !from.IsValid() || from.Is4In6() {
			t.Fatalf("a connection of %v", from)
		}
	})
}

func FuzzParseLimits(f *testing.F) {
	f.Add("total=10,unproven=5, unproven-per-address=2")
	f.Add("total=0")
	f.Add("=,=")
	f.Fuzz(func(t *testing.T, text string) {
		if l, err := ParseLimits(text); err == nil && min(l.Total, l.Unproven, l.UnprovenPerAddress) < 1 {
			t.Fatalf("%q let nobody in: %+v", text, l)
		}
	})
}
