// SPDX-License-Identifier: Apache-2.0

package podspec

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
)

// What holds where an owner chose nothing. A field at its default is no part of
// a digest, so none of these may change without a new Epoch.
const (
	defaultDataDir            = "/data"
	defaultGamePort     int32 = 25565
	defaultGraceSeconds int32 = 60
	defaultUser         int64 = 1000
)

// Inputs is everything an owner chose that reaches a server's pod, with the
// Network's defaults and the API's filled in. What a running server is told
// over the channel is not in it, nor is anything of the operator's own.
type Inputs struct {
	shared

	image string
	// maxPlayers is written into the game's files: a running server cannot
	// change it. playableSlots can, and is no part of a pod.
	maxPlayers int32
	flavor     v1alpha1.Flavor
	dataDir    string
	port       int32
	forwarding v1alpha1.Forwarding
	acceptEULA bool
	properties map[string]string
	// template has every layer's mode filled in.
	template []v1alpha1.TemplateLayer
	// user is complete: with the policy Fixed no number in it is 0.
	user v1alpha1.ServerUser
	// env is in the owner's order, mounts are in the order of their paths.
	env        []corev1.EnvVar
	mounts     []v1alpha1.Mount
	overlay    []v1alpha1.ConfigOverlay
	overlayEnv []string
	// ports are in the order of their names, and complete but for from, which
	// is the policy's.
	ports        []v1alpha1.ServerPort
	graceSeconds int32
	// restartedAt reaches no pod: another value is a wish for other pods.
	restartedAt string
}

// ProxyInputs is the same for the pods of a ProxyGroup.
type ProxyInputs struct {
	shared

	// image is empty for the operator's own, so that a new release of it makes
	// no proxy old.
	image string
	// hostPort is 0 where no port of the node is taken.
	hostPort int32
	// configMaps are the owner's, by what they hold; empty for none. What is in
	// them reaches no pod.
	configMaps proxyConfigMaps
	// restartedAt reaches no pod: another value is a wish for other pods.
	restartedAt string
}

// shared is what reaches servers and proxies alike. It shares no memory with the
// objects it was resolved from.
type shared struct {
	imagePullSecrets []corev1.LocalObjectReference
	resources        corev1.ResourceRequirements
	scheduling       v1alpha1.Scheduling
	// forwardingSecret is empty for the one the operator makes.
	forwardingSecret string
	// onlineMode is the mode in force, which may not be the one asked for.
	onlineMode bool
}

// ResolveServer finds what the servers of a group are made from. The Network
// is the one the group names.
func ResolveServer(network *v1alpha1.Network, group *v1alpha1.ServerGroup) Inputs {
	defaults, spec, server := defaultsOf(network), group.Spec, group.Spec.Server
	return Inputs{
		shared:       resolveShared(network, spec.Resources, spec.Scheduling),
		image:        spec.Image,
		maxPlayers:   spec.MaxPlayers,
		flavor:       cmp.Or(server.Flavor, v1alpha1.FlavorPaper),
		dataDir:      cmp.Or(server.DataDir, defaultDataDir),
		port:         cmp.Or(server.Port, defaultGamePort),
		forwarding:   cmp.Or(server.Forwarding, v1alpha1.ForwardingVelocity),
		acceptEULA:   server.AcceptEULA != nil && *server.AcceptEULA,
		properties:   maps.Clone(server.Properties),
		template:     resolveTemplate(group),
		user:         resolveUser(firstSet(server.User, defaults.User)),
		env:          variables(spec.Env),
		mounts:       byPath(spec.Mounts),
		overlay:      overlays(spec.ConfigOverlay),
		overlayEnv:   slices.Sorted(slices.Values(server.OverlayEnv)),
		ports:        declaredPorts(spec.Ports),
		graceSeconds: cmp.Or(spec.TerminationGracePeriodSeconds, defaultGraceSeconds),
		restartedAt:  group.Annotations[v1alpha1.AnnotationRestartedAt],
	}
}

// ResolveProxy finds what the proxies of a group are made from. The
// Network is the one the group names.
func ResolveProxy(network *v1alpha1.Network, group *v1alpha1.ProxyGroup) ProxyInputs {
	return ProxyInputs{
		shared: resolveShared(network, group.Spec.Resources, group.Spec.Scheduling),
		image:  group.Spec.Image,
		// The API allows the block with its type alone.
		hostPort: group.Spec.Expose.HostPort.Port,
		configMaps: proxyConfigMaps{
			Favicon:   group.Spec.Config.Favicon.Name,
			Protocols: group.Spec.Config.Protocols.Name,
			Messages:  group.Spec.Config.Messages.Name,
		},
		restartedAt: group.Annotations[v1alpha1.AnnotationRestartedAt],
	}
}

// resolveShared lets a secret that is named as the operator names its own count
// as not chosen. A mode is in force from the first acceptance on; before it
// the one asked for counts, because that is the one that will be.
func resolveShared(
	network *v1alpha1.Network, resources *corev1.ResourceRequirements, scheduling *v1alpha1.Scheduling,
) shared {
	defaults := defaultsOf(network)
	secret := network.Spec.ForwardingSecretRef.Name
	if secret == ForwardingSecretName(network.Name) {
		secret = ""
	}
	result := shared{
		forwardingSecret: secret,
		onlineMode:       *firstSet(network.Status.OnlineMode, network.Spec.OnlineMode, new(true)),
	}
	for _, reference := range defaults.ImagePullSecrets {
		result.imagePullSecrets = append(result.imagePullSecrets, corev1.LocalObjectReference{Name: reference.Name})
	}
	if chosen := firstSet(resources, defaults.Resources); chosen != nil {
		result.resources = *chosen.DeepCopy()
	}
	slices.SortFunc(result.imagePullSecrets, func(a, b corev1.LocalObjectReference) int { return strings.Compare(a.Name, b.Name) })
	if chosen := firstSet(scheduling, defaults.Scheduling); chosen != nil {
		result.scheduling = chosenOf(*chosen.DeepCopy())
	}
	return result
}

