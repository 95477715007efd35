// SPDX-License-Identifier: Apache-2.0

package gameconfig

import (
	_ "embed" // The lists of known keys.
	"fmt"
	"slices"
	"strings"

	"github.com/spawnery/spawnery-operator/internal/agent/serverspec"
)

var (
	//go:embed known/server.properties.txt
	knownProperties string
	//go:embed known/paper-global.txt
	knownPaperGlobal string
	//go:embed known/fabricproxy-lite.txt
	knownFabricProxy string
)

// fileRules say which keys of a file an owner may set. Without any, all.
type fileRules struct {
	// operational keys are the operator's.
	operational []Refusal
	// known are all keys of the file in any version; a trailing * stands for
	// whatever follows. Empty: nobody knows, and none is refused.
	known []string
}

// rulesOf are those of a file that the server's flavor prepares; all others
// are the owner's.
func rulesOf(spec serverspec.Spec, path string) fileRules {
	switch {
	case path == serverPropertiesPath:
		return fileRules{RefusedProperties(), knownKeys(knownProperties)}
	case path == paperGlobalPath && spec.Flavor == serverspec.FlavorPaper:
		return fileRules{refusedPaperGlobal(), knownKeys(knownPaperGlobal)}
	case path == fabricProxyPath && spec.Flavor == serverspec.FlavorFabric:
		rules := fileRules{known: knownKeys(knownFabricProxy)}
		if spec.Forwarding == serverspec.ForwardingVelocity {
			rules.operational = refusedFabricProxy()
		}
		return rules
	}
	return fileRules{}
}

// knownKeys reads a list: a key a line, comments after #.
func knownKeys(list string) []string {
	var keys []string
	for line := range strings.Lines(list) {
		key, _, _ := strings.Cut(line, "#")
		if key = strings.TrimSpace(key); key != "" {
			keys = append(keys, key)
		}
	}
	return keys
}

// check reports a key that the owner may not set, or that no version of the
// file has: it would be a typing error that nobody notices. existing are the
// keys of the file itself, which the game wrote and so knows.
func (r fileRules) check(path, existing []string, unknown serverspec.UnknownKeys) error {
	key := strings.Join(path, ".")
	for _, refusal := range r.operational {
		// Something else in the place of a section would take the key with it.
		if refusal.matches(key) || strings.HasPrefix(refusal.Name, key+".") || strings.HasPrefix(key, refusal.Name+".") {
			return fmt.Errorf("%s cannot be set by spec.configOverlay: %s", key, refusal.Instead)
		}
	}
	if len(r.known) == 0 || unknown == serverspec.UnknownKeysAllow || slices.Contains(existing, key) {
		return nil
	}
	if slices.ContainsFunc(r.known, func(name string) bool { return Refusal{Name: name}.matches(key) }) {
		return nil
	}
	return fmt.Errorf("%s is a key of no version of the file that this release knows: correct it, "+
		"or set unknownKeys: Allow at its item of spec.configOverlay if the game has it", key)
}
