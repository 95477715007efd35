// SPDX-License-Identifier: Apache-2.0

package gameconfig

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// overYAML merges mappings; comments and order of what exists stay.
func (o Overlay) overYAML(existing []byte, values Values, rules fileRules) ([]byte, error) {
	if err := values.check(o.Content); err != nil {
		return nil, err
	}
	over, err := parseOneYAML(o.Content)
	if err != nil {
		return nil, err
	}
	under, err := parseOneYAML(existing)
	if err != nil {
		return nil, fmt.Errorf("the file that exists: %w", err)
	}
	if err := prepareYAML(over, values); err != nil {
		return nil, err
	}
	if len(over.Content) == 0 {
		return existing, nil
	}
	if err := o.checkYAML(over.Content[0], under, rules); err != nil {
		return nil, err
	}
	if len(under.Content) == 0 {
		return writeYAML(over)
	}
	changed, err := layYAML(under.Content[0], over.Content[0])
	if err != nil || !changed {
		return existing, err
	}
	return writeYAML(under)
}

// parseOneYAML refuses what would be lost: documents behind the first.
func parseOneYAML(content []byte) (*yaml.Node, error) {
	document, err := parseYAML(content)
	if err != nil || len(document.Content) == 0 {
		return document, err
	}
	decoder := yaml.NewDecoder(bytes.NewReader(content))
	for range 2 {
		err = decoder.Decode(&yaml.Node{})
	}
	if !errors.Is(err, io.EOF) {
		return nil, errors.New("a file of several documents cannot be merged")
	}
	return document, nil
}

// prepareYAML puts the values into an owner's file, and refuses what cannot be
// merged by keys.
func prepareYAML(node *yaml.Node, values Values) error {
	if node.Kind == yaml.AliasNode || node.Anchor != "" {
		return fmt.Errorf("line %d: anchors and aliases are not merged; write the values out", node.Line)
	}
	for i, inner := range node.Content {
		if node.Kind == yaml.MappingNode && i%2 == 0 && inner.Kind != yaml.ScalarNode {
			return fmt.Errorf("line %d: a key must be one word", inner.Line)
		}
		if err := prepareYAML(inner, values); err != nil {
			return err
		}
	}
	if node.Kind == yaml.ScalarNode {
		return replaceScalar(node, values)
	}
	return nil
}

// replaceScalar leaves a value without quotes free to be a number, as it would
// be if its owner had typed it.
func replaceScalar(node *yaml.Node, values Values) error {
	replaced, err := values.replace(node.Value)
	if err != nil {
		return fmt.Errorf("line %d: %w", node.Line, err)
	}
	if replaced == node.Value {
		return nil
	}
	plain := node.Style == 0 && node.ShortTag() == "!!str"
	node.Value = replaced
	if plain {
		node.Tag = scalarTag(replaced)
	}
	return nil
}

// scalarTag is what an unquoted value means: a number, a truth, or text.
func scalarTag(value string) string {
	tag := (&yaml.Node{Kind: yaml.ScalarNode, Value: value}).ShortTag()
	if slices.Contains([]string{"!!int", "!!float", "!!bool"}, tag) {
		return tag
	}
	return "!!str"
}

// checkYAML holds the owner's keys against what may be set in the file.
func (o Overlay) checkYAML(over, under *yaml.Node, rules fileRules) error {
	if over.Kind != yaml.MappingNode {
		if len(rules.operational) > 0 {
			return fmt.Errorf("it must hold settings of its own, found something else in line %d", over.Line)
		}
		return nil
	}
	var existing []string
	if len(under.Content) > 0 {
		for _, path := range yamlLeaves(nil, under.Content[0]) {
			existing = append(existing, strings.Join(path, "."))
		}
	}
	for _, path := range yamlLeaves(nil, over) {
		if err := rules.check(path, existing, o.UnknownKeys); err != nil {
			return err
		}
	}
	return nil
}

// yamlLeaves are the paths to everything that is no mapping.
func yamlLeaves(under []string, node *yaml.Node) [][]string {
	if node.Kind != yaml.MappingNode {
		return [][]string{under}
	}
	var paths [][]string
	for i := 0; i+1 < len(node.Content); i += 2 {
		paths = append(paths, yamlLeaves(append(slices.Clone(under), node.Content[i].Value), node.Content[i+1])...)
	}
	return paths
}

// layYAML reports whether anything of under had to be changed.
func layYAML(under, over *yaml.Node) (bool, error) {
	if under.Kind == yaml.AliasNode && over.Kind == yaml.MappingNode {
		return false, fmt.Errorf("line %d of the file that exists is an alias, which cannot be merged into", under.Line)
	}
	if under.Kind != yaml.MappingNode || over.Kind != yaml.MappingNode {
		if sameYAML(under, over) {
			return false, nil
		}
		// Comments hang on the node and belong to whoever wrote them first.
		under.Kind, under.Tag, under.Value, under.Style = over.Kind, over.Tag, over.Value, over.Style
		under.Content, under.Alias, under.Anchor = over.Content, nil, ""
		return true, nil
	}
	changed := false
	for i := 0; i+1 < len(over.Content); i += 2 {
		key, value := over.Content[i], over.Content[i+1]
		below := find(under, key.Value)
		if below == nil {
			if len(under.Content) == 0 {
				under.Style = 0
			}
			under.Content = append(under.Content, key, value)
			changed = true
			continue
		}
		inner, err := layYAML(below, value)
		if err != nil {
			return false, err
		}
		changed = changed || inner
	}
	return changed, nil
}

func find(mapping *yaml.Node, key string) *yaml.Node {
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == key {
			return mapping.Content[i+1]
		}
	}
	return nil
}

// sameYAML compares what two nodes mean, not how they are written.
func sameYAML(a, b *yaml.Node) bool {
	return a.Kind == b.Kind && a.ShortTag() == b.ShortTag() && a.Value == b.Value &&
		slices.EqualFunc(a.Content, b.Content, sameYAML)
}
