// SPDX-License-Identifier: Apache-2.0

package mcproto

import "github.com/google/uuid"

// Bounds of single packets.
const (
	maxChannelChars = 32767
	maxLocaleChars  = 16
	maxCookieBytes  = 5 << 10
	maxURLChars     = 32767
	maxHashChars    = 40
	maxCommandChars = 32767
)

// BrandChannel is the plugin channel on which both sides name their software.
const BrandChannel = "minecraft:brand"

// RegisterChannel is the plugin channel on which a side lists, separated by
// NUL, the channels it listens on.
const RegisterChannel = "minecraft:register"

// UnregisterChannel takes channels back.
const UnregisterChannel = "minecraft:unregister"

// PluginMessage is a message on a named channel, in configuration or play.
type PluginMessage struct {
	Channel string
	Data    []byte // aliases the payload it was read from
}

// Payload is the packet m describes.
func (m PluginMessage) Payload() []byte {
	return NewWriter().String(m.Channel).Raw(m.Data...).Bytes()
}

// ParsePluginMessage reads a message on a named channel.
func ParsePluginMessage(payload []byte) (PluginMessage, error) {
	r := NewReader(payload)
	m := PluginMessage{Channel: r.String(maxChannelChars)}
	m.Data = r.Rest()
	return m, r.Err()
}

// LoginPluginQuestion is a question of the server during the login.
type LoginPluginQuestion struct {
	ID      int32
	Channel string
	Data    []byte // aliases the payload it was read from
}

// Payload is the packet q describes.
func (q LoginPluginQuestion) Payload() []byte {
	return NewWriter().VarInt(q.ID).String(q.Channel).Raw(q.Data...).Bytes()
}

// ParseLoginPluginQuestion reads a question of the server during the login.
func ParseLoginPluginQuestion(payload []byte) (LoginPluginQuestion, error) {
	r := NewReader(payload)
	q := LoginPluginQuestion{ID: r.VarInt(), Channel: r.String(maxChannelChars)}
	q.Data = r.Rest()
	return q, r.Err()
}

// LoginPluginAnswer answers a question; Data is nil when the question was not
// understood.
type LoginPluginAnswer struct {
	ID   int32
	Data []byte
}

// Payload is the packet a describes.
func (a LoginPluginAnswer) Payload() []byte {
	return NewWriter().VarInt(a.ID).Bool(a.Data != nil).Raw(a.Data...).Bytes()
}

// ParseLoginPluginAnswer reads the answer to a question during the login.
func ParseLoginPluginAnswer(payload []byte) (LoginPluginAnswer, error) {
	r := NewReader(payload)
	a := LoginPluginAnswer{ID: r.VarInt()}
	if r.Bool() {
		a.Data = append([]byte{}, r.Rest()...)
	}
	return a, r.Err()
}

// ClientInformation is what a client tells about itself once per connection.
type ClientInformation struct {
	Locale       string // like de_de
	ViewDistance int8   // in chunks
}

// Payload is the packet c describes, everything else as the game defaults it.
func (c ClientInformation) Payload(protocol int32) []byte {
	const (
		particleStatusSince = 768
		allSkinParts        = 0x7f
		rightHand           = 1
	)
	w := NewWriter().String(c.Locale).Raw(byte(c.ViewDistance))
	w.VarInt(0).Bool(true).Raw(allSkinParts).VarInt(rightHand).Bool(false).Bool(true)
	if protocol >= particleStatusSince {
		w.VarInt(0)
	}
	return w.Bytes()
}

// ParseClientInformation reads the part that is the same in every version.
func ParseClientInformation(payload []byte) (ClientInformation, error) {
	r := NewReader(payload)
	c := ClientInformation{Locale: r.String(maxLocaleChars), ViewDistance: int8(r.Byte())}
	return c, r.Err()
}

// KeepAlivePayload carries the id that is to come back.
func KeepAlivePayload(id int64) []byte { return NewWriter().Int64(id).Bytes() }

// ParseKeepAlive reads the id of a keep-alive, in either direction.
func ParseKeepAlive(payload []byte) (int64, error) {
	r := NewReader(payload)
	id := r.Int64()
	return id, r.Err()
}

// ParsePing reads the id of a ping or pong of configuration and play.
func ParsePing(payload []byte) (int32, error) {
	r := NewReader(payload)
	id := r.Int32()
	return id, r.Err()
}

// ResourcePackPush asks a client to load a resource pack.
type ResourcePackPush struct {
	ID     uuid.UUID
	URL    string
	Hash   string // SHA-1 in hexadecimal, or empty
	Forced bool
}

// Payload is the packet p describes, without a prompt.
func (p ResourcePackPush) Payload() []byte {
	return NewWriter().UUID(p.ID).String(p.URL).String(p.Hash).Bool(p.Forced).Bool(false).Bytes()
}

