// SPDX-License-Identifier: Apache-2.0

package mcproto

import (
	"encoding/json"
	"fmt"
)

// maxTextJSON bounds a component in JSON, in characters; the game's own limit.
const maxTextJSON = 262144

// JSON is the component in the form of login and status packets.
func (t Text) JSON(protocol int32) string {
	b, err := json.Marshal(t.tree(protocol))
	if err != nil {
		// Maps of strings and booleans always marshal.
		return `{"text":""}`
	}
	return string(b)
}

// NBT is the component in the form of configuration and play packets.
func (t Text) NBT(protocol int32) []byte {
	return appendNBT(nil, t.tree(protocol))
}

// ParseTextJSON reads a component in JSON.
func ParseTextJSON(s string) (Text, error) {
	if len(s) > maxTextJSON*3 {
		return Text{}, fmt.Errorf("%w: text component of %d bytes", ErrMalformed, len(s))
	}
	var v any
	if err := json.Unmarshal([]byte(s), &v); err != nil {
		return Text{}, malformed("read a text component", err)
	}
	if v == nil {
		return Text{}, nil
	}
	return parseTree(v)
}

// ParseTextNBT reads a component in NBT from the start of b and returns what
// follows it.
func ParseTextNBT(b []byte) (Text, []byte, error) {
	v, rest, err := parseNBT(b)
	if err != nil {
		return Text{}, nil, err
	}
	t, err := parseTree(v)
	return t, rest, err
}

// DisconnectPayload is the body of a disconnect packet in the given state. In
// the login state it is JSON, later NBT.
func DisconnectPayload(state State, protocol int32, reason Text) []byte {
	if state == StateLogin {
		return NewWriter().String(reason.JSON(protocol)).Bytes()
	}
	return reason.NBT(protocol)
}

// ParseDisconnect reads the reason in a disconnect packet of the given state.
func ParseDisconnect(state State, payload []byte) (Text, error) {
	if state != StateLogin {
		t, _, err := ParseTextNBT(payload)
		return t, err
	}
	r := NewReader(payload)
	s := r.String(maxTextJSON)
	if err := r.Err(); err != nil {
		return Text{}, err
	}
	return ParseTextJSON(s)
}

// ChatPosition is where a system message is shown.
type ChatPosition int

// The positions.
const (
	InChat ChatPosition = iota
	InActionBar
)

// SystemChatPayload is a message of the server itself.
func SystemChatPayload(protocol int32, message Text, position ChatPosition) []byte {
	overlay := byte(0)
	if position == InActionBar {
		overlay = 1
	}
	return append(message.NBT(protocol), overlay)
}

// ParseSystemChat reads a message of the server itself.
func ParseSystemChat(payload []byte) (Text, ChatPosition, error) {
	t, rest, err := ParseTextNBT(payload)
	if err != nil {
		return Text{}, InChat, err
	}
	r := NewReader(rest)
	if r.Bool() {
		return t, InActionBar, r.Err()
	}
	return t, InChat, r.Err()
}
