// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
)

// waiting is what the proxy reports of players without a place.
func (p *Proxy) waiting() map[string]int32 {
	groups := map[string]int32{}
	for _, w := range p.report().GetReport().GetWaiting() {
		groups[w.GetGroup()] += w.GetPlayers()
	}
	return groups
}

func TestAPlayerWithoutAPlaceIsHeldAndCountedUntilThereIsOne(t *testing.T) {
	n := newNetwork(t)
	n.settings.FallbackGroups = []string{"lobby", "limbo"}
	p := n.front()
	b := n.bot(p, "Ada")
	n.eventually("the player waits", func() bool { return cmp.Equal(p.waiting(), map[string]int32{"lobby": 1}) })
	if b.Server() != "" || b.Err() != nil {
		t.Errorf("on %q, %v", b.Server(), b.Err())
	}
	n.add("lobby-a", rig{})
	n.on(b, "lobby-a")
	n.eventually("nobody waits", func() bool { return len(p.waiting()) == 0 })
	n.unharmed()
}

// They have a seat from the moment the agent gave it, however long the server
// takes to let them in, and none again when it does not.
func TestAHeldPlayerDoesNotWaitWhileOnTheWay(t *testing.T) {
	n := newNetwork(t)
	p := n.front()
	n.bot(p, "Ada")
	n.eventually("the player waits", func() bool { return cmp.Equal(p.waiting(), map[string]int32{"lobby": 1}) })
	silent := listen(t)
	lobby := n.start("lobby-a", rig{})
	lobby.entry.Address = silent.Addr().String()
	n.mu.Lock()
	n.servers["lobby-a"] = lobby
	n.mu.Unlock()
	n.publish()
	stop := context.AfterFunc(n.ctx, func() { silent.Close() })
	t.Cleanup(func() { stop(); silent.Close() })
	login, err := silent.Accept()
	if err != nil {
		t.Fatal(err)
	}
	report := p.report().GetReport()
	if got := report.GetRoster()[0].GetDestination(); got != "lobby-a" || len(report.GetWaiting()) != 0 {
		t.Errorf("on the way to %q, waiting %v", got, report.GetWaiting())
	}
	login.Close()
	n.eventually("the player waits again", func() bool { return cmp.Equal(p.waiting(), map[string]int32{"lobby": 1}) })
}

func TestAPlayerIsHeldWhileEverySeatIsTaken(t *testing.T) {
	n := newNetwork(t)
	n.add("lobby-a", rig{playable: 1, slots: 1})
	p := n.front()
	first := n.joined(p, "Ada")
	second := n.bot(p, "Ben")
	n.eventually("the second waits", func() bool { return cmp.Equal(p.waiting(), map[string]int32{"lobby": 1}) })
	first.Leave()
	n.on(second, "lobby-a")
}

func TestAFloodOfNamesFromOneAddressCountsAsOneWherePlayersAreNotAuthenticated(t *testing.T) {
	n := newNetwork(t)
	p := n.front()
	for i := range 5 {
		n.bot(p, fmt.Sprint("flood", i))
	}
	n.eventually("all of them wait", func() bool {
		held := 0
		for _, player := range p.roster.all() {
			if player.Standing().Waiting != "" {
				held++
			}
		}
		return held == 5
	})
	if got := p.waiting()["lobby"]; got != 1 {
		t.Errorf("%d are counted", got)
	}
}

func TestWhatAPlayerReadsWhoFoundNoPlace(t *testing.T) {
	for name, tt := range map[string]struct {
		hold    int32
		prepare func(n *network)
		want    string
	}{
		"no server, not held":     {0, func(*network) {}, "No server is available right now. Please try again in a moment."},
		"full, not held":          {0, func(n *network) { n.add("lobby-a", rig{}).agent.Refuse(fullUp) }, "This round is full."},
		"no server, held":         {1, func(*network) {}, "No place became free in lobby. Please try again in a moment."},
		"the server is not there": {0, func(n *network) { s := n.add("lobby-a", rig{}); s.Stop(); <-s.Done() }, "No server is available right now. Please try again in a moment."},
	} {
		t.Run(name, func(t *testing.T) {
			n := newNetwork(t)
			n.settings.HoldSeconds = tt.hold
			tt.prepare(n)
			began := time.Now()
			if got := n.ends(n.bot(n.front(), "Ada")); got != tt.want {
				t.Errorf("got %q", got)
			}
			if took, held := time.Since(began), time.Duration(tt.hold)*time.Second; took < held || took > held+3*time.Second {
				t.Errorf("it took %s", took)
			}
		})
	}
}

func TestAPlayerHeldToTheEndGetsASeatBeyondThePlayableOnes(t *testing.T) {
	n := newNetwork(t)
	n.settings.HoldSeconds = 1
	n.add("lobby-a", rig{playable: 1, slots: 2})
	p := n.front()
	n.joined(p, "Ada")
	began := time.Now()
	n.joined(p, "Ben", "lobby-a")
	if took := time.Since(began); took < time.Second {
		t.Errorf("after %s already", took)
	}
	if got := n.ends(n.bot(p, "Cyd")); got != "No place became free in lobby. Please try again in a moment." {
		t.Errorf("got %q", got)
	}
}

func TestAHeldClientIsKeptAlive(t *testing.T) {
	n := newNetwork(t)
	n.settings.HoldSeconds = 60
	p := n.front()
	conn := dial(t, p)
	logIn(t, conn, "Ada")
	seen := map[string]bool{}
	for len(seen) < 2 {
		id, payload := readPacket(t, conn)
		if id != keepAliveInConfiguration {
			t.Fatalf("packet %#x", id)
		}
		seen[string(payload)] = true
		if err := conn.WritePacket(keepAliveAnswerInConfiguration, payload); err != nil {
			t.Fatal(err)
		}
	}
}

func TestManyAtOnceAreSpreadToo(t *testing.T) {
	n := newNetwork(t)
	a, b := n.add("lobby-a", rig{}), n.add("lobby-b", rig{})
	proxies := []*Proxy{n.front(), n.front()}
	for i := range 100 {
		n.bot(proxies[i%2], fmt.Sprint("player", i))
	}
	n.eventually("everybody is in", func() bool { return len(a.Players())+len(b.Players()) == 100 })
	t.Logf("%d and %d", len(a.Players()), len(b.Players()))
	if d := len(a.Players()) - len(b.Players()); d < -4 || d > 4 {
		t.Errorf("%d and %d", len(a.Players()), len(b.Players()))
	}
	if entry := n.servers["lobby-a"].entry; entry.GetDoor() != agentv1alpha1.DoorState_DOOR_STATE_OPEN {
		t.Errorf("door %s", entry.GetDoor())
	}
}
