// SPDX-License-Identifier: Apache-2.0

package podspec

import (
	"cmp"
	"path"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/agent/serverspec"
)

const (
	// ContainerProxy is the one container of a proxy pod.
	ContainerProxy = "proxy"
	// ProxyGraceMarginSeconds is what a proxy's grace period has beyond its
	// drain: time to say goodbye to whoever is left.
	ProxyGraceMarginSeconds = 30
	// ProxyReadyPath answers 200 while a proxy takes new players.
	ProxyReadyPath = "/readyz"

	// proxyReadinessLosses is few: a withdrawn proxy must leave its Service
	// soon, and its players stay whatever the probe says.
	proxyReadinessLosses = 2
)

// ProxyRuntime is what a proxy's pod needs beside its owner's choices.
type ProxyRuntime struct {
	// Group is what the pod belongs to: it owns the pod.
	Group *v1alpha1.ProxyGroup
	// Name of the pod, from ProxyPodName.
	Name string
	// OperatorImage holds the proxy of a group that names no image.
	OperatorImage string
	// SessionServer is the address that authenticates players in place of
	// Mojang's. Empty: Mojang's.
	SessionServer string
}

// ProxyDrainSeconds is how long a proxy of the group waits for its players.
func ProxyDrainSeconds(group *v1alpha1.ProxyGroup) int32 {
	unset := v1alpha1.DefaultProxyDrainSeconds
	if ProxyTransfer(group) == v1alpha1.TransferEnabled {
		unset = v1alpha1.DefaultTransferDrainSeconds
	}
	return cmp.Or(group.Spec.Drain.TimeoutSeconds, unset)
}

// ProxyTransfer says whether a proxy of the group that must go sends its players
// to another.
func ProxyTransfer(group *v1alpha1.ProxyGroup) v1alpha1.TransferMode {
	unset := v1alpha1.TransferDisabled
	switch group.Spec.Expose.Type {
	case v1alpha1.ExposeLoadBalancer, v1alpha1.ExposeClusterIP:
		unset = v1alpha1.TransferEnabled
	case v1alpha1.ExposeNodePort, v1alpha1.ExposeHostPort:
		// The same address may lead to the same proxy.
	}
	return cmp.Or(group.Spec.Update.Transfer, unset)
}

// ProxyGraceSeconds is the grace period of a proxy made or deleted now: a proxy
// that is told to end drains by itself.
func ProxyGraceSeconds(group *v1alpha1.ProxyGroup) int64 {
	return int64(ProxyDrainSeconds(group)) + ProxyGraceMarginSeconds
}

// BuildProxyPod renders one pod of a ProxyGroup. It runs as whatever user the
// image names, as long as that is not root: it writes to no volume but its own,
// which is anybody's.
func BuildProxyPod(in ProxyInputs, runtime ProxyRuntime) *corev1.Pod {
	group := runtime.Group
	network := group.Spec.NetworkRef.Name
	meta := ownedMeta(KindProxyGroup, group, runtime.Name)
	meta.Labels = groupLabels(RoleProxy, network, group.Name)
	meta.Annotations = OccupancyAnnotations(Vacant)
	meta.Annotations[AnnotationPodHash] = ProxyDigest(in)

	pod := &corev1.Pod{ObjectMeta: meta, Spec: corev1.PodSpec{
		ServiceAccountName:            ProxyServiceAccount,
		AutomountServiceAccountToken:  new(false),
		EnableServiceLinks:            new(false),
		RestartPolicy:                 corev1.RestartPolicyAlways,
		TerminationGracePeriodSeconds: new(ProxyGraceSeconds(group)),
		SecurityContext:               restrictedPod(),
		ImagePullSecrets:              in.imagePullSecrets,
		Containers:                    []corev1.Container{proxyContainer(in, runtime)},
		Volumes: []corev1.Volume{
			emptyVolume(volumeState),
			secretVolume(volumeForwarding, cmp.Or(in.forwardingSecret, ForwardingSecretName(network))),
			configVolume(volumeChannel, ChannelConfigMap),
			tokenVolume(),
		},
	}}
	for _, given := range in.configMaps.given() {
		pod.Spec.Volumes = append(pod.Spec.Volumes, optionalConfigVolume(given.volume, given.configMap))
		mounts := &pod.Spec.Containers[0].VolumeMounts
		*mounts = append(*mounts, readOnly(given.volume, path.Join(proxyConfigDir, given.directory)))
	}
	schedule(&pod.Spec, in.scheduling)
	return pod
}

// proxyConfigDir is where a proxy looks for what its owner gives it. It is the
// default of its flag, which is not passed: proxies of an older image know none.
const proxyConfigDir = "/etc/spawnery/config"

// givenConfigMap is one that a proxy mounts.
type givenConfigMap struct{ configMap, directory, volume string }

// given are those that the owner names.
func (c proxyConfigMaps) given() []givenConfigMap {
	var named []givenConfigMap
	for _, one := range []givenConfigMap{
		{c.Favicon, "favicon", "spawnery-favicon"},
		{c.Protocols, "protocols", "spawnery-protocols"},
		{c.Messages, "messages", "spawnery-messages"},
	} {
		if one.configMap != "" {
			named = append(named, one)
		}
	}
	return named
}

// proxyContainer has no liveness probe and no preStop hook: a restart would throw
// everybody out, and a proxy that is told to end drains by itself.
func proxyContainer(in ProxyInputs, runtime ProxyRuntime) corev1.Container {
	game := tcp(gamePortName, ProxyPort)
	game.HostPort = in.hostPort
	return corev1.Container{
		Name:                     ContainerProxy,
		Image:                    cmp.Or(in.image, runtime.OperatorImage),
		Command:                  []string{proxyProgram},
		Args:                     proxyFlags(runtime),
		Ports:                    []corev1.ContainerPort{game, tcp("http", ProxyHTTPPort)},
		ReadinessProbe:           readiness(ProxyReadyPath, ProxyHTTPPort, proxyReadinessLosses),
		Resources:                *in.resources.DeepCopy(),
		SecurityContext:          ownContainer(),
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
		VolumeMounts: []corev1.VolumeMount{
			writable(volumeState, stateDir),
			readOnly(volumeForwarding, serverspec.ForwardingDir),
			readOnly(volumeChannel, serverspec.ChannelDir),
			readOnly(volumeToken, path.Dir(serverspec.TokenFile)),
		},
	}
}

// proxyFlags is all that a proxy learns from its pod; the channel tells the rest.
func proxyFlags(runtime ProxyRuntime) []string {
	flags := []string{
		"--listen=:" + strconv.Itoa(int(ProxyPort)),
		"--channel-dir=" + serverspec.ChannelDir,
		"--token-file=" + serverspec.TokenFile,
		"--secret-file=" + path.Join(serverspec.ForwardingDir, ForwardingSecretKey),
		"--state-dir=" + stateDir,
		"--http=:" + strconv.Itoa(int(ProxyHTTPPort)),
	}
	if runtime.SessionServer != "" {
		flags = append(flags, "--session-server="+runtime.SessionServer)
	}
	return flags
}

// HostPortOf is the port of its node that a proxy's pod takes, 0 for none.
func HostPortOf(pod *corev1.Pod) int32 {
	for i := range pod.Spec.Containers {
		for _, port := range pod.Spec.Containers[i].Ports {
			if port.Name == gamePortName {
				return port.HostPort
			}
		}
	}
	return 0
}
