// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"testing"
	"time"
)

// busy is a hub at nine in the evening, from half past eight on.
func busy(players, most int) []Visit {
	return together(there(on(20, 32), players, Range{30 * time.Minute, 90 * time.Minute}), after(on(20, 37), evening(most)))
}

func TestNodeDrainAtPeak(t *testing.T) {
	tale{
		title: `One of three nodes is drained at the peak.

Its servers count no more, so what takes their places is ordered at once, on the
other nodes. One server at a time takes nobody new, and when there are seats for
its players the proxies move them; nobody loses their place.`,
		scenario: play(hub(), on(20, 30), on(22, 0), busy(120, 160),
			Turn{on(21, 0), func(w *World) { w.DrainNode(0, time.Hour) }}),
		during: []glance{
			{on(20, 59), func(t *testing.T, n *narrator) {
				if on := n.onNode(0); on == 0 {
					t.Errorf("%d servers on the node", on)
				}
			}},
			{on(21, 20), func(t *testing.T, n *narrator) {
				if on := n.onNode(0); on > 0 {
					t.Errorf("%d servers are on the drained node after 20 minutes", on)
				}
			}},
		},
		wants: all(unharmed, says("node")),
	}.golden(t, "node-drain-at-peak")
}

// onNode is how many servers a node has.
func (n *narrator) onNode(index int) int {
	there := 0
	for _, s := range n.g.servers {
		if s.pod != nil && !s.pod.gone && s.pod.node == n.g.w.nodes[index] {
			there++
		}
	}
	return there
}

func TestManagerRestartInAChangeover(t *testing.T) {
	tale{
		title: `The manager is gone for half a minute in the middle of a changeover.

Nobody notices. The one that takes over knows no counts: until every server has
reported it derives no demand and gives nothing up. Then the changeover goes on
where it was.`,
		scenario: play(hub(), on(20, 30), on(23, 30),
			flow(9, []count{{on(20, 32), 240}, {on(23, 30), 240}}, brief, theFirst),
			rolls(on(21, 0), "v2"),
			Turn{on(21, 1), func(w *World) { w.RestartManager(30 * time.Second) }}),
		every: 30 * time.Minute,
		during: []glance{{on(21, 1).Add(-time.Second), func(t *testing.T, n *narrator) {
			if now := n.g.truth(); now.retiring == 0 || now.old == 0 {
				t.Errorf("%d old servers and %d that retire: not the middle of a changeover", now.old, now.retiring)
			}
		}}},
		wants: all(unharmed, says(forming), updated),
	}.golden(t, "manager-restart")
}

func TestSilentChannel(t *testing.T) {
	var made int
	tale{
		title: `All agents fall silent for ten minutes.

One server is ordered while one agent after the other turns silent. From then on
it is the channel's fault, and no news about players: nothing is created, and
nothing goes. Whoever is on a server plays on, and whoever comes gets a seat, for
proxies ask the servers themselves. A server that starts meanwhile cannot say that
it is ready, and fails.`,
		scenario: play(hub(), on(20, 30), on(21, 30), busy(100, 100),
			Turn{on(21, 0), func(w *World) { w.SilenceAgents(10 * time.Minute) }}),
		every: 10 * time.Minute,
		during: []glance{
			{on(21, 0).Add(-time.Second), func(_ *testing.T, n *narrator) { made = n.made }},
			{on(21, 9), func(t *testing.T, n *narrator) {
				if now := n.g.truth().alive; n.made > made+1 || now != 4 || !n.deaf() {
					t.Errorf("%d servers were made where there had been %d, %d are alive; the channel is known to be silent: %v",
						n.made, made, now, n.deaf())
				}
			}},
		},
		wants: all(served, says("most agents are silent")),
	}.golden(t, "silent-channel")
}

func TestHungAndCutOff(t *testing.T) {
	tale{
		title: `A server that is cut off, and one that hangs.

The agent of the first does not reach the manager for five minutes. That says
nothing about its game: its seats count no more, it stays, and so do its players.
The game of the second answers nobody. Its players time out and go elsewhere, it
fails, and another one is ordered.`,
		scenario: play(hub(), on(20, 30), on(21, 40), busy(120, 150),
			Turn{on(21, 0), func(w *World) { w.CutOff(5 * time.Minute) }},
			Turn{on(21, 15), (*World).Hang}),
		every: 10 * time.Minute,
		during: []glance{
			{on(21, 14), func(t *testing.T, n *narrator) {
				served(t, n)
				if n.failed > 0 || n.said("cut off") != 1 {
					t.Errorf("%d servers failed of being cut off", n.failed)
				}
			}},
		},
		wants: func(t *testing.T, n *narrator) {
			if n.failed != 1 || n.losses == 0 || n.refusals > 0 {
				t.Errorf("%d servers failed of hanging, %d players lost theirs, %d were refused", n.failed, n.losses, n.refusals)
			}
			if now := n.g.truth(); now.free < 30 {
				t.Errorf("%d seats are free in the end", now.free)
			}
		},
	}.golden(t, "hung-and-cut-off")
}
