// SPDX-License-Identifier: Apache-2.0

package podspec_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/agent/serverspec"
	"github.com/spawnery/spawnery-operator/internal/podspec"
)

const operatorImage = "images.test/spawnery-operator:v1.2.3"

// serverPods are the pods of every ServerGroup in testdata, by group.
func serverPods(t *testing.T) map[string]*corev1.Pod {
	t.Helper()
	pods := map[string]*corev1.Pod{}
	for _, name := range []string{"lobby", "survival", "modded", "classic", "overlaid"} {
		pods[name] = serverPod(t, load[v1alpha1.Network](t, "network"), load[v1alpha1.ServerGroup](t, name))
	}
	return pods
}

func serverPod(t *testing.T, network *v1alpha1.Network, group *v1alpha1.ServerGroup) *corev1.Pod {
	t.Helper()
	pod, err := podspec.BuildServerPod(podspec.ResolveServer(network, group), podspec.Runtime{
		Server:        serverOf(group),
		OperatorImage: operatorImage,
		StopToken:     "a-stop-token",
	})
	if err != nil {
		t.Fatal(err)
	}
	return pod
}

func serverOf(group *v1alpha1.ServerGroup) *v1alpha1.Server {
	server := &v1alpha1.Server{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: group.Namespace,
			Name:      podspec.EphemeralServerName(group.Name, func(int) int { return 1 }),
			UID:       types.UID("99999999-9999-9999-9999-999999999999"),
		},
		Spec: v1alpha1.ServerSpec{
			GroupRef:   v1alpha1.GroupReference{Name: group.Name},
			NetworkRef: group.Spec.NetworkRef,
		},
	}
	if !group.IsEphemeral() {
		server.Name, server.Spec.Ordinal = podspec.PersistentServerName(group.Name, 1), new(int32(1))
	}
	return server
}

func proxyPod(t *testing.T, network, group string) *corev1.Pod {
	t.Helper()
	proxies := load[v1alpha1.ProxyGroup](t, group)
	return podspec.BuildProxyPod(podspec.ResolveProxy(load[v1alpha1.Network](t, network), proxies), podspec.ProxyRuntime{
		Group:         proxies,
		Name:          podspec.ProxyPodName(group, func(int) int { return 1 }),
		OperatorImage: operatorImage,
	})
}

func TestPodsAreGolden(t *testing.T) {
	for name, pod := range serverPods(t) {
		t.Run(name, func(t *testing.T) { golden(t, "pod-"+name, pod) })
	}
	t.Run("with the Network's defaults", func(t *testing.T) {
		network := load[v1alpha1.Network](t, "network-chosen")
		golden(t, "pod-lobby-defaults", serverPod(t, network, load[v1alpha1.ServerGroup](t, "lobby")))
	})
	t.Run("proxy", func(t *testing.T) { golden(t, "pod-front", proxyPod(t, "network", "front")) })
	t.Run("proxy with choices", func(t *testing.T) { golden(t, "pod-edge", proxyPod(t, "network-chosen", "edge")) })
	t.Run("proxy with ConfigMaps", func(t *testing.T) { golden(t, "pod-dressed", proxyPod(t, "network", "dressed")) })
	t.Run("proxy with a port of its node", func(t *testing.T) { golden(t, "pod-gate", proxyPod(t, "network", "gate")) })
}

func TestEveryContainerIsRestricted(t *testing.T) {
	pods := serverPods(t)
	pods["front"], pods["edge"] = proxyPod(t, "network", "front"), proxyPod(t, "network-chosen", "edge")
	for name, pod := range pods {
		t.Run(name, func(t *testing.T) {
			security := pod.Spec.SecurityContext
			if !isTrue(security.RunAsNonRoot) || security.SeccompProfile.Type != corev1.SeccompProfileTypeRuntimeDefault {
				t.Errorf("pod security %v is not restricted", security)
			}
			if !isFalse(pod.Spec.AutomountServiceAccountToken) || !isFalse(pod.Spec.EnableServiceLinks) {
				t.Error("a token or service variables are given to every container")
			}
			for _, container := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
				checkContainer(t, container)
			}
		})
	}
}

func checkContainer(t *testing.T, container corev1.Container) {
	t.Helper()
	security := container.SecurityContext
	if !isFalse(security.AllowPrivilegeEscalation) || !slices.Contains(security.Capabilities.Drop, "ALL") {
		t.Errorf("container security %v of %s is not restricted", security, container.Name)
	}
	if container.Name != podspec.ContainerServer && !isTrue(security.ReadOnlyRootFilesystem) {
		t.Errorf("%s, a program of ours, can write to its root", container.Name)
	}
	if container.LivenessProbe != nil || container.StartupProbe != nil {
		t.Errorf("%s has a probe that can kill it or hold the game back", container.Name)
	}
}

