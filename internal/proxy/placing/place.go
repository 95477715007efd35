// SPDX-License-Identifier: Apache-2.0

package placing

import (
	"context"
	"sync"
	"time"

	"github.com/go-logr/logr"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/seats"
)

// declineWithin bounds the wait for an agent that takes a seat back.
const declineWithin = 500 * time.Millisecond

// Place is a player's seat on a server: held by renewals until the server has
// the player, and counted until it is closed.
type Place struct {
	// Server as the directory described it when the seat was given.
	Server *agentv1alpha1.DirectoryServer
	// SignedWith is the place, among the network's secrets, of the one that
	// this server knows.
	SignedWith int

	finder   *Finder
	question seats.Ask
	seat     string
	taken    int

	once    sync.Once
	stop    context.CancelFunc // of the renewals
	release func(within time.Duration)
	mu      sync.Mutex
	arrived bool
}

func newPlace(ctx context.Context, f *Finder, server *agentv1alpha1.DirectoryServer, question seats.Ask, seat seats.Seat) *Place {
	base := context.WithoutCancel(ctx)
	renewing, stop := context.WithCancel(base)
	p := &Place{
		Server: server, SignedWith: seat.SignedWith,
		finder: f, question: question, seat: seat.ID, taken: int(seat.Taken),
		stop: stop,
	}
	// A release outlives the search the seat belongs to.
	p.release = func(within time.Duration) { p.giveBack(base, within) }
	go p.renew(renewing)
	return p
}

// Watches is true for a player who may join full rounds and has the seat by that.
func (p *Place) Watches() bool { return p.question.Bypass }

// crowded reports whether the playable seats were taken before this one.
func (p *Place) crowded() bool { return p.taken > int(p.Server.GetPlayableSlots()) }

// renew holds the seat. A renewal that fails is logged only: the connection it
// was given for goes on, and the agent has the last word about its counts.
func (p *Place) renew(ctx context.Context) {
	ticker := p.finder.clock.NewTicker(seats.RenewEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C():
		}
		asking, cancel := context.WithTimeout(ctx, askWithin)
		_, err := p.finder.agents.Renew(asking, p.Server.GetSeatAddress(), p.seat, p.question)
		cancel()
		if err != nil && ctx.Err() == nil {
			logr.FromContextOrDiscard(ctx).V(1).Info("a seat was not renewed", "server", p.Server.GetName(), "cause", err.Error())
		}
	}
}

// Arrived says that the player is on the server, which counts them itself from
// now on.
func (p *Place) Arrived() {
	p.mu.Lock()
	p.arrived = true
	p.mu.Unlock()
	p.stop()
}

// Close says that the player is not, or no longer, on the server. A seat that
// was not used is given back. It may be called more than once.
func (p *Place) Close() {
	p.once.Do(func() {
		if p.end() {
			go p.release(askWithin)
		}
	})
}

// decline is Close for a place that another one is preferred to. It waits for
// the agent: until then the seat would count against the server it is on.
func (p *Place) decline() {
	p.once.Do(func() {
		if p.end() {
			p.release(declineWithin)
		}
	})
}

// end stops the renewals and reports whether there is a seat to give back.
func (p *Place) end() bool {
	p.stop()
	p.finder.estimates.move(p.Server.GetName(), -1)
	p.mu.Lock()
	defer p.mu.Unlock()
	return !p.arrived
}

func (p *Place) giveBack(ctx context.Context, within time.Duration) {
	asking, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	if err := p.finder.agents.Release(asking, p.Server.GetSeatAddress(), p.seat); err != nil {
		// It expires by itself.
		logr.FromContextOrDiscard(ctx).V(1).Info("a seat was not given back", "server", p.Server.GetName(), "cause", err.Error())
	}
}
