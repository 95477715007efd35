// SPDX-License-Identifier: Apache-2.0

package mctest

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/spawnery/spawnery-operator/internal/mcproto"
)

// task is what the configuration waits for. An answer that belongs to another
// task is what Paper throws on.
type task int

const (
	taskNone task = iota
	taskKnownPacks
	taskResourcePack
	taskPong
	taskFinish
)

var taskNames = [...]string{"none", "synchronize_registries", "server_resource_pack", "ping", "join_world"}

func (t task) String() string { return taskNames[t] }

const (
	brand         = "Paper"
	packURL       = "http://127.0.0.1:9/double.zip" // nothing listens there
	maxChannels   = 1024
	maxReceived   = 1024
	maxPayload    = 32767
	configurePing = 4711
)

// configure ends with the client's acknowledgement, in play.
func (p *session) configure() error {
	steps := []func() error{
		func() error { return p.server.refusal(AtConfiguration) },
		p.sendBrand,
		p.synchronizeRegistries,
		func() error { return p.server.refusal(AfterRegistries) },
		p.pushConfigurationPack,
		p.pingConfiguration,
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	if err := p.sendLast(mcproto.StateConfiguration, p.protocol.ConfigClient.Finish); err != nil {
		return err
	}
	if err := p.await(taskFinish); err != nil {
		return err
	}
	p.enter(mcproto.StatePlay)
	return errors.Join(p.server.refusal(AtConfigurationEnd), p.server.admit(p.profile))
}

func (p *session) sendBrand() error {
	message := mcproto.PluginMessage{Channel: mcproto.BrandChannel, Data: mcproto.NewWriter().String(brand).Bytes()}
	return p.send(mcproto.StateConfiguration, p.protocol.ConfigClient.PluginMessage, message.Payload())
}

// synchronizeRegistries sends entries without their data to a client that
// knows the packs they come from, and in full to every other.
func (p *session) synchronizeRegistries() error {
	if !p.server.settings.on(SendRegistries) {
		return nil
	}
	ids := p.protocol.ConfigClient
	if err := p.send(mcproto.StateConfiguration, ids.FeatureFlags, p.game.Features); err != nil {
		return err
	}
	if err := p.send(mcproto.StateConfiguration, ids.KnownPacks, knownPacksPayload(p.game.Packs)); err != nil {
		return err
	}
	if err := p.await(taskKnownPacks); err != nil {
		return err
	}
	payload, err := p.frame.Payload()
	if err != nil {
		return err
	}
	known, err := parseKnownPacks(payload)
	if err != nil {
		return err
	}
	for _, registry := range p.game.Registries {
		data := registry.Full
		if slices.Equal(known, p.game.Packs) {
			data = registry.Known
		}
		if err := p.send(mcproto.StateConfiguration, ids.RegistryData, data); err != nil {
			return err
		}
	}
	return p.send(mcproto.StateConfiguration, ids.Tags, p.game.Tags)
}

func (p *session) pushConfigurationPack() error {
	if !p.server.settings.on(PushPack) {
		return nil
	}
	push := mcproto.ResourcePackPush{ID: uuid.New(), URL: packURL, Hash: strings.Repeat("0", 40)}
	err := p.sendAfter(mcproto.StateConfiguration, p.protocol.ConfigClient.ResourcePackPush, push.Payload(), func() {
		p.packs[push.ID] = struct{}{}
	})
	if err != nil {
		return err
	}
	return p.await(taskResourcePack)
}

func (p *session) pingConfiguration() error {
	if !p.server.settings.on(PingClient) {
		return nil
	}
	ping := mcproto.NewWriter().Int32(configurePing).Bytes()
	err := p.sendAfter(mcproto.StateConfiguration, p.protocol.ConfigClient.Ping, ping, func() {
		p.pings[configurePing] = struct{}{}
	})
	if err != nil {
		return err
	}
	return p.await(taskPong)
}

// await reads until the client has done the task; the packet that did it is in
// p.frame.
func (p *session) await(current task) error {
	for {
		id, payload, err := p.read()
		if err != nil {
			return err
		}
		p.server.hang.over()
		finished, err := p.configurationPacket(current, id, payload)
		if err != nil {
			return err
		}
		if finished == current {
			return nil
		}
	}
}

// reports are the packets a client sends in configuration and play alike.
type reports struct{ information, cookie, message, keepAlive, pong int32 }

// reported handles what is the same in configuration and play, and reports
// whether the packet was that.
func (p *session) reported(ids reports, id int32, payload []byte) (bool, error) {
	switch id {
	case ids.information:
		return true, p.clientInformation(payload)
	case ids.cookie:
		return true, p.cookieResponse(payload)
	case ids.message:
		return true, p.pluginMessage(payload)
	case ids.keepAlive:
		return true, p.keepAliveAnswer(payload)
	case ids.pong:
		return true, p.pong(payload)
	}
	return false, nil
}

// configurationPacket handles one packet and says which task it ends.
func (p *session) configurationPacket(current task, id int32, payload []byte) (task, error) {
	ids := p.protocol.ConfigServer
	handled, err := p.reported(reports{
		information: ids.ClientInformation, cookie: ids.CookieResponse, message: ids.PluginMessage,
		keepAlive: ids.KeepAlive, pong: ids.Pong,
	}, id, payload)
	if err != nil {
		return taskNone, err
	}
	switch id {
	case ids.Pong:
		return taskPong, nil
	case ids.KnownPacks:
		return taskKnownPacks, p.inTask(current, taskKnownPacks, UnaskedKnownPacks)
	case ids.Finish:
		if current != taskFinish {
			return taskNone, fmt.Errorf("%w: unexpected request for task finish, current task: %s, requested: %s",
				mcproto.ErrMalformed, current, taskFinish)
		}
		return taskFinish, nil
	case ids.ResourcePack:
		final, err := p.packStatus(payload)
		if err != nil || !final {
			return taskNone, err
		}
		return taskResourcePack, p.inTask(current, taskResourcePack, UnaskedResourcePack)
	case ids.CustomClick, ids.AcceptCodeOfConduct:
		return taskNone, nil
	}
	if !handled {
		return taskNone, fmt.Errorf("%w: packet %#x in configuration", mcproto.ErrMalformed, id)
	}
	return taskNone, nil
}

// inTask is the check Paper makes when an answer would end a task.
func (p *session) inTask(current, requested task, rule Switch) error {
	if current == requested || !p.server.settings.on(rule) {
		return nil
	}
	return &broken{rule, fmt.Sprintf("Unexpected request for task finish, current task: %s, requested: %s", current, requested)}
}

func (p *session) clientInformation(payload []byte) error {
	info, err := mcproto.ParseClientInformation(payload)
	p.mu.Lock()
	p.locale = info.Locale
	p.mu.Unlock()
	return err
}

func (p *session) cookieResponse(payload []byte) error {
	cookie, err := mcproto.ParseCookieResponse(payload)
	if err != nil {
		return err
	}
	p.mu.Lock()
	_, asked := p.cookies[cookie.Key]
	delete(p.cookies, cookie.Key)
	if asked {
		p.given[cookie.Key] = cookie.Value
	}
	p.mu.Unlock()
	if !asked && p.server.settings.on(UnaskedCookie) {
		return &broken{UnaskedCookie, fmt.Sprintf("cookie %q was not asked for", cookie.Key)}
	}
	return nil
}

func (p *session) pong(payload []byte) error {
	id, err := mcproto.ParsePing(payload)
	if err != nil {
		return err
	}
	p.mu.Lock()
	_, asked := p.pings[id]
	delete(p.pings, id)
	p.mu.Unlock()
	if !asked && p.server.settings.on(UnaskedPong) {
		return &broken{UnaskedPong, fmt.Sprintf("pong %d without its ping", id)}
	}
	return nil
}

// packStatus reports whether the status is the last one of its pack.
func (p *session) packStatus(payload []byte) (bool, error) {
	status, err := mcproto.ParseResourcePackStatus(payload)
	if err != nil {
		return false, err
	}
	final := status.Result != mcproto.PackAccepted && status.Result != mcproto.PackDownloaded
	p.mu.Lock()
	_, asked := p.packs[status.ID]
	if final {
		delete(p.packs, status.ID)
	}
	p.mu.Unlock()
	if !asked {
		if p.server.settings.on(UnaskedResourcePack) {
			return false, &broken{UnaskedResourcePack, fmt.Sprintf("status for resource pack %s, which this server has not pushed", status.ID)}
		}
		return false, nil
	}
	return final, nil
}

// pluginMessage keeps what clients announce about themselves, and what plugins
// of the server would get.
func (p *session) pluginMessage(payload []byte) error {
	message, err := mcproto.ParsePluginMessage(payload)
	if err != nil {
		return err
	}
	if len(message.Data) > maxPayload && p.server.settings.on(PayloadMaximum) {
		return &broken{PayloadMaximum, fmt.Sprintf("Payload may not be larger than %d bytes", maxPayload)}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	switch message.Channel {
	case mcproto.BrandChannel:
		p.brand = mcproto.NewReader(message.Data).String(mcproto.MaxStringChars)
	case mcproto.RegisterChannel:
		for name := range strings.SplitSeq(string(message.Data), "\x00") {
			if len(p.channels) < maxChannels {
				p.channels[name] = struct{}{}
			}
		}
	case mcproto.UnregisterChannel:
		for name := range strings.SplitSeq(string(message.Data), "\x00") {
			delete(p.channels, name)
		}
	}
	if len(p.received) < maxReceived {
		message.Data = slices.Clone(message.Data)
		p.received = append(p.received, message)
	}
	return nil
}
