// SPDX-License-Identifier: Apache-2.0

package mcproto

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"testing"
	"time"
)

// memConn is a connection whose two ends are buffers.
type memConn struct {
	net.Conn
	in  io.Reader
	out bytes.Buffer
}

func (m *memConn) Read(p []byte) (int, error)  { return m.in.Read(p) }
func (m *memConn) Write(p []byte) (int, error) { return m.out.Write(p) }

func reading(wire []byte) *Conn { return NewConn(&memConn{in: bytes.NewReader(wire)}) }

func mustFrame(t testing.TB, threshold int, id int32, payload []byte) []byte {
	t.Helper()
	wire, err := AppendFrame(nil, threshold, id, payload)
	if err != nil {
		t.Fatal(err)
	}
	return wire
}

func TestFrameComesBackAsItWasWritten(t *testing.T) {
	noise := make([]byte, 100_000)
	random := rand.New(rand.NewPCG(1, 2))
	for i := range noise {
		noise[i] = byte(random.Uint32())
	}
	for name, tc := range map[string]struct {
		threshold int
		payload   []byte
	}{
		"empty, bare":                  {NoCompression, nil},
		"small, bare":                  {NoCompression, []byte("hello")},
		"large, bare":                  {NoCompression, noise},
		"below the threshold":          {256, noise[:100]},
		"one byte below the threshold": {256, noise[:254]},
		"at the threshold":             {256, noise[:255]},
		"large, compressed":            {256, noise},
		"everything is compressed":     {0, []byte{1}},
		"compressible":                 {64, bytes.Repeat([]byte("spawn"), 50_000)},
	} {
		t.Run(name, func(t *testing.T) {
			c := reading(append(mustFrame(t, tc.threshold, 0x45, tc.payload), mustFrame(t, tc.threshold, 0x7f, nil)...))
			c.SetCompression(tc.threshold, RejectBelowThreshold)
			var f Frame
			if err := c.ReadFrame(&f); err != nil {
				t.Fatal(err)
			}
			payload, err := f.Payload()
			if err != nil || f.ID != 0x45 || !bytes.Equal(payload, tc.payload) || f.Size() != len(tc.payload)+1 {
				t.Fatalf("got id %#x, %d bytes, size %d, %v", f.ID, len(payload), f.Size(), err)
			}
			if err := c.ReadFrame(&f); err != nil || f.ID != 0x7f {
				t.Fatalf("second frame: id %#x, %v", f.ID, err)
			}
			if err := c.ReadFrame(&f); !errors.Is(err, io.EOF) {
				t.Fatalf("at the end: %v", err)
			}
		})
	}
}

func TestBadFramesAreErrors(t *testing.T) {
	compressed := mustFrame(t, 0, 1, bytes.Repeat([]byte{7}, 100))
	for name, tc := range map[string]struct {
		wire      []byte
		threshold int
		want      error
	}{
		"length of zero":               {[]byte{0}, NoCompression, ErrMalformed},
		"length of four bytes":         {[]byte{0x80, 0x80, 0x80, 1}, NoCompression, ErrMalformed},
		"cut inside the length":        {[]byte{0x80}, NoCompression, io.ErrUnexpectedEOF},
		"cut inside the body":          {[]byte{5, 1, 2}, NoCompression, io.ErrUnexpectedEOF},
		"id too long":                  {[]byte{5, 0x80, 0x80, 0x80, 0x80, 0x80}, NoCompression, ErrMalformed},
		"no id":                        {[]byte{1, 0}, 256, ErrMalformed},
		"inflated size beyond 8 MiB":   {append([]byte{4}, AppendVarInt(nil, MaxInflated+1)...), 256, ErrMalformed},
		"inflated size negative":       {append([]byte{7}, append(AppendVarInt(nil, -1), 0, 0)...), 256, ErrMalformed},
		"not zlib":                     {append([]byte{12}, append(AppendVarInt(nil, 300), bytes.Repeat([]byte{9}, 10)...)...), 256, ErrMalformed},
		"compressed below its minimum": {compressed, 256, ErrMalformed},
	} {
		t.Run(name, func(t *testing.T) {
			c := reading(tc.wire)
			c.SetCompression(tc.threshold, RejectBelowThreshold)
			var f Frame
			if err := c.ReadFrame(&f); !errors.Is(err, tc.want) {
				t.Fatalf("got %v, want %v", err, tc.want)
			}
		})
	}
}

