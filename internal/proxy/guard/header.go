// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"bufio"
	"fmt"
	"net"
	"net/netip"

	"github.com/pires/go-proxyproto"
)

// headerBuffer has room for a header without extras; longer ones are read in
// parts.
const headerBuffer = 256

// ReadHeader reads the PROXY header that a connection must begin with, of
// version 1 or 2, and returns what follows it and whose connection it is. A
// header that names nobody, as health checks send it, leaves the peer's own
// address. The caller bounds the time.
func ReadHeader(nc net.Conn, peer netip.Addr) (net.Conn, netip.Addr, error) {
	rest := bufio.NewReaderSize(nc, headerBuffer)
	header, err := proxyproto.Read(rest)
	if err != nil {
		return nil, netip.Addr{}, fmt.Errorf("reading the PROXY header: %w", err)
	}
	from := peer
	if source, _, ok := header.TCPAddrs(); ok && !header.Command.IsLocal() {
		from = source.AddrPort().Addr().Unmap()
	}
	return &headed{Conn: nc, rest: rest}, from, nil
}

// headed is a connection of which more than its header was read.
type headed struct {
	net.Conn
	rest *bufio.Reader
}

// Read takes what was read already first, and then nothing through the buffer.
func (h *headed) Read(b []byte) (int, error) {
	if h.rest != nil && h.rest.Buffered() > 0 {
		return h.rest.Read(b)
	}
	h.rest = nil
	return h.Conn.Read(b)
}

// CloseWrite ends the stream to the peer and leaves the other one open.
func (h *headed) CloseWrite() error {
	if half, ok := h.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return h.Close()
}
