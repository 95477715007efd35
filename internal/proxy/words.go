// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"github.com/spawnery/spawnery-operator/internal/mcproto"
	"github.com/spawnery/spawnery-operator/internal/proxy/configmaps"
	"github.com/spawnery/spawnery-operator/internal/proxy/directory"
	"github.com/spawnery/spawnery-operator/internal/proxy/messages"
)

// words are the network's own, as they are at the moment.
type words struct {
	given *configmaps.Reader
	store *directory.Store
}

// Render implements session.Words.
func (w words) Render(locale string, text mcproto.Text) mcproto.Text {
	fallback := w.store.View().Settings.GetFallbackLocale()
	return w.given.Content().Translations.Render(messages.Languages{Own: locale, Fallback: fallback}, text)
}

// early renders for whoever is sent away before their language is known.
func (w words) early(text mcproto.Text) mcproto.Text { return w.Render("", text) }
