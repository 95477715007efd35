// SPDX-License-Identifier: Apache-2.0

package rollout_test

import (
	"errors"
	"flag"
	"os"
	"testing"
	"time"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/fleet"
	"github.com/spawnery/spawnery-operator/internal/rollout"
)

func TestMain(m *testing.M) {
	err := errors.Join(flag.Set("rapid.checks", "3000"), flag.Set("rapid.nofailfile", "true"))
	if err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

var now = time.Date(2026, 9, 18, 20, 0, 0, 0, time.UTC)

func ago(d time.Duration) time.Time { return now.Add(-d) }

type change func(*fleet.Server)

// serving is a Ready server of 50 seats and of the present spec, an hour old.
func serving(name string, players int, changes ...change) fleet.Server {
	s := fleet.Server{
		Name: name, Ordinal: fleet.NoOrdinal, Phase: v1alpha1.ServerReady, Pod: fleet.PodSeen,
		Seats:     fleet.Seats{Slots: 50, Playable: 50},
		Presence:  fleet.Presence{Registration: fleet.Registered, Counts: fleet.Fresh(players, now)},
		Clocks:    fleet.Clocks{StartedAt: ago(time.Hour), ReadySince: ago(time.Hour)},
		CreatedAt: ago(time.Hour), ServedAt: ago(50 * time.Minute),
	}
	for _, do := range changes {
		do(&s)
	}
	return s
}

// stale is a Ready server of an old spec.
func stale(name string, players int, changes ...change) fleet.Server {
	return serving(name, players, append([]change{old}, changes...)...)
}

// starting is a server of the present spec whose pod runs, and that was never
// Ready.
func starting(name string, changes ...change) fleet.Server {
	s := fleet.Server{
		Name: name, Ordinal: fleet.NoOrdinal, Phase: v1alpha1.ServerStarting, Pod: fleet.PodSeen,
		Seats: fleet.Seats{Slots: 50, Playable: 50}, CreatedAt: ago(10 * time.Second),
	}
	for _, do := range changes {
		do(&s)
	}
	return s
}

func old(s *fleet.Server)      { s.Spec = fleet.SpecOld }
func silent(s *fleet.Server)   { s.Counts = fleet.Stale(s.Counts.Players(), ago(20*time.Second)) }
func unheard(s *fleet.Server)  { s.Counts = fleet.Counts{} }
func closed(s *fleet.Server)   { s.Door = fleet.DoorClosed }
func unmade(s *fleet.Server)   { s.Phase, s.Pod = v1alpha1.ServerPending, fleet.PodNone }
func departs(s *fleet.Server)  { s.Node = fleet.NodeDeparting }
func deleted(s *fleet.Server)  { s.Deletion = fleet.DeletionAsked }
func onTheWay(s *fleet.Server) { s.Roster = fleet.SomebodyThere() }

func seated(n int) change { return func(s *fleet.Server) { s.Counts = s.Counts.Seating(n) } }

func aged(d time.Duration) change { return func(s *fleet.Server) { s.CreatedAt = ago(d) } }

func phased(p v1alpha1.ServerPhase) change { return func(s *fleet.Server) { s.Phase = p } }

// told is a server that was told to go, and how far it is.
func told(why v1alpha1.RetireReason, p v1alpha1.ServerPhase) change {
	return func(s *fleet.Server) { s.Retire, s.Phase, s.Registration = why, p, fleet.Deregistered }
}

func going() change { return told(v1alpha1.RetireChangeover, v1alpha1.ServerRetiring) }

// group keeps 30 seats free and may have 8 servers.
func group(servers []fleet.Server, changes ...func(*rollout.Input)) rollout.Input {
	in := rollout.Input{
		Now: now, Servers: servers, Ceiling: 8, Keep: 30, LeaderSince: ago(24 * time.Hour),
		Update: rollout.Update{Strategy: v1alpha1.UpdateRolling, MaxUnavailable: 1},
	}
	for _, do := range changes {
		do(&in)
	}
	return in
}

func ceiling(n int) func(*rollout.Input) { return func(in *rollout.Input) { in.Ceiling = n } }
func keep(n int) func(*rollout.Input)    { return func(in *rollout.Input) { in.Keep = n } }
func ordered(n int) func(*rollout.Input) { return func(in *rollout.Input) { in.Ordered = n } }
func unavailable(n int) func(*rollout.Input) {
	return func(in *rollout.Input) { in.Update.MaxUnavailable = n }
}
func gated(g fleet.Gate) func(*rollout.Input) { return func(in *rollout.Input) { in.Gate = g } }
func twoAvailable(in *rollout.Input)          { in.Update.MinAvailable = 2 }
func whenEmpty(in *rollout.Input)             { in.Update.Strategy = v1alpha1.UpdateWhenEmpty }
func degraded(in *rollout.Input)              { in.Channel = fleet.ChannelDegraded }
func led(d time.Duration) func(*rollout.Input) {
	return func(in *rollout.Input) { in.LeaderSince = ago(d) }
}

func names(orders []rollout.Order) []string {
	var all []string
	for _, o := range orders {
		all = append(all, o.Name)
	}
	return all
}
