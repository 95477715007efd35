// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"fmt"

	"github.com/google/uuid"
	"google.golang.org/protobuf/types/known/timestamppb"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/agent/ledger"
	"github.com/spawnery/spawnery-operator/internal/agent/local"
	"github.com/spawnery/spawnery-operator/internal/agent/players"
	"github.com/spawnery/spawnery-operator/internal/agent/serverspec"
	"github.com/spawnery/spawnery-operator/internal/seats"
)

// state is everything the agent knows; what it tells follows from it.
type state struct {
	spec       serverspec.Spec
	game       players.Observation
	forwarding forwarding
	// stopping is set for good by the preStop hook.
	stopping bool
	// maxPlayers and playable are the manager's last word; 0 while it said
	// nothing.
	maxPlayers, playable int
	// playableRule is what the manager's last word made of the playable seats.
	playableRule ledger.PlayableRule
	// displayName is the group's, by the manager's last word.
	displayName string
	// wishes are what plugins ask for.
	wishes local.Wishes
	// keptOf is the run of the game they were kept of; empty: not known.
	keptOf string
	// exited is true from the exit of a game until another is seen.
	exited bool
}

// forwarding is what probe logins have shown of one run of the game.
type forwarding struct {
	run, contact int
	state        agentv1alpha1.ForwardingState
	// refusal is why the last probe showed nothing.
	refusal string
}

// verdict is what the game is for everybody else.
type verdict struct {
	state  agentv1alpha1.GameState
	detail string
}

func (v verdict) ready() bool { return v.state == agentv1alpha1.GameState_GAME_STATE_READY }

func (s *state) verdict() verdict {
	if s.stopping {
		return verdict{agentv1alpha1.GameState_GAME_STATE_STOPPING, "the game is stopping"}
	}
	switch s.game.Presence {
	case players.Stopping:
		return verdict{agentv1alpha1.GameState_GAME_STATE_STOPPING, s.game.Detail}
	case players.Absent, players.Loading:
		return verdict{agentv1alpha1.GameState_GAME_STATE_STARTING, s.game.Detail}
	case players.Silent:
		return verdict{agentv1alpha1.GameState_GAME_STATE_NOT_ANSWERING, s.game.Detail}
	case players.Answering:
	}
	if wrong := s.forwardingProblem(); wrong != "" {
		return verdict{agentv1alpha1.GameState_GAME_STATE_STARTING, wrong}
	}
	return verdict{agentv1alpha1.GameState_GAME_STATE_READY, s.game.Detail}
}

// door lets the ledger refuse for itself a game that does not answer: its
// counts are unknown then.
func (s *state) door() (ledger.Door, string) {
	verdict := s.verdict()
	switch verdict.state {
	case agentv1alpha1.GameState_GAME_STATE_READY,
		agentv1alpha1.GameState_GAME_STATE_NOT_ANSWERING:
		if s.wishes.Door() == local.Closed {
			return ledger.ByName, "a plugin of this server has closed it for a while"
		}
		return ledger.Open, ""
	case agentv1alpha1.GameState_GAME_STATE_UNSPECIFIED,
		agentv1alpha1.GameState_GAME_STATE_STARTING,
		agentv1alpha1.GameState_GAME_STATE_STOPPING:
	}
	return ledger.Shut, verdict.detail
}

// forwardingState is what is known about this run of the game.
func (s *state) forwardingState() agentv1alpha1.ForwardingState {
	if s.spec.Forwarding == serverspec.ForwardingNone {
		return agentv1alpha1.ForwardingState_FORWARDING_STATE_NOT_WANTED
	}
	if s.forwarding.run != s.game.Run {
		return agentv1alpha1.ForwardingState_FORWARDING_STATE_UNSPECIFIED
	}
	return s.forwarding.state
}

// probeDue is true while a login has to show what the game does: in each run,
// and again after it was out of sight, when the answer before still holds.
func (s *state) probeDue() bool {
	return s.spec.Forwarding == serverspec.ForwardingVelocity && !s.stopping &&
		s.game.Presence == players.Answering &&
		(s.forwardingState() != agentv1alpha1.ForwardingState_FORWARDING_STATE_ACTIVE || s.forwarding.contact != s.game.Contact)
}

