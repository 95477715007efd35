// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// full is a group of one server with two seats, to which a third player comes.
func full(hold time.Duration) *Scenario {
	minute := func(n int) time.Time { return monday.Add(time.Duration(n) * time.Minute) }
	return &Scenario{
		Seed: 1, Start: monday, End: minute(120), Pace: Swift(), Nodes: 1, Hold: hold, Held: 10,
		Groups: []Group{{Name: "lobby", Spec: ephemeral(2, 1, 1, 0), Boot: Always(30 * time.Second)}},
		Visits: []Visit{
			{At: minute(61), Until: minute(100), Stops: []Stop{{Group: 0}}},
			{At: minute(62), Until: minute(75), Stops: []Stop{{Group: 0}}},
			{At: minute(70), Until: minute(110), Stops: []Stop{{Group: 0}}},
		},
	}
}

func TestALedgerTellsWhoWaitedAndWhoWasRefused(t *testing.T) {
	from := monday.Add(time.Hour)
	for name, row := range map[string]struct {
		hold          time.Duration
		held, refused int
		longest       time.Duration
		players       []int
	}{
		"a short wait ends in a refusal": {2 * time.Minute, 1, 1, 0, []int{2, 2, 1, 1, 0, 0}},
		"no wait refuses at once":        {0, 0, 1, 0, []int{2, 2, 1, 1, 0, 0}},
		"a long wait ends in a seat":     {10 * time.Minute, 1, 0, 5 * time.Minute, []int{2, 2, 2, 2, 1, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			got := Run(full(row.hold), from, 10*time.Minute)
			// The first server was there before the first instant that counts.
			want := &Ledger{
				Held: row.held, Refused: row.refused, LongestHold: row.longest,
				MostServers: 1, MostPlayers: 2, ServerTime: time.Hour, AtCeiling: time.Hour,
			}
			for i, players := range row.players {
				want.Steps = append(want.Steps, Step{At: from.Add(time.Duration(i) * 10 * time.Minute), Servers: 1, Ready: 1, Players: players})
			}
			want.Steps[1].Held, want.Steps[1].Refused = row.held, row.refused
			got.LongestHold = got.LongestHold.Round(time.Minute)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestALedgerCountsWhoGivesUp(t *testing.T) {
	s := full(10 * time.Minute)
	s.Visits[2].Until = s.Visits[2].At.Add(time.Minute)
	l := Run(s, monday.Add(time.Hour), 10*time.Minute)
	if l.Held != 1 || l.GaveUp != 1 || l.Refused != 0 || l.LongestHold != 0 {
		t.Errorf("%+v", l)
	}
}

func TestALedgerIsTheSameForEveryLengthOfItsSteps(t *testing.T) {
	from := monday.Add(time.Hour)
	fine, coarse := Run(full(2*time.Minute), from, 7*time.Minute), Run(full(2*time.Minute), from, time.Hour)
	fine.Steps, coarse.Steps = nil, nil
	if diff := cmp.Diff(fine, coarse); diff != "" {
		t.Errorf("7 minutes (-) and an hour (+) differ:\n%s", diff)
	}
}
