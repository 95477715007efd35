// SPDX-License-Identifier: Apache-2.0

package podspec

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Keys of the objects mounted into pods.
const (
	// ChannelEndpointKey of the channel ConfigMap holds host:port of the manager.
	ChannelEndpointKey = "endpoint"
	// ChannelCAKey of the channel ConfigMap holds the PEM bundle that the
	// manager's certificate is checked against.
	ChannelCAKey = "ca.crt"
	// ForwardingSecretKey holds what proxies sign a player's identity with.
	ForwardingSecretKey = "secret"
)

// Channel is where agents and proxies of a namespace find the manager.
type Channel struct {
	// Endpoint is host:port; agents dial every address the host resolves to.
	Endpoint string
	// CA is a PEM bundle; it holds two certificates while one replaces the other.
	CA []byte
}

// BuildServiceAccounts renders the two identities pods of a namespace have.
// They carry no rights: their tokens say who is speaking, to the manager alone.
func BuildServiceAccounts(namespace string) []*corev1.ServiceAccount {
	accounts := make([]*corev1.ServiceAccount, 0, 2)
	for _, name := range []string{ServerServiceAccount, ProxyServiceAccount} {
		accounts = append(accounts, &corev1.ServiceAccount{
			ObjectMeta:                   unownedMeta(namespace, name, ManagedLabels()),
			AutomountServiceAccountToken: new(false),
		})
	}
	return accounts
}

// BuildChannelConfig renders the ConfigMap that agents and proxies read at
// every dial, so that a new endpoint or CA restarts nothing.
func BuildChannelConfig(namespace string, channel Channel) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: unownedMeta(namespace, ChannelConfigMap, ManagedLabels()),
		Data: map[string]string{
			ChannelEndpointKey: channel.Endpoint,
			ChannelCAKey:       string(channel.CA),
		},
	}
}

// BuildForwardingSecret renders the Secret for a Network that names none. Nobody
// owns it, so that a Network made again finds it and its worlds keep working.
func BuildForwardingSecret(namespace, network string, secret []byte) *corev1.Secret {
	labels := ManagedLabels()
	labels[LabelNetwork] = network
	return &corev1.Secret{
		ObjectMeta: unownedMeta(namespace, ForwardingSecretName(network), labels),
		Type:       corev1.SecretTypeOpaque,
		Data:       map[string][]byte{ForwardingSecretKey: secret},
	}
}

func unownedMeta(namespace, name string, labels map[string]string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: labels}
}
