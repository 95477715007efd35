// SPDX-License-Identifier: Apache-2.0

// Package login takes a client from its first byte to the configuration phase:
// who it is, by the network's mode, and whether it can be understood.
package login

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/uuid"

	"github.com/spawnery/spawnery-operator/internal/mcproto"
	"github.com/spawnery/spawnery-operator/internal/permissions"
	"github.com/spawnery/spawnery-operator/internal/proxy/messages"
	"github.com/spawnery/spawnery-operator/internal/proxy/ticket"
)

// Within is how long a client may take from its first byte to the end of its
// login, calls to the session server included.
const Within = 30 * time.Second

// CompressionThreshold is the size from which packets to and from clients are
// compressed. Servers use the same, so that nothing is compressed twice.
const CompressionThreshold = 256

const (
	// maxLoginFrame bounds the packets of a client that nobody knows yet.
	maxLoginFrame = 16 << 10
	// keyBits is the size the game itself uses: the key lives as long as this
	// process and protects sessions, not stored data.
	keyBits   = 1024
	tokenSize = 16
)

// Mode says how clients prove who they are.
type Mode int

const (
	// Online asks the session server of the game's makers.
	Online Mode = iota
	// Offline believes the name.
	Offline
)

// ErrVersion means that the client's version is none that is spoken here.
var ErrVersion = errors.New("a version that is not spoken here")

// Rejected is returned when the client was told why and has to be left alone.
type Rejected struct {
	Reason mcproto.Text
	Cause  error // for the log; may be nil
}

// Error implements error.
func (r *Rejected) Error() string {
	if r.Cause != nil {
		return fmt.Sprintf("the client was sent away: %s: %v", r.Reason.String(), r.Cause)
	}
	return "the client was sent away: " + r.Reason.String()
}

// Unwrap returns the cause.
func (r *Rejected) Unwrap() error { return r.Cause }

// Desk logs clients in.
type Desk struct {
	protocols func() *mcproto.Protocols
	sessions  *SessionServer
	tickets   *ticket.Office
	words     func(mcproto.Text) mcproto.Text
	key       *rsa.PrivateKey
	keyDER    []byte
	session   uuid.UUID
}

// NewDesk speaks the protocols there are when a client comes. sessions is asked in
// online mode, but for players with a ticket that tickets believes. words renders
// what is said to clients whose language is not known.
func NewDesk(
	protocols func() *mcproto.Protocols, sessions *SessionServer, tickets *ticket.Office, words func(mcproto.Text) mcproto.Text,
) (*Desk, error) {
	key, err := rsa.GenerateKey(rand.Reader, keyBits)
	if err != nil {
		return nil, fmt.Errorf("making the login key: %w", err)
	}
	der, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		return nil, fmt.Errorf("making the login key: %w", err)
	}
	return &Desk{
		protocols: protocols, sessions: sessions, tickets: tickets, words: words, key: key, keyDER: der, session: uuid.New(),
	}, nil
}

// Client is somebody at the desk.
type Client struct {
	Conn      *mcproto.Conn
	Handshake mcproto.Handshake
	Protocol  *mcproto.Protocol
	Profile   mcproto.Profile
	// Ticket is what a proxy of this network has sent the client here with; nil
	// for everybody else.
	Ticket *ticket.Ticket
}

// Rules are what a network asks of whoever comes.
type Rules struct {
	Mode    Mode
	Network string
	// From is the address that the client comes from.
	From netip.Addr
	// Uninvited is called for whoever was sent here and has no ticket, before they
	// prove who they are. What it returns is returned; nil: they may go on.
	Uninvited func() error
}

// Authentication is what a player has who was let in by this mode.
func (m Mode) Authentication() permissions.Authentication {
	if m == Online {
		return permissions.Authenticated
	}
	return permissions.Unauthenticated
}

// ReadHandshake reads a connection's first packet.
func ReadHandshake(conn *mcproto.Conn) (mcproto.Handshake, error) {
	conn.SetMaxFrame(maxLoginFrame)
	payload, err := expect(conn, mcproto.HandshakeIntention)
	if err != nil {
		return mcproto.Handshake{}, fmt.Errorf("reading the handshake: %w", err)
	}
	return mcproto.ParseHandshake(payload)
}

