// SPDX-License-Identifier: Apache-2.0

package messages

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spawnery/spawnery-operator/internal/mcproto"
)

// Translations are a network's own words for messages, by locale. They are not
// changed once they are in use; nil has none.
type Translations struct {
	locales map[string]map[Key]phrase
}

// Add takes the words of a message in a locale such as de_de, in the subset of
// MiniMessage that Markup knows, with %s or %1$s for the arguments. An error says
// what is wrong with them; then the message has none in that locale.
func (t *Translations) Add(locale string, key Key, words string) error {
	message, known := catalogue[key]
	if !known {
		return fmt.Errorf("there is no message %q", key)
	}
	compiled, err := compile(words, message.Arguments)
	if err != nil {
		return fmt.Errorf("%s: %w", key, err)
	}
	if t.locales == nil {
		t.locales = map[string]map[Key]phrase{}
	}
	locale = normal(locale)
	if t.locales[locale] == nil {
		t.locales[locale] = map[Key]phrase{}
	}
	t.locales[locale][key] = compiled
	return nil
}

// Has reports whether there are words in a locale.
func (t *Translations) Has(locale string) bool { return t != nil && len(t.locales[normal(locale)]) > 0 }

// Languages say whose words somebody reads.
type Languages struct {
	// Own is the player's locale as the client says it; empty: not known yet.
	Own string
	// Fallback is that of players for whom there are no words.
	Fallback string
}

// Render puts the network's words in place of the messages in a text: those of
// the player's locale, else of another of the same language, else of the fallback
// locale. A message without words stays a translatable component with its
// built-in fallback, so that a resource pack may translate it.
func (t *Translations) Render(who Languages, text mcproto.Text) mcproto.Text {
	if t == nil || len(t.locales) == 0 {
		return text
	}
	r := rendering{words: t.chain(who), steps: maxSteps, room: maxRoom}
	if !r.concerns(text, maxDepth) {
		return text
	}
	return r.text(text, maxDepth)
}

// chain are the words that count for somebody, the first first.
func (t *Translations) chain(who Languages) []map[Key]phrase {
	var chain []map[Key]phrase
	add := func(locale string) {
		if words := t.locales[locale]; len(words) > 0 {
			chain = append(chain, words)
		}
	}
	for _, locale := range []string{normal(who.Own), normal(who.Fallback)} {
		language := languageOf(locale)
		add(locale)
		if locale == "" || language == "" {
			continue
		}
		if language != locale {
			add(language)
		}
		for _, other := range slices.Sorted(maps.Keys(t.locales)) {
			if other != locale && other != language && languageOf(other) == language {
				add(other)
			}
		}
	}
	return chain
}

// normal is a locale as the game writes it.
func normal(locale string) string {
	return strings.ReplaceAll(strings.ToLower(locale), "-", "_")
}

func languageOf(locale string) string {
	language, _, _ := strings.Cut(locale, "_")
	return language
}

const (
	// maxWords bounds the words of one message, in bytes.
	maxWords = 2 << 10
	// maxPlaces bounds the places for arguments in them.
	maxPlaces = 16
)

// phrase is the words of one message, cut at the places of its arguments.
type phrase []piece

// piece is a stretch of one style: words, or the argument of that number.
type piece struct {
	style    mcproto.Text
	words    string
	argument int // -1: words
}

// compile reads words.
func compile(words string, arguments []string) (phrase, error) {
	if len(words) > maxWords {
		return nil, fmt.Errorf("it has %d bytes, and at most %d are taken", len(words), maxWords)
	}
	whole := Markup(words)
	parts := append([]mcproto.Text{{Text: whole.Text}}, whole.Extra...)
	c := compiler{arguments: arguments}
	for _, part := range parts {
		if err := c.take(part); err != nil {
			return nil, err
		}
	}
	return c.phrase, nil
}

type compiler struct {
	arguments []string
	phrase    phrase
	next      int
	places    int
}

// take cuts a stretch of one style at its placeholders.
func (c *compiler) take(part mcproto.Text) error {
	style := mcproto.Text{Color: part.Color, Format: part.Format}
	rest, said := part.Text, strings.Builder{}
	flush := func() {
		if said.Len() > 0 {
			c.phrase = append(c.phrase, piece{style: style, words: said.String(), argument: -1})
			said.Reset()
		}
	}
	for {
		before, after, found := strings.Cut(rest, "%")
		said.WriteString(before)
		if !found {
			flush()
			return nil
		}
		number, length := placeholder(after)
		rest = after[length:]
		switch {
		case length == 0:
			said.WriteByte('%')
			continue
		case number == percentSign:
			said.WriteByte('%')
			continue
		case number == nextArgument:
			number = c.next
			c.next++
		}
		if number >= len(c.arguments) {
			return c.surplus(number)
		}
		if c.places++; c.places > maxPlaces {
			return fmt.Errorf("it has more than %d places for arguments", maxPlaces)
		}
		flush()
		c.phrase = append(c.phrase, piece{style: style, argument: number})
	}
}

