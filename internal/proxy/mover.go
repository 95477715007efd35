// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"context"
	"sync"
	"time"

	"github.com/spawnery/spawnery-operator/internal/proxy/messages"
)

const (
	// moveAgain is how often players who are to leave a server and found no
	// seat look again when nothing was heard.
	moveAgain = 2 * time.Second
	// drainLook is how often a proxy that must go looks for players.
	drainLook = 250 * time.Millisecond
)

// moveOn moves players off the servers that the manager empties, again and
// again until it is told to stop.
func (p *Proxy) moveOn(ctx context.Context) {
	ticker := p.config.Clock.NewTicker(moveAgain)
	defer ticker.Stop()
	for {
		changed := p.store.Changed()
		p.orderMoves()
		select {
		case <-ctx.Done():
			return
		case <-changed:
		case <-ticker.C():
		}
	}
}

func (p *Proxy) orderMoves() {
	moving := p.store.View().Moving()
	if len(moving) == 0 {
		return
	}
	leaving := map[string]bool{}
	for _, server := range moving {
		leaving[server.GetName()] = true
	}
	for _, player := range p.roster.all() {
		if at := player.Standing().Server; leaving[at] {
			player.Leave(at)
		}
	}
}

// drain waits until everybody has left, and sends away who has not in time.
// New players are served meanwhile: load balancers are slow to notice.
func (p *Proxy) drain(ctx context.Context) {
	p.draining.Store(true)
	p.moved()
	p.log.Info("the proxy must go and waits for its players", "players", p.roster.size(), "atMost", p.drainTimeout().String())
	began := p.config.Clock.Now()
	ticker := p.config.Clock.NewTicker(drainLook)
	defer ticker.Stop()
	for {
		waited := p.config.Clock.Since(began)
		if waited >= p.drainTimeout() || waited >= p.config.Linger && p.roster.size() == 0 {
			break
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C():
		}
	}
	p.sendAway(ctx)
}

// drainTimeout is the manager's word, which may change meanwhile, or else that
// of this process.
func (p *Proxy) drainTimeout() time.Duration {
	if seconds := p.store.View().Settings.GetDrainSeconds(); seconds > 0 {
		return time.Duration(seconds) * time.Second
	}
	return p.config.DrainTimeout
}

func (p *Proxy) sendAway(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 2*goodbye)
	defer cancel()
	var going sync.WaitGroup
	for _, player := range p.roster.all() {
		going.Go(func() {
			player.Disconnect(messages.Text(messages.Shutdown))
			select {
			case <-player.Gone():
			case <-ctx.Done():
			}
		})
	}
	going.Wait()
}
