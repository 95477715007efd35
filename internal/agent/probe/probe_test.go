// SPDX-License-Identifier: Apache-2.0

package probe_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/agent/probe"
	"github.com/spawnery/spawnery-operator/internal/mcproto"
)

// script is what a game says to one login. It returns when it has said it.
type script func(t *testing.T, conn *mcproto.Conn)

// play serves one login by a script and keeps the connection until the other
// side closes it.
func play(t *testing.T, s script) probe.Game {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	t.Cleanup(func() {
		_ = listener.Close()
		<-done
	})
	go func() {
		defer close(done)
		nc, err := listener.Accept()
		if err != nil {
			return
		}
		defer func() { _ = nc.Close() }()
		conn := mcproto.NewConn(nc)
		expectLogin(t, conn)
		s(t, conn)
		var frame mcproto.Frame
		for conn.ReadFrame(&frame) == nil {
			t.Errorf("unexpected packet %d", frame.ID)
		}
	}()
	address := listener.Addr().(*net.TCPAddr)
	return probe.Game{Host: "127.0.0.1", Port: int32(address.Port), Protocol: 775}
}

func read(t *testing.T, conn *mcproto.Conn, id int32) []byte {
	t.Helper()
	var frame mcproto.Frame
	if err := conn.ReadFrame(&frame); err != nil {
		t.Error(err)
		return nil
	}
	payload, err := frame.Payload()
	if err != nil || frame.ID != id {
		t.Errorf("read packet %d (%v), want %d", frame.ID, err, id)
	}
	return payload
}

func write(t *testing.T, conn *mcproto.Conn, id int32, payload []byte) {
	t.Helper()
	if err := conn.WritePacket(id, payload); err != nil {
		t.Error(err)
	}
}

func expectLogin(t *testing.T, conn *mcproto.Conn) {
	t.Helper()
	hello, err := mcproto.ParseHandshake(read(t, conn, mcproto.HandshakeIntention))
	if err != nil || hello.Intent != mcproto.IntentLogin || hello.Protocol != 775 {
		t.Errorf("handshake %+v (%v)", hello, err)
	}
	who, err := mcproto.ParseLoginStart(read(t, conn, mcproto.LoginStart))
	if err != nil || who.Name != probe.Name || !mcproto.ValidName(who.Name) {
		t.Errorf("login of %+v (%v)", who, err)
	}
}

func success(t *testing.T, conn *mcproto.Conn) {
	t.Helper()
	table, err := mcproto.DefaultProtocols()
	if err != nil {
		t.Error(err)
		return
	}
	write(t, conn, mcproto.LoginSuccess, mcproto.LoginSuccessPayload(table.Newest(), mcproto.Profile{Name: probe.Name}, [16]byte{1}))
}

func ask(t *testing.T, conn *mcproto.Conn, channel string) {
	t.Helper()
	write(t, conn, mcproto.LoginPluginRequest, mcproto.LoginPluginQuestion{ID: 7, Channel: channel, Data: []byte{4}}.Payload())
}

func TestWhatAGameDoesWithALogin(t *testing.T) {
	tests := map[string]struct {
		script script
		want   agentv1alpha1.ForwardingState
	}{
		"it asks the proxy who the player is": {
			func(t *testing.T, conn *mcproto.Conn) { ask(t, conn, mcproto.ForwardingChannel) },
			agentv1alpha1.ForwardingState_FORWARDING_STATE_ACTIVE,
		},
		"it asks after something else and a cookie": {
			func(t *testing.T, conn *mcproto.Conn) {
				ask(t, conn, "luckperms:hello")
				answer, err := mcproto.ParseLoginPluginAnswer(read(t, conn, mcproto.LoginPluginResponse))
				if err != nil || answer.ID != 7 || answer.Data != nil {
					t.Errorf("answer %+v (%v), want 7 not understood", answer, err)
				}
				write(t, conn, mcproto.LoginCookieRequest, mcproto.NewWriter().String("a:b").Bytes())
				cookie, err := mcproto.ParseCookieResponse(read(t, conn, mcproto.LoginCookieResponse))
				if err != nil || cookie.Key != "a:b" || cookie.Value != nil {
					t.Errorf("cookie %+v (%v), want none", cookie, err)
				}
				ask(t, conn, mcproto.ForwardingChannel)
			},
			agentv1alpha1.ForwardingState_FORWARDING_STATE_ACTIVE,
		},
		"it wants to authenticate by itself": {
			func(t *testing.T, conn *mcproto.Conn) {
				write(t, conn, mcproto.LoginEncryption, mcproto.EncryptionRequest{PublicKey: []byte{1}, VerifyToken: []byte{2}, Authenticate: true}.Payload())
			},
			agentv1alpha1.ForwardingState_FORWARDING_STATE_ONLINE_MODE,
		},
		"it lets anybody in": {success, agentv1alpha1.ForwardingState_FORWARDING_STATE_NOT_ACTIVE},
		"it lets anybody in, compressed": {
			func(t *testing.T, conn *mcproto.Conn) {
				write(t, conn, mcproto.LoginCompression, mcproto.NewWriter().VarInt(0).Bytes())
				conn.SetCompression(0, mcproto.RejectBelowThreshold)
				success(t, conn)
			},
			agentv1alpha1.ForwardingState_FORWARDING_STATE_NOT_ACTIVE,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			got, err := probe.Login(ctx, play(t, test.script))
			if err != nil || got != test.want {
				t.Errorf("Login() = %v, %v, want %v", got, err, test.want)
			}
		})
	}
}

func TestALoginThatShowsNothingIsAnError(t *testing.T) {
	tests := map[string]struct {
		script script
		want   string
	}{
		"refused": {
			func(t *testing.T, conn *mcproto.Conn) {
				write(t, conn, mcproto.LoginDisconnect, mcproto.DisconnectPayload(mcproto.StateLogin, 775, mcproto.Plain("Server is still starting")))
			},
			`the game refused a login: "Server is still starting"`,
		},
		"closed": {
			func(_ *testing.T, conn *mcproto.Conn) { _ = conn.Close() },
			"reading the game's answer to a login",
		},
		"malformed": {
			func(t *testing.T, conn *mcproto.Conn) { write(t, conn, mcproto.LoginPluginRequest, []byte{1, 200}) },
			"malformed packet",
		},
		"talkative": {
			func(t *testing.T, conn *mcproto.Conn) {
				for range 64 {
					write(t, conn, 0x20, nil)
				}
			},
			"none that matters",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			if got, err := probe.Login(ctx, play(t, test.script)); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("Login() = %v, %v, want an error with %q", got, err, test.want)
			}
		})
	}
}

func TestASilentGameIsGivenUp(t *testing.T) {
	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	game := play(t, func(*testing.T, *mcproto.Conn) { cancel(cause) })
	if _, err := probe.Login(ctx, game); !errors.Is(err, cause) {
		t.Errorf("Login() = %v, want %v", err, cause)
	}
}

func TestAGameThatIsNotThereIsAnError(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := listener.Addr().(*net.TCPAddr).Port
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := probe.Login(t.Context(), probe.Game{Host: "127.0.0.1", Port: int32(port)}); err == nil {
		t.Error("Login() succeeded where nobody listens")
	}
}
