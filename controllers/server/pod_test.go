// SPDX-License-Identifier: Apache-2.0

package server

import (
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/phase"
	"github.com/spawnery/spawnery-operator/internal/podspec"
)

var now = time.Date(2026, 9, 18, 20, 0, 0, 0, time.UTC)

// change edits a pod that runs and is Ready, as the kubelet would show it.
type change func(*corev1.Pod)

func pod(changes ...change) *corev1.Pod {
	p := &corev1.Pod{
		Spec: corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever},
		Status: corev1.PodStatus{
			Phase:      corev1.PodRunning,
			Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
			InitContainerStatuses: []corev1.ContainerStatus{
				{Name: podspec.ContainerPrepare, State: terminated(0, "Completed")},
				{Name: podspec.ContainerAgent, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}},
			},
			ContainerStatuses: []corev1.ContainerStatus{
				{Name: podspec.ContainerServer, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}},
			},
		},
	}
	for _, edit := range changes {
		edit(p)
	}
	return p
}

func terminated(code int32, reason string) corev1.ContainerState {
	return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
		ExitCode: code, Reason: reason, FinishedAt: metav1.NewTime(now),
	}}
}

func unready(p *corev1.Pod) { p.Status.Conditions[0].Status = corev1.ConditionFalse }

func restarting(p *corev1.Pod) { p.Spec.RestartPolicy = corev1.RestartPolicyAlways }

func gameEnds(code int32, reason string) change {
	return func(p *corev1.Pod) {
		unready(p)
		p.Status.ContainerStatuses[0].State = terminated(code, reason)
	}
}

func gameLoops(restarts, code int32) change {
	return func(p *corev1.Pod) {
		unready(p)
		restarting(p)
		p.Status.ContainerStatuses[0] = corev1.ContainerStatus{
			Name: podspec.ContainerServer, RestartCount: restarts,
			State:                corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: crashLoop}},
			LastTerminationState: terminated(code, "Error"),
		}
	}
}

func prepareEnds(code int32, message string) change {
	return func(p *corev1.Pod) {
		unready(p)
		state := terminated(code, "Error")
		state.Terminated.Message = message
		p.Status.InitContainerStatuses[0].State = state
		p.Status.ContainerStatuses[0].State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "PodInitializing"}}
	}
}

func TestWhatBecameOfAPod(t *testing.T) {
	ready := now.Add(-time.Hour)
	tests := map[string]struct {
		pod        *corev1.Pod
		readySince time.Time
		want       phase.Pod
		wantDetail string
	}{
		"it is ready":                      {pod(), ready, phase.PodReady, ""},
		"it runs and is not ready":         {pod(unready), ready, phase.PodRunning, ""},
		"it was deleted":                   {pod(func(p *corev1.Pod) { p.DeletionTimestamp = new(metav1.NewTime(now)) }), ready, phase.PodTerminating, ""},
		"its round is over":                {pod(gameEnds(0, "Completed")), ready, phase.PodFinished, ""},
		"its round was too short":          {pod(gameEnds(0, "Completed")), now.Add(-59 * time.Second), phase.PodGameExited, "less than 1m0s"},
		"a round of exactly a minute":      {pod(gameEnds(0, "Completed")), now.Add(-time.Minute), phase.PodFinished, ""},
		"exit 0 without ever being ready":  {pod(gameEnds(0, "Completed")), time.Time{}, phase.PodGameExited, "EULA"},
		"it crashed":                       {pod(gameEnds(137, "Error")), ready, phase.PodGameExited, "exit code 137"},
		"it was killed for its memory":     {pod(gameEnds(137, "OOMKilled")), ready, phase.PodOutOfMemory, "137"},
		"preparing it failed":              {pod(prepareEnds(1, "server.properties: server-port is not yours")), time.Time{}, phase.PodPrepareFailed, "server.properties"},
		"preparing it failed without word": {pod(prepareEnds(2, "")), time.Time{}, phase.PodPrepareFailed, "exit code 2"},
		"it was evicted": {pod(func(p *corev1.Pod) {
			p.Status.Phase = corev1.PodFailed
			p.Status.Conditions = []corev1.PodCondition{{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue}}
		}), ready, phase.PodEvicted, ""},
		"the kubelet refused it": {pod(func(p *corev1.Pod) {
			p.Status = corev1.PodStatus{Phase: corev1.PodFailed, Reason: "OutOfcpu", Message: "no room"}
		}), time.Time{}, phase.PodGameExited, "OutOfcpu no room"},
		"a restarted game that loops":     {pod(gameLoops(3, 1)), time.Time{}, phase.PodGameExited, "exit code 1"},
		"a restarted game, early on":      {pod(gameLoops(2, 1)), time.Time{}, phase.PodWaiting, ""},
		"a game the kubelet will restart": {pod(gameEnds(1, "Error"), restarting), ready, phase.PodWaiting, ""},
		"it waits for a node": {pod(func(p *corev1.Pod) {
			p.Status = corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{{
				Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Message: "0/1 nodes are available",
			}}}
		}), time.Time{}, phase.PodWaiting, "0/1 nodes"},
		"it waits for its image": {pod(func(p *corev1.Pod) {
			unready(p)
			p.Status.ContainerStatuses[0].State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{
				Reason: "ImagePullBackOff", Message: "no such image",
			}}
		}), time.Time{}, phase.PodWaiting, "server: no such image"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, detail := podState(test.pod, rounds{readySince: test.readySince})
			if got != test.want {
				t.Errorf("state = %v, want %v", got, test.want)
			}
			if !strings.Contains(detail, test.wantDetail) || (test.wantDetail == "") != (detail == "") {
				t.Errorf("detail = %q, want %q in it", detail, test.wantDetail)
			}
		})
	}
}

func TestThatItsRoundHasEndedExplainsAnExitOfAGameThatWasReady(t *testing.T) {
	tests := map[string]struct {
		pod        *corev1.Pod
		readySince time.Time
		want       phase.Pod
	}{
		"a moment after it was ready": {pod(gameEnds(0, "Completed")), now.Add(-time.Second), phase.PodFinished},
		"before it was ever ready":    {pod(gameEnds(0, "Completed")), time.Time{}, phase.PodGameExited},
		"with another code":           {pod(gameEnds(1, "Error")), now.Add(-time.Second), phase.PodGameExited},
		"for its memory":              {pod(gameEnds(137, "OOMKilled")), now.Add(-time.Second), phase.PodOutOfMemory},
		"not at all yet":              {pod(), now.Add(-time.Second), phase.PodReady},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got, _ := podState(test.pod, rounds{readySince: test.readySince, ended: true}); got != test.want {
				t.Errorf("state = %v, want %v", got, test.want)
			}
		})
	}
}

func TestAnAgentIsToldWhatIsReadAtRuntime(t *testing.T) {
	group := &v1alpha1.ServerGroup{ObjectMeta: metav1.ObjectMeta{Name: "duels"}}
	group.Spec.MaxPlayers, group.Spec.PlayableSlots, group.Spec.EnforcePlayableSlots = 24, 2, new(true)
	got := settingsOf(&v1alpha1.Server{ObjectMeta: metav1.ObjectMeta{Name: "duels-ab2c"}}, group)
	want := &agentv1alpha1.ServerSettings{
		Server: "duels-ab2c", Group: "duels", DisplayName: "duels", MaxPlayers: 24, PlayableSlots: new(int32(2)), EnforcePlayableSlots: true,
	}
	if !proto.Equal(want, got) {
		t.Errorf("told %v, want %v", got, want)
	}
}
