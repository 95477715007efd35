// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
)

// monday is when every run begins.
var monday = time.Date(2026, 9, 14, 0, 0, 0, 0, time.UTC)

// wave is how many players come, over a day and a week.
type wave struct {
	// peak is how many are online at the best of times.
	peak float64
	stay time.Duration
}

// rate is how many come in an hour at an instant: few before dawn, most in the
// evening, more at the week's end.
func (v wave) rate(at time.Time) float64 {
	hour := at.Sub(at.Truncate(24 * time.Hour)).Hours()
	evening := hill((hour-20)/3.2) + 0.4*hill((hour-15)/3) + 0.03
	if day := at.Weekday(); day == time.Friday || day == time.Saturday {
		evening *= 1.3
	}
	return v.peak / v.stay.Hours() * evening / 1.4
}

func hill(x float64) float64 { return math.Exp(-x * x) }

// visits draws who comes between two instants.
func (v wave) visits(chance *rand.Rand, from, to time.Time, stops func() []Stop) []Visit {
	var all []Visit
	most := v.peak / v.stay.Hours() * 1.4
	for at := from; ; {
		at = at.Add(time.Duration(chance.ExpFloat64() / most * float64(time.Hour)))
		if !at.Before(to) {
			return all
		}
		if chance.Float64()*most > v.rate(at) {
			continue
		}
		all = append(all, Visit{At: at, Until: at.Add(v.length(chance)), Stops: stops()})
	}
}

// length draws how long somebody stays: most a while, some for hours.
func (v wave) length(chance *rand.Rand) time.Duration {
	return time.Minute + time.Duration(chance.ExpFloat64()*float64(v.stay))
}

// crowd is many who come at once.
func crowd(chance *rand.Rand, at time.Time, size int, within, stay time.Duration, stops func() []Stop) []Visit {
	all := make([]Visit, 0, size)
	for range size {
		comes := at.Add(time.Duration(chance.Int64N(int64(within))))
		all = append(all, Visit{At: comes, Until: comes.Add(time.Minute + time.Duration(chance.ExpFloat64()*float64(stay))), Stops: stops()})
	}
	return all
}

func inOrder(visits []Visit) []Visit {
	slices.SortStableFunc(visits, func(a, b Visit) int { return a.At.Compare(b.At) })
	return visits
}

// theFirst is the itinerary of who plays in the first group only.
func theFirst() []Stop { return []Stop{{Group: 0}} }

// ephemeral is the spec of a group with the API's defaults.
func ephemeral(maxPlayers, minReplicas, maxReplicas, spare int32) v1alpha1.ServerGroupSpec {
	return v1alpha1.ServerGroupSpec{
		NetworkRef: v1alpha1.NetworkReference{Name: "production"},
		Type:       v1alpha1.GroupEphemeral,
		Image:      "v1",
		MaxPlayers: maxPlayers,
		Scaling: v1alpha1.Scaling{
			MinReplicas: &minReplicas, MaxReplicas: maxReplicas, SpareSlots: &spare,
			ScaleDownStabilizationSeconds: new(int32(300)),
		},
		Drain:                  v1alpha1.ServerDrain{TimeoutSeconds: 60},
		FailedRetentionSeconds: new(int32(3600)),
	}
}

