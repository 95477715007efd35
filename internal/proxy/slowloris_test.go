// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"io"
	"sync"
	"testing"
	"time"

	"github.com/spawnery/spawnery-operator/internal/mcproto"
)

// TestTricklersAreDropped takes half a minute: that is how patient the proxy is.
func TestTricklersAreDropped(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes half a minute")
	}
	n := newNetwork(t)
	p := n.front()
	tests := map[string]struct {
		begin  func(*hostile)
		within time.Duration
	}{
		"before the handshake": {func(*hostile) {}, 11 * time.Second},
		"in the server list": {func(h *hostile) {
			h.send(mcproto.HandshakeIntention, mcproto.Handshake{Protocol: 769, Intent: mcproto.IntentStatus}.Payload())
		}, 11 * time.Second},
		"before the name": {func(h *hostile) {
			h.send(mcproto.HandshakeIntention, mcproto.Handshake{Protocol: 769, Intent: mcproto.IntentLogin}.Payload())
		}, 31 * time.Second},
		"before the acknowledgement": {func(h *hostile) {
			h.greet("Mallory")
			if err := h.accepted(); err != nil {
				h.t.Error(err)
			}
		}, 31 * time.Second},
	}
	var all sync.WaitGroup
	for name, test := range tests {
		h := n.hostile(p)
		if err := h.NetConn().SetDeadline(time.Now().Add(60 * time.Second)); err != nil {
			t.Fatal(err)
		}
		test.begin(h)
		began := time.Now()
		go func() {
			// A frame of a few kilobytes, a byte at a time.
			_, err := h.NetConn().Write([]byte{0x80, 0x20})
			for err == nil {
				time.Sleep(500 * time.Millisecond)
				_, err = h.NetConn().Write([]byte{1})
			}
		}()
		all.Go(func() {
			// A refusal may come first.
			_, _ = io.Copy(io.Discard, h.NetConn())
			if took := time.Since(began); took > test.within+3*time.Second {
				t.Errorf("%s: dropped after %s, want %s", name, took, test.within)
			}
		})
	}
	all.Wait()
	n.eventually("nobody is inside", func() bool { return p.gate.Inside() == 0 && p.roster.size() == 0 })
}
