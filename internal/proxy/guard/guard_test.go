// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"
)

// patience is longer than the kernel's own probes of a full receiver.
const patience = time.Second

// pair is two ends of a real connection with small buffers.
func pair(t *testing.T) (*Conn, *net.TCPConn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	theirs, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	ours, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ours.Close(); theirs.Close() })
	_ = ours.(*net.TCPConn).SetWriteBuffer(64 << 10)
	_ = theirs.(*net.TCPConn).SetReadBuffer(64 << 10)
	c := NewConn(ours, clock.RealClock{})
	c.patience.Store(int64(patience))
	return c, theirs.(*net.TCPConn)
}

func TestAPeerThatTakesNothingIsGivenUp(t *testing.T) {
	c, _ := pair(t)
	_, err := c.Write(make([]byte, 8<<20))
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}

func TestASlowPeerIsWaitedFor(t *testing.T) {
	c, theirs := pair(t)
	const size = 4 << 20
	done := make(chan int, 1)
	_ = theirs.SetReadDeadline(time.Now().Add(20 * time.Second))
	go func() {
		total, buf := 0, make([]byte, 64<<10)
		for total < size {
			n, err := theirs.Read(buf)
			if err != nil {
				break
			}
			total += n
			time.Sleep(patience / 50)
		}
		done <- total
	}()
	began := time.Now()
	if n, err := c.Write(make([]byte, size)); n != size || err != nil {
		t.Errorf("wrote %d, %v", n, err)
	}
	if took := time.Since(began); took < patience {
		t.Errorf("took only %s: the test waited for nobody", took)
	}
	if total := <-done; total != size {
		t.Errorf("%d bytes arrived", total)
	}
}

func TestTheLastPacketOutlivesUnreadInput(t *testing.T) {
	c, theirs := pair(t)
	if _, err := theirs.Write([]byte("never read")); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Write([]byte("goodbye")); err != nil {
		t.Fatal(err)
	}
	if err := c.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(theirs)
	if string(got) != "goodbye" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestTooManyPacketsAreNoticed(t *testing.T) {
	for name, tt := range map[string]struct {
		every time.Duration
		want  bool
	}{
		"at the allowed rate":       {every: 20 * time.Millisecond},
		"a little faster":           {every: 19 * time.Millisecond, want: true},
		"a twentieth of a tick":     {every: 50 * time.Millisecond / 20, want: true},
		"as a client in play sends": {every: 50 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			clk := clocktesting.NewFakePassiveClock(time.Unix(0, 0))
			rate := NewRate(clk, 50)
			got := false
			for range 20 * 50 * 7 {
				clk.SetTime(clk.Now().Add(tt.every))
				got = got || rate.Exceeded()
			}
			if got != tt.want {
				t.Errorf("got %v", got)
			}
		})
	}
}

func TestABurstWithinTheWindowIsNoOffence(t *testing.T) {
	clk := clocktesting.NewFakePassiveClock(time.Unix(0, 0))
	rate := NewRate(clk, 50)
	for i := range 50 * 7 {
		if rate.Exceeded() {
			t.Fatalf("after %d packets", i)
		}
	}
	if !rate.Exceeded() {
		t.Error("one more was allowed")
	}
}

func TestConnectionsAreBoundedUntilTheyAreProven(t *testing.T) {
	g := NewGate(Limits{Total: 4, Unproven: 3, UnprovenPerAddress: 2})
	a, b := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2")
	a1, a2 := g.Enter(a), g.Enter(a)
	if a1 == nil || a2 == nil || g.Enter(a) != nil {
		t.Fatal("the bound per address does not hold")
	}
	b1 := g.Enter(b)
	if b1 == nil || g.Enter(b) != nil {
		t.Fatal("the bound on unproven ones does not hold")
	}
	a1.Prove()
	a1.Prove()
	a3 := g.Enter(a)
	if a3 == nil {
		t.Fatal("a proven connection still counts as unproven")
	}
	b1.Prove()
	if g.Enter(b) != nil {
		t.Fatal("the bound on all does not hold")
	}
	for _, p := range []*Pass{a1, a2, a3, b1, b1} {
		p.Leave()
	}
	if g.Inside() != 0 || g.unproven != 0 || len(g.perAddress) != 0 {
		t.Errorf("left behind: %d inside, %d unproven, %v", g.Inside(), g.unproven, g.perAddress)
	}
}

func TestAnIPv6NetworkIsOneAddress(t *testing.T) {
	same := PrefixOf(netip.MustParseAddr("2001:db8::1")) == PrefixOf(netip.MustParseAddr("2001:db8::ffff"))
	mapped := PrefixOf(netip.MustParseAddr("::ffff:192.0.2.1")) == PrefixOf(netip.MustParseAddr("192.0.2.1"))
	other := PrefixOf(netip.MustParseAddr("2001:db8:0:1::1")) == PrefixOf(netip.MustParseAddr("2001:db8::1"))
	if !same || !mapped || other {
		t.Errorf("same %v, mapped %v, other %v", same, mapped, other)
	}
}

func TestLimitsAreReadFromTheirFlag(t *testing.T) {
	for text, want := range map[string]Limits{
		"":                       DefaultLimits(),
		"total=5, unproven=4":    {Total: 5, Unproven: 4, UnprovenPerAddress: DefaultLimits().UnprovenPerAddress},
		"unproven-per-address=1": {Total: DefaultLimits().Total, Unproven: DefaultLimits().Unproven, UnprovenPerAddress: 1},
	} {
		got, err := ParseLimits(text)
		if err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q: %s", text, diff)
		}
	}
	for _, text := range []string{"total", "total=0", "total=x", "players=5"} {
		if _, err := ParseLimits(text); err == nil {
			t.Errorf("%q was accepted", text)
		}
	}
}

func TestAReaderThatIsHeldUpIsNotOutOfTime(t *testing.T) {
	c, theirs := pair(t)
	if _, err := theirs.Write([]byte("xx")); err != nil {
		t.Fatal(err)
	}
	// A minute passed while what was read before was passed on.
	began := time.Now().Add(-time.Minute)
	steps := clocktesting.NewFakeClock(began)
	c.clock = steps
	read := func() error {
		if err := c.ReadOn(30 * time.Second); err != nil {
			return err
		}
		_, err := c.Read(make([]byte, 1))
		return err
	}
	if err := read(); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("read half a minute too late: %v", err)
	}
	steps.SetTime(began.Add(readOnEvery - 1))
	if err := read(); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the bound was renewed although it had been just before: %v", err)
	}
	steps.SetTime(began.Add(time.Minute))
	if err := read(); err != nil {
		t.Errorf("read after a renewal: %v", err)
	}
}

func TestNoReadOutlastsAHurry(t *testing.T) {
	c, _ := pair(t)
	c.Hurry(50 * time.Millisecond)
	if err := c.ReadOn(time.Hour); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("reading in a hurry: %v", err)
	}
}