// forwardingProblem says what keeps players out, and what to change; empty
// when nothing does.
func (s *state) forwardingProblem() string {
	const changed = "prepare wrote it, and something in the image changed it"
	switch s.forwardingState() {
	case agentv1alpha1.ForwardingState_FORWARDING_STATE_ACTIVE,
		agentv1alpha1.ForwardingState_FORWARDING_STATE_NOT_WANTED:
		return ""
	case agentv1alpha1.ForwardingState_FORWARDING_STATE_ONLINE_MODE:
		return "the game authenticates players by itself: set online-mode to false in server.properties; " + changed
	case agentv1alpha1.ForwardingState_FORWARDING_STATE_NOT_ACTIVE:
		const anybody = "the game does not ask for forwarding, so that anybody could be anybody: "
		switch s.spec.Flavor {
		case serverspec.FlavorPaper:
			return anybody + "set proxies.velocity.enabled to true in config/paper-global.yml; " + changed
		case serverspec.FlavorFabric:
			return anybody + "install the mod FabricProxy-Lite in the image or its volume; prepare wrote the secret to config/FabricProxy-Lite.toml"
		case serverspec.FlavorVanilla, serverspec.FlavorCustom:
		}
		return anybody + "switch Velocity's forwarding on in the game's own settings, or set spec.server.forwarding to None"
	case agentv1alpha1.ForwardingState_FORWARDING_STATE_UNSPECIFIED:
	}
	if s.forwarding.refusal != "" {
		return "a probe login showed no forwarding: " + s.forwarding.refusal
	}
	return "waiting for a probe login to show that forwarding is active"
}

// limits are the seats the door counts: the game never admits more than it was
// started with, the group may have become smaller since.
func (s *state) limits() ledger.Limits {
	slots := int(s.spec.MaxPlayers)
	if s.maxPlayers > 0 {
		slots = min(slots, s.maxPlayers)
	}
	return ledger.Limits{Slots: slots, Playable: s.wishes.Seats(s.playable, slots), PlayableRule: s.playableRule}
}

// report is the whole state as the manager gets it, with the seats that were
// given out.
func (s *state) report(pending int, admitted []seats.Player) *agentv1alpha1.ServerReport {
	verdict, limits := s.verdict(), s.limits()
	report := &agentv1alpha1.ServerReport{
		GameState:    verdict.state,
		Detail:       verdict.detail,
		Forwarding:   s.forwardingState(),
		Slots:        int32(limits.Slots),
		JoinsOpen:    s.wishes.Door() == local.Open,
		SeatsPending: int32(pending),
		Admitted:     tell(admitted),
		RoundEnded:   s.wishes.RoundEnded,
	}
	if s.wishes.PlayableSlots != nil {
		report.PlayableSlots = new(int32(limits.Playable))
	}
	if !s.game.Counted {
		return report
	}
	report.SampledAt = timestamppb.New(s.game.Sample.At)
	report.Online = int32(s.game.Sample.Online)
	report.Players = tell(s.game.Sample.Players)
	return report
}

// tell puts players into the words of the channel.
func tell(list []seats.Player) []*agentv1alpha1.Player {
	var told []*agentv1alpha1.Player
	for _, p := range list {
		one := &agentv1alpha1.Player{Name: p.Name}
		if p.UUID != uuid.Nil {
			one.Uuid = p.UUID[:]
		}
		told = append(told, one)
	}
	return told
}

// heard takes players out of the words of the channel.
func heard(told []*agentv1alpha1.Player) []seats.Player {
	list := make([]seats.Player, 0, len(told))
	for _, one := range told {
		// An id that is none leaves the name to go by.
		id, _ := uuid.FromBytes(one.GetUuid())
		list = append(list, seats.Player{UUID: id, Name: one.GetName()})
	}
	return list
}

// probed keeps what a login showed, or the error that it showed nothing.
func (s *state) probed(run, contact int, shown agentv1alpha1.ForwardingState, err error) {
	if run != s.game.Run {
		return
	}
	if err != nil {
		// What an earlier login of this run has shown still holds.
		s.forwarding.refusal = fmt.Sprint(err)
		if s.forwarding.run != run {
			s.forwarding = forwarding{run: run, refusal: err.Error()}
		}
		return
	}
	s.forwarding = forwarding{run: run, contact: contact, state: shown}
}
