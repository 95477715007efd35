// SPDX-License-Identifier: Apache-2.0

package mcproto

import (
	"bytes"
	"errors"
	"testing"

	"pgregory.net/rapid"
)

func TestAnOutboxKeepsOrderAndLosesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var got, want bytes.Buffer
		box := outbox{dst: &got}
		for _, size := range rapid.SliceOfN(rapid.IntRange(0, 3*bufferSize), 0, 20).Draw(t, "sizes") {
			p := bytes.Repeat([]byte{byte(size)}, size)
			want.Write(p)
			if n, err := box.Write(p); n != size || err != nil {
				t.Fatalf("wrote %d of %d, %v", n, size, err)
			}
			if rapid.Bool().Draw(t, "flush") {
				if err := box.Flush(); err != nil {
					t.Fatal(err)
				}
				if box.buf != nil || !bytes.Equal(got.Bytes(), want.Bytes()) {
					t.Fatal("a flush left something behind")
				}
			}
		}
		if err := box.Flush(); err != nil || !bytes.Equal(got.Bytes(), want.Bytes()) {
			t.Fatalf("%d bytes of %d arrived, %v", got.Len(), want.Len(), err)
		}
	})
}

// broken takes nothing.
type broken struct{ writes int }

var errBroken = errors.New("broken")

func (b *broken) Write([]byte) (int, error) { b.writes++; return 0, errBroken }

func TestAnOutboxTakesNothingAfterAnError(t *testing.T) {
	dst := &broken{}
	box := outbox{dst: dst}
	if _, err := box.Write([]byte("small")); err != nil {
		t.Fatal(err)
	}
	if err := box.Flush(); !errors.Is(err, errBroken) || box.buf != nil {
		t.Errorf("got %v", err)
	}
	for _, p := range [][]byte{[]byte("small"), make([]byte, 2*bufferSize)} {
		if _, err := box.Write(p); !errors.Is(err, errBroken) {
			t.Errorf("got %v", err)
		}
	}
	if err := box.Flush(); !errors.Is(err, errBroken) || dst.writes != 1 {
		t.Errorf("got %v after %d writes", err, dst.writes)
	}
}
