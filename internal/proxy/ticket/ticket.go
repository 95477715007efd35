// SPDX-License-Identifier: Apache-2.0

// Package ticket is what a player carries from one proxy of a network to the
// next, signed by the first and believed once by the second: who they are,
// where they were, and what they are still to be told.
package ticket

import (
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/spawnery/spawnery-operator/internal/mcproto"
	"github.com/spawnery/spawnery-operator/internal/permissions"
)

// CookieKey is the name under which a client keeps its ticket.
const CookieKey = "spawnery:transfer"

const (
	// Life is how long a ticket is believed: a client follows a transfer at
	// once, and a slow one has time for its login besides.
	Life = 30 * time.Second
	// MaxBytes is the most that a client keeps under one key.
	MaxBytes = 5 << 10

	// keyInfo separates this use of the forwarding secret from every other.
	keyInfo = "spawnery ticket v1"
	// maxKeys bounds the signatures of one ticket.
	maxKeys = 4
	// maxLines and maxLineChars bound what a ticket that would be too large
	// still tells.
	maxLines     = 3
	maxLineChars = 200
	// textProtocol is the version whose way of writing texts is used inside.
	textProtocol = 770
)

// Why a ticket is not believed. The player then logs in like any other.
var (
	// ErrForged: it is none, or not signed by a proxy of this network.
	ErrForged = errors.New("the ticket is not signed by this network")
	// ErrExpired: it is older than Life.
	ErrExpired = errors.New("the ticket has expired")
	// ErrForeign: it was made out to somebody else, or for elsewhere.
	ErrForeign = errors.New("the ticket is made out to another player, address or network")
	// ErrUsed: it was believed before.
	ErrUsed = errors.New("the ticket was used before")
)

// Ticket is one player's.
type Ticket struct {
	// Profile is who the player is.
	Profile mcproto.Profile
	// Authentication is what is known of that.
	Authentication permissions.Authentication
	// Network is the only one that believes it.
	Network string
	// Address is the only one it is believed from.
	Address netip.Addr
	// Server the player goes back to; empty: none.
	Server string
	// Groups are tried before the fallback groups.
	Groups []string
	// Avoid are servers that sent the player away.
	Avoid []string
	// Why is what a player for whom there is no place is told; nil: nothing
	// in particular.
	Why *mcproto.Text
	// Refused is set when a server refused the player in person.
	Refused bool
	// Landing is told in the next world.
	Landing []mcproto.Text
	// Hops counts the proxies that passed the player on because they must go,
	// one after the other.
	Hops int
	// Refusals counts the transfers in one search for a place.
	Refusals int

	// ID and Expires are set when it is sealed.
	ID      uuid.UUID
	Expires time.Time
}

// wire is a ticket as it travels.
type wire struct {
	ID            uuid.UUID          `json:"id"`
	Expires       int64              `json:"exp"` // Unix milliseconds
	Network       string             `json:"net"`
	Address       netip.Addr         `json:"ip"`
	UUID          uuid.UUID          `json:"uuid"`
	Name          string             `json:"name"`
	Authenticated bool               `json:"auth,omitempty"`
	Properties    []mcproto.Property `json:"props,omitempty"`
	Server        string             `json:"server,omitempty"`
	Groups        []string           `json:"groups,omitempty"`
	Avoid         []string           `json:"avoid,omitempty"`
	Why           string             `json:"why,omitempty"` // a text component
	Refused       bool               `json:"refused,omitempty"`
	Landing       []string           `json:"landing,omitempty"`
	Hops          int                `json:"hops,omitempty"`
	Refusals      int                `json:"refusals,omitempty"`
}

type key []byte

func deriveKeys(secrets [][]byte) ([]key, error) {
	if len(secrets) > maxKeys {
		secrets = secrets[:maxKeys]
	}
	keys := make([]key, 0, len(secrets))
	for _, secret := range secrets {
		derived, err := hkdf.Key(sha256.New, secret, nil, keyInfo, sha256.Size)
		if err != nil {
			return nil, fmt.Errorf("deriving the key of tickets: %w", err)
		}
		keys = append(keys, derived)
	}
	return keys, nil
}

func (k key) sign(body []byte) []byte {
	mac := hmac.New(sha256.New, k)
	mac.Write(body)
	return mac.Sum(nil)
}

