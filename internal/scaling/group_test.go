// SPDX-License-Identifier: Apache-2.0

package scaling_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/fleet"
	"github.com/spawnery/spawnery-operator/internal/scaling"
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

// pass is the pace at which groups are sized.
const pass = 5 * time.Second

// hub holds the numbers of the documented example.
var hub = scaling.Sizes{MinReplicas: 2, MaxReplicas: 8, SpareSlots: 30, Capacity: 50, Stabilization: 300 * time.Second}

// serving is a Ready server of 50 seats, an hour old, that has had players.
func serving(name string, players int, changes ...func(*fleet.Server)) fleet.Server {
	s := fleet.Server{
		Name: name, Ordinal: fleet.NoOrdinal, Phase: v1alpha1.ServerReady, Pod: fleet.PodSeen,
		Seats:     fleet.Seats{Slots: 50, Playable: 50},
		Presence:  fleet.Presence{Registration: fleet.Registered, Counts: fleet.Fresh(players, now)},
		Clocks:    fleet.Clocks{StartedAt: ago(time.Hour), ReadySince: ago(time.Hour)},
		CreatedAt: ago(time.Hour), ServedAt: ago(50 * time.Minute),
	}
	for _, change := range changes {
		change(&s)
	}
	return s
}

// ordered is a server that has never been Ready.
func ordered(name string, changes ...func(*fleet.Server)) fleet.Server {
	s := fleet.Server{
		Name: name, Ordinal: fleet.NoOrdinal, Phase: v1alpha1.ServerPending,
		Seats: fleet.Seats{Slots: 50, Playable: 50}, CreatedAt: ago(10 * time.Second),
	}
	for _, change := range changes {
		change(&s)
	}
	return s
}

func emptyFor(d time.Duration) func(*fleet.Server) {
	return func(s *fleet.Server) { s.Counts, s.EmptySince = fleet.Fresh(0, now), ago(d) }
}

func neverServed(s *fleet.Server) { s.ServedAt = time.Time{} }

func aged(d time.Duration) func(*fleet.Server) {
	return func(s *fleet.Server) { s.CreatedAt = ago(d) }
}

func seating(n int) func(*fleet.Server) {
	return func(s *fleet.Server) { s.Counts = s.Counts.Seating(n) }
}

func stale(s *fleet.Server)   { s.Counts = fleet.Stale(s.Counts.Players(), ago(20*time.Second)) }
func unheard(s *fleet.Server) { s.Counts = fleet.Counts{} }

func phased(p v1alpha1.ServerPhase) func(*fleet.Server) {
	return func(s *fleet.Server) { s.Phase = p }
}

// retired is one that takes nobody new and still has its players.
func retired(reason v1alpha1.RetireReason) func(*fleet.Server) {
	return func(s *fleet.Server) {
		s.Phase, s.Retire, s.Registration = v1alpha1.ServerRetiring, reason, fleet.Deregistered
	}
}

func group(servers []fleet.Server, changes ...func(*scaling.Input)) scaling.Input {
	in := scaling.Input{
		Now: now, Sizes: hub, Servers: servers,
		LeaderSince: ago(24 * time.Hour), FirstRegisteredAt: ago(48 * time.Hour),
	}
	for _, change := range changes {
		change(&in)
	}
	return in
}

func sized(change func(*scaling.Sizes)) func(*scaling.Input) {
	return func(in *scaling.Input) { change(&in.Sizes) }
}

func boosted(n int) func(*scaling.Input) {
	return func(in *scaling.Input) { in.Boosts = scaling.Boosts{Added: n, NextExpiry: now.Add(time.Hour)} }
}

func pinned(n int) func(*scaling.Input) {
	return func(in *scaling.Input) {
		in.Boosts = scaling.Boosts{Pin: scaling.Pin{Boost: "event", Replicas: n}, NextExpiry: now.Add(time.Hour)}
	}
}

func expecting(e scaling.Expected) func(*scaling.Input) {
	return func(in *scaling.Input) { in.Expected = e }
}

func gated(g fleet.Gate) func(*scaling.Input) { return func(in *scaling.Input) { in.Gate = g } }
func onEvent(in *scaling.Input)               { in.Trigger = scaling.OnEvent }
func brandNew(in *scaling.Input)              { in.FirstRegisteredAt = time.Time{} }
func waiting(n int) func(*scaling.Input)      { return func(in *scaling.Input) { in.Waiting = n } }

// full is n servers without a free seat.
func full(n int) []fleet.Server {
	var servers []fleet.Server
	for i := range n {
		servers = append(servers, serving(fmt.Sprint("hub-full", i), 50))
	}
	return servers
}
