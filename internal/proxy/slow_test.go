// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"io"
	"net"
	"os"
	"runtime"
	"syscall"
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
	// Little waits on the way. It is said before the connection exists: one whose
	// window shrinks stands still for seconds.
	dialer := net.Dialer{Control: func(_, _ string, raw syscall.RawConn) error {
		return raw.Control(func(fd uintptr) {
			_ = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, 64<<10)
		})
	}}
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			server, err := dialer.Dial("tcp", p.address())
			if err != nil {
				client.Close()
				return
			}
			go func() { _, _ = io.Copy(server, client); server.Close() }()
			go func() {
				defer client.Close()
				const ticks = 50
				buf := make([]byte, perSecond/ticks)
				free := time.Now()
				for {
					n, err := server.Read(buf)
					if _, err2 := client.Write(buf[:n]); err != nil || err2 != nil {
						return
					}
					// A pause that was longer than asked for is made up.
					free = later(free, time.Now().Add(-time.Second/2)).Add(time.Duration(n) * time.Second / time.Duration(perSecond))
					time.Sleep(time.Until(free))
				}
			}()
		}
	}()
	return l.Addr().String()
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
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

// The whole world goes through the line before the player is greeted. The server
// pushes without regard to the line, which games do not.
func TestAClientWithANarrowLineJoinsALargeWorldAndIsNotDropped(t *testing.T) {
	const world, perSecond = 4 << 20, 256_000 / 8
	content := mctest.Terrain
	if os.Getenv("SPAWNERY_EVIDENCE") != "" {
		// It takes two minutes then.
		content = mctest.Noise
	}
	n := newNetwork(t)
	lobby := n.add("lobby-a", rig{whole: true, playable: 20, settings: mctest.Settings{
		World: mctest.World{Bytes: world, Content: content}, Timeout: 3 * time.Minute,
	}})
	p := n.front()
	address := narrow(t, p, perSecond)
	began := time.Now()
	b := n.bot(p, "Ada", func(s *mctest.BotSettings) { s.Address, s.Moves = address, 20 })
	n.on(b, "lobby-a")
	took := time.Since(began)
	wire := b.Stats().Bytes
	t.Logf("a world of %d bytes, %d on the wire, at %d kbit/s: joined after %s", world, wire, perSecond*8/1000, took.Round(time.Millisecond))
	if least := time.Duration(wire-perSecond) * time.Second / perSecond; took < least {
		t.Errorf("it took %s: the line was not narrow", took)
	}
	if wire < world/8 {
		t.Errorf("%d bytes arrived: that was no world", wire)
	}
	if len(lobby.Players()) != 1 || b.Err() != nil {
		t.Errorf("there: %d, %v", len(lobby.Players()), b.Err())
	}
	n.unharmed()
}
