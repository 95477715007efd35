// SPDX-License-Identifier: Apache-2.0

package podspec

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
)

// Epoch is part of every digest. A release that must replace running pods
// raises it; that is an entry in the changelog, and never in a patch release.
const Epoch = 1

// digestLength in hexadecimal digits: an owner compares a handful of specs.
const digestLength = 16

// Digest tells whether two server pods are made from the same choices. A field
// at its default contributes nothing, so a field added later changes no digest.
func Digest(in Inputs) string {
	document := newSharedDigest(in.shared)
	document.Image = in.image
	document.Server = &serverDigest{
		MaxPlayers:   in.maxPlayers,
		Flavor:       unless(in.flavor, v1alpha1.FlavorPaper),
		DataDir:      unless(in.dataDir, defaultDataDir),
		Port:         unless(in.port, defaultGamePort),
		Forwarding:   unless(in.forwarding, v1alpha1.ForwardingVelocity),
		AcceptEULA:   in.acceptEULA,
		Properties:   in.properties,
		Template:     in.template,
		User:         unless(in.user, resolveUser(nil)),
		Env:          in.env,
		Mounts:       in.mounts,
		Overlay:      in.overlay,
		OverlayEnv:   in.overlayEnv,
		Ports:        in.ports,
		GraceSeconds: unless(in.graceSeconds, defaultGraceSeconds),
		RestartedAt:  in.restartedAt,
	}
	return document.sum()
}

// ProxyDigest is Digest for proxies. What a proxy is told over the channel, the
// whole of routing and config with it but the names of ConfigMaps, takes effect
// without a new pod.
func ProxyDigest(in ProxyInputs) string {
	document := newSharedDigest(in.shared)
	document.Image, document.HostPort, document.RestartedAt = in.image, in.hostPort, in.restartedAt
	document.ConfigMaps = in.configMaps
	return document.sum()
}

// digestDocument is what is hashed. Its tags are frozen, and each omits the
// field at its default.
type digestDocument struct {
	Epoch            int                                       `json:"epoch"`
	Image            string                                    `json:"image,omitempty"`
	ImagePullSecrets []corev1.LocalObjectReference             `json:"imagePullSecrets,omitempty"`
	Quantities       map[string]map[corev1.ResourceName]string `json:"resources,omitempty"`
	ResourceClaims   []corev1.ResourceClaim                    `json:"resourceClaims,omitempty"`
	Scheduling       v1alpha1.Scheduling                       `json:"scheduling,omitzero"`
	ForwardingSecret string                                    `json:"forwardingSecret,omitempty"`
	// OfflineMode is the other way round because online is the default.
	OfflineMode bool            `json:"offlineMode,omitempty"`
	HostPort    int32           `json:"hostPort,omitempty"`
	ConfigMaps  proxyConfigMaps `json:"configMaps,omitzero"`
	RestartedAt string          `json:"restartedAt,omitempty"`
	Server      *serverDigest   `json:"server,omitempty"`
}

// proxyConfigMaps are the names of the ConfigMaps that a proxy mounts. Its tags
// are frozen as well.
type proxyConfigMaps struct {
	Favicon   string `json:"favicon,omitempty"`
	Protocols string `json:"protocols,omitempty"`
	Messages  string `json:"messages,omitempty"`
}

// serverDigest has no default for MaxPlayers: an owner always chooses it.
type serverDigest struct {
	MaxPlayers int32                    `json:"maxPlayers"`
	Flavor     v1alpha1.Flavor          `json:"flavor,omitempty"`
	DataDir    string                   `json:"dataDir,omitempty"`
	Port       int32                    `json:"port,omitempty"`
	Forwarding v1alpha1.Forwarding      `json:"forwarding,omitempty"`
	AcceptEULA bool                     `json:"acceptEula,omitempty"`
	Properties map[string]string        `json:"properties,omitempty"`
	Template   []v1alpha1.TemplateLayer `json:"template,omitempty"`
	User       v1alpha1.ServerUser      `json:"user,omitzero"`
	Env        []corev1.EnvVar          `json:"env,omitempty"`
	Mounts     []v1alpha1.Mount         `json:"mounts,omitempty"`
	// Overlay is what the owner wrote, not what the ConfigMaps hold: an edit of
	// one replaces no pod.
	Overlay      []v1alpha1.ConfigOverlay `json:"configOverlay,omitempty"`
	OverlayEnv   []string                 `json:"overlayEnv,omitempty"`
	Ports        []v1alpha1.ServerPort    `json:"ports,omitempty"`
	GraceSeconds int32                    `json:"graceSeconds,omitempty"`
	RestartedAt  string                   `json:"restartedAt,omitempty"`
}

func newSharedDigest(in shared) digestDocument {
	return digestDocument{
		Epoch:            Epoch,
		ImagePullSecrets: in.imagePullSecrets,
		Quantities:       quantities(in.resources),
		ResourceClaims:   in.resources.Claims,
		Scheduling:       in.scheduling,
		ForwardingSecret: in.forwardingSecret,
		OfflineMode:      !in.onlineMode,
	}
}

func (d digestDocument) sum() string {
	document, err := json.Marshal(d)
	if err != nil {
		// Strings, numbers, and types that the API server decoded from JSON.
		panic("podspec: a digest cannot be encoded: " + err.Error())
	}
	sum := sha256.Sum256(document)
	return hex.EncodeToString(sum[:])[:digestLength]
}

// quantities writes amounts in one notation, because 1Gi and 1024Mi are one
// choice.
func quantities(resources corev1.ResourceRequirements) map[string]map[corev1.ResourceName]string {
	result := map[string]map[corev1.ResourceName]string{}
	for kind, list := range map[string]corev1.ResourceList{
		"limits": resources.Limits, "requests": resources.Requests,
	} {
		for name, quantity := range list {
			if result[kind] == nil {
				result[kind] = map[corev1.ResourceName]string{}
			}
			result[kind][name] = resource.NewDecimalQuantity(*quantity.AsDec(), resource.DecimalSI).String()
		}
	}
	return result
}

// unless is value, or nothing where value is the default.
func unless[T comparable](value, byDefault T) T {
	if value == byDefault {
		var nothing T
		return nothing
	}
	return value
}
