// SPDX-License-Identifier: Apache-2.0

package mcproto

import (
	"fmt"
	"strconv"
)

// Text is a chat component. Text and Translate exclude each other; a component
// with neither is empty text.
type Text struct {
	Text string
	// Translate is a key of the client's language file; Fallback is shown by
	// clients that do not have it, with the arguments of With.
	Translate string
	Fallback  string
	With      []Text

	Color  string // a colour's name or #rrggbb; empty: inherited
	Format Format
	Click  Click
	Hover  *Text // shown under the mouse
	Extra  []Text
}

// Format is a set of decorations.
type Format uint8

// The decorations.
const (
	Bold Format = 1 << iota
	Italic
	Underlined
	Strikethrough
	Obfuscated
)

var formatNames = []struct {
	format Format
	name   string
}{
	{Bold, "bold"},
	{Italic, "italic"},
	{Underlined, "underlined"},
	{Strikethrough, "strikethrough"},
	{Obfuscated, "obfuscated"},
}

// Click is what a click on a component does; the zero value does nothing.
type Click struct {
	Action ClickAction
	Value  string // a command with its slash, a URL or a text
}

// ClickAction is a kind of click.
type ClickAction string

// The clicks that servers may attach.
const (
	RunCommand      ClickAction = "run_command"
	SuggestCommand  ClickAction = "suggest_command"
	OpenURL         ClickAction = "open_url"
	CopyToClipboard ClickAction = "copy_to_clipboard"
)

// Plain is a component of text alone.
func Plain(text string) Text { return Text{Text: text} }

const (
	// snakeCaseEvents is the first protocol that calls the events click_event
	// and hover_event and names their values by kind.
	snakeCaseEvents = 770
	maxTextDepth    = 64
	// maxTextParts bounds the components of one text, so that a reason sent by
	// a server cannot become arbitrarily expensive.
	maxTextParts = 4096
)

// tree is the component as both encodings see it: maps, lists, strings and
// booleans.
func (t Text) tree(protocol int32) map[string]any {
	m := make(map[string]any)
	put := func(key, value string) {
		if value != "" {
			m[key] = value
		}
	}
	if t.Translate != "" {
		m["translate"] = t.Translate
		put("fallback", t.Fallback)
		putTrees(m, "with", t.With, protocol)
	} else {
		m["text"] = t.Text
	}
	put("color", t.Color)
	for _, f := range formatNames {
		if t.Format&f.format != 0 {
			m[f.name] = true
		}
	}
	putTrees(m, "extra", t.Extra, protocol)
	t.putEvents(m, protocol)
	return m
}

func putTrees(m map[string]any, key string, parts []Text, protocol int32) {
	if len(parts) == 0 {
		return
	}
	list := make([]any, len(parts))
	for i, part := range parts {
		list[i] = part.tree(protocol)
	}
	m[key] = list
}

func (t Text) putEvents(m map[string]any, protocol int32) {
	clickKey, hoverKey, hoverValue := "click_event", "hover_event", "value"
	if protocol < snakeCaseEvents {
		clickKey, hoverKey, hoverValue = "clickEvent", "hoverEvent", "contents"
	}
	if t.Click.Action != "" {
		m[clickKey] = map[string]any{
			"action":                             string(t.Click.Action),
			clickValue(t.Click.Action, protocol): t.Click.Value,
		}
	}
	if t.Hover != nil {
		m[hoverKey] = map[string]any{"action": "show_text", hoverValue: t.Hover.tree(protocol)}
	}
}

func clickValue(action ClickAction, protocol int32) string {
	if protocol < snakeCaseEvents {
		return "value"
	}
	switch action {
	case RunCommand, SuggestCommand:
		return "command"
	case OpenURL:
		return "url"
	case CopyToClipboard:
		return "value"
	}
	return "value"
}

// textParser builds a Text from a decoded tree and counts what it builds.
type textParser struct{ parts int }

