// SPDX-License-Identifier: Apache-2.0

package mcproto

import (
	"crypto/hmac"
	"crypto/sha256"
	"errors"
	"fmt"
)

// ForwardingChannel is the login plugin channel on which a server asks the
// proxy who the player is.
const ForwardingChannel = "velocity:player_info"

const (
	// forwardingVersion is the first layout. Later ones carry signing keys the
	// supported versions no longer have, and servers accept the first.
	forwardingVersion = 1
	// forwardingLazySession is the newest layout; the same fields as the first.
	forwardingLazySession = 4
	maxAddressChars       = 64
)

// ErrForwardingSignature means that forwarded data was signed with another
// secret.
var ErrForwardingSignature = errors.New("forwarding signature does not match the secret")

// Forwarded is what a proxy tells a server about a player.
type Forwarded struct {
	Address string // of the client, without port
	Profile Profile
}

// Sign builds the data of the answer to a forwarding request: a digest keyed
// with the network's secret, then the player.
func (f Forwarded) Sign(secret []byte) []byte {
	w := NewWriter().VarInt(forwardingVersion).String(f.Address).UUID(f.Profile.ID).String(f.Profile.Name)
	writeProperties(w, f.Profile.Properties)
	mac := hmac.New(sha256.New, secret)
	mac.Write(w.Bytes())
	return append(mac.Sum(nil), w.Bytes()...)
}

// VerifyForwarded reads signed data. It returns ErrForwardingSignature when
// the secret is another one.
func VerifyForwarded(secret, data []byte) (Forwarded, error) {
	if len(data) < sha256.Size {
		return Forwarded{}, fmt.Errorf("%w: forwarding data of %d bytes", ErrMalformed, len(data))
	}
	signature, body := data[:sha256.Size], data[sha256.Size:]
	mac := hmac.New(sha256.New, secret)
	mac.Write(body)
	if !hmac.Equal(signature, mac.Sum(nil)) {
		return Forwarded{}, ErrForwardingSignature
	}
	r := NewReader(body)
	if v := r.VarInt(); v != forwardingVersion && v != forwardingLazySession {
		r.fail("forwarding version %d", v)
	}
	f := Forwarded{Address: r.String(maxAddressChars)}
	f.Profile = Profile{ID: r.UUID(), Name: r.String(MaxNameChars), Properties: readProperties(r)}
	if r.Len() > 0 {
		r.fail("%d bytes after the forwarded profile", r.Len())
	}
	return f, r.Err()
}
