// SPDX-License-Identifier: Apache-2.0

package messages

import (
	"strings"
	"unicode/utf8"

	"github.com/spawnery/spawnery-operator/internal/mcproto"
)

// hexDigits is how many coded digits follow §x.
const hexDigits = 6

// Legacy turns text with § codes, as plugins write it, into a component. §x and
// six coded digits are a colour of any kind. Nothing else in it has a meaning.
func Legacy(text string) mcproto.Text {
	m := markup{open: []tag{{}}}
	for {
		plain, coded, found := strings.Cut(text, string(legacySign))
		m.now.WriteString(plain)
		if !found {
			return m.whole()
		}
		m.flush()
		code, size := utf8.DecodeRuneInString(coded)
		text = coded[size:]
		inner := &m.open[0]
		if color, rest, isHex := hexIn(code, text); isHex {
			inner.style, text = mcproto.Text{Color: color}, rest
			continue
		}
		inner.style = restyle(inner.style, code)
	}
}

// hexIn takes §1§2§3§4§5§6 after §x.
func hexIn(code rune, text string) (string, string, bool) {
	if code != 'x' && code != 'X' {
		return "", text, false
	}
	color, rest := "#", text
	for range hexDigits {
		digit, isCoded := strings.CutPrefix(rest, string(legacySign))
		if !isCoded || digit == "" {
			return "", text, false
		}
		color, rest = color+strings.ToLower(digit[:1]), digit[1:]
	}
	return color, rest, hexColor.MatchString(color)
}
