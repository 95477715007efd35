// SPDX-License-Identifier: Apache-2.0

package mctest

import "strings"

// Switch is a set of things the server double does because Paper, or a plugin
// on it, does them. All of them are on unless Settings.Off names them.
type Switch uint

// The rules whose breach ends the connection, and the habits that make a peer
// follow them.
const (
	// UnaskedKeepAlive rejects an answer to a keep-alive that was not sent.
	UnaskedKeepAlive Switch = 1 << iota
	// UnaskedResourcePack rejects a status for a pack outside the task that
	// pushed it.
	UnaskedResourcePack
	// UnaskedKnownPacks rejects known packs outside the task that asked.
	UnaskedKnownPacks
	// UnaskedPong rejects a pong without its ping.
	UnaskedPong
	// UnaskedCookie rejects a cookie that was not asked for.
	UnaskedCookie
	// UnregisteredChannels drops plugin messages to a client that has not
	// registered their channel, without a word.
	UnregisteredChannels
	// PayloadMaximum rejects a plugin message that is longer than servers take.
	PayloadMaximum
	// CompressionMinimum rejects a packet compressed below the threshold.
	CompressionMinimum
	// ForwardingRequired refuses a login without valid forwarding when the
	// server has a forwarding secret.
	ForwardingRequired

	// SendRegistries sends known packs, registries, features and tags.
	SendRegistries
	// AskCookie asks for a cookie during the login, as plugins do.
	AskCookie
	// PushPack pushes a resource pack during the configuration and waits for
	// its end.
	PushPack
	// PingClient pings during the configuration and waits for the pong.
	PingClient

	// everySwitch are all of them.
	everySwitch Switch = 1<<iota - 1
)

// switchNames are the names in the order of the constants.
var switchNames = [...]string{
	"UnaskedKeepAlive", "UnaskedResourcePack", "UnaskedKnownPacks", "UnaskedPong", "UnaskedCookie",
	"UnregisteredChannels", "PayloadMaximum", "CompressionMinimum", "ForwardingRequired",
	"SendRegistries", "AskCookie", "PushPack", "PingClient",
}

// String names the switches of the set; empty for none.
func (s Switch) String() string {
	var names []string
	for i, name := range switchNames {
		if s&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return strings.Join(names, ", ")
}
