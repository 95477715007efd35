// SPDX-License-Identifier: Apache-2.0

package session

import (
	"bytes"
	"slices"
	"strings"
	"sync"

	"github.com/spawnery/spawnery-operator/internal/mcproto"
	"github.com/spawnery/spawnery-operator/internal/proxy/bungee"
)

const (
	// maxChannels and maxChannelLength bound what a client may register.
	maxChannels      = 256
	maxChannelLength = 128
	// maxBrand bounds a brand that is kept for the next server.
	maxBrand = 1 << 10
	// maxEarly and maxEarlyBytes bound the plugin messages a client sends
	// before a server is there to take them.
	maxEarly      = 64
	maxEarlyBytes = 64 << 10
)

// habits is what a client says about itself once per connection and what each
// server it comes to wants to hear. mu also orders it against the moment a
// server is attached: nothing is missed, nothing said twice.
type habits struct {
	mu          sync.Mutex
	information []byte   // payload of the last client information
	brand       []byte   // payload of the brand
	channels    []string // registered, in order
	early       [][]byte // plugin messages that no server has had yet
	earlyBytes  int
}

// reserved reports whether a channel, or a cookie, belongs to the proxies: a
// client that sends on it claims to be one.
func reserved(channel string) bool {
	return channel == bungee.Channel || channel == bungee.LegacyChannel || strings.HasPrefix(channel, "spawnery:")
}

// spoken is what a server hears of a client's message. A client that takes back a
// channel of the proxy's would have the server's plugins fall silent.
func spoken(m mcproto.PluginMessage) mcproto.PluginMessage {
	if m.Channel != mcproto.RegisterChannel && m.Channel != mcproto.UnregisterChannel {
		return m
	}
	listed := strings.Split(string(m.Data), "\x00")
	own := slices.DeleteFunc(slices.Clone(listed), reserved)
	if len(own) < len(listed) {
		m.Data = []byte(strings.Join(own, "\x00"))
	}
	return m
}

// hear takes in a plugin message and reports whether a server that is attached
// gets it too. The caller holds mu.
func (h *habits) hear(m mcproto.PluginMessage, payload []byte) bool {
	switch {
	case reserved(m.Channel):
		return false
	case m.Channel == mcproto.BrandChannel:
		if len(payload) <= maxBrand {
			h.brand = bytes.Clone(payload)
		}
	case m.Channel == mcproto.RegisterChannel:
		h.register(m.Data)
	case m.Channel == mcproto.UnregisterChannel:
		gone := channelsIn(m.Data)
		h.channels = slices.DeleteFunc(h.channels, func(c string) bool { return slices.Contains(gone, c) })
	}
	return true
}

func (h *habits) register(list []byte) {
	for _, channel := range channelsIn(list) {
		if channel == "" || len(channel) > maxChannelLength || len(h.channels) == maxChannels || slices.Contains(h.channels, channel) {
			continue
		}
		// A part of the list would keep all of it in memory.
		h.channels = append(h.channels, strings.Clone(channel))
	}
}

// channelsIn are the channels that a message lists. Each is compared with all
// that are registered: of a list of many thousands only the first are taken.
func channelsIn(list []byte) []string {
	channels := strings.SplitN(string(list), "\x00", maxChannels+1)
	return channels[:min(len(channels), maxChannels)]
}

// keepEarly keeps a message for the first server. The brand and channels are
// kept anyway. The caller holds mu.
func (h *habits) keepEarly(m mcproto.PluginMessage, payload []byte) {
	switch m.Channel {
	case mcproto.BrandChannel, mcproto.RegisterChannel, mcproto.UnregisterChannel:
		return
	}
	if len(h.early) == maxEarly || h.earlyBytes+len(payload) > maxEarlyBytes {
		return
	}
	h.early = append(h.early, bytes.Clone(payload))
	h.earlyBytes += len(payload)
}

// tell queues all of it for a server that has just been attached. The caller
// holds mu.
func (h *habits) tell(conn *mcproto.Conn, p *mcproto.Protocol) error {
	type packet struct {
		id      int32
		payload []byte
	}
	var packets []packet
	if h.information != nil {
		packets = append(packets, packet{p.ConfigServer.ClientInformation, h.information})
	}
	if h.brand != nil {
		packets = append(packets, packet{p.ConfigServer.PluginMessage, h.brand})
	}
	// The proxy's own channel first, for the servers' plugins to talk to it on.
	channels := strings.Join(append([]string{bungee.Channel}, h.channels...), "\x00")
	m := mcproto.PluginMessage{Channel: mcproto.RegisterChannel, Data: []byte(channels)}
	packets = append(packets, packet{p.ConfigServer.PluginMessage, m.Payload()})
	for _, payload := range h.early {
		packets = append(packets, packet{p.ConfigServer.PluginMessage, payload})
	}
	h.early, h.earlyBytes = nil, 0
	for _, out := range packets {
		if err := conn.QueuePacket(out.id, out.payload); err != nil {
			return err
		}
	}
	return nil
}
