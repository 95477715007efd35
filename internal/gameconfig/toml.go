// SPDX-License-Identifier: Apache-2.0

package gameconfig

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// mergeTOML lays values over a file: tables merge, everything else replaces.
// Values are changed where they stand, so that comments and order stay. A file
// in which that is not possible, because tables are written in one line or
// repeated, is written anew with the same values and without its comments.
func mergeTOML(existing []byte, over map[string]any) ([]byte, error) {
	before, err := parseTOML(existing)
	if err != nil {
		return nil, err
	}
	want := overlaid(before, over)
	if existing != nil && reflect.DeepEqual(before, want) {
		return existing, nil
	}
	edited := existing
	for _, leaf := range leaves(nil, over) {
		if was, found := lookUp(before, leaf.path); !found || !reflect.DeepEqual(was, leaf.value) {
			edited = setTOML(edited, leaf)
		}
	}
	if got, err := parseTOML(edited); err == nil && reflect.DeepEqual(got, want) {
		return edited, nil
	}
	written, err := toml.Marshal(want)
	if err != nil {
		return nil, fmt.Errorf("writing it: %w", err)
	}
	return written, nil
}

func parseTOML(content []byte) (map[string]any, error) {
	parsed := map[string]any{}
	err := toml.Unmarshal(content, &parsed)
	if wrong, ok := errors.AsType[*toml.DecodeError](err); ok {
		line, _ := wrong.Position()
		return nil, fmt.Errorf("it is not valid TOML in line %d: %w", line, err)
	}
	if err != nil {
		return nil, fmt.Errorf("it is not valid TOML: %w", err)
	}
	return parsed, nil
}

// overlaid merges maps key by key; any other value is replaced whole.
func overlaid(under, over map[string]any) map[string]any {
	merged := maps.Clone(under)
	for key, value := range over {
		below, belowIsMap := merged[key].(map[string]any)
		above, aboveIsMap := value.(map[string]any)
		if belowIsMap && aboveIsMap {
			value = overlaid(below, above)
		}
		merged[key] = value
	}
	return merged
}

// leaf is a value that is no map, and the keys that lead to it.
type leaf struct {
	path  []string
	value any
}

// leaves lists what a map holds, in the order of its keys.
func leaves(under []string, values map[string]any) []leaf {
	var found []leaf
	for _, key := range slices.Sorted(maps.Keys(values)) {
		path := append(slices.Clone(under), key)
		if inner, isMap := values[key].(map[string]any); isMap {
			found = append(found, leaves(path, inner)...)
			continue
		}
		found = append(found, leaf{path, values[key]})
	}
	return found
}

func lookUp(values map[string]any, path []string) (any, bool) {
	value, found := values[path[0]]
	if inner, isMap := value.(map[string]any); isMap && len(path) > 1 {
		return lookUp(inner, path[1:])
	}
	return value, found && len(path) == 1
}

// setTOML returns the document with one value replaced or added. Whether that
// made the document it should is for the caller to see.
func setTOML(content []byte, set leaf) []byte {
	written, ok := tomlValue(set.value)
	if !ok {
		return content
	}
	at := findTOML(content, set.path)
	if at.found {
		return splice(content, at.start, at.end, written)
	}
	newline := "\n"
	if bytes.Contains(content, []byte("\r\n")) {
		newline = "\r\n"
	}
	line := tomlKey(set.path[len(set.path)-1]) + " = " + written + newline
	if !at.tableFound {
		keys := make([]string, 0, len(set.path))
		for _, key := range set.path[:len(set.path)-1] {
			keys = append(keys, tomlKey(key))
		}
		line = newline + "[" + strings.Join(keys, ".") + "]" + newline + line
	}
	if before := content[:at.end]; len(before) > 0 && before[len(before)-1] != '\n' {
		line = newline + line
	}
	return splice(content, at.end, at.end, line)
}

// tomlPlace is where a value stands, or the end of the table it belongs into,
// or the end of the document.
type tomlPlace struct {
	found, tableFound bool
	start, end        int
}

func findTOML(content []byte, path []string) tomlPlace {
	parent := path[:len(path)-1]
	place := tomlPlace{end: len(content)}
	// Before the first header lies the table without a name.
	table, repeated, headers := []string{}, false, 0
	parser := unstable.Parser{}
	parser.Reset(content)
	for parser.NextExpression() {
		expression := parser.Expression()
		keys, end := tomlKeys(expression)
		if expression.Kind != unstable.KeyValue {
			headers++
			table, repeated = keys, expression.Kind == unstable.ArrayTable
		} else {
			start := end
			end = int(expression.Raw.Offset + expression.Raw.Length)
			if !repeated && slices.Equal(append(slices.Clone(table), keys...), path) {
				return tomlPlace{found: true, start: valueStart(content, start), end: end}
			}
		}
		if !repeated && slices.Equal(table, parent) {
			place.tableFound, place.end = true, lineEnd(content, end)
		}
	}
	if len(parent) == 0 && !place.tableFound {
		place.tableFound = true
		if headers > 0 {
			place.end = 0
		}
	}
	return place
}

func tomlKeys(expression *unstable.Node) ([]string, int) {
	var keys []string
	end := 0
	for key := expression.Key(); key.Next(); {
		node := key.Node()
		keys = append(keys, string(node.Data))
		end = int(node.Raw.Offset + node.Raw.Length)
	}
	return keys, end
}

// valueStart is behind the equals sign that follows a key, and its spaces.
func valueStart(content []byte, at int) int {
	at += bytes.IndexByte(content[at:], '=') + 1
	return at + len(content[at:]) - len(bytes.TrimLeft(content[at:], " \t"))
}

func lineEnd(content []byte, at int) int {
	if newline := bytes.IndexByte(content[at:], '\n'); newline >= 0 {
		return at + newline + 1
	}
	return len(content)
}

func splice(content []byte, start, end int, with string) []byte {
	return slices.Concat(content[:start], []byte(with), content[end:])
}

// tomlValue writes what fits behind an equals sign.
func tomlValue(value any) (string, bool) {
	written, err := toml.Marshal(map[string]any{"x": value})
	if err != nil {
		return "", false
	}
	return strings.CutPrefix(strings.TrimSuffix(string(written), "\n"), "x = ")
}

// tomlKey quotes a key that is not bare.
func tomlKey(key string) string {
	written, err := toml.Marshal(map[string]any{key: 0})
	if err != nil {
		return key
	}
	return strings.TrimSuffix(string(written), " = 0\n")
}
