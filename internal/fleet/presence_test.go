// SPDX-License-Identifier: Apache-2.0

package fleet_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/spawnery/spawnery-operator/internal/fleet"
)

var now = time.Date(2026, 9, 18, 20, 0, 0, 0, time.UTC)

func ago(d time.Duration) time.Time { return now.Add(-d) }

func TestOccupied(t *testing.T) {
	confirmed := fleet.NobodySince(ago(fleet.RosterConfirms))
	recent := fleet.NobodySince(ago(fleet.RosterConfirms - time.Second))
	tests := map[string]struct {
		presence fleet.Presence
		want     bool
	}{
		"a fresh player counts even on a server nobody registered": {
			fleet.Presence{Counts: fleet.Fresh(1, now)}, true,
		},
		"a server never registered carries nobody while its counts are unknown": {
			fleet.Presence{}, false,
		},
		"a server never registered carries nobody while its counts are stale": {
			fleet.Presence{Counts: fleet.Stale(3, ago(time.Minute))}, false,
		},
		"a fresh zero is empty": {
			fleet.Presence{Registration: fleet.Registered, Counts: fleet.Fresh(0, now)}, false,
		},
		"a player on the way outweighs a fresh zero": {
			fleet.Presence{Registration: fleet.Registered, Counts: fleet.Fresh(0, now), Roster: fleet.SomebodyThere()}, true,
		},
		"unknown counts are occupied": {
			fleet.Presence{Registration: fleet.Registered}, true,
		},
		"unknown counts stay occupied after the server left the list": {
			fleet.Presence{Registration: fleet.Deregistered}, true,
		},
		"a stale zero is occupied": {
			fleet.Presence{Registration: fleet.Registered, Counts: fleet.Stale(0, ago(time.Minute))}, true,
		},
		"proxies that agreed for a minute replace unknown counts": {
			fleet.Presence{Registration: fleet.Registered, Roster: confirmed}, false,
		},
		"proxies that agreed for a minute replace stale counts": {
			fleet.Presence{Registration: fleet.Registered, Counts: fleet.Stale(2, ago(time.Hour)), Roster: confirmed}, false,
		},
		"proxies that agreed for less than a minute do not": {
			fleet.Presence{Registration: fleet.Registered, Roster: recent}, true,
		},
		"proxies never outweigh a fresh player": {
			fleet.Presence{Registration: fleet.Registered, Counts: fleet.Fresh(1, now), Roster: confirmed}, true,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := tt.presence.Occupied(now); got != tt.want {
				t.Errorf("Occupied() = %v, want %v", got, tt.want)
			}
		})
	}
}

func anyPresence(t *rapid.T) fleet.Presence {
	sampled := ago(time.Duration(rapid.IntRange(0, 300).Draw(t, "sampleAge")) * time.Second)
	players := rapid.IntRange(-1, 3).Draw(t, "players")
	counts := rapid.SampledFrom([]fleet.Counts{{}, fleet.Fresh(players, sampled), fleet.Stale(players, sampled)})
	since := ago(time.Duration(rapid.IntRange(-10, 120).Draw(t, "agreed")) * time.Second)
	rosters := rapid.SampledFrom([]fleet.Roster{{}, fleet.SomebodyThere(), fleet.NobodySince(since)})
	standing := rapid.SampledFrom([]fleet.Registration{fleet.NeverRegistered, fleet.Registered, fleet.Deregistered})
	return fleet.Presence{
		Registration: standing.Draw(t, "registration"),
		Counts:       counts.Draw(t, "counts"),
		Roster:       rosters.Draw(t, "roster"),
	}
}

func TestOccupiedChangesOnlyAtClearsAt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := anyPresence(t)
		later := now.Add(time.Duration(rapid.IntRange(0, 200).Draw(t, "wait")) * time.Second)
		clears := p.ClearsAt(now)
		want := p.Occupied(now)
		if !clears.IsZero() && !later.Before(clears) {
			want = false
		}
		if got := p.Occupied(later); got != want {
			t.Fatalf("%+v: Occupied(%v later) = %v, want %v; clears at %v", p, later.Sub(now), got, want, clears)
		}
	})
}

func TestEmptySince(t *testing.T) {
	earlier := ago(time.Hour)
	tests := map[string]struct {
		presence fleet.Presence
		was      time.Time
		want     time.Time
	}{
		"begins at the first fresh zero":       {fleet.Presence{Registration: fleet.Registered, Counts: fleet.Fresh(0, now)}, time.Time{}, now},
		"is kept by further zeros":             {fleet.Presence{Registration: fleet.Registered, Counts: fleet.Fresh(0, now)}, earlier, earlier},
		"ends with a player":                   {fleet.Presence{Counts: fleet.Fresh(1, now)}, earlier, time.Time{}},
		"ends with a player on the way":        {fleet.Presence{Counts: fleet.Fresh(0, now), Roster: fleet.SomebodyThere()}, earlier, time.Time{}},
		"survives a restart of the manager":    {fleet.Presence{}, earlier, earlier},
		"does not begin without a count":       {fleet.Presence{}, time.Time{}, time.Time{}},
		"does not begin with a stale zero":     {fleet.Presence{Counts: fleet.Stale(0, earlier)}, time.Time{}, time.Time{}},
		"survives silence after a zero":        {fleet.Presence{Counts: fleet.Stale(0, earlier)}, earlier, earlier},
		"is not kept by silence after a one":   {fleet.Presence{Counts: fleet.Stale(1, earlier)}, earlier, time.Time{}},
		"does not begin while it still starts": {fleet.Presence{Registration: fleet.NeverRegistered, Counts: fleet.Fresh(0, now)}, time.Time{}, time.Time{}},
		"begins where players were moved off":  {fleet.Presence{Registration: fleet.Deregistered, Counts: fleet.Fresh(0, now)}, time.Time{}, now},
		"does not begin before a player left":  {fleet.Presence{Counts: fleet.Fresh(2, now)}, time.Time{}, time.Time{}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := tt.presence.EmptySince(tt.was, now); !got.Equal(tt.want) {
				t.Errorf("EmptySince() = %v, want %v", got, tt.want)
			}
		})
	}
}

func TestSeatsThatAreTakenSayNothingAboutWhoMayBeThere(t *testing.T) {
	occupied := fleet.Presence{Registration: fleet.Registered, Counts: fleet.Fresh(1, now).Seating(0)}
	if occupied.Counts.Seated() != 0 || occupied.Counts.Players() != 1 || occupied.Counts.KnownEmpty() || !occupied.Occupied(now) {
		t.Errorf("a player who is counted elsewhere is not here any more: %+v", occupied)
	}
	if got := fleet.Fresh(3, now); got.Seated() != 3 || got.Seating(-1).Seated() != 0 {
		t.Errorf("%d seats are taken by three players, and %d by fewer than none", got.Seated(), got.Seating(-1).Seated())
	}
}
