// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/timestamppb"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/agent/ledger"
	"github.com/spawnery/spawnery-operator/internal/agent/players"
	"github.com/spawnery/spawnery-operator/internal/agent/serverspec"
	"github.com/spawnery/spawnery-operator/internal/seats"
)

const (
	starting  = agentv1alpha1.GameState_GAME_STATE_STARTING
	ready     = agentv1alpha1.GameState_GAME_STATE_READY
	silent    = agentv1alpha1.GameState_GAME_STATE_NOT_ANSWERING
	goingAway = agentv1alpha1.GameState_GAME_STATE_STOPPING

	unproven   = agentv1alpha1.ForwardingState_FORWARDING_STATE_UNSPECIFIED
	active     = agentv1alpha1.ForwardingState_FORWARDING_STATE_ACTIVE
	notActive  = agentv1alpha1.ForwardingState_FORWARDING_STATE_NOT_ACTIVE
	onlineMode = agentv1alpha1.ForwardingState_FORWARDING_STATE_ONLINE_MODE
	notWanted  = agentv1alpha1.ForwardingState_FORWARDING_STATE_NOT_WANTED
)

func lobby() serverspec.Spec {
	return serverspec.Spec{
		Server: "lobby-ab2c", Group: "lobby", Flavor: serverspec.FlavorPaper,
		DataDir: "/data", Port: 25565, MaxPlayers: 50,
		Forwarding: serverspec.ForwardingVelocity, OnlineMode: true,
		GraceSeconds: 60, StopToken: "stop-token",
	}
}

func TestWhatAGameIsForEverybodyElse(t *testing.T) {
	tests := map[string]struct {
		change func(*state)
		want   agentv1alpha1.GameState
		detail string
	}{
		"it answers and forwards": {func(*state) {}, ready, ""},
		"it is not there":         {func(s *state) { s.game.Presence, s.game.Detail = players.Absent, "nothing listens" }, starting, "nothing listens"},
		"it loads":                {func(s *state) { s.game.Presence, s.game.Detail = players.Loading, "loading" }, starting, "loading"},
		"it hangs":                {func(s *state) { s.game.Presence, s.game.Detail = players.Silent, "since noon" }, silent, "since noon"},
		"it says goodbye":         {func(s *state) { s.game.Presence, s.game.Detail = players.Stopping, "bye" }, goingAway, "bye"},
		"it is being stopped":     {func(s *state) { s.stopping = true }, goingAway, "the game is stopping"},
		"forwarding is unproven":  {func(s *state) { s.forwarding.state = unproven }, starting, "waiting for a probe login"},
		"a probe was refused": {
			func(s *state) { s.probed(0, 1, unproven, errors.New("throttled")); s.forwarding.state = unproven },
			starting, "showed no forwarding: throttled",
		},
		"it authenticates by itself": {func(s *state) { s.forwarding.state = onlineMode }, starting, "set online-mode to false in server.properties"},
		"it believes any name": {
			func(s *state) { s.forwarding.state = notActive },
			starting, "set proxies.velocity.enabled to true in config/paper-global.yml",
		},
		"Fabric without its mod believes any name": {
			func(s *state) { s.forwarding.state, s.spec.Flavor = notActive, serverspec.FlavorFabric },
			starting, "install the mod FabricProxy-Lite",
		},
		"an image of the owner's believes any name": {
			func(s *state) { s.forwarding.state, s.spec.Flavor = notActive, serverspec.FlavorCustom },
			starting, "or set spec.server.forwarding to None",
		},
		"it need not forward": {
			func(s *state) { s.forwarding.state, s.spec.Forwarding = notActive, serverspec.ForwardingNone },
			ready, "",
		},
		"what was proven was another run": {func(s *state) { s.game.Run++ }, starting, "waiting for a probe login"},
		"it was out of sight":             {func(s *state) { s.game.Contact++ }, ready, ""},
		"a hint does not keep players out": {
			func(s *state) { s.game.Detail = "counted by ping" }, ready, "counted by ping",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := state{spec: lobby(), game: players.Observation{Presence: players.Answering}, forwarding: forwarding{state: active}}
			test.change(&s)
			if got := s.verdict(); got.state != test.want || !strings.Contains(got.detail, test.detail) {
				t.Errorf("verdict() = %v, %q, want %v, %q", got.state, got.detail, test.want, test.detail)
			}
		})
	}
}

