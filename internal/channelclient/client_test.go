// SPDX-License-Identifier: Apache-2.0

package channelclient

import (
	"context"
	"crypto/tls"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
)

type serverStream = grpc.BidiStreamingServer[agentv1alpha1.ServerMessage, agentv1alpha1.ServerOrder]

// manager is the other end, as a test wants it.
type manager struct {
	agentv1alpha1.UnimplementedChannelServer
	serve   func(number int, stream serverStream) error
	opened  atomic.Int32
	open    atomic.Int32
	tokens  sync.Map
	address string
	stop    func()
}

func (m *manager) ServerSession(stream serverStream) error {
	number := int(m.opened.Add(1))
	m.open.Add(1)
	defer m.open.Add(-1)
	headers, _ := metadata.FromIncomingContext(stream.Context())
	m.tokens.Store(number, strings.Join(headers.Get("authorization"), ","))
	return m.serve(number, stream)
}

// certificate is one that standard tests use; it holds for 127.0.0.1.
func certificate(t *testing.T) (tls.Certificate, []byte) {
	t.Helper()
	server := httptest.NewTLSServer(nil)
	defer server.Close()
	return server.TLS.Certificates[0], pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
}

func startManager(t *testing.T, serve func(int, serverStream) error) *manager {
	t.Helper()
	m := &manager{serve: serve}
	cert, _ := certificate(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	m.address = listener.Addr().String()
	server := grpc.NewServer(grpc.Creds(credentials.NewTLS(&tls.Config{MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{cert}})))
	agentv1alpha1.RegisterChannelServer(server, m)
	go func() { _ = server.Serve(listener) }()
	m.stop = server.Stop
	t.Cleanup(server.Stop)
	return m
}

func welcome() *agentv1alpha1.ServerOrder {
	return &agentv1alpha1.ServerOrder{Order: &agentv1alpha1.ServerOrder_Welcome{Welcome: &agentv1alpha1.Welcome{Version: "1"}}}
}

// greet answers the Hello, then takes messages until the stream ends.
func greet(stream serverStream, take func(*agentv1alpha1.ServerMessage)) error {
	if first, err := stream.Recv(); err != nil || first.GetHello() == nil {
		return fmt.Errorf("no hello: %w", err)
	}
	if err := stream.Send(welcome()); err != nil {
		return err
	}
	for {
		message, err := stream.Recv()
		if err != nil {
			return err
		}
		take(message)
	}
}

func ignore(*agentv1alpha1.ServerMessage) {}

// agent is a client under test.
type agent struct {
	*testing.T
	cfg    Config
	peer   ServerPeer
	log    logr.Logger
	orders atomic.Int32
	stop   context.CancelFunc
}

func newAgent(t *testing.T, clk clock.WithTicker, timing Timing) *agent {
	t.Helper()
	dir := t.TempDir()
	a := &agent{T: t, log: logr.Discard(), cfg: Config{
		Directory: dir, TokenFile: filepath.Join(dir, "token"), Version: "0.1", Clock: clk, Timing: timing,
	}}
	a.peer.Report = func() *agentv1alpha1.ServerMessage { return report(0) }
	a.peer.OnOrder = func(context.Context, *agentv1alpha1.ServerOrder, func(*agentv1alpha1.ServerMessage)) { a.orders.Add(1) }
	a.write("token", "first")
	return a
}

func report(online int32) *agentv1alpha1.ServerMessage {
	return &agentv1alpha1.ServerMessage{Message: &agentv1alpha1.ServerMessage_Report{Report: &agentv1alpha1.ServerReport{Online: online}}}
}

func (a *agent) write(name, content string) {
	a.Helper()
	if err := os.WriteFile(filepath.Join(a.cfg.Directory, name), []byte(content), 0o600); err != nil {
		a.Fatal(err)
	}
}

// aim lets the agent find a manager.
func (a *agent) aim(m *manager) {
	a.Helper()
	_, bundle := certificate(a.T)
	a.write("ca.crt", string(bundle))
	a.write("endpoint", m.address+"\n")
}

func (a *agent) start() {
	a.Helper()
	ctx, cancel := context.WithCancel(logr.NewContext(context.Background(), a.log))
	ended := make(chan error, 1)
	go func() { ended <- RunServer(ctx, a.cfg, a.peer) }()
	a.stop = sync.OnceFunc(func() {
		cancel()
		select {
		case err := <-ended:
			if !errors.Is(err, context.Canceled) {
				a.Errorf("the client ended with %v", err)
			}
		case <-time.After(10 * time.Second):
			a.Error("the client does not end with its context")
		}
	})
	a.Cleanup(a.stop)
}

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for !holds() {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain for %s", what)
		}
		time.Sleep(2 * time.Millisecond)
	}
}

