// SPDX-License-Identifier: Apache-2.0

package slp

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spawnery/spawnery-operator/internal/mcproto"
)

// answering is a server that sends the same bytes to everybody.
func answering(t *testing.T, wire []byte) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			nc, err := listener.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { _ = nc.Close() })
			_, _ = nc.Write(wire)
		}
	}()
	return listener.Addr().String()
}

func statusPacket(t *testing.T, id int32, json string) []byte {
	t.Helper()
	wire, err := mcproto.AppendFrame(nil, mcproto.NoCompression, id, mcproto.NewWriter().String(json).Bytes())
	if err != nil {
		t.Fatal(err)
	}
	return wire
}

func TestStatusIsReadAsServersWordIt(t *testing.T) {
	for name, tc := range map[string]struct {
		json string
		want Status
	}{
		"complete": {
			`{"version":{"name":"Paper 1.21.4","protocol":769},"players":{"max":20,"online":3,"sample":[{"id":"x","name":"Notch"}]},"description":{"text":"A "},"favicon":"data:"}`,
			Status{Online: 3, Max: 20, Sample: []Player{{ID: "x", Name: "Notch"}}, Version: "Paper 1.21.4", Protocol: 769, Description: mcproto.Plain("A "), Favicon: "data:"},
		},
		"description as text":       {`{"players":{"online":0,"max":1},"description":"hello"}`, Status{Max: 1, Description: mcproto.Plain("hello")}},
		"description of no meaning": {`{"players":{"online":2,"max":1},"description":{"text":["x"]}}`, Status{Online: 2, Max: 1}},
		"no description":            {`{"players":{"online":2,"max":1}}`, Status{Online: 2, Max: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Ping(t.Context(), answering(t, statusPacket(t, 0, tc.json)), 769)
			if diff := cmp.Diff(tc.want, got); diff != "" || err != nil {
				t.Fatalf("%v %s", err, diff)
			}
		})
	}
}

func TestAnythingElseIsAnError(t *testing.T) {
	for name, wire := range map[string][]byte{
		"no player counts": statusPacket(t, 0, `{"version":{}}`),
		"fewer than none":  statusPacket(t, 0, `{"players":{"online":-1}}`),
		"no JSON":          statusPacket(t, 0, `{`),
		"another packet":   statusPacket(t, 1, `{"players":{"online":0}}`),
		"no Minecraft":     []byte(strings.Repeat("HTTP/1.1 400 Bad Request\r\n", 10)),
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := Ping(t.Context(), answering(t, wire), 769); !errors.Is(err, mcproto.ErrMalformed) {
				t.Fatalf("got %v", err)
			}
		})
	}
}

func TestSilentServerIsGivenUpWithTheContext(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := Ping(ctx, answering(t, nil), 769); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("got %v", err)
	}
	ctx, stop := context.WithCancelCause(t.Context())
	reason := errors.New("reason")
	stop(reason)
	if _, err := Ping(ctx, answering(t, nil), 769); err == nil {
		t.Fatal("no error")
	}
}

func TestAddressesThatAreNoneAreErrors(t *testing.T) {
	for _, address := range []string{"", "localhost", "localhost:http", "localhost:70000", "127.0.0.1:1"} {
		if _, err := Ping(t.Context(), address, 769); err == nil {
			t.Errorf("%q: no error", address)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(mcproto.NewWriter().String(`{"players":{"online":3,"max":20},"description":{"text":"x"}}`).Bytes())
	f.Fuzz(func(t *testing.T, payload []byte) {
		if status, err := parse(payload); err == nil && status.Online < 0 {
			t.Fatalf("%d online", status.Online)
		}
	})
}
