// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"cmp"
	"context"
	"net/http"

	"github.com/google/uuid"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/agent/local"
	"github.com/spawnery/spawnery-operator/internal/agent/players"
	"github.com/spawnery/spawnery-operator/internal/seats"
)

// plugins is the agent as plugins of its game see it.
type plugins struct{ agent *Agent }

// Network describes the network.
func (p *plugins) Network(ctx context.Context) (local.Network, <-chan struct{}, error) {
	return p.agent.beyond.awaitNetwork(ctx)
}

// Ask puts something to the manager.
func (p *plugins) Ask(ctx context.Context, ask *agentv1alpha1.Ask) (*agentv1alpha1.Answer, error) {
	return p.agent.beyond.ask(ctx, ask)
}

// Self describes the server.
func (p *plugins) Self() (local.Self, <-chan struct{}) {
	s, changed := p.agent.look()
	return s.self(), changed
}

// Wish keeps what is asked for before anybody acts on it: what a plugin was
// told is in force survives the agent.
func (p *plugins) Wish(change func(*local.Wishes)) error {
	var err error
	p.agent.change(func(s *state) {
		wanted := s.wishes
		change(&wanted)
		if wanted.Equal(s.wishes) {
			return
		}
		if err = p.agent.keep(s, wanted); err == nil {
			s.wishes = wanted
		}
	})
	return err
}

// Count takes in who is online where the game has no better way to tell.
func (p *plugins) Count(online []local.Person) error {
	list := make([]seats.Player, 0, len(online))
	for _, one := range online {
		// One that is none leaves the name to go by.
		id, _ := uuid.Parse(one.UUID)
		list = append(list, seats.Player{UUID: id, Name: one.Name})
	}
	if err := p.agent.watcher.Push(list); err != nil {
		return &local.Failed{Status: http.StatusConflict, Why: err.Error()}
	}
	return nil
}

// keep writes wishes down, and of which run of the game they are.
func (a *Agent) keep(s *state, wishes local.Wishes) error {
	game := a.listens()
	if err := local.KeepWishes(a.cfg.RunDir, local.Kept{Wishes: wishes, Game: game, Exited: s.exited}); err != nil {
		return err
	}
	s.keptOf = game
	return nil
}

// listens tells this run of the game from others; empty while it does not
// listen.
func (a *Agent) listens() string { return gameSocket(kernelTables, a.cfg.GameHost, a.cfg.Spec.Port) }

// recall takes up what was kept before this agent.
func (s *state) recall(kept local.Kept) {
	s.wishes, s.keptOf, s.exited = kept.Wishes, kept.Game, kept.Exited
}

// endWishes ends them with the game whose plugins had them.
func (a *Agent) endWishes(s *state, next players.Observation) {
	if s.wishes == (local.Wishes{}) {
		return
	}
	socket, before := a.listens(), s.wishes
	s.wishes = s.left(next, socket)
	// Plugins may ask before their game listens: which run that was is known
	// only later.
	identified := s.keptOf == "" && socket != ""
	if s.wishes == before && !identified {
		return
	}
	if err := a.keep(s, s.wishes); err != nil {
		a.log.Error(err, "what the plugins of the last run asked for may come back when the agent restarts")
	}
}

// left is what the next picture of the game leaves of the wishes, also when no
// agent looked while that game went. That a round has ended holds until another
// game is seen: it explains how this one exits.
func (s *state) left(next players.Observation, socket string) local.Wishes {
	left, absent := s.wishes, next.Presence == players.Absent
	another := s.keptOf != "" && socket != s.keptOf
	if next.Run != s.game.Run || another && absent {
		left, s.exited = left.OfTheExit(), true
	}
	// One that is stopping may listen no more.
	if s.exited && !absent || another && socket != "" {
		left, s.exited = local.Wishes{}, false
	}
	return left
}

func (s *state) self() local.Self {
	verdict, limits := s.verdict(), s.limits()
	self := local.Self{
		Server: s.spec.Server, Group: s.spec.Group, Ordinal: s.spec.Ordinal,
		DisplayName: cmp.Or(s.displayName, s.spec.Group),
		State:       stateNames[verdict.state], Detail: verdict.detail,
		Slots: limits.Slots, PlayableSlots: limits.Playable,
		Joins: s.wishes.Door(), Wishes: s.wishes,
	}
	if s.game.Counted {
		self.Players = &s.game.Sample.Online
	}
	return self
}

var stateNames = map[agentv1alpha1.GameState]local.ServerState{
	agentv1alpha1.GameState_GAME_STATE_STARTING:      local.Starting,
	agentv1alpha1.GameState_GAME_STATE_READY:         local.Ready,
	agentv1alpha1.GameState_GAME_STATE_NOT_ANSWERING: local.NotAnswering,
	agentv1alpha1.GameState_GAME_STATE_STOPPING:      local.Stopping,
}
