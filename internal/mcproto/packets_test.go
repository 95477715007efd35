// SPDX-License-Identifier: Apache-2.0

package mcproto

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"errors"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
)

func signedBody(secret, body []byte) []byte {
	mac := hmac.New(sha256.New, secret)
	mac.Write(body)
	return append(mac.Sum(nil), body...)
}

func TestVarIntsSurvive(t *testing.T) {
	for _, v := range []int32{0, 1, 127, 128, 255, 16383, 16384, 25565, 2097151, 2097152, math.MaxInt32, -1, math.MinInt32} {
		b := AppendVarInt(nil, v)
		got, n := ParseVarInt(b)
		if got != v || n != len(b) || VarIntLen(v) != len(b) || n > maxVarInt {
			t.Errorf("%d: got %d in %d of %d bytes", v, got, n, len(b))
		}
	}
}

func TestReaderFailsOnceAndStaysFailed(t *testing.T) {
	r := NewReader([]byte{1, 2})
	if r.Uint16() != 0x0102 || r.Err() != nil {
		t.Fatal("two bytes were there")
	}
	if r.Int64() != 0 || !errors.Is(r.Err(), ErrMalformed) {
		t.Fatalf("got %v", r.Err())
	}
	first := r.Err()
	_, _, _, _, _ = r.VarInt(), r.VarLong(), r.Bool(), r.UUID(), r.String(10)
	if !errors.Is(r.Err(), first) || r.Len() != 0 {
		t.Fatalf("got %v", r.Err())
	}
}

func TestReaderBoundsWhatAPeerClaims(t *testing.T) {
	for name, tc := range map[string]struct {
		payload []byte
		read    func(*Reader)
	}{
		"a string of too many bytes":    {[]byte{4, 'a', 'b', 'c', 'd'}, func(r *Reader) { _ = r.String(1) }},
		"a string of negative length":   {AppendVarInt(nil, -1), func(r *Reader) { _ = r.String(1) }},
		"a string counted in UTF-16":    {NewWriter().String("💀💀").Bytes(), func(r *Reader) { _ = r.String(2) }},
		"a string that is not UTF-8":    {[]byte{1, 0xff}, func(r *Reader) { _ = r.String(2) }},
		"a string that is cut":          {[]byte{9, 'a'}, func(r *Reader) { _ = r.String(100) }},
		"an array beyond the limit":     {[]byte{4, 1, 2, 3, 4}, func(r *Reader) { r.ByteArray(3) }},
		"more elements than bytes":      {[]byte{4, 1, 2, 3, 4, 5, 6, 7}, func(r *Reader) { r.Count(2) }},
		"a negative count of bytes":     {[]byte{4}, func(r *Reader) { r.Bytes(-1) }},
		"a varint that does not end":    {bytes.Repeat([]byte{0x80}, 20), func(r *Reader) { r.VarInt() }},
		"a varlong that does not end":   {bytes.Repeat([]byte{0x80}, 20), func(r *Reader) { r.VarLong() }},
		"a number of 32 bits of 3 byte": {make([]byte, 3), func(r *Reader) { r.Int32() }},
		"a UUID of 15 bytes":            {make([]byte, 15), func(r *Reader) { r.UUID() }},
	} {
		r := NewReader(tc.payload)
		if tc.read(r); !errors.Is(r.Err(), ErrMalformed) {
			t.Errorf("%s: %v", name, r.Err())
		}
	}
}

// survives checks that a packet is read as it was written.
func survives[T any](t *testing.T, name string, want T, payload []byte, parse func([]byte) (T, error)) {
	t.Helper()
	got, err := parse(payload)
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%s: %v %s", name, err, diff)
	}
	for cut := range payload {
		if _, err := parse(payload[:cut]); err != nil && !errors.Is(err, ErrMalformed) {
			t.Errorf("%s cut to %d bytes: %v", name, cut, err)
		}
	}
}

