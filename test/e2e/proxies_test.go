// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/spawnery/spawnery-operator/internal/podspec"
	"github.com/spawnery/spawnery-operator/test/stage"
)

func TestProxiesComeAndGoAndKeepTheirPlayers(t *testing.T) {
	crowd := gather(t)
	must(t, crowd.JoinBots(t.Context(), soon, bots(3)...))
	first := proxies(t)
	if len(first) != 1 {
		t.Fatalf("%d proxies, want 1", len(first))
	}
	scaleProxies(t, 2)
	must(t, awaitProxies(t.Context(), 2))
	second := newcomer(t, first[0].Name)
	// The pod's own address, since a Service would choose between the two.
	behind := &stage.Crowd{Address: addressOf(second)}
	t.Cleanup(func() { behind.Leave() })
	must(t, behind.JoinBots(t.Context(), soon, "Behind1", "Behind2"))
	awaitConnected(t, 5)

	// The surplus is the one with fewer players. It takes nobody new, and stays
	// as long as they do.
	scaleProxies(t, 1)
	must(t, awaitProxies(t.Context(), 1))
	must(t, hold(t.Context(), 2*pass, func(ctx context.Context) error {
		pods, err := cluster.Pods(ctx, podspec.RoleProxy)
		if err == nil && len(pods) != 2 {
			err = fmt.Errorf("%d proxies while both have players, want 2", len(pods))
		}
		return errors.Join(err, crowd.Lost(), behind.Lost())
	}))
	must(t, crowd.JoinBots(t.Context(), soon, "Bot04", "Bot05"))
	behind.Leave()
	must(t, cluster.Await(t.Context(), second.Name+" gone", soon, func(ctx context.Context) (string, bool) {
		pods, err := cluster.Pods(ctx, podspec.RoleProxy)
		return fmt.Sprintf("%d proxies, %v", len(pods), err), err == nil && len(pods) == 1 && pods[0].Name == first[0].Name
	}))
}

// A proxy dies without a word, as with its node: whoever was on it is back by the
// other one before they have typed a line about it, and nobody is there twice.
func TestPlayersOfAProxyThatIsKilledAreBackByAnother(t *testing.T) {
	const back = 10 * time.Second
	crowd := gather(t)
	must(t, crowd.JoinBots(t.Context(), soon, bots(2)...))
	first := proxies(t)[0]
	scaleProxies(t, 2)
	must(t, awaitProxies(t.Context(), 2))
	doomed := newcomer(t, first.Name)
	// The pods' own addresses, since a Service would choose between the two.
	behind := &stage.Crowd{Address: addressOf(doomed)}
	again := &stage.Crowd{Address: addressOf(first)}
	t.Cleanup(func() { behind.Leave(); again.Leave() })
	names := []string{"Killed1", "Killed2", "Killed3", "Killed4"}
	must(t, behind.JoinBots(t.Context(), soon, names...))
	awaitConnected(t, 6)

	began := time.Now()
	killIn(t, string(doomed.UID), "proxy")
	must(t, again.JoinBots(t.Context(), back, names...))
	if took := time.Since(began); took > back {
		t.Errorf("they were back after %s, want %s", took, back)
	} else {
		t.Logf("%d players were back after %s", len(names), took)
	}
	// Statuses are written one by one, and a moment late: what counts is the end.
	must(t, cluster.Await(t.Context(), "6 players in the statuses of all servers", counted, func(ctx context.Context) (string, bool) {
		players, err := cluster.Players(ctx)
		return fmt.Sprintf("%d players, %v", players, err), err == nil && players == 6
	}))
	must(t, errors.Join(crowd.Lost(), again.Lost()))
	// The kubelet has started the proxy again meanwhile, which has nobody.
	must(t, awaitProxies(t.Context(), 2))
	awaitConnected(t, 6)
}

func addressOf(proxy corev1.Pod) string {
	return net.JoinHostPort(proxy.Status.PodIP, strconv.Itoa(int(podspec.ProxyPort)))
}

// newcomer is the proxy that is not the first.
func newcomer(t *testing.T, first string) corev1.Pod {
	t.Helper()
	for _, pod := range proxies(t) {
		if pod.Name != first {
			return pod
		}
	}
	t.Fatal("there is no second proxy")
	return corev1.Pod{}
}

func awaitConnected(t *testing.T, want int32) {
	t.Helper()
	must(t, cluster.Await(t.Context(), "players in the ProxyGroup's status", counted, func(ctx context.Context) (string, bool) {
		door, err := cluster.ProxyGroup(ctx, edge)
		if err != nil {
			return err.Error(), false
		}
		players := ptr.Deref(door.Status.ConnectedPlayers, 0)
		return fmt.Sprintf("%d connected", players), players == want
	}))
}

func proxies(t *testing.T) []corev1.Pod {
	t.Helper()
	pods, err := cluster.Pods(t.Context(), podspec.RoleProxy)
	must(t, err)
	return pods
}

func scaleProxies(t *testing.T, replicas int) {
	t.Helper()
	patch := fmt.Sprintf(`{"spec":{"replicas":%d,"drain":{"timeoutSeconds":300}}}`, replicas)
	_, err := cluster.Kubectl(t.Context(), "", "patch", "proxygroup", edge, "-n", stage.Namespace, "--type=merge", "-p", patch)
	must(t, err)
}

func awaitProxies(ctx context.Context, ready int32) error {
	return cluster.Await(ctx, fmt.Sprintf("%d proxies ready", ready), soon, func(ctx context.Context) (string, bool) {
		door, err := cluster.ProxyGroup(ctx, edge)
		if err != nil {
			return err.Error(), false
		}
		got := ptr.Deref(door.Status.ReadyReplicas, 0)
		return fmt.Sprintf("%d ready", got), got == ready
	})
}