var hasty = Timing{RetryFirst: 10 * time.Millisecond, RetryMost: 50 * time.Millisecond, ReportInterval: 50 * time.Millisecond}

func TestAnAgentStartsWithoutAManagerAndFindsItLater(t *testing.T) {
	a := newAgent(t, clock.RealClock{}, hasty)
	var connections atomic.Int32
	a.peer.OnConnection = func(Connection) { connections.Add(1) }
	a.start()
	var reports atomic.Int32
	m := startManager(t, func(_ int, stream serverStream) error {
		return greet(stream, func(message *agentv1alpha1.ServerMessage) {
			if message.GetReport().GetSentAt() != nil {
				reports.Add(1)
			}
		})
	})
	a.write("ca.crt", "nothing")
	a.write("endpoint", m.address)
	time.Sleep(100 * time.Millisecond)
	if got := m.opened.Load(); got != 0 {
		t.Fatalf("%d sessions without a CA", got)
	}
	a.aim(m)
	eventually(t, "dated reports", func() bool { return reports.Load() >= 3 })
	a.stop()
	if got := connections.Load(); got != 2 {
		t.Errorf("told of %d changes of the connection, want 2", got)
	}
}

func TestAManagerThatAppearsEndsTheWaitForTheNextAttempt(t *testing.T) {
	a := newAgent(t, clock.RealClock{}, Timing{RetryFirst: time.Hour, RetryMost: time.Hour, ResolveEvery: 20 * time.Millisecond})
	m := startManager(t, func(_ int, stream serverStream) error { return greet(stream, ignore) })
	failed := make(chan struct{})
	told := sync.OnceFunc(func() { close(failed) })
	a.log = funcr.New(func(_, _ string) { told() }, funcr.Options{})
	a.start()
	<-failed
	a.aim(m)
	eventually(t, "a session", func() bool { return m.open.Load() == 1 })
}

func TestEveryDialReadsEndpointAndTokenAgain(t *testing.T) {
	a := newAgent(t, clock.RealClock{}, hasty)
	serve := func(_ int, stream serverStream) error { return greet(stream, ignore) }
	one, two := startManager(t, serve), startManager(t, serve)
	a.aim(one)
	a.start()
	eventually(t, "a session with the first", func() bool { return one.open.Load() == 1 })
	a.write("token", "second\n")
	a.aim(two)
	one.stop()
	eventually(t, "a session with the second", func() bool { return two.open.Load() == 1 })
	if got, _ := one.tokens.Load(1); got != "Bearer first" {
		t.Errorf("the first token was %v", got)
	}
	if got, _ := two.tokens.Load(1); got != "Bearer second" {
		t.Errorf("the second token was %v", got)
	}
}

func TestAManagerWithAnotherCAIsNotGreeted(t *testing.T) {
	a := newAgent(t, clock.RealClock{}, hasty)
	m := startManager(t, func(_ int, stream serverStream) error { return greet(stream, ignore) })
	a.aim(m)
	a.write("serverName", "spawnery-agent.elsewhere.svc")
	a.start()
	time.Sleep(200 * time.Millisecond)
	if got := m.opened.Load(); got != 0 {
		t.Errorf("%d sessions with a manager of another name", got)
	}
	a.write("serverName", "example.com")
	eventually(t, "a session with the name it bears", func() bool { return m.open.Load() == 1 })
}

// beat sends orders in the first session of a manager.
type beat struct {
	mu      sync.Mutex
	streams map[int]serverStream
}

func (b *beat) serve(number int, stream serverStream) error {
	return greet(stream, func(*agentv1alpha1.ServerMessage) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.streams[number] = stream
	})
}

func (b *beat) send() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.streams[1].Send(welcome())
}

func (b *beat) reported(number int) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.streams[number] != nil
}

// age lets the first session grow old, its manager restating orders
// all the while.
func (a *agent) age(clk *clocktesting.FakeClock, b *beat, by time.Duration) {
	a.Helper()
	for range by / (5 * time.Second) {
		before := a.orders.Load()
		if err := b.send(); err != nil {
			a.Fatal(err)
		}
		eventually(a.T, "the order", func() bool { return a.orders.Load() > before })
		clk.Step(5 * time.Second)
	}
}

