// SPDX-License-Identifier: Apache-2.0

package mctest

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/spawnery/spawnery-operator/internal/mcproto"
)

func (b *Bot) login(ctx context.Context, id int32, payload []byte) error {
	switch id {
	case mcproto.LoginDisconnect:
		return disconnected(mcproto.StateLogin, payload)
	case mcproto.LoginEncryption:
		return b.encrypt(ctx, payload)
	case mcproto.LoginCompression:
		r := mcproto.NewReader(payload)
		b.conn.SetCompression(int(r.VarInt()), mcproto.AcceptBelowThreshold)
		return r.Err()
	case mcproto.LoginPluginRequest:
		question, err := mcproto.ParseLoginPluginQuestion(payload)
		if err != nil {
			return err
		}
		return b.send(mcproto.StateLogin, mcproto.LoginPluginResponse, mcproto.LoginPluginAnswer{ID: question.ID}.Payload())
	case mcproto.LoginCookieRequest:
		return b.cookie(payload, mcproto.StateLogin, mcproto.LoginCookieResponse)
	case mcproto.LoginSuccess:
		return b.loggedIn(payload)
	}
	return unfaithful("packet %#x in login", id)
}

func disconnected(state mcproto.State, payload []byte) error {
	reason, err := mcproto.ParseDisconnect(state, payload)
	if err != nil {
		return err
	}
	return &Disconnected{State: state, Reason: reason}
}

// encrypt joins at the session server, if the server wants it, and encrypts.
func (b *Bot) encrypt(ctx context.Context, payload []byte) error {
	request, err := mcproto.ParseEncryptionRequest(payload)
	if err != nil {
		return err
	}
	secret := make([]byte, 16)
	_, _ = rand.Read(secret)
	if request.Authenticate {
		if err := b.joinSession(ctx, mcproto.ServerHash(request.ServerID, secret, request.PublicKey)); err != nil {
			return err
		}
	}
	response, err := request.Answer(secret)
	if err != nil {
		return err
	}
	if err := b.send(mcproto.StateLogin, mcproto.LoginEncryptionDone, response.Payload()); err != nil {
		return err
	}
	return b.conn.EnableEncryption(secret)
}

