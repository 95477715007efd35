// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/boosts"
)

// friday is the day most tales are of.
var friday = monday.Add(4 * 24 * time.Hour)

// on is a time of that Friday, or of the night after it.
func on(hour, minute int) time.Time {
	return friday.Add(time.Duration(hour)*time.Hour + time.Duration(minute)*time.Minute)
}

// hub is the lobby of most tales: 50 players a server, two servers at least,
// eight at most, 30 seats to be free.
func hub() Group {
	return Group{Name: "lobby", Spec: ephemeral(50, 2, 8, 30), Boot: Range{40 * time.Second, 60 * time.Second}}
}

// duels is a game of rounds for eight; its servers let in as many to watch.
func duels() Group {
	g := Group{Name: "duels", Spec: ephemeral(16, 0, 6, 8), Boot: Always(30 * time.Second)}
	g.Spec.PlayableSlots = 8
	g.Round = Round{Players: 6, Countdown: 30 * time.Second, Length: Range{8 * time.Minute, 10 * time.Minute}}
	return g
}

// play is a scenario of one group in a network of two proxies.
func play(g Group, from, to time.Time, visits []Visit, turns ...Turn) *Scenario {
	return &Scenario{
		Seed: 18, Start: from, End: to, Groups: []Group{g}, Visits: visits, Turns: turns,
		Pace: Swift(), Nodes: 3, Hold: 2 * time.Minute, Held: 400,
	}
}

// count is how many players come in the hour from an instant on; between two
// instants the number changes evenly.
type count struct {
	at      time.Time
	players int
}

// flow draws who comes, in whole numbers only: so it is the same everywhere.
func flow(seed uint64, counts []count, stay Range, stops func() []Stop) []Visit {
	chance := rand.New(rand.NewPCG(18, seed))
	var all []Visit
	due := 0 // in minutes times players
	for i := range counts[:len(counts)-1] {
		from, to := counts[i], counts[i+1]
		minutes := int(to.at.Sub(from.at) / time.Minute)
		for minute := range minutes {
			due += from.players + (to.players-from.players)*minute/minutes
			for ; due >= 60; due -= 60 {
				at := from.at.Add(time.Duration(minute) * time.Minute).Add(time.Duration(chance.Int64N(int64(time.Minute))))
				all = append(all, Visit{At: at, Until: at.Add(stay.draw(chance)), Stops: stops()})
			}
		}
	}
	return inOrder(all)
}

// evening brings few in the afternoon, many at nine, and nobody in the night.
func evening(most int) []Visit {
	return flow(2, []count{
		{on(15, 0), most / 10},
		{on(18, 0), most / 2},
		{on(21, 0), most},
		{on(22, 0), most * 2 / 3},
		{on(24, 0), most / 6},
		{on(26, 0), most / 30},
		{on(28, 0), 0},
	}, lengthy, theFirst)
}

var (
	lengthy = Range{20 * time.Minute, 100 * time.Minute}
	brief   = Range{5 * time.Minute, 25 * time.Minute}
)

// there are players who come within five minutes.
func there(from time.Time, players int, stay Range) []Visit {
	return flow(3, []count{{from, players * 12}, {from.Add(5 * time.Minute), players * 12}}, stay, theFirst)
}

func after(at time.Time, visits []Visit) []Visit {
	for i := range visits {
		if !visits[i].At.Before(at) {
			return visits[i:]
		}
	}
	return nil
}

func together(some ...[]Visit) []Visit {
	var all []Visit
	for _, visits := range some {
		all = append(all, visits...)
	}
	return inOrder(all)
}

// changes is an edit of the first group's spec.
func changes(at time.Time, note string, change func(*v1alpha1.ServerGroupSpec)) Turn {
	return Turn{at, func(w *World) { w.Edit(0, note, change) }}
}

func rolls(at time.Time, image string) Turn {
	return changes(at, "image "+image, func(spec *v1alpha1.ServerGroupSpec) { spec.Image = image })
}

func boosted(at time.Time, mode v1alpha1.BoostMode, group, replicas int, until time.Time) Turn {
	return Turn{at, func(w *World) { w.Boost(group, boosts.Boost{Mode: mode, Replicas: replicas, ExpiresAt: until}) }}
}

// unharmed wants everybody to have found a seat and kept it.
func unharmed(t *testing.T, n *narrator) {
	t.Helper()
	if n.refusals > 0 || n.losses > 0 {
		t.Errorf("%d players were refused, %d lost their server", n.refusals, n.losses)
	}
}

