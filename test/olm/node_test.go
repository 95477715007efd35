// SPDX-License-Identifier: Apache-2.0

package olm

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	nodeName = "node1"
	// glance is how often the node looks, and the tests do.
	glance = 100 * time.Millisecond
)

// node plays the scheduler and the kubelet for the pods of one namespace.
type node struct {
	client    client.Client
	config    *rest.Config
	namespace string
	logs      string
	roots     string
	tell      func(format string, arguments ...any)

	running sync.WaitGroup
	known   map[types.UID]bool

	mu     sync.Mutex
	images map[string]image
	broken []string
}

// start runs the pods of the namespace until the test ends.
func (n *node) start(t testing.TB) {
	n.images, n.known, n.tell, n.roots = map[string]image{}, map[types.UID]bool{}, t.Logf, t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	n.running.Go(func() {
		for ctx.Err() == nil {
			n.look(ctx)
			wait(ctx, glance)
		}
	})
	t.Cleanup(func() { cancel(); n.running.Wait() })
}

// brokenContainers are those that ended though nobody asked them to, or not
// well when they were asked.
func (n *node) brokenContainers() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.broken)
}

// look binds and starts what is new. Each pod has a routine of its own from
// then on.
func (n *node) look(ctx context.Context) {
	var pods corev1.PodList
	if n.client.List(ctx, &pods, client.InNamespace(n.namespace)) != nil {
		return
	}
	for i := range pods.Items {
		pod := &pods.Items[i]
		switch {
		case pod.Spec.NodeName == "" && pod.DeletionTimestamp == nil:
			_ = n.client.SubResource("binding").Create(ctx, pod, &corev1.Binding{Target: corev1.ObjectReference{Kind: "Node", Name: nodeName}})
		case !n.known[pod.UID]:
			n.known[pod.UID] = true
			n.running.Go(func() {
				if err := n.run(ctx, pod); err != nil && ctx.Err() == nil {
					n.tell("pod %s: %v", pod.Name, err)
				}
			})
		}
	}
}

// run keeps one pod as its spec says until it is deleted or its work is done.
func (n *node) run(ctx context.Context, pod *corev1.Pod) error {
	inside, err := openNetwork(n.config)
	if err != nil {
		return err
	}
	defer inside.close()
	health := &http.Client{Timeout: time.Second, Transport: &http.Transport{DialContext: inside.dial, DisableKeepAlives: true}}
	var container *process
	defer func() { n.end(pod, container) }()
	for said := ""; ctx.Err() == nil; wait(ctx, glance) {
		if n.client.Get(ctx, client.ObjectKeyFromObject(pod), pod) != nil || pod.DeletionTimestamp != nil {
			n.end(pod, container)
			return n.client.Delete(ctx, pod, client.GracePeriodSeconds(0), client.Preconditions{UID: &pod.UID})
		}
		if container == nil {
			// An image that is not there is waited for, as by a real one.
			if container, err = n.launch(ctx, pod, inside); err != nil && err.Error() != said {
				said = err.Error()
				n.tell("pod %s: %v", pod.Name, err)
			}
			continue
		}
		if n.report(ctx, pod, container, health) {
			return nil
		}
		if !container.running() && pod.Spec.RestartPolicy == corev1.RestartPolicyAlways {
			n.breaks(pod, container)
			container = nil
			wait(ctx, time.Second)
		}
	}
	return nil
}

// end stops the container of a pod.
func (n *node) end(pod *corev1.Pod, container *process) {
	if container == nil || !container.running() {
		return
	}
	seconds := *pod.Spec.TerminationGracePeriodSeconds
	if pod.DeletionGracePeriodSeconds != nil {
		seconds = *pod.DeletionGracePeriodSeconds
	}
	container.stop(time.Duration(seconds) * time.Second)
	if container.command.ProcessState.ExitCode() != 0 {
		n.breaks(pod, container)
	}
}

func (n *node) breaks(pod *corev1.Pod, container *process) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.broken = append(n.broken, fmt.Sprintf("%s: %s, see %s", pod.Name, container.command.ProcessState, n.logOf(pod)))
}

// report writes what a kubelet would, when it changed, and returns whether the
// pod's work is done.
func (n *node) report(ctx context.Context, pod *corev1.Pod, container *process, health *http.Client) bool {
	spec := pod.Spec.Containers[0]
	status := corev1.ContainerStatus{Name: spec.Name, Image: spec.Image}
	phase, ready := corev1.PodRunning, corev1.ConditionFalse
	switch {
	case container.running():
		status.State.Running = &corev1.ContainerStateRunning{}
		if isReady(ctx, spec, health) {
			status.Ready, ready = true, corev1.ConditionTrue
		}
	case pod.Spec.RestartPolicy == corev1.RestartPolicyAlways:
		status.State.Waiting = &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}
	default:
		phase = corev1.PodSucceeded
		if container.command.ProcessState.ExitCode() != 0 {
			phase = corev1.PodFailed
		}
		status.State.Terminated = &corev1.ContainerStateTerminated{ExitCode: int32(container.command.ProcessState.ExitCode())}
	}
	same := func(c corev1.PodCondition) bool { return c.Type == corev1.PodReady && c.Status == ready }
	if pod.Status.Phase != phase || !slices.ContainsFunc(pod.Status.Conditions, same) {
		pod.Status.Phase, pod.Status.PodIP, pod.Status.PodIPs = phase, "127.0.0.1", []corev1.PodIP{{IP: "127.0.0.1"}}
		pod.Status.Conditions = []corev1.PodCondition{
			{Type: corev1.PodScheduled, Status: corev1.ConditionTrue},
			{Type: corev1.ContainersReady, Status: ready},
			{Type: corev1.PodReady, Status: ready},
		}
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{status}
		if n.client.Status().Update(ctx, pod) != nil {
			return false
		}
	}
	if phase == corev1.PodFailed {
		n.breaks(pod, container)
	}
	return phase != corev1.PodRunning
}

// isReady asks what the readiness probe asks.
func isReady(ctx context.Context, container corev1.Container, health *http.Client) bool {
	probe := container.ReadinessProbe
	if probe == nil || probe.HTTPGet == nil {
		return true
	}
	port := probe.HTTPGet.Port.IntValue()
	for _, named := range container.Ports {
		if named.Name == probe.HTTPGet.Port.StrVal {
			port = int(named.ContainerPort)
		}
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("http://127.0.0.1:%d%s", port, probe.HTTPGet.Path), nil)
	if err != nil {
		return false
	}
	response, err := health.Do(request)
	if err != nil {
		return false
	}
	defer func() { _ = response.Body.Close() }()
	return response.StatusCode < http.StatusBadRequest
}

// logOf is the file that a pod's container writes to.
func (n *node) logOf(pod *corev1.Pod) string {
	return filepath.Join(n.logs, pod.Name+".log")
}

func wait(ctx context.Context, long time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(long):
	}
}
