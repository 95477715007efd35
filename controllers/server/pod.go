// SPDX-License-Identifier: Apache-2.0

package server

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/spawnery/spawnery-operator/internal/phase"
	"github.com/spawnery/spawnery-operator/internal/podspec"
)

const (
	// finishedAfter is how long a game must have been Ready for its exit with
	// code 0 to be the end of a round.
	finishedAfter = 60 * time.Second
	// crashLoops is how many restarts of a container that never got anywhere
	// make a failure of a pod that the kubelet restarts.
	crashLoops = 3
	crashLoop  = "CrashLoopBackOff"
	oomKilled  = "OOMKilled"
)

// rounds tells the end of a round from a game that gave up.
type rounds struct {
	// readySince is when the server was last ready; zero: never.
	readySince time.Time
	// ended is true when a plugin said so.
	ended bool
}

// podState says what became of a pod of ours, and in which words it ended.
// Whether it ended is judged by its containers: its phase stays Running until
// the agent has stopped too.
func podState(pod *corev1.Pod, round rounds) (phase.Pod, string) {
	if evicted(pod) {
		return phase.PodEvicted, ""
	}
	if pod.DeletionTimestamp != nil {
		return phase.PodTerminating, ""
	}
	if state, detail, ended := prepareEnded(pod); ended {
		return state, detail
	}
	if state, detail, ended := gameEnded(pod, round); ended {
		return state, detail
	}
	if pod.Status.Phase == corev1.PodFailed {
		return phase.PodGameExited, strings.TrimSpace(pod.Status.Reason + " " + pod.Status.Message)
	}
	game, ok := containerStatus(pod.Status.ContainerStatuses, podspec.ContainerServer)
	switch {
	case podReady(pod):
		return phase.PodReady, ""
	case ok && game.State.Running != nil:
		return phase.PodRunning, ""
	}
	return phase.PodWaiting, waitingFor(pod)
}

func evicted(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodFailed && slices.ContainsFunc(pod.Status.Conditions,
		func(c corev1.PodCondition) bool {
			return c.Type == corev1.DisruptionTarget && c.Status == corev1.ConditionTrue
		})
}

func podReady(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

func containerStatus(statuses []corev1.ContainerStatus, name string) (corev1.ContainerStatus, bool) {
	at := slices.IndexFunc(statuses, func(s corev1.ContainerStatus) bool { return s.Name == name })
	if at < 0 {
		return corev1.ContainerStatus{}, false
	}
	return statuses[at], true
}

// preparations are what runs before the game, in this order.
var preparations = []string{podspec.ContainerInstall, podspec.ContainerTemplate, podspec.ContainerPrepare}

// prepareEnded tells a preparation that failed, with the layer, or the file and
// key, that its termination message names.
func prepareEnded(pod *corev1.Pod) (phase.Pod, string, bool) {
	for _, name := range preparations {
		status, ok := containerStatus(pod.Status.InitContainerStatuses, name)
		if !ok {
			continue
		}
		ended := lastEnd(pod, status)
		if ended == nil || ended.ExitCode == 0 {
			continue
		}
		return phase.PodPrepareFailed, cmp.Or(strings.TrimSpace(ended.Message), howEnded(name, ended)), true
	}
	return 0, "", false
}

// howEnded is for a container that left no message: it was killed.
func howEnded(name string, ended *corev1.ContainerStateTerminated) string {
	if ended.Reason == oomKilled {
		return fmt.Sprintf("container %s ran out of memory", name)
	}
	return fmt.Sprintf("exit code %d", ended.ExitCode)
}

// gameEnded tells how a game that will not run again ended.
func gameEnded(pod *corev1.Pod, round rounds) (phase.Pod, string, bool) {
	status, ok := containerStatus(pod.Status.ContainerStatuses, podspec.ContainerServer)
	if !ok {
		return 0, "", false
	}
	ended := lastEnd(pod, status)
	switch {
	case ended == nil:
		return 0, "", false
	case ended.Reason == oomKilled:
		return phase.PodOutOfMemory, fmt.Sprintf("exit code %d", ended.ExitCode), true
	case ended.ExitCode != 0:
		return phase.PodGameExited, fmt.Sprintf("exit code %d", ended.ExitCode), true
	case round.readySince.IsZero():
		return phase.PodGameExited, "exit code 0 before it was ever ready: was the EULA accepted (spec.server.acceptEula)?", true
	case !round.ended && ended.FinishedAt.Sub(round.readySince) < finishedAfter:
		return phase.PodGameExited, fmt.Sprintf("exit code 0 less than %s after it was ready, and no plugin said that its round has ended", finishedAfter), true
	}
	return phase.PodFinished, "", true
}

// lastEnd is how a container ended for good: it has terminated and nobody
// restarts it, or it was restarted in vain too often.
func lastEnd(pod *corev1.Pod, status corev1.ContainerStatus) *corev1.ContainerStateTerminated {
	if pod.Spec.RestartPolicy == corev1.RestartPolicyNever {
		return status.State.Terminated
	}
	waiting := status.State.Waiting
	if waiting != nil && waiting.Reason == crashLoop && status.RestartCount >= crashLoops {
		return status.LastTerminationState.Terminated
	}
	return nil
}

// waitingFor is the first thing a pod that does not run yet says it waits for.
func waitingFor(pod *corev1.Pod) string {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodScheduled && condition.Status == corev1.ConditionFalse {
			return condition.Message
		}
	}
	for _, status := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		if waiting := status.State.Waiting; waiting != nil && waiting.Message != "" {
			return status.Name + ": " + waiting.Message
		}
	}
	return waitingForVolumes(pod)
}

// waitingForVolumes speaks for a kubelet that says only by events which volume
// it cannot mount, and events are not ours to read. It is told where a layer
// may be the cause: a world's claim is nobody else's.
func waitingForVolumes(pod *corev1.Pod) string {
	claims := podspec.LayerClaims(pod)
	unready := slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReadyToStartContainers && c.Status == corev1.ConditionFalse
	})
	if len(claims) == 0 || !unready {
		return ""
	}
	return fmt.Sprintf("node %s has not mounted its volumes yet; server.template takes files from %s, and a ReadWriteOnce claim "+
		"serves one node at a time: kubectl describe pod %s -n %s says what it waits for",
		pod.Spec.NodeName, strings.Join(claims, ", "), pod.Name, pod.Namespace)
}
