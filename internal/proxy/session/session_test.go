// SPDX-License-Identifier: Apache-2.0

package session

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/netip"
	"runtime"
	"testing"
	"time"

	"github.com/google/uuid"
	"k8s.io/utils/clock"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/mcproto"
	"github.com/spawnery/spawnery-operator/internal/permissions"
	"github.com/spawnery/spawnery-operator/internal/proxy/commands"
	"github.com/spawnery/spawnery-operator/internal/proxy/guard"
	"github.com/spawnery/spawnery-operator/internal/proxy/login"
	"github.com/spawnery/spawnery-operator/internal/proxy/placing"
	"github.com/spawnery/spawnery-operator/internal/routing"
)

// tape is a connection that plays what it was given and counts what it gets.
type tape struct {
	net.Conn
	in      []byte
	again   int // how often in is played
	at      int
	written bytes.Buffer
	bytes   int
	keep    bool
}

func (t *tape) Read(p []byte) (int, error) {
	if t.at == len(t.in) {
		if t.again--; t.again <= 0 {
			return 0, io.EOF
		}
		t.at = 0
	}
	n := copy(p, t.in[t.at:])
	t.at += n
	return n, nil
}

func (t *tape) Write(p []byte) (int, error) {
	t.bytes += len(p)
	if t.keep {
		return t.written.Write(p)
	}
	return len(p), nil
}

func (t *tape) Close() error                     { return nil }
func (t *tape) SetDeadline(time.Time) error      { return nil }
func (t *tape) SetReadDeadline(time.Time) error  { return nil }
func (t *tape) SetWriteDeadline(time.Time) error { return nil }

type nobody struct{}

func (nobody) Literals(permissions.Player) []string                   { return nil }
func (nobody) Run(commands.Asker, string) (commands.Reply, bool)      { return commands.Reply{}, false }
func (nobody) Suggest(permissions.Player, string) ([]string, bool)    { return nil, false }
func (nobody) Privilege(permissions.Player, string) routing.Privilege { return routing.Ordinary }
func (nobody) MayJoin(permissions.Player, string) bool                { return true }
func (nobody) Switched(time.Duration, error)                          {}
func (nobody) SentAway(mcproto.Text)                                  {}
func (nobody) Hear(Via, []byte)                                       {}
func (nobody) Refused()                                               {}

func protocol(t testing.TB) *mcproto.Protocol {
	t.Helper()
	table, err := mcproto.DefaultProtocols()
	if err != nil {
		t.Fatal(err)
	}
	p, ok := table.Lookup(769)
	if !ok {
		t.Fatal("no protocol 769")
	}
	return p
}

// wire is a packet connection over a tape, compressed as in play.
func wire(on *tape) *mcproto.Conn {
	conn := mcproto.NewConn(guard.NewConn(on, clock.RealClock{}))
	conn.SetCompression(login.CompressionThreshold, mcproto.AcceptBelowThreshold)
	return conn
}

// playing is a player in the world of one server.
func playing(t testing.TB, client, server *tape) (*Player, *link) {
	t.Helper()
	p := New(&World{Clock: clock.RealClock{}, Commands: nobody{}, Grants: nobody{}, Plugins: nobody{}, Moved: func() {}, Sent: NewSent(), Meter: nobody{}}, &login.Client{
		Conn: wire(client), Protocol: protocol(t), Profile: mcproto.Profile{Name: "Ada", ID: uuid.New()},
	}, login.Offline, netip.Addr{})
	l := newLink(&placing.Place{Server: &agentv1alpha1.DirectoryServer{Name: "lobby-a"}}, wire(server), protocol(t))
	l.state, l.hears, l.joined = mcproto.StatePlay, mcproto.StatePlay, true
	p.state, p.screen.phase = mcproto.StatePlay, phasePlaying
	p.rate.Reset(1 << 20)
	p.route.Store(l)
	return p, l
}

func framed(t testing.TB, id int32, payload []byte) []byte {
	t.Helper()
	frame, err := mcproto.AppendFrame(nil, login.CompressionThreshold, id, payload)
	if err != nil {
		t.Fatal(err)
	}
	return frame
}

// mallocs is how many allocations run makes.
func mallocs(run func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	run()
	runtime.ReadMemStats(&after)
	return after.Mallocs - before.Mallocs
}

