// SPDX-License-Identifier: Apache-2.0

package status

import (
	"bytes"
	"encoding/json"
	"io"
	"net"
	"testing"

	"github.com/spawnery/spawnery-operator/internal/mcproto"
)

// wire is a connection that somebody has written to and closed.
type wire struct {
	net.Conn
	in  io.Reader
	out bytes.Buffer
}

func (w *wire) Read(b []byte) (int, error)  { return w.in.Read(b) }
func (w *wire) Write(b []byte) (int, error) { return w.out.Write(b) }

func FuzzServe(f *testing.F) {
	table, err := mcproto.DefaultProtocols()
	if err != nil {
		f.Fatal(err)
	}
	frame := func(id int32, payload []byte) []byte {
		wire, err := mcproto.AppendFrame(nil, mcproto.NoCompression, id, payload)
		if err != nil {
			f.Fatal(err)
		}
		return wire
	}
	request, ping := frame(mcproto.StatusRequest, nil), frame(mcproto.StatusPing, make([]byte, 8))
	f.Add(append(bytes.Clone(request), ping...), int32(769), "<gold>A <bold>network")
	f.Add(append(bytes.Clone(request), request...), int32(-1), "§a\xff")
	f.Add(ping, int32(1), "")
	f.Add([]byte{0x7f, 0}, int32(777), "<")
	f.Fuzz(func(t *testing.T, sent []byte, client int32, motd string) {
		w := &wire{in: bytes.NewReader(sent)}
		_ = Serve(mcproto.NewConn(w), table, client, func() List { return List{MOTD: motd, Online: 3, Limit: 20} })
		answers := mcproto.NewConn(&wire{in: &w.out})
		var got mcproto.Frame
		for answers.ReadFrame(&got) == nil {
			payload, err := got.Payload()
			if err != nil {
				t.Fatal(err)
			}
			if got.ID == mcproto.StatusResponse && !json.Valid([]byte(mcproto.NewReader(payload).String(mcproto.MaxStringChars))) {
				t.Fatalf("answered %q", payload)
			}
		}
	})
}
