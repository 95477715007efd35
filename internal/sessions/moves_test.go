// SPDX-License-Identifier: Apache-2.0

package sessions

import (
	"context"
	"slices"
	"testing"
	"time"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
)

func movesTo(to string, who *agentv1alpha1.MovePlayers) Asked {
	who.To = to
	return Asked{Proxy: proxyPod("p"), Cloud: &agentv1alpha1.CloudAsk{Id: "a", Ask: &agentv1alpha1.CloudAsk_MovePlayers{MovePlayers: who}}}
}

func wholeNetwork() *agentv1alpha1.MovePlayers {
	return &agentv1alpha1.MovePlayers{Who: &agentv1alpha1.MovePlayers_Everybody{Everybody: &agentv1alpha1.Everybody{}}}
}

func onServer(name string) *agentv1alpha1.MovePlayers {
	return &agentv1alpha1.MovePlayers{Who: &agentv1alpha1.MovePlayers_Server{Server: name}}
}

func player(name string) *agentv1alpha1.MovePlayers {
	return &agentv1alpha1.MovePlayers{Who: &agentv1alpha1.MovePlayers_Player{Player: &agentv1alpha1.Player{Name: name}}}
}

// twoProxies adds to the crowd a proxy that has Cem on lobby-a, and Dan on no
// server.
func (f *fixture) twoProxies(hello *agentv1alpha1.Hello) (*ProxySession, *ProxySession) {
	f.Helper()
	first := f.crowd(movesPlayers)
	second := f.OpenProxy(proxyPod("q"), hello)
	f.proxyReport(second, &agentv1alpha1.ProxyReport{Roster: []*agentv1alpha1.RosterEntry{
		{Player: &agentv1alpha1.Player{Name: "Cem"}, Server: "lobby-a"}, {Player: &agentv1alpha1.Player{Name: "Dan"}},
	}})
	return first, second
}

// says has a proxy answer its next order to move a player.
func (f *fixture) says(session *ProxySession, verdict agentv1alpha1.Verdict, detail string) {
	order := f.connectOrder(session)
	result := &agentv1alpha1.ConnectResult{Id: order.GetId(), Verdict: verdict, Detail: detail}
	if err := session.Receive(&agentv1alpha1.ProxyMessage{Message: &agentv1alpha1.ProxyMessage_ConnectResult{ConnectResult: result}}); err != nil {
		f.Error(err)
	}
}

func TestPlayersAreMovedByWhicheverProxyHasThem(t *testing.T) {
	const done, refused = agentv1alpha1.Verdict_VERDICT_DONE, agentv1alpha1.Verdict_VERDICT_REFUSED
	for name, who := range map[string]*agentv1alpha1.MovePlayers{"everybody": wholeNetwork(), "those of a server": onServer("lobby-a")} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			first, second := f.twoProxies(movesPlayers)
			go f.says(first, done, "")
			go f.says(second, refused, "This round is full.")
			answer, moved := f.MovePlayers(t.Context(), movesTo("duels", who))
			if answer.GetVerdict() != done || answer.GetMoved() != 1 || answer.GetStayed() != 1 || answer.GetDetail() != "This round is full." {
				t.Errorf("the answer is %v", answer)
			}
			if len(moved) != 1 || moved[0].GetName() != "Ada" {
				t.Errorf("moved: %v", moved)
			}
			if left := len(f.proxies["p"].connects) + len(f.proxies["q"].connects); left != 0 {
				t.Errorf("%d orders are left", left)
			}
		})
	}
	t.Run("one, who is on another proxy than whoever asks, whatever the case of the name", func(t *testing.T) {
		f := newFixture(t)
		_, second := f.twoProxies(movesPlayers)
		go f.says(second, refused, "You may not join duels.")
		answer, moved := f.MovePlayers(t.Context(), movesTo("duels", player("cem")))
		if answer.GetVerdict() != refused || answer.GetDetail() != "You may not join duels." || moved != nil {
			t.Errorf("the answer is %v, moved: %v", answer, moved)
		}
	})
}

func TestWhyNobodyIsMoved(t *testing.T) {
	const done, refused, missing = agentv1alpha1.Verdict_VERDICT_DONE, agentv1alpha1.Verdict_VERDICT_REFUSED, agentv1alpha1.Verdict_VERDICT_NOT_FOUND
	old := &agentv1alpha1.Hello{Version: "0.1.0"}
	for name, tt := range map[string]struct {
		ask   Asked
		hello *agentv1alpha1.Hello
		want  agentv1alpha1.Verdict
		says  string
	}{
		"there is no such place":     {movesTo("nowhere", wholeNetwork()), movesPlayers, missing, `there is no server and no group "nowhere" in this network`},
		"there is no such player":    {movesTo("duels", player("Eve")), movesPlayers, missing, `no proxy has a player "Eve" on a server`},
		"they are on no server":      {movesTo("duels", player("Dan")), movesPlayers, missing, `no proxy has a player "Dan" on a server`},
		"they are there already":     {movesTo("duels", player("Ben")), movesPlayers, done, "whoever this is about is on duels already"},
		"nobody is on the server":    {movesTo("duels", onServer("lobby-b")), movesPlayers, missing, "nobody is there to be moved"},
		"it is said of nobody":       {movesTo("duels", &agentv1alpha1.MovePlayers{}), movesPlayers, missing, "nobody is there to be moved"},
		"their proxy is of old days": {movesTo("duels", player("Cem")), old, refused, "proxy front-proxy-q (version 0.1.0) moves nobody who is asked for: it will once it has been replaced"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.twoProxies(tt.hello)
			answer, moved := f.MovePlayers(t.Context(), tt.ask)
			if answer.GetVerdict() != tt.want || answer.GetDetail() != tt.says || moved != nil {
				t.Errorf("the answer is %v, moved: %v", answer, moved)
			}
		})
	}
}

func TestNobodyIsMovedInAnotherNetwork(t *testing.T) {
	f := newFixture(t)
	f.crowd(movesPlayers)
	pod := proxyPod("q")
	pod.Network = "other"
	f.proxyReport(f.OpenProxy(pod, movesPlayers), &agentv1alpha1.ProxyReport{Roster: []*agentv1alpha1.RosterEntry{
		{Player: &agentv1alpha1.Player{Name: "Eve"}, Server: "lobby-a"},
	}})
	moves, _ := f.planMoves(movesTo("duels", wholeNetwork()))
	if len(moves) != 1 || slices.ContainsFunc(moves, func(m aMove) bool { return m.given.order.GetPlayer().GetName() != "Ada" }) {
		t.Errorf("the moves are %v", moves)
	}
}

func TestWhoeverIsNotMovedInTimeIsSaidToStay(t *testing.T) {
	f := newFixture(t)
	f.twoProxies(movesPlayers)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	answer, moved := f.MovePlayers(ctx, movesTo("duels", player("Cem")))
	want := "proxy front-proxy-q has not said in time that the player was moved, and may move them yet"
	if answer.GetVerdict() != agentv1alpha1.Verdict_VERDICT_FAILED || answer.GetDetail() != want || moved != nil {
		t.Errorf("the answer is %v", answer)
	}
	answer, _ = f.MovePlayers(ctx, movesTo("duels", wholeNetwork()))
	if answer.GetStayed() != 2 || answer.GetDetail() != "there was no time to move everybody" {
		t.Errorf("the answer is %v", answer)
	}
}
