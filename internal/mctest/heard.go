// SPDX-License-Identifier: Apache-2.0

package mctest

import (
	"slices"

	"github.com/spawnery/spawnery-operator/internal/mcproto"
)

// maxHeard bounds the plugin messages that a bot keeps.
const maxHeard = 256

// pluginMessage keeps what plugins of servers send to the client's mods.
func (b *Bot) pluginMessage(payload []byte) error {
	message, err := mcproto.ParsePluginMessage(payload)
	if err != nil {
		return err
	}
	message.Data = slices.Clone(message.Data)
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.heard) < maxHeard {
		b.heard = append(b.heard, message)
	}
	return nil
}

// PluginMessages are those that servers have sent, oldest first.
func (b *Bot) PluginMessages() []mcproto.PluginMessage {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.heard)
}