func (b *Bot) joinSession(ctx context.Context, hash string) error {
	account := b.settings.Account
	if account == nil {
		return fmt.Errorf("bot %s has no account, and the server is in online mode", b.profile.Name)
	}
	body, err := json.Marshal(map[string]string{
		"accessToken": account.Token, "selectedProfile": undashed(account.Profile.ID), "serverId": hash,
	})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, clientTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, account.SessionServer+joinPath, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return fmt.Errorf("join at the session server: %w", err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusNoContent {
		return fmt.Errorf("join at the session server: %s", resp.Status)
	}
	return nil
}

func (b *Bot) loggedIn(payload []byte) error {
	who, err := mcproto.ParseLoginSuccess(b.protocol, payload)
	if err != nil {
		return err
	}
	b.mu.Lock()
	b.profile = who
	b.mu.Unlock()
	b.registries = make(map[string]struct{})
	if err := b.advance(mcproto.LoginAcknowledged, mcproto.StateConfiguration); err != nil {
		return err
	}
	return b.introduce()
}

// introduce sends what clients send once per connection, at the first
// configuration: a proxy has to repeat it to each server.
func (b *Bot) introduce() error {
	if b.introduced {
		return nil
	}
	b.introduced = true
	ids := b.protocol.ConfigServer
	brand := mcproto.PluginMessage{Channel: mcproto.BrandChannel, Data: mcproto.NewWriter().String("vanilla").Bytes()}
	if err := b.send(mcproto.StateConfiguration, ids.PluginMessage, brand.Payload()); err != nil {
		return err
	}
	info := mcproto.ClientInformation{Locale: b.settings.Locale, ViewDistance: 10}
	return b.send(mcproto.StateConfiguration, ids.ClientInformation, info.Payload(b.protocol.Number))
}

// questions are the packets a server asks with in configuration and play, and
// the ids of their answers.
type questions struct {
	cookie, cookieAnswer     int32
	keepAlive, keepAliveEcho int32
	ping, pong               int32
	pack, packAnswer         int32
	storeCookie, transfer    int32
}

// asked handles what is the same in configuration and play, and reports
// whether the packet was that.
func (b *Bot) asked(state mcproto.State, q questions, id int32, payload []byte) (bool, error) {
	switch id {
	case q.cookie:
		return true, b.cookie(payload, state, q.cookieAnswer)
	case q.storeCookie:
		return true, b.storeCookie(payload)
	case q.keepAlive:
		return true, b.send(state, q.keepAliveEcho, payload)
	case q.ping:
		return true, b.send(state, q.pong, payload)
	case q.pack:
		return true, b.packStatuses(payload, state, q.packAnswer)
	case q.transfer:
		return true, b.transferred(payload)
	}
	return false, nil
}

func (b *Bot) configuration(id int32, payload []byte) error {
	ids, answers := b.protocol.ConfigClient, b.protocol.ConfigServer
	handled, err := b.asked(mcproto.StateConfiguration, questions{
		cookie: ids.CookieRequest, cookieAnswer: answers.CookieResponse,
		keepAlive: ids.KeepAlive, keepAliveEcho: answers.KeepAlive,
		ping: ids.Ping, pong: answers.Pong,
		pack: ids.ResourcePackPush, packAnswer: answers.ResourcePack,
		storeCookie: ids.StoreCookie, transfer: ids.Transfer,
	}, id, payload)
	if handled || err != nil {
		return err
	}
	switch id {
	case ids.Disconnect:
		return disconnected(mcproto.StateConfiguration, payload)
	case ids.Finish:
		return b.finish()
	case ids.RegistryData:
		return b.registry(payload)
	case ids.KnownPacks:
		return b.knownPacks(payload)
	case ids.PluginMessage:
		return b.pluginMessage(payload)
	case ids.CodeOfConduct:
		return b.send(mcproto.StateConfiguration, answers.AcceptCodeOfConduct, nil)
	}
	return nil
}

// registry takes a registry once per configuration: a second of the same name
// makes the game's client throw.
func (b *Bot) registry(payload []byte) error {
	r := mcproto.NewReader(payload)
	name := r.String(mcproto.MaxStringChars)
	if err := r.Err(); err != nil {
		return err
	}
	if _, twice := b.registries[name]; twice {
		return unfaithful("registry %s came twice in one configuration", name)
	}
	b.registries[name] = struct{}{}
	return nil
}

// knownPacks answers with those of the offered packs the client has: those of
// its own version.
func (b *Bot) knownPacks(payload []byte) error {
	offered, err := parseKnownPacks(payload)
	if err != nil {
		return err
	}
	have := slices.DeleteFunc(offered, func(p knownPack) bool {
		return p.Namespace != "minecraft" || !slices.Contains(b.protocol.Versions, p.Version)
	})
	return b.send(mcproto.StateConfiguration, b.protocol.ConfigServer.KnownPacks, knownPacksPayload(have))
}

func (b *Bot) finish() error {
	if !b.configured && len(b.registries) == 0 {
		return unfaithful("the configuration ended without a registry")
	}
	b.configured = true
	return b.advance(b.protocol.ConfigServer.Finish, mcproto.StatePlay)
}

// minds reports whether a bot looks into a packet of play. Others are not even
// decompressed: hundreds of bots share a process.
func (b *Bot) minds(id int32) bool {
	ids := b.protocol.PlayClient
	switch id {
	case ids.Bundle, ids.StartConfiguration, ids.Disconnect, ids.SystemChat, ids.Suggestions, ids.Commands, ids.KeepAlive,
		ids.Transfer, ids.Login, ids.Ping, ids.CookieRequest, ids.StoreCookie, ids.ResourcePackPush, ids.PlayerPosition,
		ids.PluginMessage:
		return true
	}
	return b.settings.intercept != nil
}

func (b *Bot) play(id int32, payload []byte) error {
	ids, answers := b.protocol.PlayClient, b.protocol.PlayServer
	handled, err := b.asked(mcproto.StatePlay, questions{
		cookie: ids.CookieRequest, cookieAnswer: answers.CookieResponse,
		keepAlive: ids.KeepAlive, keepAliveEcho: answers.KeepAlive,
		ping: ids.Ping, pong: answers.Pong,
		pack: ids.ResourcePackPush, packAnswer: answers.ResourcePack,
		storeCookie: ids.StoreCookie, transfer: ids.Transfer,
	}, id, payload)
	if handled || err != nil {
		return err
	}
	switch id {
	case ids.Bundle:
		b.inBundle = !b.inBundle
	case ids.Login:
		return b.joined()
	case ids.StartConfiguration:
		return b.reconfigure()
	case ids.Disconnect:
		return disconnected(mcproto.StatePlay, payload)
	case ids.SystemChat:
		return b.chat(payload)
	case ids.PluginMessage:
		return b.pluginMessage(payload)
	case ids.Suggestions:
		return b.suggested(payload)
	case ids.Commands:
		return b.mayRun(payload)
	case ids.PlayerPosition:
		return b.teleported(payload)
	}
	return nil
}

func (b *Bot) joined() error {
	now := b.settings.Clock.Now()
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.stats.Join == 0:
		b.stats.Join = now.Sub(b.dialled)
		if b.settings.Moves > 0 {
			go b.move()
		}
	case !b.left.IsZero():
		b.stats.Switches = append(b.stats.Switches, now.Sub(b.left))
		b.left = time.Time{}
	}
	b.signal()
	return nil
}

