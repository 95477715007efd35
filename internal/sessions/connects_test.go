// SPDX-License-Identifier: Apache-2.0

package sessions

import (
	"context"
	"strings"
	"testing"
	"time"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
)

var movesPlayers = &agentv1alpha1.Hello{Version: "2", Capabilities: []string{agentv1alpha1.CapabilityConnect}}

func connectTo(player *agentv1alpha1.Player, to string) Asked {
	return Asked{Pod: serverPod("1"), Ask: &agentv1alpha1.Ask{
		Id: "a", Ask: &agentv1alpha1.Ask_Connect{Connect: &agentv1alpha1.Connect{Player: player, To: to}},
	}}
}

// crowd is a network with two groups, and a proxy that has Ada on lobby-a and
// Ben on duels-a.
func (f *fixture) crowd(hello *agentv1alpha1.Hello) *ProxySession {
	f.Helper()
	f.SetDirectory(named("production"), Directory{
		Groups: []*agentv1alpha1.DirectoryGroup{{Name: "lobby"}, {Name: "duels"}},
		Servers: []*agentv1alpha1.DirectoryServer{
			{Name: "lobby-a", Group: "lobby"}, {Name: "duels-a", Group: "duels"},
		},
	})
	session := f.OpenProxy(proxyPod("p"), hello)
	f.proxyReport(session, &agentv1alpha1.ProxyReport{Roster: []*agentv1alpha1.RosterEntry{
		{Player: &agentv1alpha1.Player{Uuid: []byte("0123456789abcdef"), Name: "Ada"}, Server: "lobby-a"},
		{Player: &agentv1alpha1.Player{Name: "Ben"}, Server: "duels-a"},
	}})
	return session
}

func (f *fixture) connectOrder(session *ProxySession) *agentv1alpha1.ConnectOrder {
	f.Helper()
	for {
		if order := f.proxyOrder(session).GetConnect(); order != nil {
			return order
		}
	}
}

func TestTheProxyThatHoldsThePlayerMovesThem(t *testing.T) {
	f := newFixture(t)
	session := f.crowd(movesPlayers)
	answers := make(chan *agentv1alpha1.Answer)
	go func() {
		answer, moved := f.Connect(f.Context(), connectTo(&agentv1alpha1.Player{Name: "ada"}, "duels"))
		if moved != nil {
			t.Errorf("moved is %v", moved)
		}
		answers <- answer
	}()
	order := f.connectOrder(session)
	if order.GetPlayer().GetName() != "Ada" || len(order.GetPlayer().GetUuid()) != 16 || order.GetFrom() != "lobby-a" || order.GetTo() != "duels" {
		t.Errorf("the order is %v", order)
	}
	renewed := f.OpenProxy(proxyPod("p"), movesPlayers)
	session.Close()
	if again := f.connectOrder(renewed); again.GetId() != order.GetId() {
		t.Errorf("a renewed session gets %v", again)
	}
	for _, id := range []string{"another", order.GetId(), order.GetId()} {
		result := &agentv1alpha1.ConnectResult{Id: id, Verdict: agentv1alpha1.Verdict_VERDICT_REFUSED, Detail: "This round is full."}
		if err := renewed.Receive(&agentv1alpha1.ProxyMessage{Message: &agentv1alpha1.ProxyMessage_ConnectResult{ConnectResult: result}}); err != nil {
			t.Fatal(err)
		}
	}
	if got := <-answers; got.GetVerdict() != agentv1alpha1.Verdict_VERDICT_REFUSED || got.GetDetail() != "This round is full." {
		t.Errorf("the answer is %v", got)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if left := len(f.proxies["p"].connects); left != 0 {
		t.Errorf("%d orders are left", left)
	}
}

func TestWhoIsMovedAndWhere(t *testing.T) {
	const refused, missing = agentv1alpha1.Verdict_VERDICT_REFUSED, agentv1alpha1.Verdict_VERDICT_NOT_FOUND
	ada := &agentv1alpha1.Player{Uuid: []byte("0123456789abcdef")}
	for name, test := range map[string]struct {
		player *agentv1alpha1.Player
		to     string
		hello  *agentv1alpha1.Hello
		want   agentv1alpha1.Verdict
		says   string
	}{
		"to nowhere":                 {ada, "skywars", movesPlayers, missing, `no server and no group "skywars"`},
		"to nothing":                 {ada, "", movesPlayers, missing, `no group ""`},
		"where they are":             {ada, "lobby-a", movesPlayers, refused, "is on lobby-a already"},
		"somebody else's player":     {&agentv1alpha1.Player{Name: "Ben"}, "lobby", movesPlayers, missing, `no proxy has a player "Ben" on lobby-a`},
		"nobody":                     {&agentv1alpha1.Player{Name: "Eve"}, "duels", movesPlayers, missing, `no proxy has a player "Eve" on lobby-a`},
		"an unknown UUID":            {&agentv1alpha1.Player{Uuid: []byte("fedcba9876543210"), Name: "Ada"}, "duels", movesPlayers, missing, "on lobby-a"},
		"without a name":             {&agentv1alpha1.Player{}, "duels", movesPlayers, missing, "on lobby-a"},
		"who is elsewhere, to there": {&agentv1alpha1.Player{Name: "Ben"}, "duels", movesPlayers, missing, `no proxy has a player "Ben" on lobby-a`},
		"who is there, to it":        {&agentv1alpha1.Player{Name: "Ben"}, "duels-a", movesPlayers, missing, `no proxy has a player "Ben" on lobby-a`},
		"by a proxy that is too old": {ada, "duels", &agentv1alpha1.Hello{Version: "1"}, refused, "(version 1) moves nobody who is asked for"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.crowd(test.hello)
			got, moved := f.Connect(f.Context(), connectTo(test.player, test.to))
			if moved != nil {
				t.Errorf("moved is %v", moved)
			}
			if got.GetVerdict() != test.want || !strings.Contains(got.GetDetail(), test.says) {
				t.Errorf("the answer is %v, want %v and %q", got, test.want, test.says)
			}
		})
	}
}