// slowly lets time pass in steps that leave a handshake room, until it holds.
func slowly(a *agent, clk *clocktesting.FakeClock, limit time.Duration, what string, holds func() bool) {
	a.Helper()
	const step = 100 * time.Millisecond
	for range limit / step {
		if holds() {
			return
		}
		clk.Step(step)
		time.Sleep(3 * time.Millisecond)
	}
	eventually(a.T, what, holds)
}

func TestASessionIsRenewedBeforeItEnds(t *testing.T) {
	clk := clocktesting.NewFakeClock(time.Now())
	a := newAgent(t, clk, Timing{})
	b := &beat{streams: map[int]serverStream{}}
	var alone atomic.Bool
	var m *manager
	m = startManager(t, func(number int, stream serverStream) error {
		err := b.serve(number, stream)
		if number == 1 && m.open.Load() < 2 {
			alone.Store(true)
		}
		return err
	})
	a.aim(m)
	a.start()
	eventually(t, "the first session", func() bool { return b.reported(1) })
	a.age(clk, b, 7*time.Minute)
	if got := m.opened.Load(); got != 1 {
		t.Fatalf("%d sessions after seven minutes", got)
	}
	a.age(clk, b, 30*time.Second)
	slowly(a, clk, 30*time.Second, "a second session", func() bool { return m.opened.Load() > 1 })
	eventually(t, "the second session alone", func() bool { return b.reported(2) && m.open.Load() == 1 })
	if alone.Load() {
		t.Error("the first session ended before the second stood")
	}
}

func TestNoSessionPassesItsGreatestAge(t *testing.T) {
	clk := clocktesting.NewFakeClock(time.Now())
	a := newAgent(t, clk, Timing{})
	b := &beat{streams: map[int]serverStream{}}
	m := startManager(t, func(number int, stream serverStream) error {
		if number > 1 {
			return status.Error(codes.Unavailable, "no more")
		}
		return b.serve(number, stream)
	})
	a.aim(m)
	a.start()
	eventually(t, "the first session", func() bool { return b.reported(1) })
	a.age(clk, b, 7*time.Minute+30*time.Second)
	slowly(a, clk, 30*time.Second, "an attempt to renew", func() bool { return m.opened.Load() > 1 })
	a.age(clk, b, 90*time.Second)
	if m.open.Load() != 1 {
		t.Fatal("the first session does not stand while its renewal fails")
	}
	clk.Step(time.Minute)
	eventually(t, "the end of the first session", func() bool { return m.open.Load() == 0 })
}

func TestEveryWaitForAManagerIsBounded(t *testing.T) {
	tests := map[string]struct {
		serve func(int, serverStream) error
		steps time.Duration
	}{
		"one that does not welcome": {
			serve: func(_ int, stream serverStream) error { <-stream.Context().Done(); return nil },
			steps: time.Second,
		},
		"one that falls silent": {
			serve: func(_ int, stream serverStream) error { return greet(stream, ignore) },
			steps: 10 * time.Second,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			clk := clocktesting.NewFakeClock(time.Now())
			a := newAgent(t, clk, Timing{})
			m := startManager(t, test.serve)
			a.aim(m)
			a.start()
			for session := range int32(3) {
				eventually(t, "a session", func() bool {
					if m.opened.Load() > session {
						return true
					}
					clk.Step(test.steps)
					time.Sleep(5 * time.Millisecond)
					return false
				})
			}
		})
	}
}

func TestAConnectionThatNeverSpeaksIsGivenUp(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	var accepted atomic.Int32
	go func() {
		for {
			// Held open, never read, closed with the test.
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			accepted.Add(1)
			t.Cleanup(func() { _ = conn.Close() })
		}
	}()
	timing := hasty
	timing.EstablishWithin = 200 * time.Millisecond
	a := newAgent(t, clock.RealClock{}, timing)
	a.aim(&manager{address: listener.Addr().String()})
	a.start()
	eventually(t, "three attempts", func() bool { return accepted.Load() >= 3 })
}

func TestAManagerThatTakesNothingIsLeft(t *testing.T) {
	timing := hasty
	timing.SendWithin = 500 * time.Millisecond
	a := newAgent(t, clock.RealClock{}, timing)
	a.peer.Report = func() *agentv1alpha1.ServerMessage {
		message := report(0)
		message.GetReport().Detail = strings.Repeat("x", 1<<20)
		return message
	}
	m := startManager(t, func(_ int, stream serverStream) error {
		if _, err := stream.Recv(); err != nil {
			return err
		}
		if err := stream.Send(welcome()); err != nil {
			return err
		}
		<-stream.Context().Done()
		return nil
	})
	a.aim(m)
	a.start()
	eventually(t, "a second session", func() bool { return m.opened.Load() >= 2 })
}

