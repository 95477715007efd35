// SPDX-License-Identifier: Apache-2.0

package backoff_test

import (
	"cmp"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/backoff"
	"github.com/spawnery/spawnery-operator/internal/fleet"
)

var start = time.Date(2026, 9, 18, 20, 0, 0, 0, time.UTC)

func at(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }

func streak(failures, lastAt int) backoff.Streak {
	return backoff.Streak{Failures: failures, LastFailureAt: at(lastAt)}
}

func failedAt(ordinal, seconds int) fleet.Server {
	return fleet.Server{Ordinal: ordinal, Phase: v1alpha1.ServerFailed, Clocks: fleet.Clocks{FailedAt: at(seconds)}}
}

func readyAt(ordinal, seconds int) fleet.Server {
	return fleet.Server{Ordinal: ordinal, Phase: v1alpha1.ServerReady, Clocks: fleet.Clocks{ReadySince: at(seconds)}}
}

func oldSpec(s fleet.Server) fleet.Server {
	s.Spec = fleet.SpecOld
	return s
}

func TestCountFailuresOfInterchangeableServers(t *testing.T) {
	tests := map[string]struct {
		was     backoff.Streak
		servers []fleet.Server
		want    backoff.Streak
	}{
		"nothing failed":                       {backoff.Streak{}, []fleet.Server{readyAt(-1, 0)}, backoff.Streak{}},
		"the first failure":                    {backoff.Streak{}, []fleet.Server{failedAt(-1, 5)}, streak(1, 5)},
		"a failure counts once":                {streak(1, 5), []fleet.Server{failedAt(-1, 5)}, streak(1, 5)},
		"one round is one failure":             {backoff.Streak{}, []fleet.Server{failedAt(-1, 9), failedAt(-1, 5), failedAt(-1, 7)}, streak(1, 5)},
		"in the window it is the same round":   {streak(1, 5), []fleet.Server{failedAt(-1, 14)}, streak(1, 5)},
		"at the end of the window it is not":   {streak(1, 5), []fleet.Server{failedAt(-1, 15)}, streak(2, 15)},
		"a success breaks the streak":          {streak(3, 5), []fleet.Server{readyAt(-1, 6)}, streak(0, 5)},
		"an older success does not":            {streak(3, 5), []fleet.Server{readyAt(-1, 5)}, streak(3, 5)},
		"a success of the old spec does not":   {streak(3, 5), []fleet.Server{oldSpec(readyAt(-1, 60))}, streak(3, 5)},
		"a success before a failure in window": {streak(1, 5), []fleet.Server{readyAt(-1, 7), failedAt(-1, 8)}, streak(1, 8)},
		"a success after both":                 {streak(1, 5), []fleet.Server{readyAt(-1, 9), failedAt(-1, 8)}, streak(0, 8)},
		"success and failure between passes":   {streak(4, 5), []fleet.Server{readyAt(-1, 100), failedAt(-1, 900)}, streak(1, 900)},
		"several rounds between passes":        {backoff.Streak{}, []fleet.Server{failedAt(-1, 0), failedAt(-1, 10), failedAt(-1, 30)}, streak(3, 30)},
		"the sixth":                            {streak(5, 0), []fleet.Server{failedAt(-1, 160)}, streak(6, 160)},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := backoff.CountFailures(backoff.History{Streak: tt.was, Seen: 1, Generation: 1, Servers: tt.servers}, nil)
			if got.Failures != tt.want.Failures || !got.LastFailureAt.Equal(tt.want.LastFailureAt) {
				t.Errorf("CountFailures() = %+v, want %+v", got, tt.want)
			}
		})
	}
}