// Identify finds out who the client is. A *Rejected has been told why.
func (d *Desk) Identify(ctx context.Context, conn *mcproto.Conn, handshake mcproto.Handshake, rules Rules) (*Client, error) {
	protocol, ok := d.protocols().Lookup(handshake.Protocol)
	if !ok {
		return nil, d.rejectVersion(conn, handshake.Protocol)
	}
	payload, err := expect(conn, mcproto.LoginStart)
	if err != nil {
		return nil, fmt.Errorf("reading the login: %w", err)
	}
	claimed, err := mcproto.ParseLoginStart(payload)
	if err != nil {
		return nil, d.Reject(conn, handshake.Protocol, messages.Text(messages.LimitProtocol), err)
	}
	client := &Client{Conn: conn, Handshake: handshake, Protocol: protocol}
	if handshake.Intent == mcproto.IntentTransfer {
		if client.Ticket, err = d.invitation(ctx, conn, claimed.Name, rules); err != nil {
			return nil, err
		}
	}
	if err := d.identify(ctx, client, claimed.Name, rules.Mode); err != nil {
		return nil, err
	}
	return client, nil
}

// invitation is the ticket of a client that was sent here; nil: it has none, and
// may go on as if it had come by itself.
func (d *Desk) invitation(ctx context.Context, conn *mcproto.Conn, name string, rules Rules) (*ticket.Ticket, error) {
	taken, err := d.askTicket(ctx, conn, name, rules)
	if err != nil {
		return nil, fmt.Errorf("asking %s for a ticket: %w", name, err)
	}
	if taken == nil {
		return nil, rules.Uninvited()
	}
	return taken, nil
}

// identify sets the profile of a client whose ticket, if any, is good. Also with
// a ticket the connection is encrypted where all others are.
func (d *Desk) identify(ctx context.Context, client *Client, name string, mode Mode) error {
	if mode == Offline {
		client.Profile = mcproto.Profile{ID: mcproto.OfflineUUID(name), Name: name}
		return nil
	}
	proof := bySession
	if client.Ticket != nil {
		proof = byTicket
	}
	secret, err := d.encrypt(client.Conn, proof)
	if err != nil {
		return fmt.Errorf("encrypting for %s: %w", name, err)
	}
	if client.Ticket != nil {
		client.Profile = client.Ticket.Profile
		return nil
	}
	client.Profile, err = d.sessions.HasJoined(ctx, name, mcproto.ServerHash("", secret, d.keyDER))
	if err != nil {
		return d.Reject(client.Conn, client.Handshake.Protocol, reasonOf(err), err)
	}
	return nil
}

// askTicket asks a client that was sent here for its ticket. One without, or
// with one that is not believed, logs in like any other; an error says that the
// client keeps to no protocol.
func (d *Desk) askTicket(ctx context.Context, conn *mcproto.Conn, name string, rules Rules) (*ticket.Ticket, error) {
	if err := conn.WritePacket(mcproto.LoginCookieRequest, mcproto.NewWriter().String(ticket.CookieKey).Bytes()); err != nil {
		return nil, err
	}
	payload, err := expect(conn, mcproto.LoginCookieResponse)
	if err != nil {
		return nil, err
	}
	log := logr.FromContextOrDiscard(ctx).WithValues("player", name, "from", rules.From.String())
	cookie, err := mcproto.ParseCookieResponse(payload)
	if err != nil {
		log.V(1).Info("a ticket was not believed", "cause", err.Error())
		return nil, nil
	}
	if cookie.Key != ticket.CookieKey || cookie.Value == nil {
		return nil, nil
	}
	bearer := ticket.Bearer{Name: name, Address: rules.From, Network: rules.Network, Authentication: rules.Mode.Authentication()}
	taken, err := d.tickets.Take(ctx, cookie.Value, bearer)
	if err != nil {
		// Anybody can show any number of them.
		log.V(1).Info("a ticket was not believed", "cause", err.Error())
		return nil, nil
	}
	return taken, nil
}