func TestClientAcceptsWhatItsServerCompressedBelowTheThreshold(t *testing.T) {
	c := reading(mustFrame(t, 0, 1, []byte("x")))
	c.SetCompression(256, AcceptBelowThreshold)
	var f Frame
	if err := c.ReadFrame(&f); err != nil {
		t.Fatal(err)
	}
}

func TestInflatedSizeMustBeTheAnnouncedOne(t *testing.T) {
	for name, claim := range map[string]int32{"smaller": 299, "larger": 302} {
		t.Run(name, func(t *testing.T) {
			body := appendDeflated(AppendVarInt(nil, claim), []byte{1}, make([]byte, 300))
			c := reading(append(AppendVarInt(nil, int32(len(body))), body...))
			c.SetCompression(256, RejectBelowThreshold)
			var f Frame
			if err := c.ReadFrame(&f); err != nil {
				t.Fatal(err)
			}
			if _, err := f.Payload(); !errors.Is(err, ErrMalformed) {
				t.Fatalf("got %v", err)
			}
		})
	}
}

func TestFrameLimitHoldsBeforeALogin(t *testing.T) {
	c := reading(mustFrame(t, NoCompression, 0, make([]byte, 1000)))
	c.SetMaxFrame(512)
	var f Frame
	if err := c.ReadFrame(&f); !errors.Is(err, ErrMalformed) {
		t.Fatalf("got %v", err)
	}
}

func TestPacketTooLargeForAFrameIsRefused(t *testing.T) {
	for name, tc := range map[string]struct{ threshold, size int }{
		"bare":                   {NoCompression, MaxFrame},
		"stored":                 {4 << 20, MaxFrame},
		"beyond the game's 8MiB": {256, MaxInflated},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := AppendFrame(nil, tc.threshold, 0, make([]byte, tc.size)); err == nil {
				t.Fatal("no error")
			}
		})
	}
}

func TestRelayGivesEachReceiverAFrameItAccepts(t *testing.T) {
	for _, from := range []int{NoCompression, 0, 64, 256, 1024} {
		for _, to := range []int{NoCompression, 0, 64, 256, 1024} {
			for _, size := range []int{0, 1, 63, 64, 255, 256, 1023, 1024, 5000} {
				payload := bytes.Repeat([]byte{3}, size)
				src := reading(mustFrame(t, from, 9, payload))
				src.SetCompression(from, RejectBelowThreshold)
				dst := &memConn{}
				out := NewConn(dst)
				out.SetCompression(to, RejectBelowThreshold)
				var f Frame
				if err := errors.Join(src.ReadFrame(&f), out.Relay(&f), out.Flush()); err != nil {
					t.Fatalf("%d to %d, %d bytes: %v", from, to, size, err)
				}
				assertStrictFrame(t, dst.out.Bytes(), to, payload)
			}
		}
	}
}

// assertStrictFrame reads as the strictest peers do: compressed exactly from
// the threshold on.
func assertStrictFrame(t *testing.T, wire []byte, threshold int, want []byte) {
	t.Helper()
	in := reading(wire)
	in.SetCompression(threshold, RejectBelowThreshold)
	var f Frame
	if err := in.ReadFrame(&f); err != nil {
		t.Fatalf("threshold %d: %v", threshold, err)
	}
	payload, err := f.Payload()
	if err != nil || !bytes.Equal(payload, want) {
		t.Fatalf("threshold %d: %d bytes, %v", threshold, len(payload), err)
	}
	if compressed := f.format == formatCompressed; compressed != (threshold >= 0 && f.size >= threshold) {
		t.Fatalf("threshold %d, size %d: compressed is %v", threshold, f.size, compressed)
	}
}

func TestEncryptionTakesEffectInTheMiddleOfTheStream(t *testing.T) {
	a, b := net.Pipe()
	defer func() { _ = errors.Join(a.Close(), b.Close()) }()
	deadline := time.Now().Add(10 * time.Second)
	_ = errors.Join(a.SetDeadline(deadline), b.SetDeadline(deadline))
	secret := []byte("0123456789abcdef")
	client, server := NewConn(a), NewConn(b)
	failed := make(chan error, 1)
	go func() {
		err := errors.Join(client.WritePacket(1, []byte("plain")), client.EnableEncryption(secret))
		for i := range 100 {
			err = errors.Join(err, client.WritePacket(int32(i), bytes.Repeat([]byte{byte(i)}, i*10)))
		}
		failed <- err
	}()
	var f Frame
	if err := server.ReadFrame(&f); err != nil {
		t.Fatal(err)
	}
	if err := server.EnableEncryption(secret); err != nil {
		t.Fatal(err)
	}
	for i := range 100 {
		if err := server.ReadFrame(&f); err != nil || f.ID != int32(i) {
			t.Fatalf("frame %d: id %d, %v", i, f.ID, err)
		}
		if payload, err := f.Payload(); err != nil || !bytes.Equal(payload, bytes.Repeat([]byte{byte(i)}, i*10)) {
			t.Fatalf("frame %d: %v %v", i, payload, err)
		}
	}
	if err := <-failed; err != nil {
		t.Fatal(err)
	}
}

