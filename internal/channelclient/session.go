// SPDX-License-Identifier: Apache-2.0

package channelclient

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"google.golang.org/grpc"
	"k8s.io/utils/clock"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
)

// session is one stream on one connection, from the answered Hello to its end.
type session[Send, Receive any] struct {
	keeper   *keeper[Send, Receive]
	ctx      context.Context
	cancel   context.CancelCauseFunc
	conn     *grpc.ClientConn
	stream   stream[Send, Receive]
	welcome  *Receive
	interval time.Duration
	since    time.Time
	watch    watch
	running  sync.WaitGroup
}

// establish dials and greets. A session that it returns has been welcomed but
// neither reports nor takes orders yet.
func (k *keeper[Send, Receive]) establish(ctx context.Context) (*session[Send, Receive], error) {
	at, err := readEndpoint(k.cfg.Directory)
	if err != nil {
		return nil, err
	}
	conn, err := dial(at, k.cfg.TokenFile, k.cfg.Timing.EstablishWithin)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	s := &session[Send, Receive]{
		keeper: k, ctx: ctx, cancel: cancel, conn: conn,
		interval: k.cfg.Timing.ReportInterval,
		since:    k.cfg.Clock.Now(),
	}
	greeting, stop := within(ctx, k.cfg.Clock, k.cfg.Timing.EstablishWithin)
	unwatch := context.AfterFunc(greeting, func() { cancel(context.Cause(greeting)) })
	err = s.greet()
	if !unwatch() {
		err = errors.Join(err, context.Cause(ctx))
	}
	stop(nil)
	if err != nil {
		s.end(err)
		return nil, err
	}
	return s, nil
}

func (s *session[Send, Receive]) greet() error {
	opened, err := s.keeper.dialect.open(agentv1alpha1.NewChannelClient(s.conn), s.ctx)
	if err != nil {
		return fmt.Errorf("opening a session: %w", err)
	}
	s.stream = opened
	if err := opened.Send(s.keeper.hello()); err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("greeting the manager: %w", err)
	}
	first, err := opened.Recv()
	if err != nil {
		return fmt.Errorf("waiting for the manager's welcome: %w", err)
	}
	welcome := s.keeper.dialect.welcome(first)
	if welcome == nil {
		return errors.New("the manager's first order is no welcome")
	}
	s.welcome = first
	if seconds := welcome.GetReportIntervalSeconds(); seconds > 0 {
		s.interval = time.Duration(seconds) * time.Second
	}
	return nil
}

// start lets a welcomed session report and take orders. ctx outlives it: what
// an order set going is not undone by a renewal.
func (s *session[Send, Receive]) start(ctx context.Context) {
	s.watch.heard(s.keeper.cfg.Clock.Now())
	s.running.Go(func() { s.read(ctx) })
	s.running.Go(s.write)
	s.running.Go(s.guard)
}

// cause says why the session ended.
func (s *session[Send, Receive]) cause() error { return context.Cause(s.ctx) }

// end closes the session and waits for what runs in it, so that nothing of it
// is left when its successor works alone.
func (s *session[Send, Receive]) end(cause error) {
	s.cancel(cause)
	s.running.Wait()
	// The connection serves this session only; there is nobody to tell.
	_ = s.conn.Close()
}

func (s *session[Send, Receive]) read(ctx context.Context) {
	for {
		order, err := s.stream.Recv()
		if err != nil {
			s.cancel(fmt.Errorf("%w: %w", errLost, err))
			return
		}
		s.watch.heard(s.keeper.cfg.Clock.Now())
		s.keeper.order(ctx, s, order)
	}
}

// write sends the first report at once, then one per interval or change.
func (s *session[Send, Receive]) write() {
	clk, timing := s.keeper.cfg.Clock, s.keeper.cfg.Timing
	s.report()
	last := clk.Now()
	due := clk.NewTimer(s.interval)
	defer func() { due.Stop() }()
	changed := s.keeper.peer.Changed
	for {
		select {
		case <-s.ctx.Done():
			return
		case answer := <-s.keeper.answers:
			if err := s.send(answer); err != nil {
				s.keeper.answer(answer)
				return
			}
		case <-changed:
			// Changes up to the next report are part of it anyway.
			changed = nil
			due.Stop()
			due = clk.NewTimer(max(0, timing.ReportSpacing-clk.Since(last)))
		case <-due.C():
			last = clk.Now()
			s.report()
			changed = s.keeper.peer.Changed
			due = clk.NewTimer(s.interval)
		}
	}
}

func (s *session[Send, Receive]) report() {
	if message := s.keeper.peer.Report(); message != nil {
		s.keeper.dialect.stamp(message, s.keeper.cfg.Clock.Now())
		// An error shows with its cause in read, which ends the session.
		_ = s.send(message)
	}
}

func (s *session[Send, Receive]) send(message *Send) error {
	s.watch.sending(s.keeper.cfg.Clock.Now())
	defer s.watch.sent()
	return s.stream.Send(message)
}

// guard ends a session in which something stands still, and any that is old.
func (s *session[Send, Receive]) guard() {
	clk, timing := s.keeper.cfg.Clock, s.keeper.cfg.Timing
	ticker := clk.NewTicker(time.Second)
	defer ticker.Stop()
	for {
		select {
		case <-s.ctx.Done():
			return
		case <-ticker.C():
		}
		now := clk.Now()
		if now.Sub(s.since) >= timing.EndAfter {
			s.cancel(errAged)
		}
		if err := s.watch.overdue(now, timing); err != nil {
			s.cancel(err)
		}
	}
}

// watch remembers since when a session waits, and for what.
type watch struct {
	mu        sync.Mutex
	heardAt   time.Time
	sendingAt time.Time
}

func (w *watch) heard(now time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.heardAt = now
}

func (w *watch) sending(now time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sendingAt = now
}

func (w *watch) sent() { w.sending(time.Time{}) }

func (w *watch) overdue(now time.Time, timing Timing) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.sendingAt.IsZero() && now.Sub(w.sendingAt) >= timing.SendWithin {
		return fmt.Errorf("sending a message: %w", errOverdue)
	}
	if now.Sub(w.heardAt) >= timing.SilentAfter {
		return fmt.Errorf("waiting for an order: %w", errOverdue)
	}
	return nil
}

// within is context.WithTimeout on a clock that tests can step.
func within(ctx context.Context, clk clock.Clock, limit time.Duration) (context.Context, context.CancelCauseFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	timer := clk.NewTimer(limit)
	go func() {
		defer timer.Stop()
		select {
		case <-ctx.Done():
		case <-timer.C():
			cancel(errOverdue)
		}
	}()
	return ctx, cancel
}
