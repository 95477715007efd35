// SPDX-License-Identifier: Apache-2.0

package backend

import (
	"context"
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"github.com/google/uuid"
	"k8s.io/utils/clock"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/mcproto"
)

const secret = "a forwarding secret"

var ada = mcproto.Profile{ID: uuid.MustParse("01234567-89ab-cdef-0123-456789abcdef"), Name: "Ada"}

// script is a server that says and expects what a test wants.
type script func(t *testing.T, conn *mcproto.Conn)

func play(t *testing.T, s script) Target {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	t.Cleanup(func() { l.Close(); <-done })
	go func() {
		defer close(done)
		nc, err := l.Accept()
		if err != nil {
			return
		}
		defer nc.Close()
		_ = nc.SetDeadline(time.Now().Add(20 * time.Second))
		conn := mcproto.NewConn(nc)
		receive(t, conn, mcproto.HandshakeIntention)
		receive(t, conn, mcproto.LoginStart)
		s(t, conn)
		// Until the other side closes.
		_, _ = io.Copy(io.Discard, nc)
	}()
	return Target{Server: &agentv1alpha1.DirectoryServer{Name: "lobby-a", Address: l.Addr().String(), Forwarding: true}, Secret: []byte(secret)}
}

func receive(t *testing.T, conn *mcproto.Conn, id int32) []byte {
	var frame mcproto.Frame
	if err := conn.ReadFrame(&frame); err != nil || frame.ID != id {
		t.Errorf("packet %#x, %v; want %#x", frame.ID, err, id)
		return nil
	}
	payload, err := frame.Payload()
	if err != nil {
		t.Error(err)
	}
	return append([]byte{}, payload...)
}

func send(t *testing.T, conn *mcproto.Conn, id int32, payload []byte) {
	if err := conn.WritePacket(id, payload); err != nil {
		t.Error(err)
	}
}

func protocol(t *testing.T) *mcproto.Protocol {
	t.Helper()
	table, err := mcproto.DefaultProtocols()
	if err != nil {
		t.Fatal(err)
	}
	return table.Newest()
}

func player(t *testing.T) Player {
	return Player{
		Protocol: protocol(t), Profile: ada, Address: "203.0.113.7",
		Handshake: mcproto.Handshake{Protocol: 777, RawHost: "example.org", Port: 25565, Intent: mcproto.IntentLogin},
	}
}

// askForwarding is what a server behind a proxy does first.
func askForwarding(t *testing.T, conn *mcproto.Conn) {
	send(t, conn, mcproto.LoginPluginRequest, mcproto.LoginPluginQuestion{ID: 3, Channel: mcproto.ForwardingChannel, Data: []byte{4}}.Payload())
	answer, err := mcproto.ParseLoginPluginAnswer(receive(t, conn, mcproto.LoginPluginResponse))
	if err != nil {
		t.Error(err)
	}
	forwarded, err := mcproto.VerifyForwarded([]byte(secret), answer.Data)
	if err != nil || answer.ID != 3 || forwarded.Profile.ID != ada.ID || forwarded.Address != "203.0.113.7" {
		t.Errorf("answer %d, %+v, %v", answer.ID, forwarded, err)
	}
}

func succeed(t *testing.T, conn *mcproto.Conn) {
	send(t, conn, mcproto.LoginSuccess, mcproto.LoginSuccessPayload(protocol(t), ada, uuid.New()))
}

func login(t *testing.T, target Target, who Player) (*mcproto.Conn, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	conn, err := Login(ctx, clock.RealClock{}, target, who)
	if conn != nil {
		t.Cleanup(func() { _ = conn.Close() })
	}
	return conn, err
}

func TestAQuestionThatNobodyUnderstandsIsAnsweredSo(t *testing.T) {
	target := play(t, func(t *testing.T, conn *mcproto.Conn) {
		send(t, conn, mcproto.LoginPluginRequest, mcproto.LoginPluginQuestion{ID: 1, Channel: "fml:handshake", Data: []byte("hello")}.Payload())
		answer, err := mcproto.ParseLoginPluginAnswer(receive(t, conn, mcproto.LoginPluginResponse))
		if err != nil || answer.ID != 1 || answer.Data != nil {
			t.Errorf("got %+v, %v", answer, err)
		}
		askForwarding(t, conn)
		succeed(t, conn)
	})
	if _, err := login(t, target, player(t)); err != nil {
		t.Error(err)
	}
}