const (
	relayed = 20000
	// around is what reading the statistics and starting the loop may cost.
	around = 50
)

func TestRelayingASmallPacketAllocatesNothing(t *testing.T) {
	if !countsAllocations {
		t.Skip("pools forget at random under the race detector: run without it")
	}
	move := framed(t, protocol(t).PlayServer.Move, []byte{1})
	t.Run("to the server", func(t *testing.T) {
		server := &tape{}
		p, _ := playing(t, &tape{in: move, again: relayed}, server)
		if n := mallocs(func() { _ = p.readClient() }); n > around {
			t.Errorf("%d allocations for %d packets", n, relayed)
		}
		if server.bytes != relayed*len(move) {
			t.Errorf("%d bytes arrived, want %d", server.bytes, relayed*len(move))
		}
	})
	t.Run("to the client", func(t *testing.T) {
		client := &tape{}
		p, l := playing(t, client, &tape{in: move, again: relayed})
		if n := mallocs(func() { _ = p.relayServer(l) }); n > around {
			t.Errorf("%d allocations for %d packets", n, relayed)
		}
		_ = p.conn.Flush()
		if client.bytes != relayed*len(move) {
			t.Errorf("%d bytes arrived, want %d", client.bytes, relayed*len(move))
		}
	})
}

func BenchmarkRelayToClient(b *testing.B) {
	small := framed(b, protocol(b).PlayServer.Move, bytes.Repeat([]byte{7}, 20))
	p, l := playing(b, &tape{}, &tape{in: small, again: b.N})
	b.ReportAllocs()
	b.ResetTimer()
	_ = p.relayServer(l)
}

func BenchmarkRelayToServer(b *testing.B) {
	small := framed(b, protocol(b).PlayServer.Move, bytes.Repeat([]byte{7}, 20))
	p, _ := playing(b, &tape{in: small, again: b.N}, &tape{})
	b.ReportAllocs()
	b.ResetTimer()
	_ = p.readClient()
}

func BenchmarkRelayLargeToClient(b *testing.B) {
	payload := make([]byte, 8<<10)
	for i := range payload {
		payload[i] = byte(i * i >> 3)
	}
	large := framed(b, protocol(b).PlayServer.Move, payload)
	p, l := playing(b, &tape{}, &tape{in: large, again: b.N})
	b.ReportAllocs()
	b.SetBytes(int64(len(large)))
	b.ResetTimer()
	_ = p.relayServer(l)
}

func TestAnswersGoOnlyToTheServerThatAsked(t *testing.T) {
	ids := protocol(t).PlayServer
	pack := uuid.New()
	status := func(result mcproto.PackResult) []byte {
		return framed(t, ids.ResourcePack, mcproto.ResourcePackStatus{ID: pack, Result: result}.Payload())
	}
	cookie := framed(t, ids.CookieResponse, mcproto.Cookie{Key: "k:v"}.ResponsePayload())
	keepAlive := framed(t, ids.KeepAlive, mcproto.KeepAlivePayload(7))
	pong := framed(t, ids.Pong, mcproto.NewWriter().Int32(7).Bytes())
	for name, tt := range map[string]struct {
		what   question
		answer []byte
	}{
		"a keep-alive": {question{topic: topicKeepAlive, number: 7}, keepAlive},
		"a pong":       {question{topic: topicPing, number: 7}, pong},
		"a cookie":     {question{topic: topicCookie, key: "k:v"}, cookie},
		"a pack":       {question{topic: topicPack, pack: pack}, bytes.Join([][]byte{status(mcproto.PackAccepted), status(mcproto.PackDownloaded), status(mcproto.PackLoaded)}, nil)},
	} {
		for who, want := range map[string]int{"nobody": 0, "the server before": 0, "the proxy": 0, "the attached server": len(tt.answer)} {
			t.Run(name+" asked by "+who, func(t *testing.T) {
				server := &tape{}
				p, attached := playing(t, &tape{in: tt.answer, again: 1}, server)
				switch who {
				case "the server before":
					p.questions.ask(tt.what, asker{link: &link{name: "before"}})
				case "the proxy":
					p.questions.ask(tt.what, asker{})
				case "the attached server":
					p.questions.ask(tt.what, asker{link: attached})
				}
				_ = p.readClient()
				p.flushServer()
				if server.bytes != want {
					t.Errorf("%d bytes reached the server, want %d", server.bytes, want)
				}
				if len(p.questions.open) != 0 {
					t.Errorf("still open: %v", p.questions.open)
				}
			})
		}
	}
}