func TestCountFailuresOfOrdinals(t *testing.T) {
	both := []int{0, 1}
	tests := map[string]struct {
		was      backoff.Streak
		servers  []fleet.Server
		required []int
		want     backoff.Streak
	}{
		"a healthy sibling breaks nothing":     {streak(3, 5), []fleet.Server{readyAt(0, 900)}, both, streak(3, 5)},
		"every required ordinal Ready does":    {streak(3, 5), []fleet.Server{readyAt(0, 1), readyAt(1, 900)}, both, streak(0, 5)},
		"a sibling that fails is counted":      {streak(3, 5), []fleet.Server{readyAt(0, 1), failedAt(1, 4000)}, both, streak(4, 4000)},
		"one that nobody requires may fail":    {streak(3, 5), []fleet.Server{readyAt(0, 1), failedAt(7, 4000)}, []int{0}, streak(0, 4000)},
		"no required ordinal proves nothing":   {streak(3, 5), []fleet.Server{readyAt(0, 900)}, nil, streak(3, 5)},
		"the old spec serves as well as a new": {streak(3, 5), []fleet.Server{oldSpec(readyAt(0, 1))}, []int{0}, streak(0, 5)},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			h := backoff.History{Streak: tt.was, Seen: 1, Generation: 1, Success: backoff.AllRequiredReady, Servers: tt.servers}
			got := backoff.CountFailures(h, tt.required)
			if got.Failures != tt.want.Failures || !got.LastFailureAt.Equal(tt.want.LastFailureAt) {
				t.Errorf("CountFailures() = %+v, want %+v", got, tt.want)
			}
		})
	}
}

func TestAnEditStartsOverAndOldCorpsesStayCounted(t *testing.T) {
	corpses := []fleet.Server{failedAt(0, 5), failedAt(1, 9)}
	h := backoff.History{Streak: streak(6, 5), Seen: 1, Generation: 2, Success: backoff.AllRequiredReady, Servers: corpses}
	edited := backoff.CountFailures(h, []int{0, 1})
	if edited.Failures != 0 {
		t.Fatalf("after an edit %d failures are left", edited.Failures)
	}
	h.Streak, h.Seen = edited, 2
	if again := backoff.CountFailures(h, []int{0, 1}); again != edited {
		t.Errorf("the corpses were counted again: %+v", again)
	}
	h.Servers = append(h.Servers, failedAt(0, 4000))
	if next := backoff.CountFailures(h, []int{0, 1}); next != streak(1, 4000) {
		t.Errorf("the first failure after the edit gives %+v", next)
	}
}

func TestEachNewRetryStartsOverOnce(t *testing.T) {
	tests := map[string]struct {
		retried, retry string
		want           int
	}{
		"nobody asks":               {"", "", 6},
		"the first":                 {"", "alice", 0},
		"one that was acted upon":   {"alice", "alice", 6},
		"another":                   {"alice", "bob", 0},
		"one taken away again":      {"alice", "", 6},
		"the one before, once more": {"bob", "alice", 0},
	}
	for name, tt := range tests {
		for _, success := range []backoff.Success{backoff.AnyCurrentReady, backoff.AllRequiredReady} {
			h := backoff.History{
				Streak: streak(6, 5), Seen: 1, Generation: 1, Retried: tt.retried, Retry: tt.retry,
				Success: success, Servers: []fleet.Server{failedAt(0, 5), failedAt(1, 9)},
			}
			once := backoff.CountFailures(h, []int{0, 1})
			if once.Failures != tt.want {
				t.Errorf("%s: %d failures stand, want %d", name, once.Failures, tt.want)
			}
			h.Streak, h.Retried = once, cmp.Or(tt.retry, tt.retried)
			if again := backoff.CountFailures(h, []int{0, 1}); again != once {
				t.Errorf("%s: the next pass makes %+v of %+v", name, again, once)
			}
		}
	}
}

