// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"io"
	"net"
	"net/netip"
	"testing"
)

func TestAHeaderSaysWhoseConnectionItIs(t *testing.T) {
	const signature = "\r\n\r\n\x00\r\nQUIT\n"
	peer := netip.MustParseAddr("10.0.0.1")
	for name, row := range map[string]struct {
		sent string
		want string // empty: refused
	}{
		"version 1":                  {"PROXY TCP4 203.0.113.9 10.0.0.2 51234 25565\r\nrest", "203.0.113.9"},
		"version 1 with IPv6":        {"PROXY TCP6 2001:db8::9 2001:db8::2 51234 25565\r\nrest", "2001:db8::9"},
		"version 1 of nobody":        {"PROXY UNKNOWN\r\nrest", "10.0.0.1"},
		"version 2":                  {signature + "\x21\x11\x00\x0c\xcb\x00\x71\x09\x0a\x00\x00\x02\xc8\x22\x63\xddrest", "203.0.113.9"},
		"version 2 with an extra":    {signature + "\x21\x11\x00\x10\xcb\x00\x71\x09\x0a\x00\x00\x02\xc8\x22\x63\xdd\x04\x00\x01xrest", "203.0.113.9"},
		"version 2 of a check":       {signature + "\x20\x00\x00\x00rest", "10.0.0.1"},
		"version 2 of a local check": {signature + "\x20\x11\x00\x0c\xcb\x00\x71\x09\x0a\x00\x00\x02\xc8\x22\x63\xddrest", "10.0.0.1"},
		"none":                       {"\x10\x00\x81\x06rest", ""},
		"half of one":                {"PROXY TCP4 203.0.113.9", ""},
		"nothing":                    {"", ""},
		"an address that is none":    {"PROXY TCP4 203.0.113.999 10.0.0.2 51234 25565\r\nrest", ""},
		"a version that is none":     {signature + "\x31\x11\x00\x0crest", ""},
	} {
		t.Run(name, func(t *testing.T) {
			near, far := net.Pipe()
			go func() {
				_, _ = io.WriteString(far, row.sent)
				far.Close()
			}()
			rest, from, err := ReadHeader(near, peer)
			if row.want == "" {
				if err == nil {
					t.Errorf("taken as one of %s", from)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			left, err := io.ReadAll(rest)
			if err != nil || string(left) != "rest" || from != netip.MustParseAddr(row.want) {
				t.Errorf("from %s with %q after it, %v; want %s with rest", from, left, err, row.want)
			}
		})
	}
}
