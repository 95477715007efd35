// SPDX-License-Identifier: Apache-2.0

package gameconfig

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/spawnery/spawnery-operator/internal/agent/serverspec"
)

// paperGlobalPath is where Paper and its descendants since 1.19 look.
const paperGlobalPath = "config/paper-global.yml"

// velocityPath leads to the section that makes Paper trust our proxies.
var velocityPath = []string{"proxies", "velocity"}

// mergePaperGlobal makes Paper ask for forwarding, or stop asking for it; the
// rest of the file, comments included, is the owner's.
func mergePaperGlobal(spec serverspec.Spec, secrets Secrets, existing []byte) ([]byte, error) {
	document, err := parseYAML(existing)
	if err != nil {
		return nil, err
	}
	settings := []yamlSetting{}
	switch spec.Forwarding {
	case serverspec.ForwardingNone:
		if len(document.Content) == 0 {
			return nil, nil
		}
		settings = append(settings, yamlSetting{"enabled", "!!bool", "false"})
	case serverspec.ForwardingVelocity:
		settings = append(settings,
			yamlSetting{"enabled", "!!bool", "true"},
			yamlSetting{"online-mode", "!!bool", strconv.FormatBool(spec.OnlineMode)},
			yamlSetting{"secret", "!!str", secrets.Forwarding},
		)
	}
	changed, err := applyYAML(document, settings)
	if err != nil {
		return nil, err
	}
	if !changed {
		return existing, nil
	}
	return writeYAML(document)
}

// yamlSetting is one scalar of the section at velocityPath.
type yamlSetting struct{ key, tag, value string }

// applyYAML reports whether anything had to be changed.
func applyYAML(document *yaml.Node, settings []yamlSetting) (bool, error) {
	if len(document.Content) == 0 {
		document.Kind = yaml.DocumentNode
		document.Content = []*yaml.Node{{Kind: yaml.MappingNode, Tag: "!!map"}}
	}
	section, err := descend(document.Content[0], velocityPath)
	if err != nil {
		return false, err
	}
	changed := false
	for _, s := range settings {
		value := child(section, s.key)
		if value.Kind == yaml.ScalarNode && value.ShortTag() == s.tag && value.Value == s.value {
			continue
		}
		changed = true
		// Only the value is replaced: comments hang on the node.
		value.Kind, value.Tag, value.Value, value.Style = yaml.ScalarNode, s.tag, s.value, 0
		value.Content, value.Alias, value.Anchor = nil, nil, ""
		if s.tag == "!!str" {
			value.Style = yaml.DoubleQuotedStyle
		}
	}
	return changed, nil
}

// descend follows keys through mappings, making those that are missing.
func descend(node *yaml.Node, keys []string) (*yaml.Node, error) {
	for depth := 0; ; depth++ {
		switch {
		case node.Kind == yaml.MappingNode:
		case node.Kind == yaml.ScalarNode && node.ShortTag() == "!!null":
			node.Kind, node.Tag, node.Value, node.Style = yaml.MappingNode, "!!map", "", 0
		default:
			return nil, fmt.Errorf("%s must hold settings of its own, found something else in line %d",
				keyName(keys[:depth]), node.Line)
		}
		if depth == len(keys) {
			return node, nil
		}
		node = child(node, keys[depth])
	}
}

func keyName(keys []string) string {
	if len(keys) == 0 {
		return "the file"
	}
	return strings.Join(keys, ".")
}

// child finds the value of a key in a mapping, or adds an empty one.
func child(mapping *yaml.Node, key string) *yaml.Node {
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == key {
			return mapping.Content[i+1]
		}
	}
	// A flow mapping such as {} would put everything into one line.
	if len(mapping.Content) == 0 {
		mapping.Style = 0
	}
	value := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null", Value: ""}
	mapping.Content = append(mapping.Content, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: key}, value)
	return value
}

// parseYAML returns a document without content for a file without any.
func parseYAML(content []byte) (*yaml.Node, error) {
	document := &yaml.Node{}
	err := yaml.NewDecoder(bytes.NewReader(content)).Decode(document)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("it is not valid YAML: %w", err)
	}
	return document, nil
}

func writeYAML(document *yaml.Node) ([]byte, error) {
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	if err := errors.Join(encoder.Encode(document), encoder.Close()); err != nil {
		return nil, fmt.Errorf("writing it: %w", err)
	}
	return out.Bytes(), nil
}
