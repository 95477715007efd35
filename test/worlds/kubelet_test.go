// SPDX-License-Identifier: Apache-2.0

package worlds

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/spawnery/spawnery-operator/internal/podspec"
)

const (
	nodeName = "node1"
	// volumeName begins the names of volumes, which nobody looks for.
	volumeName = "volume-of-"
)

// node plays what runs pods and provides volumes: scheduler, kubelet, volume
// provisioner and resizer.
type node struct {
	*trial
	running sync.WaitGroup

	mu     sync.Mutex
	random *rand.Rand
	agents map[types.UID]context.CancelFunc
	ending map[types.UID]bool
	// silent is true while the node cannot be reached: deleted pods stay.
	silent bool
	// stuck is true while pods wait for their volumes.
	stuck bool
	// resizes is false where no volume ever grows, whatever its class allows.
	resizes bool
}

func newNode(t *trial, random *rand.Rand) *node {
	return &node{trial: t, random: random, resizes: random.IntN(2) == 0, agents: map[types.UID]context.CancelFunc{}, ending: map[types.UID]bool{}}
}

func (n *node) set(silent, stuck bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.silent, n.stuck = silent, stuck
}

func (n *node) is() (bool, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.silent, n.stuck
}

// draw returns a number below most.
func (n *node) draw(most int) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.random.IntN(most)
}

func (n *node) pause(ctx context.Context, most time.Duration) {
	wait(ctx, time.Duration(n.draw(int(most))))
}

// wait returns early when the context ends.
func wait(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// pod takes what became of a pod.
func (n *node) pod(ctx context.Context, kind watch.EventType, pod *corev1.Pod) {
	switch {
	case kind == watch.Deleted:
		n.endAgent(pod.UID)
	case pod.DeletionTimestamp != nil:
		n.mu.Lock()
		begun := n.ending[pod.UID]
		n.ending[pod.UID] = true
		n.mu.Unlock()
		if !begun {
			n.running.Go(func() { n.end(ctx, pod) })
		}
	case kind == watch.Added:
		n.running.Go(func() { n.run(ctx, pod) })
	}
}

// run schedules a pod, starts it, and connects its agent.
func (n *node) run(ctx context.Context, pod *corev1.Pod) {
	n.pause(ctx, 60*time.Millisecond)
	pods := n.kube.CoreV1().Pods(pod.Namespace)
	binding := &corev1.Binding{
		ObjectMeta: metav1.ObjectMeta{Name: pod.Name, UID: pod.UID}, Target: corev1.ObjectReference{Kind: "Node", Name: nodeName},
	}
	if pods.Bind(ctx, binding, metav1.CreateOptions{FieldManager: person}) != nil {
		return
	}
	for {
		n.pause(ctx, 100*time.Millisecond)
		there, err := pods.Get(ctx, pod.Name, metav1.GetOptions{})
		if err != nil || there.UID != pod.UID || there.DeletionTimestamp != nil || ctx.Err() != nil {
			return
		}
		if _, stuck := n.is(); stuck || there.Spec.NodeName == "" {
			continue
		}
		run(there)
		if _, err := pods.UpdateStatus(ctx, there, metav1.UpdateOptions{FieldManager: person}); err != nil {
			continue
		}
		if there.Labels[podspec.LabelRole] == string(podspec.RoleServer) {
			n.startAgent(ctx, there)
		}
		return
	}
}

// run shows a pod as it is once everything in it runs.
func run(pod *corev1.Pod) {
	pod.Status.Phase = corev1.PodRunning
	pod.Status.PodIP = "127.0.0.1"
	pod.Status.PodIPs = []corev1.PodIP{{IP: "127.0.0.1"}}
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	pod.Status.ContainerStatuses = nil
	for _, container := range pod.Spec.Containers {
		pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, corev1.ContainerStatus{
			Name: container.Name, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}, Ready: true,
		})
	}
}

// end lets a deleted pod end, after a while, and not while the node is silent.
func (n *node) end(ctx context.Context, pod *corev1.Pod) {
	n.endAgent(pod.UID)
	n.pause(ctx, 150*time.Millisecond)
	for ctx.Err() == nil {
		if silent, _ := n.is(); !silent {
			_ = n.kube.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{
				GracePeriodSeconds: new(int64(0)), Preconditions: &metav1.Preconditions{UID: &pod.UID},
			})
			return
		}
		wait(ctx, 20*time.Millisecond)
	}
}

// claim takes what became of a claim: it gets a volume, and, where volumes grow,
// often what it asks for beyond that.
func (n *node) claim(ctx context.Context, claim *corev1.PersistentVolumeClaim) {
	requested := claim.Spec.Resources.Requests[corev1.ResourceStorage]
	capacity, bound := claim.Status.Capacity[corev1.ResourceStorage]
	if bound && (capacity.Cmp(requested) >= 0 || !n.resizes || n.draw(2) == 0) {
		return
	}
	n.running.Go(func() {
		n.pause(ctx, 200*time.Millisecond)
		claims := n.kube.CoreV1().PersistentVolumeClaims(claim.Namespace)
		written := claim
		if claim.Spec.VolumeName == "" {
			patch := []byte(`{"spec":{"volumeName":"` + volumeName + claim.Name + `"}}`)
			var err error
			written, err = claims.Patch(ctx, claim.Name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: person})
			if err != nil {
				return
			}
		}
		written = written.DeepCopy()
		written.Status.Phase = corev1.ClaimBound
		written.Status.AccessModes = written.Spec.AccessModes
		written.Status.Capacity = corev1.ResourceList{corev1.ResourceStorage: requested}
		// One that has changed since comes again by its own event.
		_, _ = claims.UpdateStatus(ctx, written, metav1.UpdateOptions{FieldManager: person})
	})
}
