// SPDX-License-Identifier: Apache-2.0

package podspec

import corev1 "k8s.io/api/core/v1"

const (
	// ProxyPort is where proxies take players.
	ProxyPort int32 = 25565
	// ProxyHTTPPort is where proxies answer probes and serve metrics.
	ProxyHTTPPort int32 = 8080

	gamePortName = "minecraft"
)

// GamePort is where the game of a server pod listens, as its pod was made.
func GamePort(pod *corev1.Pod) int32 {
	for _, container := range pod.Spec.Containers {
		if container.Name != ContainerServer {
			continue
		}
		for _, port := range container.Ports {
			if port.Name == gamePortName {
				return port.ContainerPort
			}
		}
	}
	return defaultGamePort
}