func (b *Bot) reconfigure() error {
	if b.inBundle {
		return unfaithful("the configuration was started inside a bundle")
	}
	b.registries = make(map[string]struct{})
	b.mu.Lock()
	b.left, b.server = b.settings.Clock.Now(), ""
	b.mu.Unlock()
	return b.advance(b.protocol.PlayServer.ConfigurationAck, mcproto.StateConfiguration)
}

func (b *Bot) chat(payload []byte) error {
	text, position, err := mcproto.ParseSystemChat(payload)
	if err != nil {
		return err
	}
	if position != mcproto.InChat {
		return nil
	}
	line := text.String()
	b.mu.Lock()
	defer b.mu.Unlock()
	if server, welcome := strings.CutPrefix(line, WelcomePrefix); welcome {
		b.server = server
	}
	if len(b.lines) < maxLines {
		b.lines = append(b.lines, line)
	}
	b.signal()
	return nil
}

func (b *Bot) suggested(payload []byte) error {
	s, err := mcproto.ParseSuggestions(payload)
	if err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.suggestions[s.ID] = s
	b.signal()
	return nil
}

func (b *Bot) mayRun(payload []byte) error {
	names, err := parseCommandTree(payload)
	if err != nil && !errors.Is(err, errUnknownArgument) {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.commands = names
	b.signal()
	return nil
}

// teleported confirms the position the server has put the player to.
func (b *Bot) teleported(payload []byte) error {
	const idFirstSince = 768
	r := mcproto.NewReader(payload)
	if b.protocol.Number < idFirstSince {
		r.Bytes(3*8 + 2*4 + 1)
	}
	teleport := r.VarInt()
	if err := r.Err(); err != nil {
		return err
	}
	confirm := mcproto.NewWriter().VarInt(teleport).Bytes()
	return b.send(mcproto.StatePlay, b.protocol.PlayServer.TeleportConfirm, confirm)
}

// move sends what a client sends while the player stands.
func (b *Bot) move() {
	ticker := b.settings.Clock.NewTicker(time.Second / time.Duration(b.settings.Moves))
	defer ticker.Stop()
	onGround := []byte{1}
	for {
		select {
		case <-b.done:
			return
		case <-ticker.C():
			// Between two servers there is nothing to move on.
			_ = b.send(mcproto.StatePlay, b.protocol.PlayServer.Move, onGround)
		}
	}
}
