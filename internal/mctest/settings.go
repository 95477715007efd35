// SPDX-License-Identifier: Apache-2.0

// Package mctest plays the other side of a Minecraft connection in tests: a
// game server as strict as Paper, a session server, and bots that behave as
// the game's client does. The server double is also a program, which stands in
// for a real server in clusters that have none.
package mctest

import (
	"cmp"
	"io"
	"time"

	"k8s.io/utils/clock"

	"github.com/spawnery/spawnery-operator/internal/mcproto"
)

// Authentication is the server's own mode, server.properties' online-mode.
type Authentication int

// The modes. A server behind a proxy is offline: the proxy authenticates.
const (
	Offline Authentication = iota
	Online
)

// StatusReplies says whether the server list is answered, server.properties'
// enable-status.
type StatusReplies int

// The replies.
const (
	AnswerStatus StatusReplies = iota
	IgnoreStatus
)

// Settings describe a server double. The zero value is a strict server on a
// free port of the loopback interface.
type Settings struct {
	Name       string // shown in the welcome message; "double" if empty
	Address    string // host:port to listen on
	Directory  string // where the world is kept; nowhere if empty
	Operators  string // the file that lists who may stop the server; nobody may if empty
	MaxPlayers int    // 20 if 0

	Authentication Authentication
	SessionServer  string // base URL for online mode; without one nobody can join

	// ForwardingSecret makes the server ask proxies who a player is. Empty: it
	// believes every name.
	ForwardingSecret string
	// Threshold is the compression threshold: 256 if 0, none if negative.
	Threshold int

	Management *ManagementSettings // nil: no management protocol

	Rows *mcproto.Protocols // known beside the built-in table; none if nil

	Off    Switch // what the server does not do
	Status StatusReplies

	KeepAlive    time.Duration // between keep-alives; 10 s if 0
	Timeout      time.Duration // of a silent client or a slow login; 30 s if 0
	StartupDelay time.Duration // before the world is loaded
	SaveDelay    time.Duration // of each save
	FlushDelay   time.Duration // more of it, of one that finds the world changed since the last
	Traffic      Traffic
	World        World

	// JoinMessages are what plugins send from their join event, over the
	// connection of whoever joins.
	JoinMessages []mcproto.PluginMessage

	Log   io.Writer // the server's console; nowhere if nil
	Clock clock.WithTicker
}

// tableWith is the built-in table of protocols with some rows more.
func tableWith(rows *mcproto.Protocols) (*mcproto.Protocols, error) {
	table, err := mcproto.DefaultProtocols()
	if err != nil || rows == nil {
		return table, err
	}
	return table.With(rows), nil
}

// ManagementSettings turn the management protocol on.
type ManagementSettings struct {
	Address string // host:port; a free port of the loopback interface if empty
	Secret  string
}

// Traffic is what the server sends to each player in play, per second.
type Traffic struct {
	Small int // packets of 20 bytes
	Large int // packets of 8 KiB that hardly compress
}

// World is what everybody is sent who joins, before they are greeted.
type World struct {
	Bytes   int // none if 0
	Content WorldContent
}

// WorldContent says how well a world compresses.
type WorldContent int

// The contents.
const (
	// Terrain shrinks to about a third, as chunks of the game do.
	Terrain WorldContent = iota
	// Noise does not shrink.
	Noise
)

const (
	defaultKeepAlive = 10 * time.Second
	defaultTimeout   = 30 * time.Second
	defaultThreshold = 256
	loopback         = "127.0.0.1:0"
)

func (s Settings) withDefaults() Settings {
	s.Name = cmp.Or(s.Name, "double")
	s.Address = cmp.Or(s.Address, loopback)
	s.MaxPlayers = cmp.Or(s.MaxPlayers, 20)
	s.Threshold = max(cmp.Or(s.Threshold, defaultThreshold), mcproto.NoCompression)
	s.KeepAlive = cmp.Or(s.KeepAlive, defaultKeepAlive)
	s.Timeout = cmp.Or(s.Timeout, defaultTimeout)
	if s.Log == nil {
		s.Log = io.Discard
	}
	if s.Clock == nil {
		s.Clock = clock.RealClock{}
	}
	return s
}

func (s Settings) on(what Switch) bool { return s.Off&what == 0 }

// Stage is a moment of a join at which a server can refuse a player.
type Stage int

// The stages in their order.
const (
	// AtLogin is before Login Success: full, banned, not on the list.
	AtLogin Stage = iota
	// AtConfiguration is before the first registry packet.
	AtConfiguration
	// AfterRegistries is in the configuration, when the client already holds
	// registries it cannot take twice.
	AfterRegistries
	// AtConfigurationEnd is after the client's last word of the configuration:
	// the refusal is the first packet of play.
	AtConfigurationEnd
	// AtPlay is right after the player has joined.
	AtPlay
)