// served wants that nobody even waited.
func served(t *testing.T, n *narrator) {
	t.Helper()
	unharmed(t, n)
	if n.holds > 0 {
		t.Errorf("%d players had to wait", n.holds)
	}
}

// has wants a number of servers now.
func has(servers int) func(*testing.T, *narrator) {
	return func(t *testing.T, n *narrator) {
		t.Helper()
		if now := n.g.truth().alive; now != servers {
			t.Errorf("%s: %d servers, want %d", n.g.w.now.Format("15:04:05"), now, servers)
		}
	}
}

// updated wants no server of an old spec to be left.
func updated(t *testing.T, n *narrator) {
	t.Helper()
	if now := n.g.truth(); now.old+now.retiring > 0 || now.serving == 0 {
		t.Errorf("%d servers of an old image are left, %d serve the new one", now.old+now.retiring, now.serving)
	}
}

// says wants the group to have said something.
func says(words string) func(*testing.T, *narrator) {
	return func(t *testing.T, n *narrator) {
		t.Helper()
		if n.said(words) == 0 {
			t.Errorf("the group never said %q", words)
		}
	}
}

// all wants all of it.
func all(wants ...func(*testing.T, *narrator)) func(*testing.T, *narrator) {
	return func(t *testing.T, n *narrator) {
		t.Helper()
		for _, want := range wants {
			want(t, n)
		}
	}
}

func TestFridayEvening(t *testing.T) {
	tale{
		title: `A Friday evening.

A server is ordered while there are still 30 seats free, so nobody waits for it.
On the way down the players are spread over all servers, and each server stays
until it is empty by itself: the group is at its evening size far into the night.`,
		scenario: play(hub(), on(15, 0), on(30, 0), evening(160)),
		every:    time.Hour,
		during:   []glance{{on(21, 30), has(4)}},
		wants:    all(served, has(2)),
	}.golden(t, "friday-evening")
}

func TestFlashCrowd(t *testing.T) {
	crowded := hub()
	crowded.Spec.Scaling.MaxReplicas = 12
	tale{
		title: `400 players in two minutes, where 30 seats are kept free.

Whoever finds no seat is held, and a pass orders one server for those who are: a
crowd may be an attack. In the end the group has what the crowd needs and no more,
and everybody plays within the two minutes that a player is held.`,
		scenario: play(crowded, on(19, 0), on(20, 45), together(
			flow(2, []count{{on(19, 10), 60}, {on(20, 30), 60}}, lengthy, theFirst),
			flow(4, []count{{on(20, 0), 12000}, {on(20, 2), 12000}}, Range{20 * time.Minute, 30 * time.Minute}, theFirst))),
		wants: func(t *testing.T, n *narrator) {
			unharmed(t, n)
			if n.holds == 0 {
				t.Error("nobody was held: this was no crowd")
			}
			if n.longest > 2*time.Minute {
				t.Errorf("somebody was held for %s", n.longest)
			}
			if n.most > 10 {
				t.Errorf("%d servers, where ten have room for all and the spare seats", n.most)
			}
		},
	}.golden(t, "flash-crowd")
}

func TestRollingAtTheCeiling(t *testing.T) {
	full := hub()
	full.Spec.Scaling.MaxReplicas = 4
	tale{
		title: `A new image at 70 % occupancy, at the ceiling of four servers.

A changeover needs room for one new server before an old one may go, and the
group says so. Once maxReplicas allows five, one old server after another takes
nobody new and goes when its players have left. Nobody is moved.`,
		scenario: play(full, on(19, 0), on(23, 0), there(on(19, 5), 140, Range{20 * time.Minute, 3 * time.Hour}),
			rolls(on(19, 30), "v2"),
			changes(on(19, 45), "maxReplicas 5", func(spec *v1alpha1.ServerGroupSpec) { spec.Scaling.MaxReplicas = 5 })),
		every: 30 * time.Minute,
		during: []glance{{on(19, 44), func(t *testing.T, n *narrator) {
			if n.made != 4 || n.g.truth().old != 4 {
				t.Errorf("%d servers were made and %d are old: something was rolled without room", n.made, n.g.truth().old)
			}
			says("a changeover wants 5 servers, maxReplicas allows 4")(t, n)
		}}},
		wants: all(served, updated),
	}.golden(t, "rolling-at-the-ceiling")
}

