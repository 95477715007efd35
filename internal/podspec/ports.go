// SPDX-License-Identifier: Apache-2.0

package podspec

const (
	// ProxyPort is where proxies take players.
	ProxyPort int32 = 25565
	// ProxyHTTPPort is where proxies answer probes and serve metrics.
	ProxyHTTPPort int32 = 8080

	gamePortName = "minecraft"
)