func TestDecideBackoff(t *testing.T) {
	tests := map[string]struct {
		streak backoff.Streak
		now    time.Time
		state  backoff.State
		next   time.Time
		gate   fleet.Gate
		note   string
	}{
		"calm":                      {backoff.Streak{}, at(0), backoff.Calm, time.Time{}, fleet.Gate{}, "no server has failed to start recently"},
		"after the first, 10 s":     {streak(1, 0), at(9), backoff.BackingOff, at(10), fleet.WaitUntil(at(10)), "attempt 1 of 6 failed; next attempt at 2026-09-18T20:00:10Z"},
		"after the second, 20 s":    {streak(2, 0), at(19), backoff.BackingOff, at(20), fleet.WaitUntil(at(20)), "attempt 2 of 6"},
		"after the third, 40 s":     {streak(3, 0), at(39), backoff.BackingOff, at(40), fleet.WaitUntil(at(40)), "attempt 3 of 6"},
		"after the fourth, 80 s":    {streak(4, 0), at(79), backoff.BackingOff, at(80), fleet.WaitUntil(at(80)), "attempt 4 of 6"},
		"after the fifth, 160 s":    {streak(5, 0), at(159), backoff.BackingOff, at(160), fleet.WaitUntil(at(160)), "attempt 5 of 6"},
		"when the delay is over":    {streak(5, 0), at(160), backoff.Retrying, time.Time{}, fleet.Gate{}, "no server has failed to start recently; 5 of 6 attempts failed"},
		"after the sixth, given up": {streak(6, 0), at(1), backoff.GaveUp, time.Time{}, fleet.GivenUp(), "gave up after 6 failed attempts"},
		"given up for ever":         {streak(6, 0), at(1e8), backoff.GaveUp, time.Time{}, fleet.GivenUp(), "an edit of the group's spec"},
		"or until a retry":          {streak(7, 0), at(1e8), backoff.GaveUp, time.Time{}, fleet.GivenUp(), "another value of its annotation spawnery.cloud/retry"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			d := backoff.DecideBackoff(tt.streak, tt.now)
			if d.State != tt.state || !d.NextAttempt.Equal(tt.next) || !d.Recheck.Equal(tt.next) || backoff.MayCreate(d) != tt.gate {
				t.Errorf("DecideBackoff() = %+v with gate %+v", d, backoff.MayCreate(d))
			}
			if !strings.Contains(d.Note, tt.note) {
				t.Errorf("note %q does not say %q", d.Note, tt.note)
			}
		})
	}
}

func anyServers(t *rapid.T) []fleet.Server {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) fleet.Server {
		seconds := rapid.IntRange(-50, 600).Draw(t, "at")
		ordinal := rapid.IntRange(0, 3).Draw(t, "ordinal")
		if rapid.Bool().Draw(t, "failed") {
			return failedAt(ordinal, seconds)
		}
		return readyAt(ordinal, seconds)
	}), 0, 8).Draw(t, "servers")
}

func anyHistory(t *rapid.T) backoff.History {
	return backoff.History{
		Streak: streak(rapid.IntRange(0, 7).Draw(t, "failures"), rapid.IntRange(0, 100).Draw(t, "last")),
		Seen:   1, Generation: int64(rapid.IntRange(1, 2).Draw(t, "generation")),
		Success: rapid.SampledFrom([]backoff.Success{backoff.AnyCurrentReady, backoff.AllRequiredReady}).Draw(t, "success"),
		Servers: anyServers(t),
	}
}

func TestCountingAgainChangesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h, required := anyHistory(t), []int{0, 1}
		once := backoff.CountFailures(h, required)
		h.Streak, h.Seen = once, h.Generation
		if twice := backoff.CountFailures(h, required); twice != once {
			t.Fatalf("%+v became %+v", once, twice)
		}
	})
}

func TestTheOrderOfServersDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := anyHistory(t)
		want := backoff.CountFailures(h, []int{0, 1})
		h.Servers = rapid.Permutation(h.Servers).Draw(t, "shuffled")
		if got := backoff.CountFailures(h, []int{0, 1}); got != want {
			t.Fatalf("%+v in one order, %+v in another", want, got)
		}
	})
}

func TestARoundAddsOneHoweverManyFailInIt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		was := streak(rapid.IntRange(1, 5).Draw(t, "failures"), 0)
		window := backoff.DecideBackoff(was, at(0)).NextAttempt.Sub(start)
		var servers []fleet.Server
		for range rapid.IntRange(1, 20).Draw(t, "corpses") {
			servers = append(servers, failedAt(-1, rapid.IntRange(1, int(window/time.Second)-1).Draw(t, "at")))
		}
		got := backoff.CountFailures(backoff.History{Streak: was, Servers: servers}, nil)
		if got != was {
			t.Fatalf("%d failures inside the window turned %+v into %+v", len(servers), was, got)
		}
	})
}

func TestTheDecisionIsConstantUntilRecheck(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := streak(rapid.IntRange(0, 8).Draw(t, "failures"), 0)
		now := at(rapid.IntRange(0, 400).Draw(t, "now"))
		d := backoff.DecideBackoff(s, now)
		until := d.Recheck
		if until.IsZero() {
			until = now.Add(24 * time.Hour)
		}
		later := now.Add(time.Duration(rapid.Int64Range(0, int64(until.Sub(now))-1).Draw(t, "wait")))
		if got := backoff.DecideBackoff(s, later); got != d {
			t.Fatalf("%+v became %+v", d, got)
		}
	})
}
