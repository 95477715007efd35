// SPDX-License-Identifier: Apache-2.0

package placing

import (
	"context"
	"errors"
	"time"

	"k8s.io/utils/clock"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/proxy/directory"
	"github.com/spawnery/spawnery-operator/internal/routing"
	"github.com/spawnery/spawnery-operator/internal/seats"
)

const (
	// askWithin bounds one question to an agent.
	askWithin = 3 * time.Second
	// comparisons bounds how many servers are asked in search of a better one.
	comparisons = 3
)

// Finder finds places. Its methods may be called from any goroutine.
type Finder struct {
	clock     clock.WithTicker
	store     *directory.Store
	agents    *seats.Client
	estimates *estimates
	// Asked is told how long a question to an agent took, and its error; nil:
	// nobody is.
	Asked func(took time.Duration, err error)
}

// NewFinder chooses from the servers in store and asks their agents.
func NewFinder(clk clock.WithTicker, store *directory.Store, agents *seats.Client) *Finder {
	return &Finder{clock: clk, store: store, agents: agents, estimates: newEstimates(clk)}
}

// Find returns a place, which the caller must Close. The error is a *NoPlace or
// that of ctx.
func (f *Finder) Find(ctx context.Context, r Request) (*Place, error) {
	view := f.store.View()
	r.strategy = strategyOf(view)
	ranking := f.rank(view, r)
	lack := lackOf(ranking.Lack)
	for i, candidate := range ranking.Candidates {
		place, err := f.ask(ctx, view.Server(candidate.Server), r)
		if err == nil {
			return f.compare(ctx, place, f.rivals(view, ranking.Candidates[i:]), r), nil
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if _, refused := errors.AsType[*seats.Refusal](err); refused {
			lack = LackSeats
		}
	}
	return nil, &NoPlace{Lack: lack, Group: r.wanted(view)}
}

// lackOf is why a search fails in which every agent asked is silent.
func lackOf(lack routing.Lack) Lack {
	switch lack {
	case routing.LackServers:
		return LackServers
	case routing.LackSeats:
		return LackSeats
	case routing.LackNothing:
	}
	return LackAnswers
}

// rivals are the other candidates of the first one's group.
func (f *Finder) rivals(view *directory.View, candidates []routing.Candidate) []*agentv1alpha1.DirectoryServer {
	var list []*agentv1alpha1.DirectoryServer
	for _, other := range candidates[1:] {
		if other.Group == candidates[0].Group {
			list = append(list, view.Server(other.Server))
		}
	}
	return list
}

// compare gives up a place for a better one: another proxy may have filled the
// first server since the directory was made.
func (f *Finder) compare(ctx context.Context, place *Place, rivals []*agentv1alpha1.DirectoryServer, r Request) *Place {
	asked := 1
	for _, other := range rivals {
		if asked == comparisons || ctx.Err() != nil {
			break
		}
		players := f.estimates.players(other)
		if players >= int(other.GetPlayableSlots()) || !r.mayBeat(place, players) {
			continue
		}
		asked++
		rival, err := f.ask(ctx, other, r)
		if err != nil {
			continue
		}
		if !r.beats(place, rival) {
			rival.decline()
			continue
		}
		place.decline()
		place = rival
	}
	return place
}

// mayBeat reports whether a server with so many players and a free playable
// seat is worth a question once there is a place. Who spreads looks for a server
// with fewer players; who fills leaves only a server that has got full.
func (r Request) mayBeat(place *Place, players int) bool {
	if r.strategy == routing.Fill {
		return place.crowded()
	}
	return players+1 < place.taken
}

// beats judges by what both agents said.
func (r Request) beats(place, rival *Place) bool {
	if r.strategy == routing.Fill {
		return !rival.crowded()
	}
	return rival.taken < place.taken
}

// ask asks one agent for a seat. The end of ctx does not cut the question short:
// a seat whose answer nobody waited for could not be given back, and players
// who come and go at once would fill a server with nobody.
func (f *Finder) ask(ctx context.Context, server *agentv1alpha1.DirectoryServer, r Request) (*Place, error) {
	question := seats.Ask{Server: server.GetName(), Player: r.Player, Way: r.way(), Bypass: r.privilege(server.GetGroup()) == routing.JoinsFull}
	asking, cancel := context.WithTimeout(context.WithoutCancel(ctx), askWithin)
	defer cancel()
	// Counted before the question, so that others who choose now see it.
	f.estimates.move(server.GetName(), 1)
	began := f.clock.Now()
	seat, err := f.agents.Ask(asking, server.GetSeatAddress(), question)
	if f.Asked != nil {
		f.Asked(f.clock.Since(began), err)
	}
	if err != nil {
		f.estimates.move(server.GetName(), -1)
		f.learnRefusal(server, err)
		return nil, err
	}
	f.estimates.tell(server.GetName(), int(seat.Taken))
	return newPlace(ctx, f, server, question, seat), nil
}

// learnRefusal keeps those who search right behind from asking a full server
// again.
func (f *Finder) learnRefusal(server *agentv1alpha1.DirectoryServer, err error) {
	refused, ok := errors.AsType[*seats.Refusal](err)
	if !ok {
		return
	}
	switch refused.Reason {
	case seats.PlayableSeatsTaken:
		f.estimates.tell(server.GetName(), int(server.GetPlayableSlots()))
	case seats.Full:
		f.estimates.tell(server.GetName(), int(server.GetSlots()))
	case seats.UnknownCounts, seats.DoorClosed, seats.NotReady, seats.WrongServer,
		seats.UnknownSeat, seats.NotSigned, seats.Malformed:
	}
}
