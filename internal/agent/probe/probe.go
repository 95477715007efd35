// SPDX-License-Identifier: Apache-2.0

// Package probe finds out what a game does with somebody who logs in from
// nowhere: whether it asks the proxy who they are, asks Mojang, or lets anybody
// be anybody. Files prove nothing; images render their own after ours.
package probe

import (
	"context"
	"fmt"
	"net"
	"strconv"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/mcproto"
)

// Name of the player that logs in, as it shows in the game's log.
const Name = "SpawneryProbe"

const (
	// maxPackets bounds what a game may say before it says what we ask for.
	maxPackets = 64
	maxFrame   = 64 << 10
)

// Game is where and how a game is reached.
type Game struct {
	Host string
	Port int32
	// Protocol is the version the game says it speaks.
	Protocol int32
}

// Login begins a login and closes the connection as soon as the game has shown
// what it does. An error means that it showed nothing: it could not be reached,
// or refused before it came to that. The context bounds the login.
func Login(ctx context.Context, game Game) (agentv1alpha1.ForwardingState, error) {
	const unknown = agentv1alpha1.ForwardingState_FORWARDING_STATE_UNSPECIFIED
	nc, err := (&net.Dialer{}).DialContext(ctx, "tcp", net.JoinHostPort(game.Host, strconv.Itoa(int(game.Port))))
	if err != nil {
		return unknown, fmt.Errorf("dialling the game: %w", err)
	}
	defer func() { _ = nc.Close() }()
	// Closing is what ends a read or write that the context outlived.
	stop := context.AfterFunc(ctx, func() { _ = nc.Close() })
	defer stop()
	conn := mcproto.NewConn(nc)
	conn.SetMaxFrame(maxFrame)
	state, err := login(conn, game)
	if cause := context.Cause(ctx); cause != nil && err != nil {
		return unknown, fmt.Errorf("waiting for the game's answer to a login: %w", cause)
	}
	return state, err
}

func login(conn *mcproto.Conn, game Game) (agentv1alpha1.ForwardingState, error) {
	const unknown = agentv1alpha1.ForwardingState_FORWARDING_STATE_UNSPECIFIED
	hello := mcproto.Handshake{Protocol: game.Protocol, RawHost: game.Host, Port: uint16(game.Port), Intent: mcproto.IntentLogin}
	if err := conn.WritePacket(mcproto.HandshakeIntention, hello.Payload()); err != nil {
		return unknown, fmt.Errorf("greeting the game: %w", err)
	}
	who := mcproto.Profile{ID: mcproto.OfflineUUID(Name), Name: Name}
	if err := conn.WritePacket(mcproto.LoginStart, mcproto.LoginStartPayload(who)); err != nil {
		return unknown, fmt.Errorf("beginning a login: %w", err)
	}
	var frame mcproto.Frame
	for range maxPackets {
		if err := conn.ReadFrame(&frame); err != nil {
			return unknown, fmt.Errorf("reading the game's answer to a login: %w", err)
		}
		state, err := judge(conn, &frame)
		if err != nil || state != unknown {
			return state, err
		}
	}
	return unknown, fmt.Errorf("the game said %d things during a login and none that matters", maxPackets)
}

// judge answers what stands between us and the packet that tells; the state is
// unknown until that one comes.
func judge(conn *mcproto.Conn, frame *mcproto.Frame) (agentv1alpha1.ForwardingState, error) {
	const unknown = agentv1alpha1.ForwardingState_FORWARDING_STATE_UNSPECIFIED
	payload, err := frame.Payload()
	if err != nil {
		return unknown, fmt.Errorf("reading the game's answer to a login: %w", err)
	}
	switch frame.ID {
	case mcproto.LoginEncryption:
		return agentv1alpha1.ForwardingState_FORWARDING_STATE_ONLINE_MODE, nil
	case mcproto.LoginSuccess:
		return agentv1alpha1.ForwardingState_FORWARDING_STATE_NOT_ACTIVE, nil
	case mcproto.LoginPluginRequest:
		return questioned(conn, payload)
	case mcproto.LoginCookieRequest:
		return unknown, withoutCookie(conn, payload)
	case mcproto.LoginCompression:
		return unknown, compress(conn, payload)
	case mcproto.LoginDisconnect:
		reason, err := mcproto.ParseDisconnect(mcproto.StateLogin, payload)
		if err != nil {
			return unknown, err
		}
		return unknown, &Refused{Reason: reason.String()}
	default:
		return unknown, nil
	}
}

// questioned is the game asking who the player is, or something of a plugin's
// that a proxy would not understand either.
func questioned(conn *mcproto.Conn, payload []byte) (agentv1alpha1.ForwardingState, error) {
	const unknown = agentv1alpha1.ForwardingState_FORWARDING_STATE_UNSPECIFIED
	question, err := mcproto.ParseLoginPluginQuestion(payload)
	if err != nil {
		return unknown, err
	}
	if question.Channel == mcproto.ForwardingChannel {
		return agentv1alpha1.ForwardingState_FORWARDING_STATE_ACTIVE, nil
	}
	return unknown, conn.WritePacket(mcproto.LoginPluginResponse, mcproto.LoginPluginAnswer{ID: question.ID}.Payload())
}

func withoutCookie(conn *mcproto.Conn, payload []byte) error {
	key, err := mcproto.ParseCookieRequest(payload)
	if err != nil {
		return err
	}
	return conn.WritePacket(mcproto.LoginCookieResponse, mcproto.Cookie{Key: key}.ResponsePayload())
}

func compress(conn *mcproto.Conn, payload []byte) error {
	reader := mcproto.NewReader(payload)
	threshold := reader.VarInt()
	if err := reader.Err(); err != nil {
		return fmt.Errorf("reading the compression threshold: %w", err)
	}
	conn.SetCompression(int(threshold), mcproto.AcceptBelowThreshold)
	return nil
}

// Refused is a game that ended the login before it showed what it does.
type Refused struct {
	// Reason in the game's own words, plain.
	Reason string
}

// Error implements error.
func (r *Refused) Error() string {
	return fmt.Sprintf("the game refused a login: %q", r.Reason)
}
