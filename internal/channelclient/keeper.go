// SPDX-License-Identifier: Apache-2.0

package channelclient

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
)

var (
	errRenewed = errors.New("the session was renewed")
	errLost    = errors.New("the manager ended the session")
	errOverdue = errors.New("nothing moved in time")
	errAged    = errors.New("the session reached its greatest age")
)

// keeper holds one session, makes its successor before it ends, and a new one
// when it was lost.
type keeper[Send, Receive any] struct {
	cfg     Config
	peer    Peer[Send, Receive]
	dialect dialect[Send, Receive]
	answers chan *Send
	causes  causes

	// orders serialises OnOrder and, with current, silences a session that has
	// been replaced.
	orders  sync.Mutex
	current *session[Send, Receive]
}

func (k *keeper[Send, Receive]) run(ctx context.Context) error {
	log := logr.FromContextOrDiscard(ctx)
	retry := retries{first: k.cfg.Timing.RetryFirst, most: k.cfg.Timing.RetryMost}
	for ctx.Err() == nil {
		tried := k.resolve(ctx)
		fresh, err := k.establish(ctx)
		if err != nil {
			if ctx.Err() == nil {
				k.causes.failed(log, "connecting", err)
				k.await(ctx, retry.next(), tried)
			}
			continue
		}
		k.causes.connected(log)
		k.tell(Connected)
		last := k.hold(ctx, fresh, &retry)
		k.tell(Disconnected)
		if ctx.Err() == nil {
			k.causes.failed(log, "keeping the session", last.cause())
			k.await(ctx, retry.next(), k.resolve(ctx))
		}
	}
	return context.Cause(ctx)
}

// hold serves fresh and each successor, and returns the session that ended
// without one.
func (k *keeper[Send, Receive]) hold(ctx context.Context, fresh *session[Send, Receive], retry *retries) *session[Send, Receive] {
	for {
		k.replace(ctx, fresh)
		next, ok := k.succeed(ctx, fresh)
		retry.settled(k.cfg.Clock.Since(fresh.since))
		if !ok {
			k.replace(ctx, nil)
			return fresh
		}
		fresh = next
	}
}

// succeed waits until the session is due for renewal and makes its successor,
// trying again while it still stands; false when it ended first.
func (k *keeper[Send, Receive]) succeed(ctx context.Context, held *session[Send, Receive]) (*session[Send, Receive], bool) {
	log := logr.FromContextOrDiscard(ctx)
	retry := retries{first: k.cfg.Timing.RetryFirst, most: k.cfg.Timing.RetryMost}
	wait := early(k.cfg.Timing.RenewAfter)
	for {
		timer := k.cfg.Clock.NewTimer(wait)
		select {
		case <-held.ctx.Done():
			timer.Stop()
			return nil, false
		case <-timer.C():
		}
		next, err := k.establish(ctx)
		if err == nil {
			return next, true
		}
		k.causes.failed(log, "renewing the session", err)
		wait = retry.next()
	}
}

// replace makes next the session whose orders count and that reports. The one
// before is ended only now, so the manager is never without a session.
func (k *keeper[Send, Receive]) replace(ctx context.Context, next *session[Send, Receive]) {
	k.orders.Lock()
	before := k.current
	k.current = next
	k.orders.Unlock()
	if next != nil {
		k.order(ctx, next, next.welcome)
		next.start(ctx)
	}
	if before != nil {
		before.end(errRenewed)
	}
}

// order carries out an order of the session that stands.
func (k *keeper[Send, Receive]) order(ctx context.Context, from *session[Send, Receive], order *Receive) {
	k.orders.Lock()
	defer k.orders.Unlock()
	if k.current == from {
		k.peer.OnOrder(ctx, order, k.answer)
	}
}

// answer keeps an answer until a session takes it; the oldest gives way.
func (k *keeper[Send, Receive]) answer(message *Send) {
	for {
		select {
		case k.answers <- message:
			return
		default:
		}
		select {
		case <-k.answers:
		default:
		}
	}
}

func (k *keeper[Send, Receive]) tell(connection Connection) {
	if k.peer.OnConnection != nil {
		k.peer.OnConnection(connection)
	}
}

// await waits until the next attempt is due, or until the manager's name or
// address is no longer what was tried: then a new manager is likely there.
func (k *keeper[Send, Receive]) await(ctx context.Context, wait time.Duration, tried []string) {
	until := k.cfg.Clock.Now().Add(wait)
	for {
		left := until.Sub(k.cfg.Clock.Now())
		if left <= 0 {
			return
		}
		timer := k.cfg.Clock.NewTimer(min(left, k.cfg.Timing.ResolveEvery))
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C():
		}
		if now := k.resolve(ctx); len(now) > 0 && !slices.Equal(tried, now) {
			return
		}
	}
}

// resolve looks the manager up, bounded, for a name server may be silent too.
func (k *keeper[Send, Receive]) resolve(ctx context.Context) []string {
	ctx, cancel := within(ctx, k.cfg.Clock, k.cfg.Timing.ResolveEvery)
	defer cancel(nil)
	return addresses(ctx, k.cfg.Directory)
}

func (k *keeper[Send, Receive]) hello() *Send {
	return k.dialect.hello(&agentv1alpha1.Hello{Version: k.cfg.Version, Capabilities: k.cfg.Capabilities})
}
