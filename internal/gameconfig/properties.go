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

	"github.com/magiconair/properties"

	"github.com/spawnery/spawnery-operator/internal/agent/serverspec"
)

const serverPropertiesPath = "server.properties"

// CompressionThreshold is the size in bytes from which packets are compressed,
// on both sides of a proxy, so that nothing is compressed twice.
const CompressionThreshold = 256

// setting is one line of a properties file.
type setting struct{ key, value string }

// mergeServerProperties lays defaults under what exists, the owner's
// properties over it, and over all of that the keys that must hold.
func mergeServerProperties(spec serverspec.Spec, secrets Secrets, existing []byte) ([]byte, error) {
	if err := CheckProperties(spec.Properties); err != nil {
		return nil, err
	}
	merged, err := parseProperties(existing)
	if err != nil {
		return nil, err
	}
	var settings []setting
	for _, s := range defaultProperties(spec) {
		if _, found := merged.Get(s.key); !found {
			settings = append(settings, s)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(spec.Properties)) {
		settings = append(settings, setting{key, spec.Properties[key]})
	}
	settings = append(settings, fixedProperties(spec, secrets)...)
	return setProperties(merged, settings)
}

// defaultProperties are worth having where nobody chose.
func defaultProperties(spec serverspec.Spec) []setting {
	return []setting{
		{"motd", spec.Server},
		// Players that nobody authenticated cannot sign what they say.
		{"enforce-secure-profile", strconv.FormatBool(spec.OnlineMode)},
	}
}

// fixedProperties are those the network does not work without.
func fixedProperties(spec serverspec.Spec, secrets Secrets) []setting {
	return []setting{
		{"server-port", strconv.Itoa(int(spec.Port))},
		{"server-ip", ""},
		{"online-mode", "false"},
		{"max-players", strconv.Itoa(int(spec.MaxPlayers))},
		{"enable-status", "true"},
		{"prevent-proxy-connections", "false"},
		{"accepts-transfers", "false"},
		{"network-compression-threshold", strconv.Itoa(CompressionThreshold)},
		{"management-server-enabled", "true"},
		{"management-server-host", managementHost},
		{"management-server-port", strconv.Itoa(int(spec.ManagementPort()))},
		{"management-server-secret", secrets.Management},
		// Without a keystore the game dies at its start; nothing leaves the pod.
		{"management-server-tls-enabled", "false"},
	}
}

// CheckProperties reports the first of an owner's properties that is the
// operator's to set, and what to use instead.
func CheckProperties(owner map[string]string) error {
	for _, key := range slices.Sorted(maps.Keys(owner)) {
		if strings.TrimSpace(key) == "" {
			return errors.New("spec.server.properties has an entry without a name")
		}
		for _, refusal := range RefusedProperties() {
			if refusal.matches(key) {
				return fmt.Errorf("%s cannot be set in spec.server.properties: %s", key, refusal.Instead)
			}
		}
	}
	return nil
}

func (r Refusal) matches(name string) bool {
	if prefix, wildcard := strings.CutSuffix(r.Name, "*"); wildcard {
		return strings.HasPrefix(name, prefix)
	}
	return name == r.Name
}

// parseProperties reads a file as the game does: UTF-8, or ISO 8859-1 when it
// is not. Placeholders stay what they are; images replace them later.
func parseProperties(content []byte) (*properties.Properties, error) {
	loader := properties.Loader{Encoding: properties.UTF8, DisableExpansion: true}
	if !utf8.Valid(content) {
		loader.Encoding = properties.ISO_8859_1
	}
	parsed, err := loader.LoadBytes(content)
	if err != nil {
		return nil, fmt.Errorf("it cannot be read: %w", err)
	}
	parsed.WriteSeparator = "="
	return parsed, nil
}

func setProperties(into *properties.Properties, settings []setting) ([]byte, error) {
	for _, s := range settings {
		if _, _, err := into.Set(s.key, s.value); err != nil {
			return nil, fmt.Errorf("setting %s: %w", s.key, err)
		}
	}
	var out bytes.Buffer
	if _, err := into.WriteComment(&out, "#", properties.UTF8); err != nil {
		return nil, fmt.Errorf("writing it: %w", err)
	}
	return out.Bytes(), nil
}