func TestCredentialsReachOnlyWhoNeedsThem(t *testing.T) {
	want := map[string][]string{
		serverspec.RunDir:            {"agent", "prepare"},
		serverspec.ForwardingDir:     {"agent", "prepare"},
		serverspec.ChannelDir:        {"agent"},
		"/var/run/secrets/spawnery":  {"agent"},
		"/srv/world":                 {"prepare", "server"},
		"/tmp":                       {"server"},
		"/srv/world/plugins/Greeter": {"server"},
		"/srv/keys/licence.txt":      {"server"},
	}
	got := map[string][]string{}
	pod := serverPods(t)["survival"]
	for _, container := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		for _, mount := range container.VolumeMounts {
			got[mount.MountPath] = append(got[mount.MountPath], container.Name)
			slices.Sort(got[mount.MountPath])
		}
	}
	compare(t, want, got)
}

func TestTheAgentReadsTheSpecItsPodWasRenderedFrom(t *testing.T) {
	group := load[v1alpha1.ServerGroup](t, "survival")
	group.Spec.Server.Properties = map[string]string{"motd": `Win $$$ with $(SPAWNERY_SERVER)!`}
	pod := serverPod(t, load[v1alpha1.Network](t, "network"), group)
	for _, container := range pod.Spec.InitContainers {
		value := variable(t, container, serverspec.Variable)
		// What the kubelet does to a value in which every $ is escaped.
		spec, err := serverspec.Decode([]byte(strings.ReplaceAll(value, "$$", "$")))
		if err != nil {
			t.Fatalf("%s: %v", container.Name, err)
		}
		compare(t, serverspec.Spec{
			Server: "survival-1", Group: "survival", Ordinal: new(int32(1)),
			Flavor: "Paper", DataDir: "/srv/world", DataVolume: "the claim survival-1-data",
			Port: 25570, MaxPlayers: 20, Forwarding: "Velocity", OnlineMode: true, AcceptEULA: true,
			Properties:   map[string]string{"motd": `Win $$$ with $(SPAWNERY_SERVER)!`},
			GraceSeconds: 180, StopToken: "a-stop-token",
		}, spec)
	}
}

func TestOnlyTheKubeletOfThisPodKnowsHowToStopTheGame(t *testing.T) {
	hook := serverPods(t)["lobby"].Spec.Containers[0].Lifecycle.PreStop.HTTPGet
	compare(t, serverspec.StopPath, hook.Path)
	compare(t, serverspec.Port, hook.Port.IntValue())
	compare(t, []corev1.HTTPHeader{{Name: serverspec.StopHeader, Value: "a-stop-token"}}, hook.HTTPHeaders)
}

func TestASpecTheAgentWouldRefuseMakesNoPod(t *testing.T) {
	group := load[v1alpha1.ServerGroup](t, "lobby")
	group.Spec.Server.Flavor = v1alpha1.FlavorVanilla
	inputs := podspec.ResolveServer(load[v1alpha1.Network](t, "network"), group)
	pod, err := podspec.BuildServerPod(inputs, podspec.Runtime{Server: serverOf(group), StopToken: "x"})
	if err == nil || !strings.Contains(err.Error(), "forwarding must be None with flavor Vanilla") {
		t.Errorf("BuildServerPod() = %v, %v, want a refusal", pod, err)
	}
}

func TestAHeapIsSizedOnlyWhereTheOwnerSizedTheContainer(t *testing.T) {
	pods := serverPods(t)
	compare(t, "75%", variable(t, pods["survival"].Spec.Containers[0], "MAX_MEMORY"))
	compare(t, "", variable(t, pods["lobby"].Spec.Containers[0], "MAX_MEMORY"))
	compare(t, "", variable(t, pods["modded"].Spec.Containers[0], "MAX_MEMORY"))
	compare(t, "6G", variable(t, pods["modded"].Spec.Containers[0], "MEMORY"))
}

