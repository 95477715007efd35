// SPDX-License-Identifier: Apache-2.0

package gameconfig

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/spawnery/spawnery-operator/internal/agent/serverspec"
)

// EnvironmentPrefix begins the placeholders of an owner's own variables.
const EnvironmentPrefix = "env:"

// PlaceholderValues are those of a server. lookup finds the variables that
// spec.server.overlayEnv lists.
func PlaceholderValues(spec serverspec.Spec, lookup func(name string) (string, bool)) (Values, error) {
	values := Values{"SPAWNERY_SERVER": spec.Server, "SPAWNERY_GROUP": spec.Group}
	if spec.Ordinal != nil {
		values["SPAWNERY_ORDINAL"] = strconv.Itoa(int(*spec.Ordinal))
	}
	for _, name := range spec.OverlayEnv {
		value, found := lookup(name)
		if !found {
			return nil, fmt.Errorf("spec.server.overlayEnv lists %s, which the container does not have: spec.env must set it", name)
		}
		values[EnvironmentPrefix+name] = value
	}
	return values, nil
}

// check reports the first placeholder that stands for nothing, by its line. It
// looks at the text as it is, comments included.
func (v Values) check(content []byte) error {
	number := 0
	for line := range strings.Lines(string(content)) {
		number++
		if _, err := v.replace(line); err != nil {
			return fmt.Errorf("line %d: %w", number, err)
		}
	}
	return nil
}

// replaceText is for files whose syntax is unknown. Those that are no text are
// left alone.
func (v Values) replaceText(content []byte) ([]byte, error) {
	if !utf8.Valid(content) || bytes.IndexByte(content, 0) >= 0 {
		return content, nil
	}
	if err := v.check(content); err != nil {
		return nil, err
	}
	replaced, err := v.replace(string(content))
	return []byte(replaced), err
}

// replace puts a value in the place of every ${NAME}; $${ stands for ${. What
// was put in is not looked at again.
func (v Values) replace(text string) (string, error) {
	var out strings.Builder
	for {
		before, rest, found := strings.Cut(text, "${")
		if !found {
			return out.String() + text, nil
		}
		if escaped, ok := strings.CutSuffix(before, "$"); ok {
			out.WriteString(escaped + "${")
			text = rest
			continue
		}
		name, after, closed := strings.Cut(rest, "}")
		if !closed || strings.ContainsAny(name, "\r\n") {
			return "", errors.New("${ begins a placeholder that does not end; write $${ for the characters themselves")
		}
		value, known := v[name]
		if !known {
			return "", v.unknown(name)
		}
		out.WriteString(before + value)
		text = after
	}
}

func (v Values) unknown(name string) error {
	if name == "SPAWNERY_ORDINAL" {
		return errors.New("${SPAWNERY_ORDINAL} has a value in Persistent groups only")
	}
	if variable, ok := strings.CutPrefix(name, EnvironmentPrefix); ok {
		return fmt.Errorf("${%s}: list %s in spec.server.overlayEnv", name, variable)
	}
	return fmt.Errorf("${%s} is no placeholder; there are ${%s}; write $${ for the characters themselves",
		name, strings.Join(slices.Sorted(maps.Keys(v)), "}, ${"))
}