// rejectVersion answers a client whose version nobody here speaks; in plain
// words, for very old ones do not know components with fallbacks.
func (d *Desk) rejectVersion(conn *mcproto.Conn, number int32) error {
	table := d.protocols()
	oldest, newest := table.Oldest(), table.Newest()
	first, last := mcproto.Plain(oldest.Versions[0]), mcproto.Plain(newest.Versions[len(newest.Versions)-1])
	reason := messages.Text(messages.VersionUnknown, first, last)
	if number < oldest.Number {
		reason = messages.Text(messages.VersionOld, first)
	}
	return Reject(conn, number, mcproto.Plain(d.words(reason).String()), ErrVersion)
}

// proof is how a client shows who it is.
type proof int

const (
	bySession proof = iota // at the session server
	byTicket
)

// encrypt agrees on a secret with the client and turns encryption on.
func (d *Desk) encrypt(conn *mcproto.Conn, by proof) ([]byte, error) {
	token := make([]byte, tokenSize)
	_, _ = rand.Read(token) // never fails, by its documentation
	request := mcproto.EncryptionRequest{PublicKey: d.keyDER, VerifyToken: token, Authenticate: by == bySession}
	if err := conn.WritePacket(mcproto.LoginEncryption, request.Payload()); err != nil {
		return nil, err
	}
	payload, err := expect(conn, mcproto.LoginEncryptionDone)
	if err != nil {
		return nil, err
	}
	response, err := mcproto.ParseEncryptionResponse(payload)
	if err != nil {
		return nil, err
	}
	secret, err := response.Open(d.key, token)
	if err != nil {
		return nil, err
	}
	return secret, conn.EnableEncryption(secret)
}

// Accept ends the login: the client is in the configuration phase afterwards.
func (d *Desk) Accept(client *Client) error {
	conn := client.Conn
	threshold := mcproto.NewWriter().VarInt(CompressionThreshold).Bytes()
	if err := conn.WritePacket(mcproto.LoginCompression, threshold); err != nil {
		return fmt.Errorf("accepting %s: %w", client.Profile.Name, err)
	}
	conn.SetCompression(CompressionThreshold, mcproto.RejectBelowThreshold)
	success := mcproto.LoginSuccessPayload(client.Protocol, client.Profile, d.session)
	if err := conn.WritePacket(mcproto.LoginSuccess, success); err != nil {
		return fmt.Errorf("accepting %s: %w", client.Profile.Name, err)
	}
	if _, err := expect(conn, mcproto.LoginAcknowledged); err != nil {
		return fmt.Errorf("accepting %s: %w", client.Profile.Name, err)
	}
	conn.SetMaxFrame(mcproto.MaxFrame)
	return nil
}

// Reject is the function of the name, in the network's own words.
func (d *Desk) Reject(conn *mcproto.Conn, protocol int32, reason mcproto.Text, cause error) error {
	return Reject(conn, protocol, d.words(reason), cause)
}

// Reject tells a client in its login why it cannot come in, and returns that
// as an error.
func Reject(conn *mcproto.Conn, protocol int32, reason mcproto.Text, cause error) error {
	err := conn.WritePacket(mcproto.LoginDisconnect, mcproto.DisconnectPayload(mcproto.StateLogin, protocol, reason))
	return &Rejected{Reason: reason, Cause: errors.Join(cause, err)}
}

// expect reads the one packet that may come now.
func expect(conn *mcproto.Conn, id int32) ([]byte, error) {
	var frame mcproto.Frame
	if err := conn.ReadFrame(&frame); err != nil {
		return nil, err
	}
	if frame.ID != id {
		return nil, fmt.Errorf("%w: packet %#x instead of %#x", mcproto.ErrMalformed, frame.ID, id)
	}
	if frame.Size() > maxLoginFrame {
		return nil, fmt.Errorf("%w: packet %#x of %d bytes in a login", mcproto.ErrMalformed, id, frame.Size())
	}
	return frame.Payload()
}
