// SPDX-License-Identifier: Apache-2.0

package configmaps

import (
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/proxy/messages"
)

const (
	messagesPart = agentv1alpha1.ConfigPart_CONFIG_PART_MESSAGES

	// usualFallback is the fallback locale of whoever names none: no words in it
	// are no mistake.
	usualFallback = "en_us"
)

// localeName is a locale as the game writes it, or a language.
var localeName = regexp.MustCompile(`^[a-z]{2,8}([_-][a-z0-9]{2,8})?$`)

// words are the translations as they were last found.
type words struct {
	found    mount
	fallback string
	table    *messages.Translations
	problems []*agentv1alpha1.ConfigProblem
}

// look reads them again, and reports whether they are others.
func (w *words) look(dir, fallback string) bool {
	found := read(dir, "messages")
	if w.table != nil && fallback == w.fallback && found.equal(w.found) {
		return false
	}
	*w = words{found: found, fallback: fallback, table: &messages.Translations{}}
	if broken := whole(messagesPart, found); broken != nil {
		w.problems = append(w.problems, broken)
		return true
	}
	origin := map[string]string{}
	for _, key := range sorted(found.files) {
		w.take(key, found.files[key], origin)
	}
	if found.there && fallback != "" && fallback != usualFallback && !w.table.Has(fallback) {
		w.problems = append(w.problems, problem(messagesPart, "", fmt.Sprintf(
			"fallbackLocale is %s, and there are no words in it; add a key %s.yaml", fallback, fallback)))
	}
	return true
}

// take adds the words of one locale.
func (w *words) take(key string, content []byte, origin map[string]string) {
	extension := path.Ext(key)
	locale := strings.ToLower(strings.TrimSuffix(key, extension))
	parse := map[string]func([]byte) ([]entry, error){".yaml": parseYAML, ".yml": parseYAML, ".json": parseJSON}[extension]
	if parse == nil || !localeName.MatchString(locale) {
		w.refuse(key, "it is left out: a key is a locale as the game writes it, and .yaml or .json, such as de_de.yaml")
		return
	}
	locale = strings.ReplaceAll(locale, "-", "_")
	if before, taken := origin[locale]; taken {
		w.refuse(key, fmt.Sprintf("it is left out: the locale %s is in key %s already", locale, before))
		return
	}
	origin[locale] = key
	entries, err := parse(content)
	if err != nil {
		w.refuse(key, fmt.Sprintf("it is left out: %v; it has a line for each message, such as spawnery.join.full: \"%%s is full.\"", err))
		return
	}
	for _, one := range entries {
		switch {
		case one.broken != "":
			w.refuse(key, fmt.Sprintf("%s%s: %s", one.line, one.key, one.broken))
		default:
			if err := w.table.Add(locale, messages.Key(one.key), one.words); err != nil {
				w.refuse(key, one.line+err.Error())
			}
		}
	}
}

func (w *words) refuse(key, reason string) {
	w.problems = append(w.problems, problem(messagesPart, key, reason))
}

// entry is the words of one message as an owner wrote them.
type entry struct {
	key, words string
	line       string // "line 3: ", empty where it is not known
	broken     string // why it is no text
}

// parseYAML reads a flat mapping.
func parseYAML(content []byte) ([]entry, error) {
	var document yaml.Node
	if err := yaml.Unmarshal(content, &document); err != nil {
		return nil, err
	}
	if len(document.Content) == 0 {
		return nil, nil
	}
	root := document.Content[0]
	if root.Kind != yaml.MappingNode {
		return nil, errors.New("it is no mapping of messages to words")
	}
	var entries []entry
	seen := map[string]bool{}
	for i := 0; i+1 < len(root.Content); i += 2 {
		name, value := root.Content[i], root.Content[i+1]
		one := entry{key: name.Value, words: value.Value, line: fmt.Sprintf("line %d: ", name.Line)}
		switch {
		case value.Kind != yaml.ScalarNode || value.Tag == "!!null":
			one.broken = "there is no text; messages are written out in full, each with its words"
		case seen[name.Value]:
			one.broken = "it is there twice"
		}
		seen[name.Value] = true
		entries = append(entries, one)
	}
	return entries, nil
}

// parseJSON reads a flat object.
func parseJSON(content []byte) ([]entry, error) {
	var object map[string]any
	if err := json.Unmarshal(content, &object); err != nil {
		return nil, err
	}
	var entries []entry
	for _, key := range sorted(object) {
		one := entry{key: key}
		text, isText := object[key].(string)
		if !isText {
			one.broken = "there is no text; messages are written out in full, each with its words"
		}
		one.words = text
		entries = append(entries, one)
	}
	return entries, nil
}