func TestChangesAreReportedAtOnceAndTogether(t *testing.T) {
	timing := hasty
	timing.ReportInterval, timing.ReportSpacing = time.Hour, 100*time.Millisecond
	a := newAgent(t, clock.RealClock{}, timing)
	changed := make(chan struct{}, 1)
	var online atomic.Int32
	a.peer.Changed = changed
	a.peer.Report = func() *agentv1alpha1.ServerMessage { return report(online.Load()) }
	var reports, last atomic.Int32
	m := startManager(t, func(_ int, stream serverStream) error {
		return greet(stream, func(message *agentv1alpha1.ServerMessage) {
			last.Store(message.GetReport().GetOnline())
			reports.Add(1)
		})
	})
	a.aim(m)
	a.start()
	eventually(t, "the first report", func() bool { return reports.Load() == 1 })
	for range 1000 {
		online.Add(1)
		select {
		case changed <- struct{}{}:
		default:
		}
	}
	eventually(t, "the newest count", func() bool { return last.Load() == 1000 })
	if got := reports.Load(); got > 4 {
		t.Errorf("a thousand changes made %d reports", got)
	}
}

func TestAnAnswerFindsTheNextSession(t *testing.T) {
	a := newAgent(t, clock.RealClock{}, hasty)
	answers := make(chan func(*agentv1alpha1.ServerMessage), 10)
	a.peer.OnOrder = func(_ context.Context, _ *agentv1alpha1.ServerOrder, answer func(*agentv1alpha1.ServerMessage)) {
		answers <- answer
	}
	var answered, connected atomic.Value
	a.peer.OnConnection = func(now Connection) { connected.Store(now) }
	serve := func(_ int, stream serverStream) error {
		return greet(stream, func(message *agentv1alpha1.ServerMessage) {
			if result := message.GetSaveResult(); result != nil {
				answered.Store(result.GetId())
			}
		})
	}
	one, two := startManager(t, serve), startManager(t, serve)
	a.aim(one)
	a.start()
	answer := <-answers
	one.stop()
	eventually(t, "the end of the first session", func() bool { return connected.Load() == Disconnected })
	answer(&agentv1alpha1.ServerMessage{Message: &agentv1alpha1.ServerMessage_SaveResult{SaveResult: &agentv1alpha1.SaveResult{Id: "late"}}})
	a.aim(two)
	eventually(t, "the answer", func() bool { return answered.Load() == "late" })
}

func TestTheSameCauseIsLoggedOnce(t *testing.T) {
	a := newAgent(t, clock.RealClock{}, hasty)
	var mu sync.Mutex
	var lines []string
	a.log = funcr.New(func(_, args string) {
		mu.Lock()
		defer mu.Unlock()
		lines = append(lines, args)
	}, funcr.Options{})
	var refused atomic.Int32
	m := startManager(t, func(number int, stream serverStream) error {
		if number <= 10 {
			refused.Add(1)
			return status.Errorf(codes.Unavailable, "pod %d is not seen yet", number)
		}
		return greet(stream, ignore)
	})
	a.aim(m)
	a.start()
	eventually(t, "a session", func() bool { return m.opened.Load() == 11 && m.open.Load() == 1 })
	eventually(t, "two lines", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(lines) == 2
	})
	if !strings.Contains(lines[0], "not seen yet") || !strings.Contains(lines[1], `"lastCauseRepeated"=9`) {
		t.Errorf("logged %q", lines)
	}
}

func TestRetriesDoubleUpToABoundAndAreSpread(t *testing.T) {
	retry := retries{first: 500 * time.Millisecond, most: 15 * time.Second}
	for i, wantMS := range []int{500, 1000, 2000, 4000, 8000, 15000, 15000} {
		want := time.Duration(wantMS) * time.Millisecond
		if got := retry.next(); got < want/2 || got > want {
			t.Errorf("wait %d = %s, want between %s and %s", i, got, want/2, want)
		}
	}
	retry.settled(time.Second)
	if got := retry.next(); got < 7*time.Second {
		t.Errorf("after a session that was cut at once: %s", got)
	}
	retry.settled(time.Minute)
	if got := retry.next(); got > 500*time.Millisecond {
		t.Errorf("after a session that stood: %s", got)
	}
}
