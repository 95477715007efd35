// SPDX-License-Identifier: Apache-2.0

package mctest

import (
	"fmt"

	"github.com/spawnery/spawnery-operator/internal/mcproto"
)

const (
	maxChatChars  = 256
	chatSignature = 256 // bytes
	// seenMessages is the size in bytes of the set of messages that a client
	// has seen of late.
	seenMessages = 3
	// chatChecksumSince is the protocol that has the set followed by its
	// checksum, one byte, 0 for none.
	chatChecksumSince = 770
)

// Chat says a line to everybody on the server, unsigned.
func (b *Bot) Chat(line string) error {
	w := mcproto.NewWriter().String(line)
	w.Int64(b.settings.Clock.Now().UnixMilli()).Int64(0).Bool(false)
	w.VarInt(0).Raw(make([]byte, seenMessages)...)
	if b.protocol.Number >= chatChecksumSince {
		w.Raw(0)
	}
	return b.send(mcproto.StatePlay, b.protocol.PlayServer.ChatMessage, w.Bytes())
}

// parseChat reads a chat message to its end, as servers do: a byte too many is
// an error.
func parseChat(protocol int32, payload []byte) (string, error) {
	r := mcproto.NewReader(payload)
	text := r.String(maxChatChars)
	r.Int64() // when it was said
	r.Int64() // salt of the signature
	if r.Bool() {
		r.Bytes(chatSignature)
	}
	r.VarInt() // how many messages were seen since the last one
	r.Bytes(seenMessages)
	if protocol >= chatChecksumSince {
		r.Byte()
	}
	if err := r.Err(); err != nil {
		return "", err
	}
	if r.Len() > 0 {
		return "", fmt.Errorf("%w: %d bytes after a chat message", mcproto.ErrMalformed, r.Len())
	}
	return text, nil
}
