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

	// answers are those of the manager.
	answers chan *agentv1alpha1.Answer

	mu   sync.Mutex
	game game
	// say sends something on the session that stands; nil before there is one.
	say func(*agentv1alpha1.ServerMessage)
}

// game is what an agent sees of its game.
type game struct {
	players, slots int32
	closed         bool
}

func newAgent(ctx context.Context, server, directory string, game game) *agent {
	ctx, cancel := context.WithCancel(ctx)
	one := &agent{server: server, stop: cancel, changed: make(chan struct{}, 1), answers: make(chan *agentv1alpha1.Answer, 8), game: game}
	go func() {
		_ = channelclient.RunServer(ctx, channelclient.Config{
			Directory: directory, TokenFile: filepath.Join(directory, "token"), Version: "test", Clock: clock.RealClock{},
			Timing: channelclient.Timing{RetryMost: time.Second},
		}, channelclient.ServerPeer{Report: one.report, Changed: one.changed, OnOrder: one.obey})
	}()
	return one
}

func (a *agent) set(game game) {
	a.mu.Lock()
	a.game = game
	a.mu.Unlock()
	select {
	case a.changed <- struct{}{}:
	default:
	}
}

func (a *agent) report() *agentv1alpha1.ServerMessage {
	a.mu.Lock()
	defer a.mu.Unlock()
	return &agentv1alpha1.ServerMessage{Message: &agentv1alpha1.ServerMessage_Report{Report: reportOf(a.game)}}
}

// ask puts what a plugin wants to the manager, and waits for the answer.
func (a *agent) ask(ask *agentv1alpha1.Ask, within time.Duration) *agentv1alpha1.Answer {
	a.mu.Lock()
	say := a.say
	a.mu.Unlock()
	say(&agentv1alpha1.ServerMessage{Message: &agentv1alpha1.ServerMessage_Ask{Ask: ask}})
	select {
	case answer := <-a.answers:
		return answer
	case <-time.After(within):
		return nil
	}
}

// obey saves at once when it is asked to.
func (a *agent) obey(_ context.Context, order *agentv1alpha1.ServerOrder, answer func(*agentv1alpha1.ServerMessage)) {
	if order.GetWelcome() != nil {
		a.mu.Lock()
		a.say = answer
		a.mu.Unlock()
	}
	if answered := order.GetAnswer(); answered != nil {
		a.answers <- answered
	}
	if save := order.GetSave(); save != nil {
		answer(&agentv1alpha1.ServerMessage{Message: &agentv1alpha1.ServerMessage_SaveResult{
			SaveResult: &agentv1alpha1.SaveResult{Id: save.GetId()},
		}})
	}
}

func reportOf(game game) *agentv1alpha1.ServerReport {
	return &agentv1alpha1.ServerReport{
		SampledAt:  timestamppb.Now(),
		GameState:  agentv1alpha1.GameState_GAME_STATE_READY,
		Forwarding: agentv1alpha1.ForwardingState_FORWARDING_STATE_ACTIVE,
		Online:     game.players,
		Slots:      game.slots,
		JoinsOpen:  !game.closed,
	}
}
