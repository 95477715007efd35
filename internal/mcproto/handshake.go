// SPDX-License-Identifier: Apache-2.0

package mcproto

import (
	"strings"

	"golang.org/x/net/idna"
)

// maxRawHost bounds the host of a handshake in characters. Names have 255 at
// most; mod loaders and Bedrock bridges append their own data to them.
const maxRawHost = 2048

// Intent is what a client opens a connection for.
type Intent int32

// The intents of a handshake.
const (
	IntentStatus   Intent = 1
	IntentLogin    Intent = 2
	IntentTransfer Intent = 3
)

// Handshake is the first packet of every connection.
type Handshake struct {
	Protocol int32
	// RawHost is what the client sent, data of mods and bridges included.
	// Servers get it byte for byte.
	RawHost string
	Port    uint16
	Intent  Intent
}

// ParseHandshake reads the payload of a handshake.
func ParseHandshake(payload []byte) (Handshake, error) {
	r := NewReader(payload)
	h := Handshake{Protocol: r.VarInt(), RawHost: r.String(maxRawHost), Port: r.Uint16(), Intent: Intent(r.VarInt())}
	if h.Intent < IntentStatus || h.Intent > IntentTransfer {
		r.fail("intent %d", h.Intent)
	}
	if r.Len() > 0 {
		r.fail("%d bytes after the handshake", r.Len())
	}
	return h, r.Err()
}

// Payload is the packet h describes.
func (h Handshake) Payload() []byte {
	return NewWriter().VarInt(h.Protocol).String(h.RawHost).Uint16(h.Port).VarInt(int32(h.Intent)).Bytes()
}

// CleanHost is the name the client connected to, for routing and logs: cut
// where mods and protection services append, without the dot SRV records
// leave, in lower case and ASCII.
func (h Handshake) CleanHost() string { return CleanHost(h.RawHost) }

// CleanHost cleans the host of a handshake, or one from a configuration that
// is to be compared with it. A name that is no valid IDN stays as it is.
func CleanHost(raw string) string {
	host, _, _ := strings.Cut(raw, "\x00")
	host, _, _ = strings.Cut(host, "///")
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if ascii, err := idna.Lookup.ToASCII(host); err == nil {
		return ascii
	}
	return host
}