func TestPacketsSurvive(t *testing.T) {
	id := uuid.MustParse("01234567-89ab-cdef-0123-456789abcdef")
	message := PluginMessage{Channel: BrandChannel, Data: []byte("\x05bots!")}
	survives(t, "plugin message", message, message.Payload(), ParsePluginMessage)
	question := LoginPluginQuestion{ID: 7, Channel: ForwardingChannel, Data: []byte{4}}
	survives(t, "question", question, question.Payload(), ParseLoginPluginQuestion)
	for name, answer := range map[string]LoginPluginAnswer{"not understood": {ID: 7}, "empty": {ID: 7, Data: []byte{}}, "data": {ID: 7, Data: []byte{1}}} {
		survives(t, name, answer, answer.Payload(), ParseLoginPluginAnswer)
	}
	request := EncryptionRequest{PublicKey: []byte{1, 2}, VerifyToken: []byte{3}, Authenticate: true}
	survives(t, "encryption request", request, request.Payload(), ParseEncryptionRequest)
	response := EncryptionResponse{SharedSecret: []byte{1, 2}, VerifyToken: []byte{3}}
	survives(t, "encryption response", response, response.Payload(), ParseEncryptionResponse)
	push := ResourcePackPush{ID: id, URL: "http://pack.test/p.zip", Hash: "abc", Forced: true}
	survives(t, "pack", push, push.Payload(), ParseResourcePackPush)
	status := ResourcePackStatus{ID: id, Result: PackDownloaded}
	survives(t, "pack status", status, status.Payload(), ParseResourcePackStatus)
	cookie := Cookie{Key: "spawnery:transfer", Value: []byte{9}}
	survives(t, "cookie", cookie, cookie.ResponsePayload(), ParseCookieResponse)
	survives(t, "cookie to keep", cookie, cookie.StorePayload(), ParseStoreCookie)
	survives(t, "no cookie", Cookie{Key: "a:b"}, Cookie{Key: "a:b"}.ResponsePayload(), ParseCookieResponse)
	transfer := Transfer{Host: "other.example", Port: 25566}
	survives(t, "transfer", transfer, transfer.Payload(), ParseTransfer)
	ask := SuggestionsRequest{ID: 3, Text: "/cloud l"}
	survives(t, "suggestions request", ask, ask.Payload(), ParseSuggestionsRequest)
	suggestions := Suggestions{ID: 3, Start: 7, Length: 1, Matches: []string{"list", "lobby"}}
	survives(t, "suggestions", suggestions, suggestions.Payload(), ParseSuggestions)
	survives(t, "keep-alive", int64(-5), KeepAlivePayload(-5), ParseKeepAlive)
	client := ClientInformation{Locale: "de_de", ViewDistance: 10}
	for _, protocol := range []int32{766, 768} {
		survives(t, "client information", client, client.Payload(protocol), ParseClientInformation)
	}
	if old, young := client.Payload(767), client.Payload(768); len(young) != len(old)+1 {
		t.Errorf("particle status: %d and %d bytes", len(old), len(young))
	}
}

func FuzzParsePackets(f *testing.F) {
	f.Add(PluginMessage{Channel: BrandChannel, Data: []byte("x")}.Payload())
	f.Add(Suggestions{ID: 3, Start: 7, Length: 1, Matches: []string{"list"}}.Payload())
	f.Add(Cookie{Key: "a:b", Value: bytes.Repeat([]byte{1}, 100)}.StorePayload())
	f.Add(ResourcePackPush{URL: "http://pack.test", Hash: "a"}.Payload())
	f.Fuzz(func(t *testing.T, payload []byte) {
		errs := make([]error, 16)
		_, errs[0] = ParsePluginMessage(payload)
		_, errs[1] = ParseLoginPluginQuestion(payload)
		_, errs[2] = ParseLoginPluginAnswer(payload)
		_, errs[3] = ParseClientInformation(payload)
		_, errs[4] = ParseKeepAlive(payload)
		_, errs[5] = ParsePing(payload)
		_, errs[6] = ParseResourcePackPush(payload)
		_, errs[7] = ParseResourcePackStatus(payload)
		_, errs[8] = ParseCookieResponse(payload)
		_, errs[9] = ParseStoreCookie(payload)
		_, errs[10] = ParseCookieRequest(payload)
		_, errs[11] = ParseTransfer(payload)
		_, errs[12] = ParseCommand(payload)
		_, errs[13] = ParseSuggestionsRequest(payload)
		_, errs[14] = ParseSuggestions(payload)
		_, _, errs[15] = ParseSystemChat(payload)
		for i, err := range errs {
			if err != nil && !errors.Is(err, ErrMalformed) {
				t.Fatalf("parser %d: %v", i, err)
			}
		}
	})
}
