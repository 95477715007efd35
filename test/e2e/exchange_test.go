// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/podspec"
	"github.com/spawnery/spawnery-operator/test/stage"
)

// gate is a ProxyGroup that takes a port of its node.
const gate = "gate"

const gateManifest = `
apiVersion: spawnery.cloud/v1alpha1
kind: ProxyGroup
metadata:
  name: gate
  namespace: %s
spec:
  networkRef: {name: production}
  replicas: 1
  expose:
    type: HostPort
    hostPort: {port: 25577}
  routing: {fallbackGroups: [hub]}
  drain: {timeoutSeconds: 300}
  scheduling:
    nodeSelector: {%s: %s}
`

func TestAnEditReplacesProxiesAndKeepsTheirPlayers(t *testing.T) {
	crowd := gather(t)
	must(t, crowd.JoinBots(t.Context(), soon, bots(3)...))
	old := proxies(t)[0].Name
	t.Cleanup(func() {
		crowd.Leave()
		patchProxies(t, edge, `{"spec":{"resources":null}}`)
		awaitExchange(t, edge, v1alpha1.ReasonSettled)
	})
	patchProxies(t, edge, `{"spec":{"drain":{"timeoutSeconds":300},"resources":{"requests":{"cpu":"11m"}}}}`)
	awaitWithdrawn(t, old)
	must(t, crowd.Lost())

	// The pod's own address: the Service goes on to the old one until its probe
	// has failed.
	fresh := newcomer(t, old)
	late := &stage.Crowd{Address: net.JoinHostPort(fresh.Status.PodIP, strconv.Itoa(int(podspec.ProxyPort)))}
	t.Cleanup(func() { late.Leave() })
	must(t, late.JoinBots(t.Context(), soon, "Late1", "Late2"))
	must(t, crowd.Lost())
	crowd.Leave()
	awaitExchange(t, edge, v1alpha1.ReasonSettled)
	awaitGoneProxy(t, old)
	must(t, late.Lost())
}

func TestAPortOfTheNodeMakesRoomForItsSuccessor(t *testing.T) {
	crowd := gather(t)
	allowNodePorts(t)
	manifest := fmt.Sprintf(gateManifest, stage.Namespace, corev1.LabelHostname, proxies(t)[0].Spec.NodeName)
	_, err := cluster.Kubectl(t.Context(), manifest, "apply", "-f", "-")
	must(t, err)
	t.Cleanup(func() {
		_, err := cluster.Kubectl(context.WithoutCancel(t.Context()), "", "delete", "proxygroup", gate, "-n", stage.Namespace)
		must(t, err)
	})
	crowd.Address, err = cluster.AwaitDoor(t.Context(), gate, soon)
	must(t, err)
	if !strings.HasSuffix(crowd.Address, ":25577") {
		t.Fatalf("the address is %q, want the port of the node", crowd.Address)
	}
	must(t, crowd.JoinBots(t.Context(), soon, "Gina"))
	patchProxies(t, gate, `{"spec":{"resources":{"requests":{"cpu":"11m"}}}}`)
	awaitExchange(t, gate, v1alpha1.ReasonNoNodeToSurge)
	must(t, crowd.Lost())
	crowd.Leave()
	awaitExchange(t, gate, v1alpha1.ReasonSettled)
	must(t, crowd.JoinBots(t.Context(), soon, "Gustav"))
}

// allowNodePorts has the namespace take pods that use ports of nodes, until the
// test ends.
func allowNodePorts(t *testing.T) {
	t.Helper()
	const enforce = "pod-security.kubernetes.io/enforce"
	label := func(value string) {
		_, err := cluster.Kubectl(context.WithoutCancel(t.Context()), "", "label", "namespace", stage.Namespace, enforce+"="+value, "--overwrite")
		must(t, err)
	}
	label("privileged")
	t.Cleanup(func() { label("restricted") })
}

func patchProxies(t *testing.T, group, patch string) {
	t.Helper()
	_, err := cluster.Kubectl(context.WithoutCancel(t.Context()), "", "patch", "proxygroup", group, "-n", stage.Namespace, "--type=merge", "-p", patch)
	must(t, err)
}

// awaitWithdrawn waits until a proxy takes nobody new, with another one in its
// place.
func awaitWithdrawn(t *testing.T, old string) {
	t.Helper()
	must(t, cluster.Await(t.Context(), old+" withdrawn, and another one in its place", soon, func(ctx context.Context) (string, bool) {
		pods, err := cluster.Pods(ctx, podspec.RoleProxy)
		if err != nil {
			return err.Error(), false
		}
		var withdrawn []string
		for i := range pods {
			if pods[i].Annotations[podspec.AnnotationWithdrawnAt] != "" {
				withdrawn = append(withdrawn, pods[i].Name)
			}
		}
		return fmt.Sprintf("%d proxies, withdrawn: %v", len(pods), withdrawn), len(pods) == 2 && len(withdrawn) == 1 && withdrawn[0] == old
	}))
}

func awaitGoneProxy(t *testing.T, name string) {
	t.Helper()
	must(t, cluster.Await(t.Context(), name+" gone", soon, func(ctx context.Context) (string, bool) {
		pods, err := cluster.Pods(ctx, podspec.RoleProxy)
		if err != nil {
			return err.Error(), false
		}
		gone := !slices.ContainsFunc(pods, func(pod corev1.Pod) bool { return pod.Name == name })
		return fmt.Sprintf("%d proxies", len(pods)), gone && len(pods) == 1
	}))
}

// awaitExchange waits until the replacement of a group's proxies stands where it
// should.
func awaitExchange(t *testing.T, group, reason string) {
	t.Helper()
	must(t, cluster.Await(context.WithoutCancel(t.Context()), group+": "+reason, 2*soon, func(ctx context.Context) (string, bool) {
		door, err := cluster.ProxyGroup(ctx, group)
		if err != nil {
			return err.Error(), false
		}
		said := apimeta.FindStatusCondition(door.Status.Conditions, v1alpha1.ConditionProgressing)
		if said == nil {
			return "nothing is said", false
		}
		return said.Reason + ": " + said.Message, said.Reason == reason && said.ObservedGeneration == door.Generation
	}))
}
