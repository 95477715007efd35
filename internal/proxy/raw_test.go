// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"encoding/json"
	"errors"
	"net"
	"testing"
	"time"

	"github.com/spawnery/spawnery-operator/internal/mcproto"
)

// Clients that do what bots would not.

func dial(t testing.TB, p *Proxy) *mcproto.Conn {
	t.Helper()
	nc, err := net.Dial("tcp", p.address())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { nc.Close() })
	_ = nc.SetDeadline(time.Now().Add(30 * time.Second))
	return mcproto.NewConn(nc)
}

const rawProtocol = 769

// logIn logs in offline, up to the configuration phase.
func logIn(t testing.TB, conn *mcproto.Conn, name string) {
	t.Helper()
	hello := mcproto.Handshake{Protocol: rawProtocol, RawHost: "localhost", Port: 25565, Intent: mcproto.IntentLogin}
	start := mcproto.LoginStartPayload(mcproto.Profile{Name: name})
	if err := errors.Join(conn.QueuePacket(0, hello.Payload()), conn.WritePacket(mcproto.LoginStart, start)); err != nil {
		t.Fatal(err)
	}
	var frame mcproto.Frame
	for {
		if err := conn.ReadFrame(&frame); err != nil {
			t.Fatal(err)
		}
		switch frame.ID {
		case mcproto.LoginCompression:
			conn.SetCompression(256, mcproto.AcceptBelowThreshold)
		case mcproto.LoginSuccess:
			if err := conn.WritePacket(mcproto.LoginAcknowledged, nil); err != nil {
				t.Fatal(err)
			}
			return
		default:
			t.Fatalf("packet %#x in login", frame.ID)
		}
	}
}

type listed struct {
	Version struct {
		Name     string `json:"name"`
		Protocol int32  `json:"protocol"`
	} `json:"version"`
	Players struct {
		Max    int `json:"max"`
		Online int `json:"online"`
	} `json:"players"`
	Description json.RawMessage `json:"description"`
}

// serverList is what a client of that version shows.
func serverList(t testing.TB, p *Proxy, number int32) listed {
	t.Helper()
	conn := dial(t, p)
	hello := mcproto.Handshake{Protocol: number, RawHost: "localhost", Port: 25565, Intent: mcproto.IntentStatus}
	ping := mcproto.NewWriter().Int64(42).Bytes()
	if err := errors.Join(conn.QueuePacket(0, hello.Payload()), conn.QueuePacket(mcproto.StatusRequest, nil), conn.WritePacket(mcproto.StatusPing, ping)); err != nil {
		t.Fatal(err)
	}
	var frame mcproto.Frame
	if err := conn.ReadFrame(&frame); err != nil {
		t.Fatal(err)
	}
	payload, err := frame.Payload()
	if err != nil {
		t.Fatal(err)
	}
	var list listed
	if err := json.Unmarshal([]byte(mcproto.NewReader(payload).String(mcproto.MaxStringChars)), &list); err != nil {
		t.Fatal(err)
	}
	if err := conn.ReadFrame(&frame); err != nil || frame.ID != mcproto.StatusPong {
		t.Fatalf("no pong: %#x, %v", frame.ID, err)
	}
	return list
}

// Ids of rawProtocol.
const (
	keepAliveInConfiguration       = 0x04
	keepAliveAnswerInConfiguration = 0x04
)

func readPacket(t testing.TB, conn *mcproto.Conn) (int32, []byte) {
	t.Helper()
	var frame mcproto.Frame
	if err := conn.ReadFrame(&frame); err != nil {
		t.Fatal(err)
	}
	payload, err := frame.Payload()
	if err != nil {
		t.Fatal(err)
	}
	return frame.ID, payload
}
