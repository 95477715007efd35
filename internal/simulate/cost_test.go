// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/routing"
)

// lobbyOf is a group and who plays in it, from Thursday to Saturday.
type lobbyOf struct {
	name           string
	peak           float64
	stay           time.Duration
	seats, spare   int32
	crowd          int
	spread, filled float64
}

// lobbies are what the cost is measured on. Their ratios are the most of three
// seeds, rounded up, of proxies that spread players and of proxies that fill.
var lobbies = []lobbyOf{
	{name: "200 players, 40 seats", peak: 200, stay: 40 * time.Minute, seats: 40, spare: 20, spread: 1.3, filled: 1.11},
	{name: "200 players who stay 20 minutes", peak: 200, stay: 20 * time.Minute, seats: 50, spare: 30, spread: 1.19, filled: 1.04},
	{name: "200 players, 12 seats", peak: 200, stay: 40 * time.Minute, seats: 12, spare: 12, spread: 1.24, filled: 1.11},
	{name: "600 players, 50 seats", peak: 600, stay: 40 * time.Minute, seats: 50, spare: 50, spread: 1.24, filled: 1.12},
}

const costSeeds = 3

// days are three days of a lobby with a healthy cluster.
func (l *lobbyOf) days(seed uint64, consolidation v1alpha1.Consolidation) *Scenario {
	g := Group{Name: "lobby", Spec: ephemeral(l.seats, 1, 1000, l.spare), Boot: Range{40 * time.Second, 60 * time.Second}}
	g.Spec.Scaling.Consolidation = consolidation
	s := play(g, monday.Add(3*24*time.Hour), monday.Add(6*24*time.Hour), nil)
	s.Seed = seed
	chance := rand.New(rand.NewPCG(seed, 10))
	s.Visits = wave{peak: l.peak, stay: l.stay}.visits(chance, s.Start, s.End, theFirst)
	if l.crowd > 0 {
		s.Visits = together(s.Visits, crowd(chance, on(20, 0), l.crowd, 2*time.Minute, l.stay, theFirst))
	}
	return s
}

// optimum is the clairvoyant that sees the same players.
func (l *lobbyOf) optimum(s *Scenario) *clairvoyant {
	boot := s.Groups[0].Boot
	return &clairvoyant{
		visits: s.Visits, start: s.Start, end: s.End, capacity: int(l.seats), spare: int(l.spare), least: 1, boot: (boot.Least + boot.Most) / 2,
	}
}

// cost is what a run cost, against what it could have.
type cost struct {
	joins, held, refused int
	// hours are server-hours, ratio is that to the cost of the best plan known and
	// ratioAtMost that to what no plan falls below.
	hours, ratio, ratioAtMost float64
}

func (l *lobbyOf) measure(seed uint64, consolidation v1alpha1.Consolidation, strategy routing.Strategy) cost {
	s := l.days(seed, consolidation)
	s.Strategy = strategy
	w := New(s)
	ledger, best := w.account(s.Start, time.Hour), l.optimum(s)
	hours := ledger.ServerTime.Hours()
	return cost{
		joins: len(s.Visits), held: ledger.Held, refused: ledger.Refused,
		hours: hours, ratio: hours / best.atMost().Hours(), ratioAtMost: hours / best.atLeast().Hours(),
	}
}

// The target is 1.10 of the optimum. Where proxies spread players over all
// servers, one that is to go takes long to empty, because whoever is on it stays
// for as long as they like; where they fill servers, the target is missed by
// little. The ratios may not get worse.
func TestTheCostOfNotKnowingTheFuture(t *testing.T) {
	for _, l := range lobbies {
		for seed := range uint64(costSeeds) {
			t.Run(fmt.Sprint(l.name, ", seed ", seed), func(t *testing.T) {
				t.Parallel()
				spread := l.measure(seed, v1alpha1.ConsolidationEnabled, routing.Spread)
				filled := l.measure(seed, v1alpha1.ConsolidationEnabled, routing.Fill)
				if spread.ratioAtMost > l.spread {
					t.Errorf("%.1f server-hours, %.3f of the least: more than %.2f", spread.hours, spread.ratioAtMost, l.spread)
				}
				if filled.ratioAtMost > l.filled {
					t.Errorf("%.1f server-hours with servers that are filled, %.3f of the least: more than %.2f", filled.hours, filled.ratioAtMost, l.filled)
				}
				if spread.ratioAtMost > 1.01*spread.ratio {
					t.Errorf("the least is not known well: between %.3f and %.3f", spread.ratio, spread.ratioAtMost)
				}
				// 0.01 % is the target; none is what it comes to.
				if spread.refused+filled.refused > 0 {
					t.Errorf("of %d joins %d were refused, and %d with servers that are filled", spread.joins, spread.refused, filled.refused)
				}
			})
		}
	}
}

// BenchmarkCostAgainstTheOptimum measures server-hours against the clairvoyant
// optimum, and how many joins had to wait or were refused.
func BenchmarkCostAgainstTheOptimum(b *testing.B) {
	crowded := lobbies[0]
	crowded.name, crowded.crowd = "200 players and a crowd of 400", 400
	for _, l := range append(slices.Clone(lobbies), crowded) {
		for _, row := range []struct {
			name          string
			consolidation v1alpha1.Consolidation
			strategy      routing.Strategy
		}{
			{"spread", v1alpha1.ConsolidationDisabled, routing.Spread},
			{"spread and consolidated", v1alpha1.ConsolidationEnabled, routing.Spread},
			{"filled", v1alpha1.ConsolidationDisabled, routing.Fill},
			{"filled and consolidated", v1alpha1.ConsolidationEnabled, routing.Fill},
		} {
			b.Run(l.name+"/"+row.name, func(b *testing.B) {
				var sum cost
				runs := 0
				for b.Loop() {
					one := l.measure(uint64(runs%costSeeds), row.consolidation, row.strategy)
					sum.joins, sum.held, sum.refused = sum.joins+one.joins, sum.held+one.held, sum.refused+one.refused
					sum.ratio, sum.ratioAtMost = max(sum.ratio, one.ratio), max(sum.ratioAtMost, one.ratioAtMost)
					runs++
				}
				b.ReportMetric(sum.ratioAtMost, "of-the-least")
				b.ReportMetric(100*float64(sum.held)/float64(sum.joins), "%held")
				b.ReportMetric(100*float64(sum.refused)/float64(sum.joins), "%refused")
			})
		}
	}
}
