// SPDX-License-Identifier: Apache-2.0

package whatif

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/simulate"
)

// question about the sample and a shape.
func question(t *testing.T, shape string, peak int) *Question {
	t.Helper()
	group, err := ReadGroup(sample, lobby(t), "")
	if err != nil {
		t.Fatal(err)
	}
	trace, err := ReadShape(shape, peak)
	if err != nil {
		t.Fatal(err)
	}
	return &Question{
		Group: group, Trace: trace, Seed: 1, Boot: 40 * time.Second, Stay: 40 * time.Minute, Hold: 2 * time.Minute, Width: 80,
	}
}

func ask(t *testing.T, q *Question) *Answer {
	t.Helper()
	answer, err := Ask(q)
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

func TestEveryShapeIsAnsweredWithinSeconds(t *testing.T) {
	for _, s := range shapes {
		t.Run(s.name, func(t *testing.T) {
			q := question(t, s.name, 150)
			began := time.Now()
			answer := ask(t, q)
			// A second or two on an idle machine; tests share theirs.
			if took := time.Since(began); took > 30*time.Second {
				t.Errorf("it took %s", took)
			}
			if most := answer.ledger.MostPlayers; most < 140 || most > 200 {
				t.Errorf("%d players at the peak", most)
			}
			if answer.ledger.ServerTime < answer.end.Sub(answer.start) {
				t.Errorf("servers ran %s, less than one all the time", answer.ledger.ServerTime)
			}
			for line := range strings.SplitSeq(answer.String(), "\n") {
				if len(line) > q.Width {
					t.Errorf("a line of %d characters: %s", len(line), line)
				}
				for _, letter := range line {
					if letter < ' ' || letter > '~' {
						t.Errorf("%q in %s", letter, line)
					}
				}
			}
		})
	}
}

func TestAReportFitsEveryWidth(t *testing.T) {
	for _, row := range []struct {
		shape string
		width int
	}{{"event", Narrowest}, {"week", Narrowest}, {"steady", 60}, {"event", 79}, {"event", 80}, {"event", 132}, {"friday", Widest}} {
		q := question(t, row.shape, 20)
		q.Width = row.width
		for line := range strings.SplitSeq(ask(t, q).String(), "\n") {
			if len(line) > row.width {
				t.Errorf("%s: a line of %d characters in %d: %s", row.shape, len(line), row.width, line)
			}
		}
	}
}

func TestTheSameSeedGivesTheSameReport(t *testing.T) {
	first, again := ask(t, question(t, "event", 300)).String(), ask(t, question(t, "event", 300)).String()
	if diff := cmp.Diff(first, again); diff != "" {
		t.Errorf("(-first +again):\n%s", diff)
	}
	other := question(t, "event", 300)
	other.Seed = 2
	if ask(t, other).String() == first {
		t.Error("another seed gives the same report")
	}
}

// The numbers mean what the documentation says: more of each is more servers
// and less waiting.
func TestOtherNumbersGiveWhatTheyPromise(t *testing.T) {
	answer := ask(t, question(t, "event", 500))
	by := map[numbers]*simulate.Ledger{}
	for _, v := range answer.variants {
		by[v.numbers] = v.ledger
	}
	own := answer.variants[0].numbers
	none, twice, fewer, more := own, own, own, own
	none.spare, twice.spare, fewer.most, more.most = 0, 40, 6, 10
	for _, n := range []numbers{none, twice, fewer, more} {
		if by[n] == nil {
			t.Fatalf("%v is missing", n)
		}
	}
	refused := []int{by[more].Refused, by[own].Refused, by[fewer].Refused}
	if !slices.IsSorted(refused) || len(slices.Compact(refused)) < 3 {
		t.Errorf("refused with 10, 8 and 6 servers: %v", refused)
	}
	if by[none].Held <= by[twice].Held || by[none].ServerTime >= by[twice].ServerTime {
		t.Errorf("held %d without and %d with spare seats, for %s and %s",
			by[none].Held, by[twice].Held, by[none].ServerTime, by[twice].ServerTime)
	}
	if by[own].MostServers != 8 || by[own].AtCeiling == 0 {
		t.Errorf("%d servers, %s at the ceiling", by[own].MostServers, by[own].AtCeiling)
	}
	report := answer.String()
	for _, text := range []string{"maxReplicas for", "found no seat within 2m", "waited for a seat"} {
		if !strings.Contains(report, text) {
			t.Errorf("no %q in\n%s", text, report)
		}
	}
}

func TestProxiesThatFillCostLess(t *testing.T) {
	q := question(t, "friday", 200)
	spread := ask(t, q)
	q.Strategy = v1alpha1.RoutingFill
	filled := ask(t, q)
	if a, b := filled.ledger.ServerTime, spread.ledger.ServerTime; a >= b {
		t.Errorf("%s with servers that are filled, %s without", a, b)
	}
	// The last variant is the other strategy.
	if got := spread.variants[len(spread.variants)-1].ledger.ServerTime; got != filled.ledger.ServerTime {
		t.Errorf("the table says %s, the question itself is answered %s", got, filled.ledger.ServerTime)
	}
	if text := "proxies choose by strategy Fill"; !strings.Contains(filled.String(), text) {
		t.Errorf("no %q in\n%s", text, filled)
	}
	q.Strategy = "Random"
	if _, err := Ask(q); err == nil || err.Error() != "--strategy is Random; it must be Spread or Fill" {
		t.Error(err)
	}
}

func TestOtherNumbersAreOnesTheAPIAllows(t *testing.T) {
	for _, own := range []numbers{{0, 1, 0, "Disabled", "Spread"}, {1, 1, 5, "Enabled", "Spread"}, {8, 8, 100, "Disabled", "Spread"}, {1000, 1000, 1000000, "Disabled", "Spread"}} {
		all := around(own)
		if all[0] != own || len(all) < 4 {
			t.Errorf("%v: %v", own, all)
		}
		for _, n := range all {
			if n.least < 0 || n.most < 1 || n.most > 1000 || n.least > n.most || n.spare < 0 || n.spare > 1000000 {
				t.Errorf("%v: %v", own, n)
			}
		}
	}
}

func TestColumnsAreAsLongAsTheyMustBe(t *testing.T) {
	for _, row := range []struct {
		length time.Duration
		width  int
		want   time.Duration
	}{
		{time.Minute, 80, time.Minute},
		{72 * time.Minute, 80, time.Minute},
		{73 * time.Minute, 80, 2 * time.Minute},
		{24 * time.Hour, 80, 20 * time.Minute},
		{7 * 24 * time.Hour, 80, 3 * time.Hour},
		{31 * 24 * time.Hour, 40, 24 * time.Hour},
	} {
		if got := stepOf(row.length, row.width); got != row.want {
			t.Errorf("%s in %d: %s, want %s", row.length, row.width, got, row.want)
		}
	}
}
