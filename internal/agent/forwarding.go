// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"time"

	"github.com/go-logr/logr"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/agent/probe"
)

const (
	probeWithin = 5 * time.Second
	// probeAgain is the wait after a login that showed nothing.
	probeAgain = 2 * time.Second
	// probeWrong is the wait after a login that showed what must not be: it
	// rarely changes without a restart, and each login is a line in a log.
	probeWrong = 30 * time.Second
)

// proveForwarding logs in whenever the state wants to know.
func (a *Agent) proveForwarding(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-a.probe:
		}
		if s, _ := a.look(); s.probeDue() {
			a.await(ctx, a.probeOnce(ctx, s))
		}
	}
}

// probeOnce logs in once and returns how long to wait before the next time.
// Whatever wakes the prober meanwhile is not lost.
func (a *Agent) probeOnce(ctx context.Context, s state) time.Duration {
	bounded, cancel := context.WithTimeout(ctx, probeWithin)
	defer cancel()
	shown, err := probe.Login(bounded, probe.Game{Host: a.cfg.GameHost, Port: s.spec.Port, Protocol: s.game.Protocol})
	if ctx.Err() != nil {
		return 0
	}
	log := logr.FromContextOrDiscard(ctx)
	a.change(func(now *state) { now.probed(s.game.Run, s.game.Contact, shown, err) })
	switch {
	case err != nil:
		log.Info("a probe login showed nothing", "cause", err.Error())
		return probeAgain
	case shown != agentv1alpha1.ForwardingState_FORWARDING_STATE_ACTIVE:
		after, _ := a.look()
		log.Info("the game does not forward", "state", shown.String(), "detail", after.forwardingProblem())
		return probeWrong
	}
	log.Info("the game asks for forwarding")
	return 0
}

// await waits, but no longer than the game stays in the same run.
func (a *Agent) await(ctx context.Context, d time.Duration) {
	if d == 0 {
		return
	}
	timer := a.clock.NewTimer(d)
	defer timer.Stop()
	before, moved := a.look()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C():
			return
		case <-moved:
		}
		var now state
		if now, moved = a.look(); now.game.Run != before.game.Run {
			return
		}
	}
}
