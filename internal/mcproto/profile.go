// SPDX-License-Identifier: Apache-2.0

package mcproto

import (
	"crypto/md5"
	"crypto/sha1"
	"fmt"
	"math/big"

	"github.com/google/uuid"
)

// Bounds of a profile.
const (
	// MaxNameChars is the longest player name.
	MaxNameChars     = 16
	maxProperties    = 16
	maxPropertyName  = 64
	maxPropertyValue = MaxStringChars
	maxSignature     = 1024
)

// Profile is who a player is, as the session server or an offline login says.
type Profile struct {
	ID         uuid.UUID
	Name       string
	Properties []Property
}

// Valid reports whether the profile is somebody whom clients and servers can be
// told of: what is too long for them ends their connection.
func (p Profile) Valid() bool {
	w := NewWriter()
	writeProperties(w, p.Properties)
	r := NewReader(w.Bytes())
	readProperties(r)
	return p.ID != uuid.Nil && ValidName(p.Name) && r.Err() == nil
}

// Property is a signed attribute of a profile; the skin is one.
type Property struct {
	Name      string `json:"name"`
	Value     string `json:"value"`
	Signature string `json:"signature,omitempty"` // empty: unsigned
}

// OfflineUUID is the UUID the game gives a name without authentication.
func OfflineUUID(name string) uuid.UUID {
	id := uuid.UUID(md5.Sum([]byte("OfflinePlayer:" + name)))
	id[6] = id[6]&0x0f | 0x30
	id[8] = id[8]&0x3f | 0x80
	return id
}

// ServerHash is the digest under which client and server meet at the session
// server: a SHA-1 written as a signed hexadecimal number.
func ServerHash(serverID string, sharedSecret, publicKeyDER []byte) string {
	h := sha1.New()
	h.Write([]byte(serverID))
	h.Write(sharedSecret)
	h.Write(publicKeyDER)
	sum := h.Sum(nil)
	n := new(big.Int).SetBytes(sum)
	if sum[0]&0x80 != 0 {
		n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(len(sum)*8)))
	}
	return n.Text(16)
}

// LoginSuccessPayload ends a login. The session id is used by versions that
// have one.
func LoginSuccessPayload(p *Protocol, who Profile, session uuid.UUID) []byte {
	w := NewWriter().UUID(who.ID).String(who.Name)
	writeProperties(w, who.Properties)
	switch p.SuccessTail {
	case TailStrictErrorHandling:
		w.Bool(false)
	case TailNone:
	case TailSessionID:
		w.UUID(session)
	}
	return w.Bytes()
}

// ParseLoginSuccess reads the profile in a Login Success.
func ParseLoginSuccess(p *Protocol, payload []byte) (Profile, error) {
	r := NewReader(payload)
	who := Profile{ID: r.UUID(), Name: r.String(MaxNameChars), Properties: readProperties(r)}
	switch p.SuccessTail {
	case TailStrictErrorHandling:
		r.Bool()
	case TailNone:
	case TailSessionID:
		r.UUID()
	}
	if r.Len() > 0 {
		r.fail("%d bytes after the profile", r.Len())
	}
	return who, r.Err()
}

// ParseLoginStart reads the name and the UUID a client claims.
func ParseLoginStart(payload []byte) (Profile, error) {
	r := NewReader(payload)
	who := Profile{Name: r.String(MaxNameChars), ID: r.UUID()}
	if err := r.Err(); err != nil {
		return Profile{}, err
	}
	if !ValidName(who.Name) {
		return Profile{}, fmt.Errorf("%w: player name %q", ErrMalformed, who.Name)
	}
	return who, nil
}

// LoginStartPayload begins a login.
func LoginStartPayload(who Profile) []byte {
	return NewWriter().String(who.Name).UUID(who.ID).Bytes()
}

// ValidName reports whether the game accepts the player name: printable ASCII
// without spaces, as servers check it.
func ValidName(name string) bool {
	if name == "" || len(name) > MaxNameChars {
		return false
	}
	for i := range len(name) {
		if name[i] <= ' ' || name[i] >= 0x7f {
			return false
		}
	}
	return true
}

func writeProperties(w *Writer, properties []Property) {
	w.VarInt(int32(len(properties)))
	for _, p := range properties {
		w.String(p.Name).String(p.Value).Bool(p.Signature != "")
		if p.Signature != "" {
			w.String(p.Signature)
		}
	}
}

func readProperties(r *Reader) []Property {
	n := r.Count(3)
	if n > maxProperties {
		r.fail("%d profile properties, at most %d allowed", n, maxProperties)
		return nil
	}
	var properties []Property
	for range n {
		p := Property{Name: r.String(maxPropertyName), Value: r.String(maxPropertyValue)}
		if r.Bool() {
			p.Signature = r.String(maxSignature)
		}
		properties = append(properties, p)
	}
	if r.Err() != nil {
		return nil
	}
	return properties
}
