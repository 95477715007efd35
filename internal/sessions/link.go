// SPDX-License-Identifier: Apache-2.0

package sessions

import (
	"context"
	"fmt"
	"slices"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
)

// link is the part of a session that both kinds share: its bounds in time, and
// the bell that says there may be an order to send. The store's lock guards it.
type link struct {
	store   *Store
	ring    chan struct{}
	end     chan struct{}
	cause   error
	opened  time.Time
	heard   time.Time
	sending time.Time

	welcomed   bool
	restatedAt time.Time
}

func (s *Store) newLink() *link {
	now := s.clock.Now()
	return &link{store: s, ring: make(chan struct{}, 1), end: make(chan struct{}), opened: now, heard: now}
}

// Cut is closed when the manager has ended the session; Next then says why.
func (l *link) Cut() <-chan struct{} { return l.end }

// cut ends the session; its handler notices by Cut.
func (l *link) cut(cause error) {
	if l.cause == nil {
		l.cause = fmt.Errorf("%w: %w", ErrCut, cause)
		close(l.end)
	}
}

// overdue says why a session has to end, or nil.
func (l *link) overdue(now time.Time) error {
	switch {
	case now.Sub(l.opened) >= SessionEnds:
		return fmt.Errorf("it is older than %s", SessionEnds)
	case now.Sub(l.heard) >= silentFor:
		return fmt.Errorf("nothing was heard for %s", silentFor)
	case !l.sending.IsZero() && now.Sub(l.sending) >= sendWithin:
		return fmt.Errorf("an order was not taken within %s", sendWithin)
	}
	return nil
}

// next returns what pick finds to send, waiting for it. The time until it is
// called again is the time the peer took to take that order.
func next[Order any](ctx context.Context, l *link, pick func(now time.Time) (*Order, time.Duration)) (*Order, error) {
	for {
		order, wait, err := take(l, pick)
		if order != nil || err != nil {
			return order, err
		}
		timer := l.store.clock.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil, context.Cause(ctx)
		case <-l.end:
			timer.Stop()
		case <-l.ring:
			timer.Stop()
		case <-timer.C():
		}
	}
}

func take[Order any](l *link, pick func(now time.Time) (*Order, time.Duration)) (*Order, time.Duration, error) {
	l.store.mu.Lock()
	defer l.store.mu.Unlock()
	if l.cause != nil {
		return nil, 0, l.cause
	}
	now := l.store.clock.Now()
	l.sending = time.Time{}
	order, wait := pick(now)
	if order != nil {
		l.sending = now
	}
	return order, wait, nil
}

// peer is what is known of one pod across its sessions.
type peer struct {
	links     []*link
	since     time.Time
	version   string
	able      []string
	skew      skew
	sentAt    time.Time
	sampledAt time.Time
	// saidAt is when the last report was sent, on the manager's clock.
	saidAt    time.Time
	freshFrom time.Time
	told      Freshness
}

func (p *peer) connected() bool { return len(p.links) > 0 }

// newest is the only session that gets orders; the one before it stands until
// its peer has let go.
func (p *peer) newest() *link {
	if len(p.links) == 0 {
		return nil
	}
	return p.links[len(p.links)-1]
}

func (p *peer) open(l *link, hello *agentv1alpha1.Hello) {
	if !p.connected() {
		p.since = l.opened
	}
	if len(p.links) == linksPerPod {
		p.links[0].cut(fmt.Errorf("the pod opened its session number %d", linksPerPod+1))
		p.links = slices.Delete(p.links, 0, 1)
	}
	p.links = append(p.links, l)
	p.version, p.able = hello.GetVersion(), slices.Clone(hello.GetCapabilities())
	// A restarted process may send from another clock.
	p.skew, p.sentAt = skew{}, time.Time{}
}

func (p *peer) close(l *link, now time.Time) {
	if i := slices.Index(p.links, l); i >= 0 {
		p.links = slices.Delete(p.links, i, i+1)
		if !p.connected() {
			p.since = now
		}
	}
}

func (p *peer) cut() {
	for _, l := range p.links {
		l.cut(errForgotten)
	}
	p.links = nil
}

func (p *peer) notify() {
	if l := p.newest(); l != nil {
		notify(l.ring)
	}
}

// dated places a report in time. It says false for one that was sent before
// another already known: two sessions of a pod overlap while one is renewed. A
// leap further back is a clock that was set.
func (p *peer) dated(sampled, sent *timestamppb.Timestamp, now time.Time) bool {
	if sent != nil {
		if back := p.sentAt.Sub(sent.AsTime()); back > 0 && back < silentFor {
			return false
		}
		p.sentAt = sent.AsTime()
	}
	before := freshness(p.sampledAt, now)
	p.skew.learn(sent, now)
	p.sampledAt, p.saidAt = p.skew.place(sampled, now), now
	if sent != nil {
		p.saidAt = p.skew.place(sent, now)
	}
	if before != Fresh {
		p.freshFrom = now
	}
	return true
}

// clear says since when the peer has been connected and fresh without a gap.
func (p *peer) clear(now time.Time) (time.Time, bool) {
	return p.freshFrom, p.connected() && freshness(p.sampledAt, now) == Fresh
}

// aged returns true when the last sample's worth is another than last told.
func (p *peer) aged(now time.Time) bool {
	is := freshness(p.sampledAt, now)
	was := p.told
	p.told = is
	return is != was
}

func (p *peer) forgettable(now time.Time) bool {
	return !p.connected() && now.Sub(p.since) >= forgetAfter
}
