// SPDX-License-Identifier: Apache-2.0

package messages

import (
	"strings"
	"unicode/utf8"

	"github.com/spawnery/spawnery-operator/internal/mcproto"
)

// legacySign begins a formatting code in texts as owners have written them for
// many years.
const legacySign = '§'

var legacyColors = map[rune]string{
	'0': "black", '1': "dark_blue", '2': "dark_green", '3': "dark_aqua",
	'4': "dark_red", '5': "dark_purple", '6': "gold", '7': "gray",
	'8': "dark_gray", '9': "blue", 'a': "green", 'b': "aqua",
	'c': "red", 'd': "light_purple", 'e': "yellow", 'f': "white",
}

var legacyFormats = map[rune]mcproto.Format{
	'k': mcproto.Obfuscated, 'l': mcproto.Bold, 'm': mcproto.Strikethrough,
	'n': mcproto.Underlined, 'o': mcproto.Italic,
}

// Legacy turns text with § codes into a component without them. A code that
// does not exist is left out, as the game does; text without codes stays plain.
func Legacy(text string) mcproto.Text {
	before, rest, found := strings.Cut(text, string(legacySign))
	if !found {
		return mcproto.Plain(text)
	}
	whole, style := mcproto.Plain(before), mcproto.Text{}
	for {
		code, size := utf8.DecodeRuneInString(rest)
		style = restyle(style, code)
		part, after, more := strings.Cut(rest[size:], string(legacySign))
		if part != "" {
			style.Text = part
			whole.Extra = append(whole.Extra, style)
		}
		if !more {
			return whole
		}
		rest = after
	}
}

// restyle applies a code: a colour also ends every format before it.
func restyle(style mcproto.Text, code rune) mcproto.Text {
	if 'A' <= code && code <= 'Z' {
		code += 'a' - 'A'
	}
	if color, ok := legacyColors[code]; ok {
		return mcproto.Text{Color: color}
	}
	if code == 'r' {
		return mcproto.Text{}
	}
	style.Format |= legacyFormats[code]
	return style
}