// chosenOf drops what is written and empty: it says the same as what is not
// written, and must not replace a pod. Inside of an affinity it may not.
func chosenOf(scheduling v1alpha1.Scheduling) v1alpha1.Scheduling {
	if len(scheduling.NodeSelector) == 0 {
		scheduling.NodeSelector = nil
	}
	if len(scheduling.Tolerations) == 0 {
		scheduling.Tolerations = nil
	}
	if scheduling.Affinity != nil && *scheduling.Affinity == (corev1.Affinity{}) {
		scheduling.Affinity = nil
	}
	if len(scheduling.TopologySpreadConstraints) == 0 {
		scheduling.TopologySpreadConstraints = nil
	}
	return scheduling
}

func defaultsOf(network *v1alpha1.Network) v1alpha1.NetworkDefaults {
	if network.Spec.Defaults == nil {
		return v1alpha1.NetworkDefaults{}
	}
	return *network.Spec.Defaults
}

// firstSet is what makes a group's own value replace a default as a whole.
func firstSet[T any](values ...*T) *T {
	return cmp.Or(values...)
}

// resolveUser fills in what an owner left out; nil stands for no choice.
func resolveUser(chosen *v1alpha1.ServerUser) v1alpha1.ServerUser {
	if chosen == nil {
		chosen = &v1alpha1.ServerUser{}
	}
	switch cmp.Or(chosen.Policy, v1alpha1.UserFixed) {
	case v1alpha1.UserNamespace:
		return v1alpha1.ServerUser{Policy: v1alpha1.UserNamespace}
	case v1alpha1.UserFixed:
	}
	return v1alpha1.ServerUser{
		Policy:  v1alpha1.UserFixed,
		UID:     cmp.Or(chosen.UID, defaultUser),
		GID:     cmp.Or(chosen.GID, defaultUser),
		FSGroup: cmp.Or(chosen.FSGroup, defaultUser),
	}
}

// resolveTemplate keeps the owner's order: later layers win. Files that a world
// has kept are its owner's; one that begins anew has none.
func resolveTemplate(group *v1alpha1.ServerGroup) []v1alpha1.TemplateLayer {
	byDefault := v1alpha1.TemplateAlways
	if !group.IsEphemeral() {
		byDefault = v1alpha1.TemplateIfMissing
	}
	layers := slices.Clone(group.Spec.Server.Template)
	for i := range layers {
		layers[i].Mode = cmp.Or(layers[i].Mode, byDefault)
	}
	return layers
}

// variables keeps the owner's order: a variable may use those before it.
func variables(chosen []v1alpha1.EnvVar) []corev1.EnvVar {
	result := make([]corev1.EnvVar, 0, len(chosen))
	for _, variable := range chosen {
		rendered := corev1.EnvVar{Name: variable.Name, ValueFrom: valueSource(variable.ValueFrom)}
		if variable.Value != nil {
			rendered.Value = *variable.Value
		}
		result = append(result, rendered)
	}
	return result
}

// valueSource takes the one source that the API lets an owner name.
func valueSource(source *v1alpha1.EnvVarSource) *corev1.EnvVarSource {
	switch {
	case source == nil:
		return nil
	case source.SecretKeyRef.Name != "":
		return &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
			LocalObjectReference: corev1.LocalObjectReference{Name: source.SecretKeyRef.Name},
			Key:                  source.SecretKeyRef.Key,
		}}
	case source.ConfigMapKeyRef.Name != "":
		return &corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{
			LocalObjectReference: corev1.LocalObjectReference{Name: source.ConfigMapKeyRef.Name},
			Key:                  source.ConfigMapKeyRef.Key,
		}}
	}
	return nil
}

// byPath sorts mounts: they are a map keyed by path, so their order in the
// manifest means nothing and must not replace a pod.
func byPath(mounts []v1alpha1.Mount) []v1alpha1.Mount {
	return slices.SortedFunc(slices.Values(mounts), func(a, b v1alpha1.Mount) int {
		return strings.Compare(a.MountPath, b.MountPath)
	})
}

// overlays fills in what an owner left out. Their order is the owner's: a later
// one is laid over an earlier.
func overlays(chosen []v1alpha1.ConfigOverlay) []v1alpha1.ConfigOverlay {
	result := make([]v1alpha1.ConfigOverlay, 0, len(chosen))
	for _, overlay := range chosen {
		overlay.Items = slices.Clone(overlay.Items)
		for i := range overlay.Items {
			overlay.Items[i].UnknownKeys = cmp.Or(overlay.Items[i].UnknownKeys, v1alpha1.UnknownKeysRefuse)
		}
		result = append(result, overlay)
	}
	return result
}

// declaredPorts are what a pod says of its ports. Who may reach them is no part
// of it, and neither is their order: they are a map keyed by name.
func declaredPorts(ports []v1alpha1.ServerPort) []v1alpha1.ServerPort {
	var declared []v1alpha1.ServerPort
	for _, port := range ports {
		port.From, port.Protocol = "", cmp.Or(port.Protocol, v1alpha1.ProtocolTCP)
		declared = append(declared, port)
	}
	slices.SortFunc(declared, func(a, b v1alpha1.ServerPort) int { return strings.Compare(a.Name, b.Name) })
	return declared
}
