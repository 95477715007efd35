// SPDX-License-Identifier: Apache-2.0

package assembled

import (
	"context"
	"path/filepath"
	"sync"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"
	"k8s.io/utils/clock"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/channelclient"
)

// agent speaks for a game that is in order and has as many players as it is
// told. Its connection to the manager is the real one.
type agent struct {
	server  string
	stop    context.CancelFunc
	changed chan struct{}

	mu      sync.Mutex
	players int32
}

func newAgent(ctx context.Context, server, directory string, players int32) *agent {
	ctx, cancel := context.WithCancel(ctx)
	one := &agent{server: server, stop: cancel, changed: make(chan struct{}, 1), players: players}
	go func() {
		_ = channelclient.RunServer(ctx, channelclient.Config{
			Directory: directory, TokenFile: filepath.Join(directory, "token"), Version: "test", Clock: clock.RealClock{},
			Timing: channelclient.Timing{RetryMost: time.Second},
		}, channelclient.ServerPeer{Report: one.report, Changed: one.changed, OnOrder: one.obey})
	}()
	return one
}

func (a *agent) set(players int32) {
	a.mu.Lock()
	a.players = players
	a.mu.Unlock()
	select {
	case a.changed <- struct{}{}:
	default:
	}
}

func (a *agent) report() *agentv1alpha1.ServerMessage {
	a.mu.Lock()
	defer a.mu.Unlock()
	return report(a.players)
}

// obey saves at once when it is asked to.
func (a *agent) obey(_ context.Context, order *agentv1alpha1.ServerOrder, answer func(*agentv1alpha1.ServerMessage)) {
	if save := order.GetSave(); save != nil {
		answer(&agentv1alpha1.ServerMessage{Message: &agentv1alpha1.ServerMessage_SaveResult{
			SaveResult: &agentv1alpha1.SaveResult{Id: save.GetId()},
		}})
	}
}

func reportOf(players int32) *agentv1alpha1.ServerReport {
	return &agentv1alpha1.ServerReport{
		SampledAt:  timestamppb.Now(),
		GameState:  agentv1alpha1.GameState_GAME_STATE_READY,
		Forwarding: agentv1alpha1.ForwardingState_FORWARDING_STATE_ACTIVE,
		Online:     players,
		Slots:      50,
		JoinsOpen:  true,
	}
}
