// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// kernelTables list the sockets of the pod, whose containers share one network.
const kernelTables = "/proc/net"

// gameSocket tells one run of a game from the next, also for an agent that saw
// neither begin: the kernel gives each socket that listens a number of its own.
// It is empty while nothing listens where the game does, or nobody can tell.
func gameSocket(tables, host string, port int32) string {
	at, err := netip.ParseAddr(host)
	if err != nil {
		return ""
	}
	for _, table := range []string{"tcp", "tcp6"} {
		content, err := os.ReadFile(filepath.Join(tables, table))
		if err != nil {
			continue
		}
		for lines := bufio.NewScanner(bytes.NewReader(content)); lines.Scan(); {
			if socket := listensAt(strings.Fields(lines.Text()), netip.AddrPortFrom(at, uint16(port))); socket != "" {
				return socket
			}
		}
	}
	return ""
}

// listensAt is the number of a line's socket when it takes connections there.
func listensAt(fields []string, at netip.AddrPort) string {
	const local, state, inode, listens = 1, 3, 9, "0A"
	if len(fields) <= inode || fields[state] != listens {
		return ""
	}
	address, port, _ := strings.Cut(fields[local], ":")
	number, err := strconv.ParseUint(port, 16, 16)
	raw, unreadable := hex.DecodeString(address)
	if err != nil || unreadable != nil || uint16(number) != at.Port() {
		return ""
	}
	// The kernel writes words of four bytes as little-endian machines hold them.
	for i := 0; i+4 <= len(raw); i += 4 {
		slices.Reverse(raw[i : i+4])
	}
	bound, ok := netip.AddrFromSlice(raw)
	if !ok || !bound.Unmap().IsUnspecified() && bound.Unmap() != at.Addr() {
		return ""
	}
	return fields[inode]
}
