// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/agent/local"
)

const (
	// askAgain is when an ask without an answer is repeated: a session that is
	// renewed may lose what was sent on it last. The manager knows it again.
	askAgain = 2 * time.Second
	// asksAtOnce bounds how many plugins wait.
	asksAtOnce = 64
)

// need is what a manager must be able to do for an ask.
func need(ask *agentv1alpha1.Ask) (string, string) {
	switch {
	case ask.GetRetire() != nil:
		return agentv1alpha1.CapabilityRetire, "the retirement"
	case ask.GetConnect() != nil:
		return agentv1alpha1.CapabilityConnect, "the move of a player"
	}
	return agentv1alpha1.CapabilityBoosts, "a boost"
}

// ask puts something to the manager and waits for its answer, whichever manager
// gives it in the end.
func (b *beyond) ask(ctx context.Context, ask *agentv1alpha1.Ask) (*agentv1alpha1.Answer, error) {
	answered := make(chan *agentv1alpha1.Answer, 1)
	if err := b.begin(ask, answered); err != nil {
		return nil, err
	}
	defer b.end(ask.GetId(), answered)
	late, again := b.clock.NewTimer(answerWithin), b.clock.NewTicker(askAgain)
	defer late.Stop()
	defer again.Stop()
	for {
		select {
		case answer := <-answered:
			return answer, nil
		case <-again.C():
			b.send(ask)
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-late.C():
			return nil, &local.Failed{Status: http.StatusGatewayTimeout, Why: fmt.Sprintf(
				"the manager has not answered within %s, and may do it all the same; the same %s asks once more for the same",
				answerWithin, local.KeyHeader)}
		}
	}
}

// begin sends an ask for the first time, when there is a manager who knows what
// it is about.
func (b *beyond) begin(ask *agentv1alpha1.Ask, answered chan *agentv1alpha1.Answer) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.able(need(ask)); err != nil {
		return err
	}
	if len(b.asked) >= asksAtOnce {
		return &local.Failed{Status: http.StatusTooManyRequests, Why: fmt.Sprintf(
			"%d questions wait for the manager already; ask again later", len(b.asked))}
	}
	b.asked[ask.GetId()] = append(b.asked[ask.GetId()], answered)
	b.put(ask)
	return nil
}

func (b *beyond) end(id string, answered chan *agentv1alpha1.Answer) {
	b.mu.Lock()
	defer b.mu.Unlock()
	left := slices.DeleteFunc(b.asked[id], func(other chan *agentv1alpha1.Answer) bool { return other == answered })
	if b.asked[id] = left; len(left) == 0 {
		delete(b.asked, id)
	}
}

func (b *beyond) send(ask *agentv1alpha1.Ask) {
	b.mu.Lock()
	defer b.mu.Unlock()
	// Without a session it would only wait in the way of newer ones.
	if b.manager != nil {
		b.put(ask)
	}
}

// put hands an ask to the channel. The caller holds the lock.
func (b *beyond) put(ask *agentv1alpha1.Ask) {
	b.say(&agentv1alpha1.ServerMessage{Message: &agentv1alpha1.ServerMessage_Ask{Ask: ask}})
}

// answered hands an answer to everybody who waits for it.
func (b *beyond) answered(answer *agentv1alpha1.Answer) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, waits := range b.asked[answer.GetId()] {
		select {
		case waits <- answer:
		default: // It has one already.
		}
	}
}