func TestPinToZeroDuringRounds(t *testing.T) {
	s := play(hub(), on(19, 0), on(20, 15), flow(5, []count{{on(19, 2), 90}, {on(20, 15), 90}}, Range{20 * time.Minute, 25 * time.Minute},
		func() []Stop { return []Stop{{0, 90 * time.Second}, {1, time.Hour}, {0, time.Hour}} }),
		boosted(on(19, 25), v1alpha1.BoostExact, 1, 0, on(20, 0)))
	s.Groups = append(s.Groups, duels())
	tale{
		title: `A pin to 0 while rounds are played.

Empty servers go at once. Those with players take nobody new, and each goes when
its round has ended, or when all have left who waited for one: a pin ends no
round. Whoever would play stays in the lobby. When the pin ends, the seats that
are to be free are ordered again.`,
		scenario: s,
		group:    1,
		during: []glance{
			{on(19, 24), func(t *testing.T, n *narrator) {
				if n.players() < 6 {
					t.Errorf("%d players: nothing is being played", n.players())
				}
			}},
			{on(19, 26), has(0)},
			{on(19, 59), func(t *testing.T, n *narrator) {
				if n.players() > 0 || len(n.g.servers) > 0 {
					t.Errorf("%d players on %d servers, long after their rounds ended", n.players(), len(n.g.servers))
				}
			}},
		},
		wants: all(unharmed, says("holds the group at 0"), func(t *testing.T, n *narrator) {
			if now := n.g.truth(); now.alive == 0 || n.players() == 0 {
				t.Errorf("%d servers and %d players after the pin", now.alive, n.players())
			}
		}),
	}.golden(t, "pin-to-zero")
}

func TestBrokenImage(t *testing.T) {
	tale{
		title: `An image that does not start, and the next one that does.

The first server of the new spec fails, and so do the next attempts, after 10 s,
20 s, 40 s and so on; after six the group gives up. The old servers serve on all
the while. An edit starts over, and the changeover goes its way.`,
		scenario: play(hub(), on(19, 0), on(22, 0), there(on(19, 5), 60, Range{time.Hour, 2 * time.Hour}),
			Turn{on(19, 29), func(w *World) { w.UseImage(0, "v2", Image{Boot: Always(30 * time.Second), Fate: Exits}) }},
			rolls(on(19, 30), "v2"), rolls(on(20, 0), "v3")),
		during: []glance{{on(19, 59), func(t *testing.T, n *narrator) {
			if now := n.g.truth(); now.old != 2 || n.failed != 6 {
				t.Errorf("%d old servers serve on, %d attempts failed, want 2 and 6", now.old, n.failed)
			}
			says("gave up after 6 failed attempts")(t, n)
		}}},
		wants: all(served, updated, has(2)),
	}.golden(t, "broken-image")
}

func TestOneCrashLoopingSibling(t *testing.T) {
	tale{
		title: `One server that does not come up holds up nobody.

At half past nine a server crashes, and those that should replace it fail to
start: the license of a plugin is used up. The group retries, waits, and gives
up. When the players leave, the servers that they leave go all the same.`,
		scenario: play(hub(), on(19, 0), on(29, 0), after(on(19, 0), evening(200)),
			Turn{on(21, 30), func(w *World) {
				w.UseImage(0, "v1", Image{Boot: Always(30 * time.Second), Fate: Exits})
				w.Crash()
			}}),
		every:  2 * time.Hour,
		during: []glance{{on(21, 29), has(5)}},
		wants:  all(says("gave up after 6"), has(2)),
	}.golden(t, "crash-looping-sibling")
}

// night is an evening, and then a few players who come all night.
func night() []Visit {
	return together(after(on(19, 0), evening(160)), flow(6, []count{{on(23, 0), 30}, {on(30, 0), 30}}, brief, theFirst))
}

func TestSpreadAtNight(t *testing.T) {
	tale{
		title: `A night of few players, spread over many servers.

The proxies send everybody to the server with the fewest players. As long as
somebody comes now and then no server is empty for five minutes, so none goes:
the group pays for its evening size all night.`,
		scenario: play(hub(), on(19, 0), on(30, 0), night()),
		every:    time.Hour,
		wants:    all(unharmed, has(4)),
	}.golden(t, "spread-at-night")
}

