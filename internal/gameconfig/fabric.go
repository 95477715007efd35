// SPDX-License-Identifier: Apache-2.0

package gameconfig

import (
	"fmt"

	"github.com/spawnery/spawnery-operator/internal/agent/serverspec"
)

// fabricProxyPath is where the mod FabricProxy-Lite looks, without which a
// Fabric server knows no forwarding.
const fabricProxyPath = "config/FabricProxy-Lite.toml"

// fabricSecret is the key that makes the mod trust our proxies. Of a key that
// is absent it takes its own default, so no other is written.
const fabricSecret = "secret"

// mergeFabricProxy gives the mod the forwarding secret. Without forwarding the
// file is left alone: its owner may use it for other proxies.
func mergeFabricProxy(spec serverspec.Spec, secrets Secrets, existing []byte) ([]byte, error) {
	switch spec.Forwarding {
	case serverspec.ForwardingNone:
		return existing, nil
	case serverspec.ForwardingVelocity:
	}
	before, err := parseTOML(existing)
	if err != nil {
		return nil, err
	}
	switch before[fabricSecret].(type) {
	case map[string]any, []any:
		return nil, fmt.Errorf("%s must be one value, found several", fabricSecret)
	}
	return mergeTOML(existing, map[string]any{fabricSecret: secrets.Forwarding})
}
