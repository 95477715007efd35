// SPDX-License-Identifier: Apache-2.0

package placing

import (
	"context"
	"errors"
	"time"

	"k8s.io/utils/clock"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/proxy/directory"
	"github.com/spawnery/spawnery-operator/internal/seats"
)

const (
	// askWithin bounds one question to an agent.
	askWithin = 3 * time.Second
	// comparisons bounds how many servers are asked in search of the emptiest.
	comparisons = 3
)

// Finder finds places. Its methods may be called from any goroutine.
type Finder struct {
	clock     clock.WithTicker
	store     *directory.Store
	agents    *seats.Client
	estimates *estimates
}

// NewFinder chooses from the servers in store and asks their agents.
func NewFinder(clk clock.WithTicker, store *directory.Store, agents *seats.Client) *Finder {
	return &Finder{clock: clk, store: store, agents: agents, estimates: newEstimates(clk)}
}

// Find returns a place, which the caller must Close. The error is a *NoPlace,
// a *seats.Refusal for a server wanted by name, or ctx's.
func (f *Finder) Find(ctx context.Context, r Request) (*Place, error) {
	view := f.store.View()
	if r.Claim == ClaimName {
		return f.findNamed(ctx, view, r)
	}
	var lack *NoPlace
	for _, group := range r.Groups {
		place, err := f.findInGroup(ctx, view, r, group)
		if err == nil {
			return place, nil
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if found, ok := errors.AsType[*NoPlace](err); ok && (lack == nil || lack.Lack == LackServers && found.Lack != LackServers) {
			lack = found
		}
	}
	if lack == nil {
		lack = &NoPlace{Lack: LackServers}
	}
	return nil, lack
}

func (f *Finder) findNamed(ctx context.Context, view *directory.View, r Request) (*Place, error) {
	server := view.Server(r.Server)
	if server == nil || !r.Claim.open(server.GetDoor()) {
		return nil, &NoPlace{Lack: LackServers, Group: server.GetGroup()}
	}
	return f.ask(ctx, server, r)
}

// findInGroup asks the servers of one group, the best first, until one agrees.
func (f *Finder) findInGroup(ctx context.Context, view *directory.View, r Request, group string) (*Place, error) {
	choice := f.candidates(view, r, group)
	if len(choice.ranked) == 0 {
		return nil, &NoPlace{Lack: choice.lack, Group: group}
	}
	lack := LackAnswers
	for i, candidate := range choice.ranked {
		place, err := f.ask(ctx, candidate.server, r)
		if err == nil {
			return f.compare(ctx, place, choice.ranked[i+1:], r), nil
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if _, refused := errors.AsType[*seats.Refusal](err); refused {
			lack = LackSeats
		}
	}
	return nil, &NoPlace{Lack: lack, Group: group}
}

// compare gives up a place for one on a server that turns out to be emptier:
// another proxy may have filled the first one since the directory was made.
func (f *Finder) compare(ctx context.Context, place *Place, others []candidate, r Request) *Place {
	asked := 1
	for _, other := range others {
		if asked == comparisons {
			break
		}
		if f.estimates.players(other.server)+1 >= place.taken || other.free <= 0 {
			continue
		}
		asked++
		rival, err := f.ask(ctx, other.server, r)
		if err != nil {
			continue
		}
		if rival.taken >= place.taken {
			rival.Close()
			continue
		}
		place.Close()
		place = rival
	}
	return place
}

// ask asks one agent for a seat.
func (f *Finder) ask(ctx context.Context, server *agentv1alpha1.DirectoryServer, r Request) (*Place, error) {
	question := seats.Ask{Server: server.GetName(), Player: r.Player, Way: r.Claim.way(), Bypass: r.bypasses(server.GetGroup())}
	asking, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	// Counted before the question, so that others who choose now see it.
	f.estimates.move(server.GetName(), 1)
	seat, err := f.agents.Ask(asking, server.GetSeatAddress(), question)
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

func (r Request) bypasses(group string) bool { return r.Bypass != nil && r.Bypass(group) }

func (r Request) avoids(server string) bool { return r.Avoid != nil && r.Avoid(server) }
