// SPDX-License-Identifier: Apache-2.0

package podspec

import (
	"cmp"
	"path"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/agent/serverspec"
	"github.com/spawnery/spawnery-operator/internal/gameconfig"
)

// Names of the containers of a server pod, as its status lists them.
const (
	// ContainerInstall brings the agent's program to ContainerTemplate, where
	// that runs the game's image.
	ContainerInstall = "install"
	// ContainerTemplate copies the owner's layers into the data directory.
	ContainerTemplate = "template"
	// ContainerPrepare writes the game's files, once.
	ContainerPrepare = "prepare"
	// ContainerAgent speaks for the game for as long as the pod lives.
	ContainerAgent = "agent"
	// ContainerServer is the owner's game.
	ContainerServer = "server"
)

// agentReadinessLosses forgives ten seconds of silence: a loss counts against
// the server, and the third makes it Failed.
const agentReadinessLosses = 5

// Runtime is what a server's pod needs beside its owner's choices.
type Runtime struct {
	// Server is what the pod is for: it owns the pod and gives it its name. One
	// with an ordinal mounts its claim.
	Server *v1alpha1.Server
	// OperatorImage holds the agent.
	OperatorImage string
	// StopToken is what the agent demands of whoever asks it to stop the game:
	// random, and another one for every pod.
	StopToken string
}

// serverPod is one pod in the making: the owner's choices, the operator's part,
// and what the agent is told of both.
type serverPod struct {
	Inputs
	Runtime

	spec serverspec.Spec
	// document is spec as the value of a variable.
	document string
}

// BuildServerPod renders the pod of a server. It fails only for choices that
// the API refuses.
func BuildServerPod(in Inputs, runtime Runtime) (*corev1.Pod, error) {
	pod := serverPod{Inputs: in, Runtime: runtime, spec: agentSpec(in, runtime)}
	document, err := pod.spec.Encode()
	if err != nil {
		return nil, err
	}
	// The kubelet expands $(NAME) in variables and reads $$ as one $.
	pod.document = strings.ReplaceAll(document, "$", "$$")
	return pod.render(), nil
}

// agentSpec is what the agent learns from its pod.
func agentSpec(in Inputs, runtime Runtime) serverspec.Spec {
	server := runtime.Server
	return serverspec.Spec{
		Server:       server.Name,
		Group:        server.Spec.GroupRef.Name,
		Ordinal:      server.Spec.Ordinal,
		Flavor:       serverspec.Flavor(in.flavor),
		DataDir:      in.dataDir,
		DataVolume:   describeData(server),
		Port:         in.port,
		MaxPlayers:   in.maxPlayers,
		Forwarding:   serverspec.Forwarding(in.forwarding),
		OnlineMode:   in.onlineMode,
		AcceptEULA:   in.acceptEULA,
		Properties:   in.properties,
		Overlay:      overlayFiles(in.overlay),
		OverlayEnv:   in.overlayEnv,
		GraceSeconds: in.graceSeconds,
		StopToken:    runtime.StopToken,
		Layers:       agentLayers(in.template),
	}
}

// describeData names the volume for the message of an agent that cannot write
// to it, because its owner will look for that object.
func describeData(server *v1alpha1.Server) string {
	if server.Spec.Ordinal == nil {
		return "an emptyDir of the pod " + server.Name
	}
	return "the claim " + DataClaimName(server.Name)
}

// render leaves command and arguments of the game, its image's user directory
// and everything else about it alone that the owner did not choose.
func (p serverPod) render() *corev1.Pod {
	server := p.Server
	meta := ownedMeta(KindServer, server, server.Name)
	meta.Labels = groupLabels(RoleServer, server.Spec.NetworkRef.Name, server.Spec.GroupRef.Name)
	meta.Labels[LabelServer] = server.Name
	meta.Annotations = OccupancyAnnotations(Vacant)

	security := restrictedPod()
	asUser(security, p.user)
	volumes, mounts := ownersVolumes(p.mounts)
	pod := &corev1.Pod{ObjectMeta: meta, Spec: corev1.PodSpec{
		ServiceAccountName:            ServerServiceAccount,
		AutomountServiceAccountToken:  new(false),
		EnableServiceLinks:            new(false),
		RestartPolicy:                 p.restartPolicy(),
		TerminationGracePeriodSeconds: new(int64(p.graceSeconds)),
		SecurityContext:               security,
		ImagePullSecrets:              p.imagePullSecrets,
		InitContainers:                append(p.templating(), p.prepare(), p.agent()),
		Containers:                    []corev1.Container{p.game(mounts)},
		Volumes:                       slices.Concat(p.volumes(), p.layerVolumes(), overlayVolumes(p.overlay), volumes),
	}}
	schedule(&pod.Spec, p.scheduling)
	return pod
}

// restartPolicy lets the kubelet bring a world back after /stop or a crash. An
// interchangeable server that ended is replaced by a fresh one instead.
func (p serverPod) restartPolicy() corev1.RestartPolicy {
	if p.Server.Spec.Ordinal == nil {
		return corev1.RestartPolicyNever
	}
	return corev1.RestartPolicyAlways
}