func TestAProxyThatSaysNothingIsWaitedForSoLong(t *testing.T) {
	f := newFixture(t)
	f.crowd(movesPlayers)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	got, _ := f.Connect(ctx, connectTo(&agentv1alpha1.Player{Name: "Ada"}, "duels"))
	if got.GetVerdict() != agentv1alpha1.Verdict_VERDICT_FAILED || !strings.Contains(got.GetDetail(), "has not said in time") {
		t.Errorf("the answer is %v", got)
	}
}

func TestWhomTheServerHadMovedItMayFindThere(t *testing.T) {
	f := newFixture(t)
	f.welcomed(serverPod("1"))
	session := f.crowd(movesPlayers)
	late, cancel := context.WithCancel(t.Context())
	cancel()
	f.Connect(late, connectTo(&agentv1alpha1.Player{Name: "Ada"}, "duels"))
	f.clock.Step(time.Second)
	f.proxyReport(session, &agentv1alpha1.ProxyReport{Roster: []*agentv1alpha1.RosterEntry{
		{Player: &agentv1alpha1.Player{Uuid: []byte("0123456789abcdef"), Name: "Ada"}, Server: "duels-a"},
	}})
	const done, missing = agentv1alpha1.Verdict_VERDICT_DONE, agentv1alpha1.Verdict_VERDICT_NOT_FOUND
	asks := func(what, to string, want agentv1alpha1.Verdict) {
		t.Helper()
		got, moved := f.Connect(t.Context(), connectTo(&agentv1alpha1.Player{Uuid: []byte("0123456789abcdef")}, to))
		if got.GetVerdict() != want || moved != nil {
			t.Errorf("%s: %v, and moved is %v", what, got, moved)
		}
	}
	asks("where she was sent", "duels", done)
	asks("where she was not sent", "duels-a", missing)
	stranger := connectTo(&agentv1alpha1.Player{Name: "Ada"}, "duels")
	stranger.Pod = ServerPod{UID: "2", Server: named("lobby-b"), Group: "lobby", Network: "production"}
	f.welcomed(stranger.Pod)
	if got, _ := f.Connect(t.Context(), stranger); got.GetVerdict() != missing {
		t.Errorf("somebody else is answered %v", got)
	}
	f.clock.Step(arrivesWithin)
	asks("a minute later", "duels", missing)
}

func TestAProxyThatMovedAPlayerSaysWhom(t *testing.T) {
	f := newFixture(t)
	session := f.crowd(movesPlayers)
	// Whoever asks by a UUID may say any name beside it.
	asked := connectTo(&agentv1alpha1.Player{Uuid: []byte("0123456789abcdef"), Name: "Eve"}, "duels")
	over := make(chan struct{})
	go func() {
		defer close(over)
		answer, moved := f.Connect(f.Context(), asked)
		if answer.GetVerdict() != agentv1alpha1.Verdict_VERDICT_DONE || moved.GetName() != "Ada" {
			t.Errorf("the answer is %v, moved is %v", answer, moved)
		}
	}()
	result := &agentv1alpha1.ConnectResult{Id: f.connectOrder(session).GetId(), Verdict: agentv1alpha1.Verdict_VERDICT_DONE}
	if err := session.Receive(&agentv1alpha1.ProxyMessage{Message: &agentv1alpha1.ProxyMessage_ConnectResult{ConnectResult: result}}); err != nil {
		t.Fatal(err)
	}
	<-over
}

func TestMovesOfPlayersHoldNothingElseUp(t *testing.T) {
	f := newFixture(t)
	session := f.welcomed(serverPod("1"))
	f.ask(session, "boost")
	for _, id := range []string{"first", "second"} {
		ask := &agentv1alpha1.Ask{Id: id, Ask: &agentv1alpha1.Ask_Connect{Connect: &agentv1alpha1.Connect{}}}
		if err := session.Receive(&agentv1alpha1.ServerMessage{Message: &agentv1alpha1.ServerMessage_Ask{Ask: ask}}); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []string{"boost", "first", "second"} {
		if asked := f.nextAsk(); asked.Ask.GetId() != want {
			t.Errorf("handed out is %v, want %s", asked.Ask, want)
		}
	}
}
