// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"

	"github.com/go-logr/logr"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/agent/ledger"
	"github.com/spawnery/spawnery-operator/internal/channelclient"
)

// peer is this server's end of the channel.
func (a *Agent) peer() channelclient.ServerPeer {
	return channelclient.ServerPeer{
		Report:  a.report,
		Changed: a.changed,
		OnOrder: a.order,
		OnConnection: func(now channelclient.Connection) {
			if now == channelclient.Disconnected {
				a.beyond.lost()
			}
		},
	}
}

func (a *Agent) report() *agentv1alpha1.ServerMessage {
	a.beyond.lapse()
	a.mu.Lock()
	defer a.mu.Unlock()
	return &agentv1alpha1.ServerMessage{Message: &agentv1alpha1.ServerMessage_Report{Report: a.whole()}}
}

// order carries one order out. Orders of a newer manager are ignored.
func (a *Agent) order(ctx context.Context, order *agentv1alpha1.ServerOrder, answer func(*agentv1alpha1.ServerMessage)) {
	switch order := order.GetOrder().(type) {
	case *agentv1alpha1.ServerOrder_Welcome:
		logr.FromContextOrDiscard(ctx).V(1).Info("welcomed by the manager", "version", order.Welcome.GetVersion())
		a.beyond.welcomed(order.Welcome, answer)
	case *agentv1alpha1.ServerOrder_Settings:
		a.settle(order.Settings)
	case *agentv1alpha1.ServerOrder_Save:
		a.saveOrdered(ctx, order.Save.GetId(), answer)
	case *agentv1alpha1.ServerOrder_Answer:
		a.beyond.answered(order.Answer)
	case *agentv1alpha1.ServerOrder_Network:
		a.beyond.told(order.Network)
	case *agentv1alpha1.ServerOrder_Watchers:
		a.change(func(*state) { a.ledger.Restate(heard(order.Watchers.GetPlayers())) })
	}
}

// settle takes limits over at runtime; nothing restarts for them.
func (a *Agent) settle(settings *agentv1alpha1.ServerSettings) {
	a.change(func(s *state) {
		s.maxPlayers = int(settings.GetMaxPlayers())
		s.playable = int(settings.GetPlayableSlots())
		s.playableRule = ledger.Advice
		if settings.GetEnforcePlayableSlots() {
			s.playableRule = ledger.Enforced
		}
		s.displayName = settings.GetDisplayName()
	})
}

func (a *Agent) saveOrdered(ctx context.Context, id string, answer func(*agentv1alpha1.ServerMessage)) {
	tell := func(result *agentv1alpha1.SaveResult) {
		answer(&agentv1alpha1.ServerMessage{Message: &agentv1alpha1.ServerMessage_SaveResult{SaveResult: result}})
	}
	known, begun := a.saves.begin(id)
	if known != nil {
		tell(known)
	}
	if !begun {
		return
	}
	go func() {
		result := &agentv1alpha1.SaveResult{Id: id}
		if err := a.save(ctx, saveWithin); err != nil {
			result.Error = err.Error()
		}
		logr.FromContextOrDiscard(ctx).Info("the manager ordered a save", "id", id, "error", result.GetError())
		a.saves.end(result)
		tell(result)
	}()
}
