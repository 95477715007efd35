// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"io"
	"net"
	"runtime"
	"testing"
	"time"

	"github.com/spawnery/spawnery-operator/internal/mctest"
)

// narrow is a way to the proxy that passes so many bytes a second to the
// client.
func narrow(t *testing.T, p *Proxy, perSecond int) string {
	t.Helper()
	l := listen(t)
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", p.address())
			if err != nil {
				client.Close()
				return
			}
			_ = server.(*net.TCPConn).SetReadBuffer(16 << 10)
			go func() { _, _ = io.Copy(server, client); server.Close() }()
			go func() {
				defer client.Close()
				const ticks = 50
				buf := make([]byte, perSecond/ticks)
				for {
					n, err := server.Read(buf)
					if _, err2 := client.Write(buf[:n]); err != nil || err2 != nil {
						return
					}
					time.Sleep(time.Second / ticks)
				}
			}()
		}
	}()
	return l.Addr().String()
}

// A world that comes faster than the client's line is held back at its source
// and not piled up here, and the client is not dropped for it.
func TestASlowClientIsWaitedForAndNothingPilesUp(t *testing.T) {
	n := newNetworkAlone(t)
	n.add("lobby-a", rig{settings: mctest.Settings{Traffic: mctest.Traffic{Large: 400}}})
	p := n.front()
	address := narrow(t, p, 64<<10)
	b := n.bot(p, "Ada", func(s *mctest.BotSettings) { s.Address = address })
	n.on(b, "lobby-a")
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	// In this time the server wants to send about 16 MiB.
	select {
	case <-b.Done():
		t.Fatal(b.Err())
	case <-time.After(5 * time.Second):
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 8<<20 {
		t.Errorf("%d bytes more are held", grown)
	}
	if stats := b.Stats(); stats.Bytes > 2<<20 {
		t.Errorf("the client got %d bytes: its line was not narrow", stats.Bytes)
	}
}
