// SPDX-License-Identifier: Apache-2.0

package messages

import (
	"regexp"
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

// colors are the names that tags may have, with their other spellings.
var colors = func() map[string]string {
	names := map[string]string{"grey": "gray", "dark_grey": "dark_gray"}
	for _, name := range legacyColors {
		names[name] = name
	}
	return names
}()

var formats = map[string]mcproto.Format{
	"bold": mcproto.Bold, "b": mcproto.Bold,
	"italic": mcproto.Italic, "i": mcproto.Italic, "em": mcproto.Italic,
	"underlined": mcproto.Underlined, "u": mcproto.Underlined,
	"strikethrough": mcproto.Strikethrough, "st": mcproto.Strikethrough,
	"obfuscated": mcproto.Obfuscated, "obf": mcproto.Obfuscated,
}

var hexColor = regexp.MustCompile(`^#[0-9a-f]{6}$`)

// Markup turns text in a subset of MiniMessage into a component: colours by name
// or <#rrggbb>, decorations, <newline>, <reset>, closing tags, and \< for a <.
// Any other tag is text. The § codes that are older than MiniMessage are
// understood as well.
func Markup(text string) mcproto.Text {
	m := markup{open: []tag{{}}}
	for text != "" {
		text = m.step(text)
	}
	return m.whole()
}

// tag is one that is open, and the style of the text in it.
type tag struct {
	name  string
	style mcproto.Text
}

type markup struct {
	open  []tag // the first is no tag: what is outside of all
	now   strings.Builder
	parts []mcproto.Text
}

// step takes one code, tag or stretch of plain text.
func (m *markup) step(text string) string {
	switch {
	case strings.HasPrefix(text, `\<`):
		m.now.WriteByte('<')
		return text[2:]
	case text[0] == '<':
		if name, rest, ok := strings.Cut(text[1:], ">"); ok && m.take(strings.ToLower(name)) {
			return rest
		}
		m.now.WriteByte('<')
		return text[1:]
	case strings.HasPrefix(text, string(legacySign)):
		rest := text[len(string(legacySign)):]
		code, size := utf8.DecodeRuneInString(rest)
		m.flush()
		inner := &m.open[len(m.open)-1]
		inner.style = restyle(inner.style, code)
		return rest[size:]
	}
	plain := strings.IndexAny(text[1:], `\<`+string(legacySign)) + 1
	if plain == 0 {
		plain = len(text)
	}
	m.now.WriteString(text[:plain])
	return text[plain:]
}

// take opens or closes a tag; false: there is none of that name.
func (m *markup) take(name string) bool {
	style := m.open[len(m.open)-1].style
	color, isColor := colors[strings.TrimPrefix(strings.TrimPrefix(name, "color:"), "c:")]
	if hex := strings.TrimPrefix(strings.TrimPrefix(name, "color:"), "c:"); hexColor.MatchString(hex) {
		color, isColor = hex, true
	}
	switch {
	case name == "newline" || name == "br":
		m.now.WriteByte('\n')
		return true
	case name == "reset":
		m.flush()
		m.open = m.open[:1]
		m.open[0].style = mcproto.Text{}
		return true
	case strings.HasPrefix(name, "/"):
		return m.shut(name[1:])
	case isColor:
		style.Color = color
	case formats[name] != 0:
		style.Format |= formats[name]
	default:
		return false
	}
	m.flush()
	m.open = append(m.open, tag{name, style})
	return true
}

// shut closes the innermost tag of a name, and those in it.
func (m *markup) shut(name string) bool {
	for i := len(m.open) - 1; i > 0; i-- {
		if m.open[i].name == name {
			m.flush()
			m.open = m.open[:i]
			return true
		}
	}
	return false
}

// flush ends a stretch of one style.
func (m *markup) flush() {
	if m.now.Len() == 0 {
		return
	}
	part := m.open[len(m.open)-1].style
	part.Text = m.now.String()
	m.now.Reset()
	m.parts = append(m.parts, part)
}

// whole is one component: text without a style first, then the parts.
func (m *markup) whole() mcproto.Text {
	m.flush()
	whole := mcproto.Text{}
	if len(m.parts) > 0 && m.parts[0].Color == "" && m.parts[0].Format == 0 {
		whole.Text = m.parts[0].Text
		m.parts = m.parts[1:]
	}
	if len(m.parts) > 0 {
		whole.Extra = m.parts
	}
	return whole
}

// restyle applies a code: a colour also ends every format before it. A code that
// does not exist is left out, as the game does.
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
