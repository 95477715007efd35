// SPDX-License-Identifier: Apache-2.0

package ticket

import (
	"net/netip"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/spawnery/spawnery-operator/internal/mcproto"
)

// FuzzOpen shows tickets as they come from a client, and others that are signed
// and yet not as any proxy writes them.
func FuzzOpen(f *testing.F) {
	keys, err := deriveKeys([][]byte{[]byte("the secret"), []byte("the one before")})
	if err != nil {
		f.Fatal(err)
	}
	whole, err := Ticket{
		Profile: mcproto.Profile{Name: "Ada", ID: uuid.New()}, Network: "production", Address: netip.MustParseAddr("203.0.113.9"),
		Server: "lobby-a", Groups: []string{"lobby"}, Avoid: []string{"lobby-b"}, Why: new(mcproto.Plain("full")),
		Landing: []mcproto.Text{mcproto.Plain("You were moved")}, ID: uuid.New(), Expires: time.UnixMilli(1),
	}.seal(keys)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole)
	f.Add(whole[1+2*32:])
	f.Add([]byte(`{"ip":"","why":"{","landing":["[]"]}`))
	f.Add([]byte{255})
	f.Fuzz(func(t *testing.T, b []byte) {
		_, _ = open(keys, b)
		forged := append([]byte{1}, key("another key").sign(b)...)
		if _, err := open(keys, append(forged, b...)); err == nil {
			t.Fatal("a forged ticket is believed")
		}
		signed, err := open(keys, append(append([]byte{1}, keys[0].sign(b)...), b...))
		if err != nil {
			return
		}
		_ = signed.of(Bearer{Name: signed.Profile.Name, Address: signed.Address, Network: signed.Network})
		if again, err := signed.seal(keys); err == nil {
			if _, err := open(keys, again); err != nil {
				t.Fatalf("%+v cannot be read again: %v", signed, err)
			}
		}
	})
}
