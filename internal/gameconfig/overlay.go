// SPDX-License-Identifier: Apache-2.0

package gameconfig

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"reflect"
	"slices"
	"strings"

	"github.com/spawnery/spawnery-operator/internal/agent/serverspec"
)

// Overlay is a file of the owner's that is laid over one of the data
// directory.
type Overlay struct {
	serverspec.OverlayFile

	// Content with its placeholders.
	Content []byte
}

// Values are what placeholders stand for, by the words between their braces,
// such as SPAWNERY_SERVER and env:PASSWORD.
type Values map[string]string

// name says where the overlay comes from, in the words of its manifest.
func (o Overlay) name() string {
	return fmt.Sprintf("%s (key %s of the ConfigMap %s)", o.Path, o.Key, o.ConfigMap)
}

// check reports a path that is not the owner's to write.
func (o Overlay) check() error {
	switch {
	case !fs.ValidPath(o.Path) || o.Path == ".":
		return fmt.Errorf("configOverlay: %s must be a path within the data directory", o.Path)
	case o.Path == eulaPath:
		return fmt.Errorf("configOverlay: %s belongs to the operator: use spec.server.acceptEula", o.Path)
	case strings.Contains(o.Path, serverspec.OwnFiles):
		return fmt.Errorf("configOverlay: %s: names with %s belong to the operator", o.Path, serverspec.OwnFiles)
	}
	return nil
}

// over lays the file over what exists: properties, YAML, TOML and JSON key by
// key, where lists are replaced as any value is; everything else whole.
func (o Overlay) over(existing []byte, values Values, rules fileRules) ([]byte, error) {
	var merged []byte
	var err error
	switch path.Ext(o.Path) {
	case ".properties":
		merged, err = o.overProperties(existing, values, rules)
	case ".yml", ".yaml":
		merged, err = o.overYAML(existing, values, rules)
	case ".toml":
		merged, err = o.overTOML(existing, values, rules)
	case ".json":
		merged, err = o.overJSON(existing, values, rules)
	default:
		merged, err = values.replaceText(o.Content)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", o.name(), err)
	}
	return merged, nil
}

func (o Overlay) overProperties(existing []byte, values Values, rules fileRules) ([]byte, error) {
	if err := values.check(o.Content); err != nil {
		return nil, err
	}
	over, err := parseProperties(o.Content)
	if err != nil {
		return nil, err
	}
	under, err := parseProperties(existing)
	if err != nil {
		return nil, fmt.Errorf("the file that exists: %w", err)
	}
	var settings []setting
	for _, key := range over.Keys() {
		if err := rules.check([]string{key}, under.Keys(), o.UnknownKeys); err != nil {
			return nil, err
		}
		written, _ := over.Get(key)
		value, err := values.replace(written)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", key, err)
		}
		if was, found := under.Get(key); !found || was != value {
			settings = append(settings, setting{key, value})
		}
	}
	if len(settings) == 0 && existing != nil {
		return existing, nil
	}
	return setProperties(under, settings)
}

func (o Overlay) overTOML(existing []byte, values Values, rules fileRules) ([]byte, error) {
	over, err := o.parse(values, parseTOML)
	if err != nil {
		return nil, err
	}
	under, err := parseTOML(existing)
	if err != nil {
		return nil, fmt.Errorf("the file that exists: %w", err)
	}
	if err := o.checkKeys(over, under, rules); err != nil {
		return nil, err
	}
	if existing != nil {
		return mergeTOML(existing, over)
	}
	// The owner's own file is the one to change, for its comments, unless a
	// placeholder stood in a key: that key would stay.
	merged, err := mergeTOML(o.Content, over)
	if err != nil {
		return nil, err
	}
	if got, err := parseTOML(merged); err == nil && reflect.DeepEqual(got, over) {
		return merged, nil
	}
	return mergeTOML(nil, over)
}

func (o Overlay) overJSON(existing []byte, values Values, rules fileRules) ([]byte, error) {
	over, err := o.parse(values, parseJSON)
	if errors.Is(err, errNoObject) {
		// A list has no keys to merge by.
		return values.replaceText(o.Content)
	}
	if err != nil {
		return nil, err
	}
	under, err := parseJSON(existing)
	if err != nil && !errors.Is(err, errNoObject) {
		return nil, fmt.Errorf("the file that exists: %w", err)
	}
	if err := o.checkKeys(over, under, rules); err != nil {
		return nil, err
	}
	merged := overlaid(under, over)
	if existing != nil && reflect.DeepEqual(merged, under) {
		return existing, nil
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(merged); err != nil {
		return nil, fmt.Errorf("writing it: %w", err)
	}
	return out.Bytes(), nil
}

// parse reads the owner's file and puts the values in. They are put into what
// was read, so that no value can be taken for syntax.
func (o Overlay) parse(values Values, parser func([]byte) (map[string]any, error)) (map[string]any, error) {
	if err := values.check(o.Content); err != nil {
		return nil, err
	}
	parsed, err := parser(o.Content)
	if err != nil {
		return nil, err
	}
	replaced, err := values.replaceIn(parsed)
	if err != nil {
		return nil, err
	}
	over, _ := replaced.(map[string]any)
	return over, nil
}

func (o Overlay) checkKeys(over, under map[string]any, rules fileRules) error {
	var existing []string
	for _, found := range leaves(nil, under) {
		existing = append(existing, strings.Join(found.path, "."))
	}
	for _, found := range leaves(nil, over) {
		if err := rules.check(found.path, existing, o.UnknownKeys); err != nil {
			return err
		}
	}
	return nil
}

var errNoObject = errors.New("it is valid JSON, but no object")

func parseJSON(content []byte) (map[string]any, error) {
	if len(bytes.TrimSpace(content)) == 0 {
		return map[string]any{}, nil
	}
	decoder := json.NewDecoder(bytes.NewReader(content))
	decoder.UseNumber()
	var parsed any
	err := decoder.Decode(&parsed)
	if wrong, ok := errors.AsType[*json.SyntaxError](err); ok {
		line := bytes.Count(content[:min(int(wrong.Offset), len(content))], []byte("\n")) + 1
		return nil, fmt.Errorf("it is not valid JSON in line %d: %w", line, err)
	}
	if err != nil {
		return nil, fmt.Errorf("it is not valid JSON: %w", err)
	}
	if decoder.More() {
		return nil, errors.New("it is not valid JSON: something follows its end")
	}
	object, ok := parsed.(map[string]any)
	if !ok {
		return map[string]any{}, errNoObject
	}
	return object, nil
}

// replaceIn puts values into every string, keys included.
func (v Values) replaceIn(value any) (any, error) {
	switch typed := value.(type) {
	case string:
		return v.replace(typed)
	case map[string]any:
		replaced := make(map[string]any, len(typed))
		for _, key := range slices.Sorted(maps.Keys(typed)) {
			inner, err := v.replaceIn(typed[key])
			if err != nil {
				return nil, fmt.Errorf("%s: %w", key, err)
			}
			name, err := v.replace(key)
			if err != nil {
				return nil, err
			}
			replaced[name] = inner
		}
		return replaced, nil
	case []any:
		replaced := make([]any, len(typed))
		for i, element := range typed {
			inner, err := v.replaceIn(element)
			if err != nil {
				return nil, err
			}
			replaced[i] = inner
		}
		return replaced, nil
	}
	return value, nil
}
