// SPDX-License-Identifier: Apache-2.0

package worlds

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/agentserver"
	"github.com/spawnery/spawnery-operator/internal/channelclient"
	"github.com/spawnery/spawnery-operator/internal/podspec"
)

// startAgent connects an agent for a pod that runs, over the real channel. Its
// game is in order, and somebody plays on every fourth.
func (n *node) startAgent(ctx context.Context, pod *corev1.Pod) {
	directory, err := os.MkdirTemp(n.folder, "agent-")
	if err != nil {
		n.ledger.note(time.Now(), "agent of %s: %v", pod.Name, err)
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	n.mu.Lock()
	if n.ending[pod.UID] {
		n.mu.Unlock()
		cancel()
		return
	}
	n.agents[pod.UID] = cancel
	n.mu.Unlock()
	one := agent{players: int32(max(0, n.draw(4)-2)), now: n.clock.Now}
	n.running.Go(func() {
		for !n.channelFiles(ctx, pod, directory) {
			if wait(ctx, 50*time.Millisecond); ctx.Err() != nil {
				return
			}
		}
		n.running.Go(func() { n.refresh(ctx, pod, directory) })
		_ = channelclient.RunServer(ctx, channelclient.Config{
			Directory: directory, TokenFile: filepath.Join(directory, "token"), Version: "test", Clock: n.clock,
			Timing: channelclient.Timing{RetryMost: 2 * time.Second},
		}, channelclient.ServerPeer{Report: one.report, OnOrder: one.obey})
	})
}

func (n *node) endAgent(uid types.UID) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if stop := n.agents[uid]; stop != nil {
		stop()
		delete(n.agents, uid)
	}
}

// channelFiles writes what a kubelet mounts into a pod: the namespace's channel
// ConfigMap, and a token bound to the pod.
func (n *node) channelFiles(ctx context.Context, pod *corev1.Pod, directory string) bool {
	config, err := n.kube.CoreV1().ConfigMaps(pod.Namespace).Get(ctx, podspec.ChannelConfigMap, metav1.GetOptions{})
	if err != nil {
		return false
	}
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
		Audiences:         []string{podspec.TokenAudience},
		ExpirationSeconds: new(int64(3600)),
		BoundObjectRef:    &authenticationv1.BoundObjectReference{Kind: "Pod", APIVersion: "v1", Name: pod.Name, UID: pod.UID},
	}}
	issued, err := n.kube.CoreV1().ServiceAccounts(pod.Namespace).CreateToken(ctx, pod.Spec.ServiceAccountName, request, metav1.CreateOptions{})
	if err != nil {
		return false
	}
	files := maps.Clone(config.Data)
	files["serverName"] = agentserver.ServiceName + "." + n.operator + ".svc"
	files["token"] = issued.Status.Token
	return write(directory, files)
}

// refresh keeps the mounted ConfigMap what it is in the cluster: an operator
// that is installed again has another certificate.
func (n *node) refresh(ctx context.Context, pod *corev1.Pod, directory string) {
	for wait(ctx, time.Second); ctx.Err() == nil; wait(ctx, time.Second) {
		config, err := n.kube.CoreV1().ConfigMaps(pod.Namespace).Get(ctx, podspec.ChannelConfigMap, metav1.GetOptions{})
		if err == nil {
			write(directory, config.Data)
		}
	}
}

func write(directory string, files map[string]string) bool {
	for name, content := range files {
		if os.WriteFile(filepath.Join(directory, name), []byte(content), 0o600) != nil {
			return false
		}
	}
	return true
}

// agent speaks for a game that is in order.
type agent struct {
	players int32
	now     func() time.Time
}

func (a agent) report() *agentv1alpha1.ServerMessage {
	return &agentv1alpha1.ServerMessage{Message: &agentv1alpha1.ServerMessage_Report{Report: &agentv1alpha1.ServerReport{
		SampledAt:  timestamppb.New(a.now()),
		GameState:  agentv1alpha1.GameState_GAME_STATE_READY,
		Forwarding: agentv1alpha1.ForwardingState_FORWARDING_STATE_ACTIVE,
		Online:     a.players,
		Slots:      seats,
		JoinsOpen:  true,
	}}}
}

// obey saves at once when it is asked to.
func (a agent) obey(_ context.Context, order *agentv1alpha1.ServerOrder, answer func(*agentv1alpha1.ServerMessage)) {
	if save := order.GetSave(); save != nil {
		answer(&agentv1alpha1.ServerMessage{Message: &agentv1alpha1.ServerMessage_SaveResult{
			SaveResult: &agentv1alpha1.SaveResult{Id: save.GetId()},
		}})
	}
}
