// SPDX-License-Identifier: Apache-2.0

// Package backend logs a player in to a server, up to the point at which the
// server has accepted them and the player knows nothing of it yet.
package backend

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"k8s.io/utils/clock"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/mcproto"
	"github.com/spawnery/spawnery-operator/internal/proxy/guard"
)

const (
	// loginSteps bounds the packets of one login: a server that goes on asking
	// would otherwise hold the player until the deadline.
	loginSteps = 64
	// cookieWait is how long a client has to answer for a cookie.
	cookieWait = 5 * time.Second
)

// Player is whom to log in.
type Player struct {
	Protocol *mcproto.Protocol
	// Handshake as the client sent it; the server gets its host byte for byte.
	Handshake mcproto.Handshake
	Profile   mcproto.Profile
	// Address of the client, without port.
	Address string
	// Cookie asks the client for a cookie; nil when it has none or cannot be
	// asked before ctx ends.
	Cookie func(ctx context.Context, key string) []byte
}

// Refused is returned when the server sent the player away.
type Refused struct{ Reason mcproto.Text }

// Error implements error.
func (r *Refused) Error() string { return "the server refused: " + r.Reason.String() }

// Unsafe is returned when joining the server would hand it a player under a
// false identity, or the identity of any player to whoever asks.
type Unsafe struct{ State agentv1alpha1.ForwardingState }

// Error implements error.
func (u *Unsafe) Error() string {
	if u.State == agentv1alpha1.ForwardingState_FORWARDING_STATE_ONLINE_MODE {
		return "the server wants to authenticate players itself: online-mode is true there"
	}
	return "the server let the player in without asking who they are: forwarding is off there"
}

// Target is where to log in.
type Target struct {
	Server *agentv1alpha1.DirectoryServer
	// Secret signs what is forwarded about the player.
	Secret []byte
	// Traffic counts the bytes of the connection; nil: nobody does.
	Traffic *guard.Traffic
}

// Login returns a connection on which the server has sent Login Success and
// waits for the acknowledgement. ctx bounds all of it. The error is a *Refused
// or an *Unsafe, or says that the server could not be reached.
func Login(ctx context.Context, clk clock.PassiveClock, target Target, player Player) (*mcproto.Conn, error) {
	var dialer net.Dialer
	nc, err := dialer.DialContext(ctx, "tcp", target.Server.GetAddress())
	if err != nil {
		return nil, fmt.Errorf("connecting to %s: %w", target.Server.GetName(), err)
	}
	// Closing is what ends a read that waits when ctx ends.
	stop := context.AfterFunc(ctx, func() { nc.Close() })
	guarded := guard.NewConn(nc, clk)
	guarded.Count(target.Traffic)
	a := &attempt{conn: mcproto.NewConn(guarded), target: target, player: player}
	err = a.run(ctx)
	if !stop() {
		err = errors.Join(context.Cause(ctx), err)
	}
	if err != nil {
		nc.Close()
		return nil, fmt.Errorf("logging in to %s: %w", target.Server.GetName(), err)
	}
	return a.conn, nil
}

// attempt is one login under way.
type attempt struct {
	conn      *mcproto.Conn
	target    Target
	player    Player
	forwarded bool
}

func (a *attempt) run(ctx context.Context) error {
	handshake := a.player.Handshake
	// Servers refuse transferred players by default; to them all of ours are
	// ordinary logins.
	handshake.Intent = mcproto.IntentLogin
	if err := a.conn.QueuePacket(mcproto.HandshakeIntention, handshake.Payload()); err != nil {
		return err
	}
	if err := a.conn.WritePacket(mcproto.LoginStart, mcproto.LoginStartPayload(a.player.Profile)); err != nil {
		return err
	}
	var frame mcproto.Frame
	for range loginSteps {
		if err := a.conn.ReadFrame(&frame); err != nil {
			return err
		}
		payload, err := frame.Payload()
		if err != nil {
			return err
		}
		done, err := a.step(ctx, frame.ID, payload)
		if done || err != nil {
			return err
		}
	}
	return fmt.Errorf("no end after %d packets", loginSteps)
}

// step answers one packet and reports whether the server has accepted.
func (a *attempt) step(ctx context.Context, id int32, payload []byte) (bool, error) {
	switch id {
	case mcproto.LoginDisconnect:
		reason, err := mcproto.ParseDisconnect(mcproto.StateLogin, payload)
		if err != nil {
			return false, err
		}
		return false, &Refused{Reason: reason}
	case mcproto.LoginEncryption:
		return false, &Unsafe{State: agentv1alpha1.ForwardingState_FORWARDING_STATE_ONLINE_MODE}
	case mcproto.LoginSuccess:
		if a.target.Server.GetForwarding() && !a.forwarded {
			return false, &Unsafe{State: agentv1alpha1.ForwardingState_FORWARDING_STATE_NOT_ACTIVE}
		}
		return true, nil
	case mcproto.LoginCompression:
		reader := mcproto.NewReader(payload)
		threshold := reader.VarInt()
		a.conn.SetCompression(int(threshold), mcproto.AcceptBelowThreshold)
		return false, reader.Err()
	case mcproto.LoginPluginRequest:
		return false, a.answerPlugin(payload)
	case mcproto.LoginCookieRequest:
		return false, a.answerCookie(ctx, payload)
	}
	return false, fmt.Errorf("%w: packet %#x in a login", mcproto.ErrMalformed, id)
}

func (a *attempt) answerPlugin(payload []byte) error {
	question, err := mcproto.ParseLoginPluginQuestion(payload)
	if err != nil {
		return err
	}
	answer := mcproto.LoginPluginAnswer{ID: question.ID}
	if question.Channel == mcproto.ForwardingChannel && a.target.Server.GetForwarding() {
		a.forwarded = true
		answer.Data = mcproto.Forwarded{Address: a.player.Address, Profile: a.player.Profile}.Sign(a.target.Secret)
	}
	return a.conn.WritePacket(mcproto.LoginPluginResponse, answer.Payload())
}

func (a *attempt) answerCookie(ctx context.Context, payload []byte) error {
	key, err := mcproto.ParseCookieRequest(payload)
	if err != nil {
		return err
	}
	cookie := mcproto.Cookie{Key: key}
	if a.player.Cookie != nil {
		asking, cancel := context.WithTimeout(ctx, cookieWait)
		defer cancel()
		cookie.Value = a.player.Cookie(asking, key)
	}
	return a.conn.WritePacket(mcproto.LoginCookieResponse, cookie.ResponsePayload())
}

// ReasonOf is the server's own word in err, if it is a refusal.
func ReasonOf(err error) (mcproto.Text, bool) {
	if refused, ok := errors.AsType[*Refused](err); ok {
		return refused.Reason, true
	}
	return mcproto.Text{}, false
}
