// SPDX-License-Identifier: Apache-2.0

package mctest

import (
	"context"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/google/uuid"

	"github.com/spawnery/spawnery-operator/internal/mcproto"
)

const (
	forwardingQuestion = 1
	forwardingNewest   = 4 // the newest layout Paper understands
	loginCookie        = "double:login"
)

// login ends with the client's acknowledgement of Login Success.
func (p *session) login(ctx context.Context) error {
	payload, err := p.expect(mcproto.LoginStart)
	if err != nil {
		return err
	}
	claimed, err := mcproto.ParseLoginStart(payload)
	if err != nil {
		return err
	}
	p.profile = mcproto.Profile{ID: mcproto.OfflineUUID(claimed.Name), Name: claimed.Name}
	p.address, _, _ = net.SplitHostPort(p.conn.NetConn().RemoteAddr().String())
	if err := p.identify(ctx); err != nil {
		return err
	}
	if err := p.askLoginCookie(); err != nil {
		return err
	}
	p.server.hang.over()
	if err := errors.Join(p.server.refusal(AtLogin), p.server.admit(p.profile)); err != nil {
		return err
	}
	if err := p.server.displace(p.profile.Name); err != nil {
		return err
	}
	if err := p.compress(); err != nil {
		return err
	}
	success := mcproto.LoginSuccessPayload(p.protocol, p.profile, uuid.New())
	if err := p.send(mcproto.StateLogin, mcproto.LoginSuccess, success); err != nil {
		return err
	}
	if _, err := p.expect(mcproto.LoginAcknowledged); err != nil {
		return err
	}
	p.enter(mcproto.StateConfiguration)
	return nil
}

// identify finds out who the player is. A server in online mode encrypts and
// never asks a proxy, as Paper does.
func (p *session) identify(ctx context.Context) error {
	switch p.server.settings.Authentication {
	case Online:
		return p.authenticate(ctx)
	case Offline:
		if p.server.settings.ForwardingSecret != "" {
			return p.askForwarding()
		}
	}
	return nil
}

func (p *session) askForwarding() error {
	question := mcproto.LoginPluginQuestion{ID: forwardingQuestion, Channel: mcproto.ForwardingChannel, Data: []byte{forwardingNewest}}
	if err := p.send(mcproto.StateLogin, mcproto.LoginPluginRequest, question.Payload()); err != nil {
		return err
	}
	payload, err := p.expect(mcproto.LoginPluginResponse)
	if err != nil {
		return err
	}
	answer, err := mcproto.ParseLoginPluginAnswer(payload)
	if err != nil {
		return err
	}
	if answer.ID != forwardingQuestion {
		return fmt.Errorf("%w: answer to login question %d", mcproto.ErrMalformed, answer.ID)
	}
	if answer.Data == nil {
		return p.unforwarded("This server requires you to connect with Velocity.")
	}
	forwarded, err := mcproto.VerifyForwarded([]byte(p.server.settings.ForwardingSecret), answer.Data)
	if err != nil {
		return p.unforwarded("Unable to verify player details")
	}
	p.profile, p.address = forwarded.Profile, forwarded.Address
	p.server.logf("UUID of player %s is %s", p.profile.Name, p.profile.ID)
	return nil
}

func (p *session) unforwarded(reason string) error {
	if !p.server.settings.on(ForwardingRequired) {
		return nil
	}
	p.server.record(Violation{Player: p.profile.Name, Rule: ForwardingRequired, Detail: reason})
	return &refused{reason: mcproto.Plain(reason)}
}

// authenticate encrypts the connection and asks the session server.
func (p *session) authenticate(ctx context.Context) error {
	key := p.server.key
	der, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		return fmt.Errorf("encode the login key: %w", err)
	}
	token := make([]byte, 4)
	_, _ = rand.Read(token)
	request := mcproto.EncryptionRequest{PublicKey: der, VerifyToken: token, Authenticate: true}
	if err := p.send(mcproto.StateLogin, mcproto.LoginEncryption, request.Payload()); err != nil {
		return err
	}
	payload, err := p.expect(mcproto.LoginEncryptionDone)
	if err != nil {
		return err
	}
	response, err := mcproto.ParseEncryptionResponse(payload)
	if err != nil {
		return err
	}
	secret, err := response.Open(key, token)
	if err != nil {
		return err
	}
	if err := p.conn.EnableEncryption(secret); err != nil {
		return err
	}
	who, err := p.server.hasJoined(ctx, p.profile.Name, mcproto.ServerHash("", secret, der))
	if err != nil {
		p.server.logf("%s was not authenticated: %v", p.profile.Name, err)
		return &refused{reason: mcproto.Text{Translate: "multiplayer.disconnect.unverified_username", Fallback: "Failed to verify username!"}}
	}
	p.profile = who
	return nil
}

// hasJoined asks the session server who has joined under the hash.
func (s *Server) hasJoined(ctx context.Context, name, hash string) (mcproto.Profile, error) {
	if s.settings.SessionServer == "" {
		return mcproto.Profile{}, errors.New("no session server is reachable")
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	query := url.Values{"username": {name}, "serverId": {hash}}
	address := s.settings.SessionServer + hasJoinedPath + "?" + query.Encode()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return mcproto.Profile{}, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return mcproto.Profile{}, err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return mcproto.Profile{}, fmt.Errorf("the session server says %s", resp.Status)
	}
	var answer sessionProfile
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
		return mcproto.Profile{}, err
	}
	return mcproto.Profile(answer), nil
}

func (p *session) askLoginCookie() error {
	if !p.server.settings.on(AskCookie) {
		return nil
	}
	ask := mcproto.NewWriter().String(loginCookie).Bytes()
	if err := p.send(mcproto.StateLogin, mcproto.LoginCookieRequest, ask); err != nil {
		return err
	}
	payload, err := p.expect(mcproto.LoginCookieResponse)
	if err != nil {
		return err
	}
	cookie, err := mcproto.ParseCookieResponse(payload)
	if err == nil && cookie.Key != loginCookie && p.server.settings.on(UnaskedCookie) {
		err = &broken{UnaskedCookie, fmt.Sprintf("cookie %q was not asked for", cookie.Key)}
	}
	return err
}

func (p *session) compress() error {
	threshold := p.server.settings.Threshold
	if threshold < 0 {
		return nil
	}
	announce := mcproto.NewWriter().VarInt(int32(threshold)).Bytes()
	if err := p.send(mcproto.StateLogin, mcproto.LoginCompression, announce); err != nil {
		return err
	}
	check := mcproto.AcceptBelowThreshold
	if p.server.settings.on(CompressionMinimum) {
		check = mcproto.RejectBelowThreshold
	}
	p.conn.SetCompression(threshold, check)
	return nil
}