// volumes mounts the data and, for the operator's containers, whole objects
// without a subPath: only those follow a change of the Secret or ConfigMap.
func (p serverPod) volumes() []corev1.Volume {
	data := emptyVolume(volumeData)
	if p.Server.Spec.Ordinal != nil {
		data = claimVolume(DataClaimName(p.Server.Name))
	}
	secret := cmp.Or(p.forwardingSecret, ForwardingSecretName(p.Server.Spec.NetworkRef.Name))
	return []corev1.Volume{
		data,
		emptyVolume(volumeTemp),
		runVolume(),
		secretVolume(volumeForwarding, secret),
		configVolume(volumeChannel, ChannelConfigMap),
		tokenVolume(),
	}
}

// prepare has no token and asks nobody: it turns the spec into files. It sees the
// data where the game does, so that a file it names is where its owner looks.
func (p serverPod) prepare() corev1.Container {
	return corev1.Container{
		Name:                     ContainerPrepare,
		Image:                    p.OperatorImage,
		Command:                  []string{agentProgram},
		Args:                     []string{"prepare"},
		Env:                      append([]corev1.EnvVar{{Name: serverspec.Variable, Value: p.document}}, p.overlayEnvironment()...),
		Resources:                agentResources(),
		SecurityContext:          ownContainer(),
		TerminationMessagePath:   serverspec.TerminationLog,
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
		VolumeMounts: append([]corev1.VolumeMount{
			writable(volumeData, p.dataDir),
			writable(volumeRun, serverspec.RunDir),
			readOnly(volumeForwarding, serverspec.ForwardingDir),
		}, overlayMounts(p.overlay)...),
	}
}

// agent has no startup probe: the kubelet would hold the game back until it
// passed, and the agent is ready only when the game is.
func (p serverPod) agent() corev1.Container {
	return corev1.Container{
		Name:                     ContainerAgent,
		Image:                    p.OperatorImage,
		Command:                  []string{agentProgram},
		Args:                     []string{"run"},
		Env:                      []corev1.EnvVar{{Name: serverspec.Variable, Value: p.document}},
		Ports:                    []corev1.ContainerPort{tcp("agent", serverspec.Port)},
		RestartPolicy:            new(corev1.ContainerRestartPolicyAlways),
		ReadinessProbe:           readiness(serverspec.ReadyPath, serverspec.Port, agentReadinessLosses),
		Resources:                agentResources(),
		SecurityContext:          ownContainer(),
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
		VolumeMounts: []corev1.VolumeMount{
			writable(volumeRun, serverspec.RunDir),
			readOnly(volumeForwarding, serverspec.ForwardingDir),
			readOnly(volumeChannel, serverspec.ChannelDir),
			readOnly(volumeToken, path.Dir(serverspec.TokenFile)),
		},
	}
}

// game runs the owner's image with its own command and a root file system that it
// may write to. Standard input stays open: kubectl attach is the console. The
// hook runs before anything is signalled, and needs no program in the image.
func (p serverPod) game(mounts []corev1.VolumeMount) corev1.Container {
	return corev1.Container{
		Name:                     ContainerServer,
		Image:                    p.image,
		Env:                      p.environment(),
		Ports:                    p.gamePorts(),
		Resources:                *p.resources.DeepCopy(),
		SecurityContext:          restrictedContainer(),
		Stdin:                    true,
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
		Lifecycle: &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{HTTPGet: &corev1.HTTPGetAction{
			Path:        serverspec.StopPath,
			Port:        intstr.FromInt32(serverspec.Port),
			HTTPHeaders: []corev1.HTTPHeader{{Name: serverspec.StopHeader, Value: p.StopToken}},
		}}},
		VolumeMounts: append([]corev1.VolumeMount{
			writable(volumeData, p.dataDir),
			writable(volumeTemp, tempDir),
		}, mounts...),
	}
}

// environment has ours first, so that an owner's variable can use $(SPAWNERY_GROUP).
func (p serverPod) environment() []corev1.EnvVar {
	server := p.Server
	result := []corev1.EnvVar{
		{Name: "SPAWNERY_NETWORK", Value: server.Spec.NetworkRef.Name},
		{Name: "SPAWNERY_GROUP", Value: server.Spec.GroupRef.Name},
		{Name: "SPAWNERY_SERVER", Value: server.Name},
	}
	if server.Spec.Ordinal != nil {
		result = append(result, corev1.EnvVar{Name: "SPAWNERY_ORDINAL", Value: strconv.Itoa(int(*server.Spec.Ordinal))})
	}
	for _, variable := range gameconfig.Variables(p.spec, p.memory()) {
		result = append(result, corev1.EnvVar{Name: variable.Name, Value: variable.Value})
	}
	return append(result, p.env...)
}

// overlayEnvironment is what prepare needs of the game's environment: the
// variables the owner lists, and ours, which those may use by $(NAME).
func (p serverPod) overlayEnvironment() []corev1.EnvVar {
	if len(p.overlayEnv) == 0 {
		return nil
	}
	return slices.DeleteFunc(p.environment(), func(variable corev1.EnvVar) bool {
		owners := slices.ContainsFunc(p.env, func(own corev1.EnvVar) bool { return own.Name == variable.Name })
		return owners && !slices.Contains(p.overlayEnv, variable.Name)
	})
}

// memory has a heap sized by the container only where there is a limit to size
// it by; an image's own default is for machines, not for containers.
func (p serverPod) memory() gameconfig.Memory {
	names := make([]string, 0, len(p.env))
	for _, variable := range p.env {
		names = append(names, variable.Name)
	}
	return gameconfig.Memory{
		Limited:        !p.resources.Limits.Memory().IsZero(),
		OwnerVariables: names,
	}
}