func TestOfTwoEqualQuestionsTheFirstIsAnsweredFirst(t *testing.T) {
	answer := framed(t, protocol(t).PlayServer.Pong, mcproto.NewWriter().Int32(1).Bytes())
	server := &tape{}
	p, attached := playing(t, &tape{in: answer, again: 1}, server)
	ping := question{topic: topicPing, number: 1}
	p.questions.ask(ping, asker{link: &link{name: "before"}})
	p.questions.ask(ping, asker{link: attached})
	_ = p.readClient()
	p.flushServer()
	if server.bytes != 0 {
		t.Error("the answer to the server before reached the one attached")
	}
	p.conn = wire(&tape{in: answer, again: 1})
	_ = p.readClient()
	p.flushServer()
	if server.bytes != len(answer) {
		t.Error("the second answer did not reach the server that asked")
	}
}

func TestQuestionsAreBounded(t *testing.T) {
	var q questions
	for i := range 2 * maxQuestions {
		q.ask(question{topic: topicPing, number: int64(i)}, asker{})
	}
	if len(q.open) != maxQuestions {
		t.Errorf("%d are kept", len(q.open))
	}
	if _, asked := q.settle(question{topic: topicPing, number: 0}); asked {
		t.Error("the oldest is still known")
	}
	if _, asked := q.settle(question{topic: topicPing, number: 2*maxQuestions - 1}); !asked {
		t.Error("the newest is not known")
	}
}

func TestASwitchClosesAnOpenBundleFirst(t *testing.T) {
	ids := protocol(t).PlayClient
	client := &tape{keep: true}
	p, l := playing(t, client, &tape{in: framed(t, ids.Bundle, nil), again: 1})
	_ = p.relayServer(l)
	p.bundled = l.bundled
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := p.toConfiguration(ctx); err == nil {
		t.Fatal("a client that never answered is in configuration")
	}
	want := append(framed(t, ids.Bundle, nil), append(framed(t, ids.Bundle, nil), framed(t, ids.StartConfiguration, nil)...)...)
	if got := client.written.Bytes(); !bytes.Equal(got, want) {
		t.Errorf("the client got % x, want % x", got, want)
	}
}

func TestAClientThatSendsTooMuchIsSentAway(t *testing.T) {
	move := framed(t, protocol(t).PlayServer.Move, []byte{1})
	client := &tape{in: move, again: 10 * guard.RateInPlay, keep: true}
	p, _ := playing(t, client, &tape{})
	p.running.Store(true)
	p.rate.Reset(guard.RateInPlay)
	_ = p.readClient()
	if !p.ending.Load() || !bytes.Contains(client.written.Bytes(), []byte("spawnery.limit.packets")) {
		t.Errorf("it got %q", client.written.Bytes())
	}
}

func TestWhatAClientSaysTooEarlyIsKeptWithinBounds(t *testing.T) {
	var h habits
	for range 3 * maxEarly {
		m := mcproto.PluginMessage{Channel: "mod:hello", Data: make([]byte, 100)}
		if !h.hear(m, m.Payload()) {
			t.Fatal("it is not passed on")
		}
		h.keepEarly(m, m.Payload())
	}
	if len(h.early) != maxEarly {
		t.Errorf("%d messages are kept", len(h.early))
	}
	h = habits{}
	m := mcproto.PluginMessage{Channel: "mod:hello", Data: make([]byte, maxEarlyBytes/2)}
	for range 4 {
		h.keepEarly(m, m.Payload())
	}
	if len(h.early) != 1 {
		t.Errorf("%d large messages are kept", len(h.early))
	}
	for i := range 2 * maxChannels {
		h.register([]byte{byte('a' + i%26), byte('a' + i/26), 0})
	}
	h.register(bytes.Repeat([]byte{'x'}, maxChannelLength+1))
	if len(h.channels) != maxChannels {
		t.Errorf("%d channels are kept", len(h.channels))
	}
}