// surplus says which arguments there are.
func (c *compiler) surplus(number int) error {
	there := "it has none"
	if len(c.arguments) > 0 {
		there = "it has " + strings.Join(c.arguments, ", ")
	}
	return fmt.Errorf("it uses argument %d, and %s", number+1, there)
}

// What placeholder returns instead of a number.
const (
	nextArgument = -1
	percentSign  = -2
)

// placeholder reads what follows a percent sign: the argument from 0 on, and how
// many bytes that took, 0 when the sign stands for itself.
func placeholder(after string) (int, int) {
	switch {
	case strings.HasPrefix(after, "s"):
		return nextArgument, 1
	case strings.HasPrefix(after, "%"):
		return percentSign, 1
	case len(after) >= 3 && '1' <= after[0] && after[0] <= '9' && after[1:3] == "$s":
		return int(after[0] - '1'), 3
	}
	return 0, 0
}

const (
	maxDepth = 64
	maxSteps = 4096
	// maxRoom bounds a rendered text in bytes: a server's reason may name a
	// message again and again, and words an argument.
	maxRoom = 64 << 10
)

// rendering is one text on its way to a player.
type rendering struct {
	words       []map[Key]phrase
	steps, room int
}

func (r *rendering) find(key string) (phrase, bool) {
	for _, words := range r.words {
		if found, ok := words[Key(key)]; ok {
			return found, true
		}
	}
	return nil, false
}

// concerns reports whether a text has a message for which there are words.
func (r *rendering) concerns(text mcproto.Text, depth int) bool {
	if _, ok := r.find(text.Translate); ok {
		return true
	}
	if depth == 0 {
		return false
	}
	inner := func(part mcproto.Text) bool { return r.concerns(part, depth-1) }
	return slices.ContainsFunc(text.With, inner) || slices.ContainsFunc(text.Extra, inner) ||
		text.Hover != nil && inner(*text.Hover)
}

// text renders one component and all in it. What passes a bound is left out.
func (r *rendering) text(text mcproto.Text, depth int) mcproto.Text {
	r.steps--
	r.room -= len(text.Text) + len(text.Translate) + len(text.Fallback)
	if depth == 0 || r.steps < 0 || r.room < 0 {
		return mcproto.Text{}
	}
	if text.Hover != nil {
		text.Hover = new(r.text(*text.Hover, depth-1))
	}
	extra := r.all(text.Extra, depth-1)
	if found, ok := r.find(text.Translate); ok {
		extra = append(r.fill(found, text.With, depth-1), extra...)
		text.Translate, text.Fallback, text.With = "", "", nil
		if first := extra[:min(len(extra), 1)]; len(first) == 1 && isPlain(first[0]) {
			text.Text, extra = first[0].Text, extra[1:]
		}
	}
	text.With, text.Extra = r.all(text.With, depth-1), nil
	if len(extra) > 0 {
		text.Extra = extra
	}
	return text
}

func (r *rendering) all(parts []mcproto.Text, depth int) []mcproto.Text {
	var rendered []mcproto.Text
	for _, part := range parts {
		rendered = append(rendered, r.text(part, depth))
	}
	return rendered
}

// fill puts the arguments into words.
func (r *rendering) fill(words phrase, arguments []mcproto.Text, depth int) []mcproto.Text {
	var parts []mcproto.Text
	for _, one := range words {
		part := one.style
		switch {
		case one.argument < 0:
			part.Text = one.words
			r.room -= len(one.words)
		case one.argument >= len(arguments):
			continue
		default:
			argument := r.text(arguments[one.argument], depth)
			if one.style.Color == "" && one.style.Format == 0 {
				part = argument
			} else {
				part.Extra = []mcproto.Text{argument}
			}
		}
		parts = append(parts, part)
	}
	return parts
}

// isPlain reports whether a component is text and nothing else.
func isPlain(text mcproto.Text) bool {
	return cmp.Or(text.Color, text.Translate) == "" && text.Format == 0 && text.Hover == nil &&
		text.Click == (mcproto.Click{}) && len(text.Extra) == 0
}
