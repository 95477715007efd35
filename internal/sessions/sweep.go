// SPDX-License-Identifier: Apache-2.0

package sessions

import (
	"context"
	"time"
)

// Run watches over time until ctx ends: sessions that stand still are cut,
// reports that grew stale wake whom they concern, pods long gone are dropped.
func (s *Store) Run(ctx context.Context) {
	ticker := s.clock.NewTicker(time.Second)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C():
			s.sweep()
		}
	}
}

func (s *Store) sweep() {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.clock.Now()
	for uid, known := range s.servers {
		known.cutOverdue(now)
		if known.aged(now) {
			s.wakeAboutServer(known.pod)
		}
		if known.forgettable(now) {
			s.forget(uid)
		}
	}
	for uid, known := range s.proxies {
		known.cutOverdue(now)
		if known.aged(now) {
			s.wakeAboutProxy(known.pod)
			s.wakeAboutRoster(known, said{}, known.said)
		}
		if now.Sub(known.sampledAt) > RosterCounts {
			s.wakeAboutRoster(known, known.said, said{})
			known.said = said{}
		}
		if known.forgettable(now) {
			s.forget(uid)
		}
	}
	s.tally(now)
}

func (p *peer) cutOverdue(now time.Time) {
	for _, l := range p.links {
		if err := l.overdue(now); err != nil {
			l.cut(err)
		}
	}
}