func TestPodsOfOneGroupShareNothing(t *testing.T) {
	group := load[v1alpha1.ServerGroup](t, "survival")
	inputs := podspec.ResolveServer(load[v1alpha1.Network](t, "network"), group)
	runtime := podspec.Runtime{Server: serverOf(group), OperatorImage: operatorImage, StopToken: "x"}
	first, err := podspec.BuildServerPod(inputs, runtime)
	if err != nil {
		t.Fatal(err)
	}
	before := encode(t, first)
	second, err := podspec.BuildServerPod(inputs, runtime)
	if err != nil {
		t.Fatal(err)
	}
	second.Spec.NodeSelector["x"] = "y"
	second.Spec.Affinity.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution[0].Weight = 1
	second.Spec.Tolerations[0].Key = "x"
	second.Spec.Containers[0].Resources.Limits["x"] = second.Spec.Containers[0].Resources.Limits["memory"]
	second.Spec.Containers[0].Env[0].Value = "x"
	second.Labels["x"], second.Annotations["x"] = "y", "y"
	group.Spec.Resources.Limits["z"] = group.Spec.Resources.Limits["memory"]
	group.Spec.Scheduling.NodeSelector["z"] = "y"
	compare(t, before, encode(t, first))
	third, err := podspec.BuildServerPod(inputs, runtime)
	if err != nil {
		t.Fatal(err)
	}
	compare(t, before, encode(t, third))
}

func TestAProxyGetsItsGroupsDrainAndASessionServerOnlyWhenThereIsOne(t *testing.T) {
	network, group := load[v1alpha1.Network](t, "network"), load[v1alpha1.ProxyGroup](t, "edge")
	compare(t, int64(630), podspec.ProxyGraceSeconds(group))
	compare(t, int64(330), podspec.ProxyGraceSeconds(load[v1alpha1.ProxyGroup](t, "front")))
	pod := podspec.BuildProxyPod(podspec.ResolveProxy(network, group), podspec.ProxyRuntime{
		Group: group, Name: "edge-proxy-abcd", SessionServer: "http://sessions.test",
	})
	compare(t, int64(630), *pod.Spec.TerminationGracePeriodSeconds)
	if args := pod.Spec.Containers[0].Args; !slices.Contains(args, "--session-server=http://sessions.test") {
		t.Errorf("arguments %q name no session server", args)
	}
}

func TestPlayersAreSentOnWhereAnotherProxyIsReached(t *testing.T) {
	tests := map[string]struct {
		expose  v1alpha1.ExposeType
		said    v1alpha1.TransferMode
		timeout int32
		want    v1alpha1.TransferMode
		drain   int32
	}{
		"by a load balancer":             {expose: v1alpha1.ExposeLoadBalancer, want: v1alpha1.TransferEnabled, drain: 300},
		"by a way of the owner":          {expose: v1alpha1.ExposeClusterIP, want: v1alpha1.TransferEnabled, drain: 300},
		"by a port of every node":        {expose: v1alpha1.ExposeNodePort, want: v1alpha1.TransferDisabled, drain: 3600},
		"by a port of its node":          {expose: v1alpha1.ExposeHostPort, want: v1alpha1.TransferDisabled, drain: 3600},
		"if the owner says so":           {expose: v1alpha1.ExposeNodePort, said: v1alpha1.TransferEnabled, want: v1alpha1.TransferEnabled, drain: 300},
		"unless the owner says not":      {expose: v1alpha1.ExposeLoadBalancer, said: v1alpha1.TransferDisabled, want: v1alpha1.TransferDisabled, drain: 3600},
		"and the owner's time is theirs": {expose: v1alpha1.ExposeLoadBalancer, timeout: 77, want: v1alpha1.TransferEnabled, drain: 77},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			group := &v1alpha1.ProxyGroup{Spec: v1alpha1.ProxyGroupSpec{
				Expose: v1alpha1.Expose{Type: tt.expose}, Update: v1alpha1.ProxyUpdate{Transfer: tt.said},
				Drain: v1alpha1.ProxyDrain{TimeoutSeconds: tt.timeout},
			}}
			compare(t, tt.want, podspec.ProxyTransfer(group))
			compare(t, tt.drain, podspec.ProxyDrainSeconds(group))
		})
	}
}

func variable(t *testing.T, container corev1.Container, name string) string {
	t.Helper()
	value, found := "", false
	for _, variable := range container.Env {
		if variable.Name != name {
			continue
		}
		if found {
			t.Errorf("%s has %s twice", container.Name, name)
		}
		value, found = variable.Value, true
	}
	return value
}

func encode(t *testing.T, object any) string {
	t.Helper()
	document, err := json.MarshalIndent(object, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return string(document)
}

func isTrue(value *bool) bool  { return value != nil && *value }
func isFalse(value *bool) bool { return value != nil && !*value }