func TestSpreadAtNightConsolidated(t *testing.T) {
	g := hub()
	g.Spec.Scaling.Consolidation = v1alpha1.ConsolidationEnabled
	tale{
		title: `The same night with consolidation: Enabled.

One server after another takes nobody new: the emptiest one whose players the others
could have taken for five minutes. It goes when they have left.`,
		scenario: play(g, on(19, 0), on(30, 0), night()),
		every:    time.Hour,
		during:   []glance{{on(26, 0), has(2)}},
		wants:    all(unharmed, says("whom the others could have taken"), has(2)),
	}.golden(t, "spread-at-night-consolidated")
}

func TestBoostForAnEvent(t *testing.T) {
	tale{
		title: `Three servers more for an event at eight.

The boost raises the floor from 19:45 on, so the seats are there before the 150
players who come in five minutes: nobody waits. It stops counting at the instant
it names. The servers go by the ordinary rule, when their players have left.`,
		scenario: play(hub(), on(19, 0), on(22, 30), together(there(on(19, 5), 20, Range{2 * time.Hour, 4 * time.Hour}),
			flow(7, []count{{on(20, 0), 1800}, {on(20, 5), 1800}}, Range{50 * time.Minute, 70 * time.Minute}, theFirst)),
			boosted(on(19, 45), v1alpha1.BoostAdd, 0, 3, on(21, 0))),
		every:  15 * time.Minute,
		during: []glance{{on(19, 47), has(5)}, {on(20, 50), has(5)}},
		wants:  all(served, has(2)),
	}.golden(t, "boost-for-an-event")
}

func TestGameRounds(t *testing.T) {
	s := play(hub(), on(19, 0), on(20, 0), flow(8, []count{{on(19, 2), 60}, {on(20, 0), 60}}, Range{20 * time.Minute, 30 * time.Minute},
		func() []Stop { return []Stop{{0, 90 * time.Second}, {1, time.Hour}, {0, time.Hour}} }))
	s.Groups = append(s.Groups, duels())
	tale{
		title: `Games of rounds, whose servers exit 0 when a round has ended.

The next server is ordered while a countdown runs, for a round has eight seats
and those count. At the end everybody is back in the lobby before the game exits;
that is no failure, nothing backs off, and what is needed is ordered anew.`,
		scenario: s,
		group:    1,
		wants: all(unharmed, says("The round has ended"), func(t *testing.T, n *narrator) {
			if n.failed > 0 || n.said("BackingOff") > 0 || n.said("its round has ended") < 3 {
				t.Errorf("%d servers failed; %d rounds ended", n.failed, n.said("its round has ended"))
			}
		}),
	}.golden(t, "game-rounds")
}

func TestLoweredCeiling(t *testing.T) {
	tale{
		title: `maxReplicas is lowered from eight to three.

What is empty above it goes at once, without the stabilisation time. Who plays on
the others stays, and those servers go when they are empty.`,
		scenario: play(hub(), on(19, 0), on(22, 30), there(on(19, 5), 130, Range{20 * time.Minute, 3 * time.Hour}),
			boosted(on(19, 1), v1alpha1.BoostAdd, 0, 6, on(19, 30)),
			changes(on(19, 31), "maxReplicas 3", func(spec *v1alpha1.ServerGroupSpec) { spec.Scaling.MaxReplicas = 3 })),
		every: 30 * time.Minute,
		wants: all(unharmed, func(t *testing.T, n *narrator) {
			if n.g.truth().alive > 3 {
				t.Errorf("%d servers in the end", n.g.truth().alive)
			}
		}),
	}.golden(t, "lowered-ceiling")
}

func TestSleepingAtZero(t *testing.T) {
	g := hub()
	g.Spec.Scaling.MinReplicas, g.Spec.Scaling.SpareSlots = new(int32(0)), new(int32(0))
	at := on(19, 20)
	tale{
		title: `A group with minReplicas 0 and spareSlots 0 sleeps.

Its first player is held, and that wakes it: one server is ordered at once. When
the last player has left and it has been empty for five minutes, it goes.`,
		scenario: play(g, on(19, 0), on(20, 30), []Visit{
			{At: at, Until: at.Add(30 * time.Minute), Stops: theFirst()},
			{At: at.Add(10 * time.Minute), Until: at.Add(25 * time.Minute), Stops: theFirst()},
		}),
		every:  10 * time.Minute,
		during: []glance{{on(19, 19), has(0)}, {on(19, 30), has(1)}},
		wants:  all(unharmed, has(0)),
	}.golden(t, "sleeping-at-zero")
}