func TestAServerThatKnowsNoForwardingIsToldNothingAboutThePlayer(t *testing.T) {
	target := play(t, func(t *testing.T, conn *mcproto.Conn) {
		send(t, conn, mcproto.LoginPluginRequest, mcproto.LoginPluginQuestion{ID: 3, Channel: mcproto.ForwardingChannel, Data: []byte{4}}.Payload())
		answer, err := mcproto.ParseLoginPluginAnswer(receive(t, conn, mcproto.LoginPluginResponse))
		if err != nil || answer.Data != nil {
			t.Errorf("got %+v, %v", answer, err)
		}
		succeed(t, conn)
	})
	target.Server.Forwarding = false
	if _, err := login(t, target, player(t)); err != nil {
		t.Error(err)
	}
}

func TestACookieIsAskedOfTheClientAndEmptyWhenItDoesNotAnswer(t *testing.T) {
	for name, tt := range map[string]struct {
		client func(context.Context, string) []byte
		want   []byte
	}{
		"it has one":          {func(_ context.Context, key string) []byte { return []byte("value of " + key) }, []byte("value of test:key")},
		"it has none":         {func(context.Context, string) []byte { return nil }, nil},
		"it does not answer":  {func(ctx context.Context, _ string) []byte { <-ctx.Done(); return nil }, nil},
		"nobody can be asked": {nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			target := play(t, func(t *testing.T, conn *mcproto.Conn) {
				send(t, conn, mcproto.LoginCookieRequest, mcproto.NewWriter().String("test:key").Bytes())
				cookie, err := mcproto.ParseCookieResponse(receive(t, conn, mcproto.LoginCookieResponse))
				if err != nil || cookie.Key != "test:key" || string(cookie.Value) != string(tt.want) || (cookie.Value == nil) != (tt.want == nil) {
					t.Errorf("got %+v, %v", cookie, err)
				}
				askForwarding(t, conn)
				succeed(t, conn)
			})
			who := player(t)
			who.Cookie = tt.client
			if _, err := login(t, target, who); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestHowALoginFails(t *testing.T) {
	unsafe := func(err error) agentv1alpha1.ForwardingState {
		if u, ok := errors.AsType[*Unsafe](err); ok {
			return u.State
		}
		return agentv1alpha1.ForwardingState_FORWARDING_STATE_UNSPECIFIED
	}
	for name, tt := range map[string]struct {
		server     script
		wantReason string
		wantUnsafe agentv1alpha1.ForwardingState
	}{
		"it refuses with a component": {server: func(t *testing.T, conn *mcproto.Conn) {
			send(t, conn, mcproto.LoginDisconnect, mcproto.NewWriter().String(`{"translate":"x.y","fallback":"Full of %s","with":[{"text":"joy"}]}`).Bytes())
		}, wantReason: "Full of joy"},
		"it refuses with a plain string": {server: func(t *testing.T, conn *mcproto.Conn) {
			send(t, conn, mcproto.LoginDisconnect, mcproto.NewWriter().String(`"No"`).Bytes())
		}, wantReason: "No"},
		"it wants encryption": {server: func(t *testing.T, conn *mcproto.Conn) {
			send(t, conn, mcproto.LoginEncryption, mcproto.EncryptionRequest{PublicKey: []byte("key"), VerifyToken: []byte("token")}.Payload())
		}, wantUnsafe: agentv1alpha1.ForwardingState_FORWARDING_STATE_ONLINE_MODE},
		"it asks nothing": {server: succeed, wantUnsafe: agentv1alpha1.ForwardingState_FORWARDING_STATE_NOT_ACTIVE},
		"it talks nonsense": {server: func(t *testing.T, conn *mcproto.Conn) {
			send(t, conn, 0x42, nil)
		}},
		"it hangs up": {server: func(_ *testing.T, conn *mcproto.Conn) { _ = conn.Close() }},
		"it asks for ever": {server: func(t *testing.T, conn *mcproto.Conn) {
			for range loginSteps {
				send(t, conn, mcproto.LoginPluginRequest, mcproto.LoginPluginQuestion{Channel: "a:b"}.Payload())
				receive(t, conn, mcproto.LoginPluginResponse)
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			conn, err := login(t, play(t, tt.server), player(t))
			if err == nil || conn != nil {
				t.Fatalf("got %v, %v", conn, err)
			}
			reason, refused := ReasonOf(err)
			if refused != (tt.wantReason != "") || reason.String() != tt.wantReason {
				t.Errorf("reason %q, refused %v", reason.String(), refused)
			}
			if got := unsafe(err); got != tt.wantUnsafe {
				t.Errorf("unsafe: %v", got)
			}
		})
	}
}

func TestALoginEndsWithItsContext(t *testing.T) {
	target := play(t, func(*testing.T, *mcproto.Conn) {})
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := Login(ctx, clock.RealClock{}, target, player(t)); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}