// seal signs with every key: while the secret is being replaced the next proxy
// may know only one of them.
func (t Ticket) seal(keys []key) ([]byte, error) {
	sealed, err := t.sealWhole(keys)
	if err != nil || len(sealed) <= MaxBytes {
		return sealed, err
	}
	sealed, err = t.shortened().sealWhole(keys)
	if err != nil {
		return nil, err
	}
	if len(sealed) > MaxBytes {
		return nil, fmt.Errorf("the ticket of %s has %d bytes, a client keeps at most %d", t.Profile.Name, len(sealed), MaxBytes)
	}
	return sealed, nil
}

func (t Ticket) sealWhole(keys []key) ([]byte, error) {
	w := wire{
		ID: t.ID, Expires: t.Expires.UnixMilli(), Network: t.Network, Address: t.Address,
		UUID: t.Profile.ID, Name: t.Profile.Name, Properties: t.Profile.Properties,
		Authenticated: t.Authentication == permissions.Authenticated,
		Server:        t.Server, Groups: t.Groups, Avoid: t.Avoid, Refused: t.Refused, Hops: t.Hops, Refusals: t.Refusals,
	}
	if t.Why != nil {
		w.Why = t.Why.JSON(textProtocol)
	}
	for _, line := range t.Landing {
		w.Landing = append(w.Landing, line.JSON(textProtocol))
	}
	body, err := json.Marshal(w)
	if err != nil {
		return nil, fmt.Errorf("writing a ticket: %w", err)
	}
	sealed := []byte{byte(len(keys))}
	for _, k := range keys {
		sealed = append(sealed, k.sign(body)...)
	}
	return append(sealed, body...), nil
}

// shortened keeps who the player is and where they go, and of what they are
// told the last words: those say why.
func (t Ticket) shortened() Ticket {
	short := func(text mcproto.Text) mcproto.Text {
		words := []rune(text.String())
		return mcproto.Plain(string(words[:min(len(words), maxLineChars)]))
	}
	if t.Why != nil {
		t.Why = new(short(*t.Why))
	}
	lines := t.Landing[max(0, len(t.Landing)-maxLines):]
	t.Landing = nil
	for _, line := range lines {
		t.Landing = append(t.Landing, short(line))
	}
	return t
}

// open reads a sealed ticket whose signature is of one of the keys.
func open(keys []key, sealed []byte) (*Ticket, error) {
	if len(sealed) == 0 || len(sealed) > MaxBytes {
		return nil, ErrForged
	}
	count, rest := int(sealed[0]), sealed[1:]
	if count > maxKeys || len(rest) < count*sha256.Size {
		return nil, ErrForged
	}
	body := rest[count*sha256.Size:]
	if !signed(keys, rest[:count*sha256.Size], body) {
		return nil, ErrForged
	}
	var w wire
	if err := json.Unmarshal(body, &w); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrForged, err)
	}
	return w.ticket()
}

func signed(keys []key, signatures, body []byte) bool {
	for ; len(signatures) >= sha256.Size; signatures = signatures[sha256.Size:] {
		for _, k := range keys {
			if hmac.Equal(k.sign(body), signatures[:sha256.Size]) {
				return true
			}
		}
	}
	return false
}

func (w wire) ticket() (*Ticket, error) {
	t := &Ticket{
		Profile: mcproto.Profile{ID: w.UUID, Name: w.Name, Properties: w.Properties},
		Network: w.Network, Address: w.Address, Server: w.Server, Groups: w.Groups, Avoid: w.Avoid,
		Refused: w.Refused, Hops: w.Hops, Refusals: w.Refusals, ID: w.ID, Expires: time.UnixMilli(w.Expires),
	}
	if w.Authenticated {
		t.Authentication = permissions.Authenticated
	}
	if w.Why != "" {
		why, err := mcproto.ParseTextJSON(w.Why)
		if err != nil {
			return nil, fmt.Errorf("reading a ticket: %w", err)
		}
		t.Why = &why
	}
	for _, line := range w.Landing {
		text, err := mcproto.ParseTextJSON(line)
		if err != nil {
			return nil, fmt.Errorf("reading a ticket: %w", err)
		}
		t.Landing = append(t.Landing, text)
	}
	return t, nil
}

// Bearer is who shows a ticket, as far as that is known without it.
type Bearer struct {
	Name           string
	Address        netip.Addr
	Network        string
	Authentication permissions.Authentication // what this network wants
}

// of reports whether the ticket is the bearer's. One made without
// authentication opens no network that authenticates.
func (t *Ticket) of(b Bearer) bool {
	return t.Network == b.Network && t.Address == b.Address && t.Authentication == b.Authentication &&
		strings.EqualFold(t.Profile.Name, b.Name) && t.Profile.Valid() &&
		(b.Authentication == permissions.Authenticated || t.Profile.ID == mcproto.OfflineUUID(b.Name))
}