// ParseResourcePackPush reads the push of a resource pack without its prompt.
func ParseResourcePackPush(payload []byte) (ResourcePackPush, error) {
	r := NewReader(payload)
	p := ResourcePackPush{ID: r.UUID(), URL: r.String(maxURLChars), Hash: r.String(maxHashChars), Forced: r.Bool()}
	return p, r.Err()
}

// PackResult is what became of a resource pack.
type PackResult int32

// The results. Only Accepted and Downloaded are followed by another.
const (
	PackLoaded PackResult = iota
	PackDeclined
	PackFailed
	PackAccepted
	PackDownloaded
	PackInvalidURL
	PackReloadFailed
	PackDiscarded
)

// ResourcePackStatus is the client's word on a pack.
type ResourcePackStatus struct {
	ID     uuid.UUID
	Result PackResult
}

// Payload is the packet s describes.
func (s ResourcePackStatus) Payload() []byte {
	return NewWriter().UUID(s.ID).VarInt(int32(s.Result)).Bytes()
}

// ParseResourcePackStatus reads the client's word on a pack.
func ParseResourcePackStatus(payload []byte) (ResourcePackStatus, error) {
	r := NewReader(payload)
	s := ResourcePackStatus{ID: r.UUID(), Result: PackResult(r.VarInt())}
	return s, r.Err()
}

// Cookie is a value stored in a client under a key; nil when it has none.
type Cookie struct {
	Key   string
	Value []byte
}

// ResponsePayload answers a request for the cookie.
func (c Cookie) ResponsePayload() []byte {
	w := NewWriter().String(c.Key).Bool(c.Value != nil)
	if c.Value != nil {
		w.ByteArray(c.Value)
	}
	return w.Bytes()
}

// StorePayload asks the client to keep the cookie.
func (c Cookie) StorePayload() []byte { return NewWriter().String(c.Key).ByteArray(c.Value).Bytes() }

// ParseCookieResponse reads the answer to a request for a cookie.
func ParseCookieResponse(payload []byte) (Cookie, error) {
	r := NewReader(payload)
	c := Cookie{Key: r.String(maxChannelChars)}
	if r.Bool() {
		c.Value = append([]byte{}, r.ByteArray(maxCookieBytes)...)
	}
	return c, r.Err()
}

// ParseStoreCookie reads the order to keep a cookie.
func ParseStoreCookie(payload []byte) (Cookie, error) {
	r := NewReader(payload)
	c := Cookie{Key: r.String(maxChannelChars)}
	c.Value = append([]byte{}, r.ByteArray(maxCookieBytes)...)
	return c, r.Err()
}

// ParseCookieRequest reads the key of the cookie that is asked for.
func ParseCookieRequest(payload []byte) (string, error) {
	r := NewReader(payload)
	key := r.String(maxChannelChars)
	return key, r.Err()
}

// Transfer sends a client to another address.
type Transfer struct {
	Host string
	Port int32
}

// Payload is the packet t describes.
func (t Transfer) Payload() []byte { return NewWriter().String(t.Host).VarInt(t.Port).Bytes() }

// ParseTransfer reads the address a client is sent to.
func ParseTransfer(payload []byte) (Transfer, error) {
	r := NewReader(payload)
	t := Transfer{Host: r.String(MaxStringChars), Port: r.VarInt()}
	return t, r.Err()
}

// ParseCommand reads a command without its slash from an unsigned command
// packet.
func ParseCommand(payload []byte) (string, error) {
	r := NewReader(payload)
	command := r.String(maxCommandChars)
	return command, r.Err()
}

// SuggestionsRequest asks how a command line may go on.
type SuggestionsRequest struct {
	ID   int32
	Text string // with its slash, up to the cursor
}

// ParseSuggestionsRequest reads a request for suggestions.
func ParseSuggestionsRequest(payload []byte) (SuggestionsRequest, error) {
	r := NewReader(payload)
	q := SuggestionsRequest{ID: r.VarInt(), Text: r.String(maxCommandChars)}
	return q, r.Err()
}

// Payload is the packet q describes.
func (q SuggestionsRequest) Payload() []byte { return NewWriter().VarInt(q.ID).String(q.Text).Bytes() }

// Suggestions answers a request: each match would replace Length bytes from
// Start of the text.
type Suggestions struct {
	ID            int32
	Start, Length int32
	Matches       []string
}

// Payload is the packet s describes, without tooltips.
func (s Suggestions) Payload() []byte {
	w := NewWriter().VarInt(s.ID).VarInt(s.Start).VarInt(s.Length).VarInt(int32(len(s.Matches)))
	for _, match := range s.Matches {
		w.String(match).Bool(false)
	}
	return w.Bytes()
}

// ParseSuggestions reads an answer whose matches have no tooltips; with
// tooltips those after the first are left out.
func ParseSuggestions(payload []byte) (Suggestions, error) {
	r := NewReader(payload)
	s := Suggestions{ID: r.VarInt(), Start: r.VarInt(), Length: r.VarInt()}
	for range r.Count(2) {
		s.Matches = append(s.Matches, r.String(maxCommandChars))
		if r.Bool() {
			break
		}
	}
	return s, r.Err()
}