func TestWhenALoginHasToProveForwarding(t *testing.T) {
	tests := map[string]struct {
		change func(*state)
		want   bool
	}{
		"it was proven":          {func(*state) {}, false},
		"in each run":            {func(s *state) { s.game.Run++ }, true},
		"after it was unseen":    {func(s *state) { s.game.Contact++ }, true},
		"while it is wrong":      {func(s *state) { s.forwarding.state = notActive }, true},
		"not before it answers":  {func(s *state) { s.game.Run++; s.game.Presence = players.Loading }, false},
		"not while it stops":     {func(s *state) { s.game.Run++; s.stopping = true }, false},
		"not where none is used": {func(s *state) { s.game.Run++; s.spec.Forwarding = serverspec.ForwardingNone }, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := state{spec: lobby(), game: players.Observation{Presence: players.Answering}, forwarding: forwarding{state: active}}
			test.change(&s)
			if got := s.probeDue(); got != test.want {
				t.Errorf("probeDue() = %t, want %t", got, test.want)
			}
		})
	}
}

func TestAProbeOfAnEarlierRunProvesNothing(t *testing.T) {
	s := state{spec: lobby(), game: players.Observation{Presence: players.Answering, Run: 1}}
	s.probed(0, 0, active, nil)
	if got := s.forwardingState(); got != unproven {
		t.Errorf("forwardingState() = %v after a probe of the run before", got)
	}
	s.probed(1, 0, active, nil)
	s.probed(1, 1, unproven, errors.New("throttled"))
	if got := s.forwardingState(); got != active {
		t.Errorf("forwardingState() = %v, want what this run has shown", got)
	}
}

func TestLimitsFollowTheGroupWithinTheGame(t *testing.T) {
	tests := map[string]struct {
		maxPlayers, playable int
		want                 ledger.Limits
	}{
		"before the manager spoke": {0, 0, ledger.Limits{Slots: 50, Playable: 50}},
		"playable seats":           {50, 12, ledger.Limits{Slots: 50, Playable: 12}},
		"a smaller group":          {20, 0, ledger.Limits{Slots: 20, Playable: 20}},
		"a larger group":           {80, 0, ledger.Limits{Slots: 50, Playable: 50}},
		"more playable than slots": {20, 30, ledger.Limits{Slots: 20, Playable: 20}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := state{spec: lobby(), maxPlayers: test.maxPlayers, playable: test.playable}
			if got := s.limits(); got != test.want {
				t.Errorf("limits() = %+v, want %+v", got, test.want)
			}
		})
	}
}

func TestAReportSaysWhatIsKnown(t *testing.T) {
	noon := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	id := uuid.MustParse("aaaaaaaa-0000-0000-0000-000000000001")
	s := state{spec: lobby(), forwarding: forwarding{state: active}, game: players.Observation{
		Presence: players.Answering, Counted: true,
		Sample: ledger.Sample{At: noon, Online: 3, Players: []seats.Player{{UUID: id, Name: "Alice"}, {Name: "Bob"}}},
	}}
	want := &agentv1alpha1.ServerReport{
		SampledAt: timestamppb.New(noon), GameState: ready, Forwarding: active,
		Online: 3, Players: []*agentv1alpha1.Player{{Uuid: id[:], Name: "Alice"}, {Name: "Bob"}},
		Slots: 50, JoinsOpen: true, SeatsPending: 2,
		Admitted: []*agentv1alpha1.Player{{Uuid: id[:], Name: "Cyd"}, {Name: "Dan"}},
	}
	admitted := []seats.Player{{UUID: id, Name: "Cyd"}, {Name: "Dan"}}
	if diff := cmp.Diff(want, s.report(2, admitted), protocmp.Transform()); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
}

func TestAReportOfNothingKnownHasNoSample(t *testing.T) {
	s := state{spec: lobby(), game: players.Observation{Presence: players.Absent, Detail: "nothing listens"}}
	want := &agentv1alpha1.ServerReport{
		GameState: starting, Detail: "nothing listens", Slots: 50, JoinsOpen: true,
	}
	if diff := cmp.Diff(want, s.report(0, nil), protocmp.Transform()); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
	s.spec.Forwarding = serverspec.ForwardingNone
	if got := s.report(0, nil).GetForwarding(); got != notWanted {
		t.Errorf("forwarding %v, want %v", got, notWanted)
	}
}