func parseTree(v any) (Text, error) {
	p := &textParser{}
	return p.text(v, maxTextDepth)
}

func (p *textParser) text(v any, depth int) (Text, error) {
	p.parts++
	if depth == 0 || p.parts > maxTextParts {
		return Text{}, fmt.Errorf("%w: text component is too deep or too large", ErrMalformed)
	}
	switch v := v.(type) {
	case string:
		return Plain(v), nil
	case bool:
		return Plain(strconv.FormatBool(v)), nil
	case float64:
		return Plain(strconv.FormatFloat(v, 'f', -1, 64)), nil
	case []any:
		return p.list(v, depth)
	case map[string]any:
		return p.object(v, depth)
	}
	return Text{}, fmt.Errorf("%w: text component of type %T", ErrMalformed, v)
}

// list is the first component with the others appended: they inherit from it.
func (p *textParser) list(list []any, depth int) (Text, error) {
	parts, err := p.texts(list, depth)
	if err != nil || len(parts) == 0 {
		return Text{}, err
	}
	first := parts[0]
	first.Extra = append(first.Extra, parts[1:]...)
	return first, nil
}

func (p *textParser) texts(v any, depth int) ([]Text, error) {
	list, ok := v.([]any)
	if !ok {
		return nil, nil
	}
	texts := make([]Text, 0, len(list))
	for _, element := range list {
		t, err := p.text(element, depth-1)
		if err != nil {
			return nil, err
		}
		texts = append(texts, t)
	}
	return texts, nil
}

func (p *textParser) object(m map[string]any, depth int) (Text, error) {
	if only, ok := m[""]; ok && len(m) == 1 {
		// A list of mixed types wraps those that are not compounds.
		return p.text(only, depth-1)
	}
	t := Text{Color: stringIn(m, "color"), Translate: stringIn(m, "translate"), Fallback: stringIn(m, "fallback")}
	if t.Translate == "" {
		t.Fallback = ""
		t.Text = firstString(m, "text", "keybind", "selector")
	}
	for _, f := range formatNames {
		if truth(m[f.name]) {
			t.Format |= f.format
		}
	}
	var err error
	if t.With, err = p.texts(m["with"], depth); err != nil {
		return Text{}, err
	}
	if t.Translate == "" {
		t.With = nil
	}
	if t.Extra, err = p.texts(m["extra"], depth); err != nil {
		return Text{}, err
	}
	t.Click = clickIn(m)
	t.Hover, err = p.hover(m, depth)
	return t, err
}

func (p *textParser) hover(m map[string]any, depth int) (*Text, error) {
	event, ok := firstMap(m, "hover_event", "hoverEvent")
	if !ok || stringIn(event, "action") != "show_text" {
		return nil, nil
	}
	shown, ok := event["value"]
	if !ok {
		shown, ok = event["contents"]
	}
	if !ok {
		return nil, nil
	}
	t, err := p.text(shown, depth-1)
	return &t, err
}

func clickIn(m map[string]any) Click {
	event, ok := firstMap(m, "click_event", "clickEvent")
	if !ok {
		return Click{}
	}
	action := ClickAction(stringIn(event, "action"))
	switch action {
	case RunCommand, SuggestCommand, OpenURL, CopyToClipboard:
		return Click{Action: action, Value: firstString(event, "value", "command", "url")}
	}
	return Click{}
}

func stringIn(m map[string]any, key string) string {
	s, _ := m[key].(string)
	return s
}

func firstString(m map[string]any, keys ...string) string {
	for _, key := range keys {
		if s := stringIn(m, key); s != "" {
			return s
		}
	}
	return ""
}

func firstMap(m map[string]any, keys ...string) (map[string]any, bool) {
	for _, key := range keys {
		if inner, ok := m[key].(map[string]any); ok {
			return inner, true
		}
	}
	return nil, false
}

func truth(v any) bool {
	switch v := v.(type) {
	case bool:
		return v
	case float64:
		return v != 0
	}
	return false
}
