// SPDX-License-Identifier: Apache-2.0

package session

import (
	"strings"

	"github.com/spawnery/spawnery-operator/internal/mcproto"
)

// Words puts a network's own words in place of the messages in a text.
type Words interface {
	// Render does so for a player whose game speaks locale; empty: not known yet.
	Render(locale string, text mcproto.Text) mcproto.Text
}

// heard keeps the locale that the client says it has.
func (p *Player) heard(information []byte) {
	if parsed, err := mcproto.ParseClientInformation(information); err == nil {
		// A part of the packet would keep all of it in memory.
		p.locale.Store(new(strings.Clone(parsed.Locale)))
	}
}

// rendered is a text as this player reads it.
func (p *Player) rendered(text mcproto.Text) mcproto.Text {
	if p.world.Words == nil {
		return text
	}
	locale := ""
	if said := p.locale.Load(); said != nil {
		locale = *said
	}
	return p.world.Words.Render(locale, text)
}
