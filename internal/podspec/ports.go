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

// gamePorts are the game's own and those that its plugins open.
func (p serverPod) gamePorts() []corev1.ContainerPort {
	ports := []corev1.ContainerPort{tcp(gamePortName, p.port)}
	for _, port := range p.ports {
		ports = append(ports, corev1.ContainerPort{
			Name: port.Name, ContainerPort: port.Port, Protocol: corev1.Protocol(port.Protocol),
		})
	}
	return ports
}

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