// Week draws seven days of a network: what its owner wants, who comes, and what
// goes wrong. The last hours are calm, so that everything can come to rest.
func Week(seed uint64) *Scenario {
	chance := rand.New(rand.NewPCG(seed, 2))
	end := monday.Add(7 * 24 * time.Hour)
	calm := end.Add(-4 * time.Hour)
	s := &Scenario{
		Seed: seed, Start: monday, End: end,
		Pace: Swift(), Nodes: 2 + chance.IntN(4), Hold: 2 * time.Minute, Held: 200,
	}
	s.Pace.Unsure = 0.01
	s.Groups = []Group{lobby(chance)}
	if chance.IntN(2) == 0 {
		s.Groups = append(s.Groups, games(chance))
	}
	stops := itinerary(chance, len(s.Groups))
	v := wave{peak: 20 + chance.Float64()*200, stay: time.Duration(20+chance.IntN(60)) * time.Minute}
	s.Visits = v.visits(chance, monday, calm.Add(-12*time.Hour), stops)
	for range chance.IntN(4) {
		at := monday.Add(time.Duration(chance.Int64N(int64(6 * 24 * time.Hour))))
		s.Visits = append(s.Visits, crowd(chance, at, 50+chance.IntN(350), 2*time.Minute, 30*time.Minute, stops)...)
	}
	s.Visits = inOrder(s.Visits)
	for i := range s.Visits {
		if v := &s.Visits[i]; v.Until.After(calm) {
			v.Until = calm
		}
	}
	s.Turns = turns(chance, monday, calm.Add(-12*time.Hour), len(s.Groups), s.Nodes)
	return s
}

func lobby(chance *rand.Rand) Group {
	maxPlayers := []int32{12, 20, 50, 100}[chance.IntN(4)]
	g := Group{Name: "lobby", Boot: someBoot(chance)}
	least, most := chance.Int32N(3), 240/maxPlayers+2+chance.Int32N(6)
	g.Spec = ephemeral(maxPlayers, least, most, chance.Int32N(2*maxPlayers))
	g.Spec.Scaling.ScaleDownStabilizationSeconds = new([]int32{0, 60, 300, 900}[chance.IntN(4)])
	if chance.IntN(3) == 0 {
		g.Spec.PlayableSlots = 1 + chance.Int32N(maxPlayers)
	}
	if chance.IntN(2) == 0 {
		g.Spec.Scaling.Consolidation = v1alpha1.ConsolidationEnabled
	}
	if chance.IntN(3) == 0 {
		g.Spec.Update.MaxStaleSeconds = new(60 * (1 + chance.Int32N(60)))
	}
	g.Spec.Update.MaxUnavailable = 1 + chance.Int32N(3)
	switch chance.IntN(4) {
	case 0:
		g.Spec.Update.Strategy, g.Spec.Update.MaxStaleSeconds = v1alpha1.UpdateWhenEmpty, nil
	case 1:
		g.Spec.Update.MinAvailable = 1 + chance.Int32N(2)
	}
	g.Spec.StartupDeadlineSeconds = 900
	return g
}

func games(chance *rand.Rand) Group {
	playable := 4 + chance.Int32N(13)
	g := Group{Name: "duels", Boot: someBoot(chance)}
	g.Spec = ephemeral(2*playable, chance.Int32N(2), 10+chance.Int32N(10), chance.Int32N(2*playable))
	g.Spec.PlayableSlots = playable
	g.Spec.StartupDeadlineSeconds = 900
	g.Round = Round{
		Players: int(playable+1) / 2, Countdown: 30 * time.Second, Length: Range{3 * time.Minute, 12 * time.Minute},
	}
	return g
}

// someBoot is the time a kind of image takes to boot: 20 s for a small one, up
// to nine minutes for a modded one.
func someBoot(chance *rand.Rand) Range {
	least := []time.Duration{20 * time.Second, 40 * time.Second, 90 * time.Second, 4 * time.Minute}[chance.IntN(4)]
	return Range{least, least + time.Duration(chance.Int64N(int64(5*least/4)))}
}

// itinerary sends people to the lobby and, where there is one, to a game of
// rounds for a while.
func itinerary(chance *rand.Rand, groups int) func() []Stop {
	if groups == 1 {
		return theFirst
	}
	return func() []Stop {
		if chance.IntN(3) == 0 {
			return []Stop{{Group: 0}}
		}
		stops := []Stop{{0, time.Duration(1+chance.IntN(10)) * time.Minute}}
		for range 1 + chance.IntN(3) {
			stops = append(stops, Stop{1, time.Hour}, Stop{0, time.Duration(1+chance.IntN(5)) * time.Minute})
		}
		return stops
	}
}