func TestBytesReadAheadAreDecrypted(t *testing.T) {
	secret := []byte("0123456789abcdef")
	encrypted := &memConn{}
	out := NewConn(encrypted)
	if err := errors.Join(out.EnableEncryption(secret), out.WritePacket(7, []byte("secret"))); err != nil {
		t.Fatal(err)
	}
	in := reading(append(mustFrame(t, NoCompression, 1, nil), encrypted.out.Bytes()...))
	var f Frame
	if err := errors.Join(in.ReadFrame(&f), in.EnableEncryption(secret), in.ReadFrame(&f)); err != nil || f.ID != 7 {
		t.Fatalf("id %d, %v", f.ID, err)
	}
}

func TestSecretOfAnotherLengthIsRefused(t *testing.T) {
	if err := reading(nil).EnableEncryption(make([]byte, 32)); err == nil {
		t.Fatal("a secret of 32 bytes was accepted")
	}
}

// loop is a connection that repeats the same bytes for ever and drops what is
// written.
type loop struct {
	net.Conn
	wire []byte
	at   int
}

func (l *loop) Read(p []byte) (int, error) {
	n := copy(p, l.wire[l.at:])
	l.at = (l.at + n) % len(l.wire)
	return n, nil
}

func (l *loop) Write(p []byte) (int, error) { return len(p), nil }

func relayPair(tb testing.TB, size int) func() {
	tb.Helper()
	src := NewConn(&loop{wire: mustFrame(tb, 256, 0x2e, make([]byte, size))})
	dst := NewConn(&loop{})
	src.SetCompression(256, AcceptBelowThreshold)
	dst.SetCompression(256, AcceptBelowThreshold)
	var f Frame
	return func() {
		if err := errors.Join(src.ReadFrame(&f), dst.Relay(&f)); err != nil {
			tb.Fatal(err)
		}
	}
}

func TestRelayOfASmallPacketAllocatesNothing(t *testing.T) {
	relay := relayPair(t, 20)
	relay()
	if n := testing.AllocsPerRun(1000, relay); n != 0 {
		t.Fatalf("%v allocations per packet", n)
	}
}

func BenchmarkRelaySmall(b *testing.B) {
	relay := relayPair(b, 20)
	b.ReportAllocs()
	for b.Loop() {
		relay()
	}
}

func BenchmarkRelayCompressed8K(b *testing.B) {
	relay := relayPair(b, 8<<10)
	b.ReportAllocs()
	for b.Loop() {
		relay()
	}
}

func BenchmarkCFB8(b *testing.B) {
	x, err := newCFB8(make([]byte, 16), cfb8Encrypt)
	if err != nil {
		b.Fatal(err)
	}
	p := make([]byte, 4096)
	b.SetBytes(int64(len(p)))
	for b.Loop() {
		x.xor(p)
	}
}

func FuzzReadFrame(f *testing.F) {
	f.Add(mustFrame(f, 256, 3, bytes.Repeat([]byte{7}, 600)), 256)
	f.Add(mustFrame(f, 256, 3, []byte("short")), 256)
	f.Add(mustFrame(f, NoCompression, 0, []byte{1, 2, 3}), NoCompression)
	f.Add([]byte{0xff, 0xff, 0x7f, 0}, 0)
	f.Fuzz(func(t *testing.T, wire []byte, threshold int) {
		in := reading(wire)
		in.SetCompression(threshold, RejectBelowThreshold)
		out := NewConn(&memConn{})
		out.SetCompression(256, RejectBelowThreshold)
		var frame Frame
		for in.ReadFrame(&frame) == nil {
			payload, err := frame.Payload()
			if err != nil {
				continue
			}
			if len(payload) >= frame.Size() {
				t.Fatalf("payload of %d bytes in a packet of %d", len(payload), frame.Size())
			}
			if err := out.Relay(&frame); err != nil {
				t.Fatal(err)
			}
		}
	})
}
