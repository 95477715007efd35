// SPDX-License-Identifier: Apache-2.0

package seats

import (
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"time"
)

// The headers that carry a request's signature.
const (
	headerTime  = "X-Spawnery-Time"
	headerNonce = "X-Spawnery-Nonce"
	headerMAC   = "X-Spawnery-Mac"
)

// keyInfo separates this use of the forwarding secret from every other.
const keyInfo = "spawnery seats v1"

// nonceSize is the length of a nonce in bytes; it travels in hex.
const nonceSize = 16

type nonce [nonceSize]byte

// key signs and verifies requests.
type key []byte

func deriveKey(secret []byte) (key, error) {
	derived, err := hkdf.Key(sha256.New, secret, nil, keyInfo, sha256.Size)
	if err != nil {
		return nil, fmt.Errorf("deriving the seat key: %w", err)
	}
	return derived, nil
}

// request is what a signature covers.
type request struct {
	method string
	path   string
	at     time.Time
	nonce  nonce
	body   []byte
}

// mac signs a request. Each part is on its own line and none can hold a line
// break, so that no two requests share a signature.
func (k key) mac(r request) []byte {
	digest := sha256.Sum256(r.body)
	h := hmac.New(sha256.New, k)
	// A hash takes everything.
	_, _ = fmt.Fprintf(h, "%s\n%q\n%s\n%x\n%x", r.method, r.path, formatTime(r.at), r.nonce, digest)
	return h.Sum(nil)
}

func formatTime(at time.Time) string {
	return strconv.FormatInt(at.UnixMilli(), 10)
}

func parseTime(s string) (time.Time, error) {
	ms, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("reading %s: %w", headerTime, err)
	}
	return time.UnixMilli(ms), nil
}

func parseNonce(s string) (nonce, error) {
	var n nonce
	raw, err := hex.DecodeString(s)
	if err != nil || len(raw) != nonceSize {
		return n, fmt.Errorf("reading %s: not %d bytes in hex", headerNonce, nonceSize)
	}
	copy(n[:], raw)
	return n, nil
}
