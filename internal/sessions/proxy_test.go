// SPDX-License-Identifier: Apache-2.0

package sessions

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	"k8s.io/apimachinery/pkg/types"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
)

func on(server, destination string) *agentv1alpha1.RosterEntry {
	return &agentv1alpha1.RosterEntry{Player: &agentv1alpha1.Player{Name: "Steve"}, Server: server, Destination: destination}
}

func TestProxiesAddUp(t *testing.T) {
	f := newFixture(t)
	one := f.OpenProxy(proxyPod("1"), &agentv1alpha1.Hello{})
	two := f.OpenProxy(proxyPod("2"), &agentv1alpha1.Hello{})
	f.proxyReport(one, &agentv1alpha1.ProxyReport{
		Roster:  []*agentv1alpha1.RosterEntry{on("lobby-a", ""), on("lobby-a", "game-a"), on("", "")},
		Waiting: []*agentv1alpha1.WaitingPlayers{{Group: "game", Players: 2}, {Group: "lobby", Players: -4}},
		Moves:   []*agentv1alpha1.MoveProgress{{Server: "lobby-a", Remaining: 2, WithoutSeat: 1}},
	})
	f.proxyReport(two, &agentv1alpha1.ProxyReport{
		Roster:             []*agentv1alpha1.RosterEntry{on("lobby-a", "lobby-a"), on("", "game-a")},
		Waiting:            []*agentv1alpha1.WaitingPlayers{{Group: "game", Players: 1}},
		Moves:              []*agentv1alpha1.MoveProgress{{Server: "lobby-a", Remaining: 1}},
		ForwardingProblems: []*agentv1alpha1.ForwardingProblem{{Server: "game-a", State: agentv1alpha1.ForwardingState_FORWARDING_STATE_NOT_ACTIVE}},
	})
	if got, want := f.Presence(named("lobby-a")), (Presence{On: 3}); got != want {
		t.Errorf("presence on lobby-a = %+v, want %+v", got, want)
	}
	if got, want := f.Presence(named("game-a")), (Presence{Coming: 2}); got != want {
		t.Errorf("presence on game-a = %+v, want %+v", got, want)
	}
	for group, want := range map[string]int{"game": 3, "lobby": 0, "other": 0} {
		if got := f.Census(named(group), nil).Waiting; got != want {
			t.Errorf("%d wait for %s, want %d", got, group, want)
		}
	}
	if got, ok := f.Moving(named("lobby-a")); !ok || got != (Move{Remaining: 3, WithoutSeat: 1}) {
		t.Errorf("moving = %+v, %v", got, ok)
	}
	if got := f.ForwardingProblem(named("game-a")); got != agentv1alpha1.ForwardingState_FORWARDING_STATE_NOT_ACTIVE {
		t.Errorf("forwarding problem = %v", got)
	}
	if got := f.NetworkPlayers(named("production")); got != 5 {
		t.Errorf("network players = %d, want 5", got)
	}
	if got := f.Presence(types.NamespacedName{Namespace: "elsewhere", Name: "lobby-a"}); got != (Presence{}) {
		t.Errorf("a proxy speaks for another namespace: %+v", got)
	}
}

func TestASilentProxyLeavesNoGhosts(t *testing.T) {
	tests := map[string]struct {
		vanish func(*fixture)
		want   Presence
	}{
		"it counts at first":       {vanish: func(f *fixture) { f.clock.Step(RosterCounts) }, want: Presence{On: 1}},
		"not for ever":             {vanish: func(f *fixture) { f.clock.Step(RosterCounts + time.Second) }},
		"nor when its pod is gone": {vanish: func(f *fixture) { f.Forget("1") }},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			session := f.OpenProxy(proxyPod("1"), &agentv1alpha1.Hello{})
			f.proxyReport(session, &agentv1alpha1.ProxyReport{
				Roster:  []*agentv1alpha1.RosterEntry{on("lobby-a", "")},
				Waiting: []*agentv1alpha1.WaitingPlayers{{Group: "game", Players: 2}},
			})
			session.Close()
			f.clock.Step(FreshFor + time.Second)
			f.sweep()
			if got := f.Census(named("game"), nil).Waiting; got != 0 {
				t.Errorf("%d stale waiting players count as demand", got)
			}
			f.clock.Step(-FreshFor - time.Second)
			f.woken()
			test.vanish(f)
			f.sweep()
			if got := f.Presence(named("lobby-a")); got != test.want {
				t.Errorf("presence = %+v, want %+v", got, test.want)
			}
			if _, woken := f.woken()[Wake{Server, named("lobby-a")}]; woken != (test.want == Presence{}) {
				t.Errorf("the server was woken: %v", woken)
			}
		})
	}
}

func TestPlayersOfADeadProxyCountWhereTheyCameBack(t *testing.T) {
	f := newFixture(t)
	first, second := f.OpenProxy(proxyPod("1"), &agentv1alpha1.Hello{}), f.OpenProxy(proxyPod("2"), &agentv1alpha1.Hello{})
	entry := func(name, server string) *agentv1alpha1.RosterEntry {
		return &agentv1alpha1.RosterEntry{Player: &agentv1alpha1.Player{Name: name}, Server: server}
	}
	f.proxyReport(first, &agentv1alpha1.ProxyReport{Roster: []*agentv1alpha1.RosterEntry{entry("Ada", "lobby-a"), entry("Bob", "lobby-a"), entry("Eve", "lobby-a")}})
	back := &agentv1alpha1.ProxyReport{
		Roster:  []*agentv1alpha1.RosterEntry{entry("ada", "lobby-b")},
		Waiting: []*agentv1alpha1.WaitingPlayers{{Group: "game", Players: 1, Names: []string{"Bob"}}},
	}
	steps := []struct {
		name          string
		do            func()
		a, b, players int
	}{
		{"while it is connected its word counts", func() { f.proxyReport(second, back) }, 3, 1, 4},
		{"its last word counts on, but for those who are elsewhere", func() { first.Close() }, 1, 1, 2},
		{"or are so by the next word", func() {
			back.Roster = append(back.Roster, entry("Eve", "lobby-b"))
			f.proxyReport(second, back)
		}, 0, 2, 2},
		{"also when they leave there", func() { f.proxyReport(second, &agentv1alpha1.ProxyReport{}) }, 0, 0, 0},
		{"until it speaks again", func() {
			first = f.OpenProxy(proxyPod("1"), &agentv1alpha1.Hello{})
			f.proxyReport(first, &agentv1alpha1.ProxyReport{Roster: []*agentv1alpha1.RosterEntry{entry("Ada", "lobby-a")}})
		}, 1, 0, 1},
	}
	for _, step := range steps {
		f.clock.Step(time.Second)
		step.do()
		if a, b, players := f.Presence(named("lobby-a")).On, f.Presence(named("lobby-b")).On, f.NetworkPlayers(named("production")); a != step.a || b != step.b || players != step.players {
			t.Errorf("%s: %d on lobby-a, %d on lobby-b, %d players; want %d, %d, %d", step.name, a, b, players, step.a, step.b, step.players)
		}
	}
}

func TestNobodySinceNeedsEveryProxy(t *testing.T) {
	both := []types.UID{"1", "2"}
	quiet := func(f *fixture, sessions ...*ProxySession) {
		for range 12 {
			f.clock.Step(ReportInterval)
			for _, session := range sessions {
				f.proxyReport(session, &agentv1alpha1.ProxyReport{})
			}
		}
	}
	tests := map[string]struct {
		happen  func(*fixture, *ProxySession, *ProxySession)
		proxies []types.UID
		want    time.Duration
		wantOK  bool
	}{
		"quiet for a minute": {happen: func(f *fixture, a, b *ProxySession) { quiet(f, a, b) }, proxies: both, want: time.Minute, wantOK: true},
		"no proxy at all":    {happen: func(f *fixture, a, b *ProxySession) { quiet(f, a, b) }},
		"a proxy that never connected": {
			happen:  func(f *fixture, a, b *ProxySession) { quiet(f, a, b) },
			proxies: []types.UID{"1", "2", "3"},
		},
		"one went silent": {happen: func(f *fixture, a, _ *ProxySession) { quiet(f, a) }, proxies: both},
		"one is disconnected": {happen: func(f *fixture, a, b *ProxySession) {
			quiet(f, a, b)
			b.Close()
		}, proxies: both},
		"somebody is on the way": {happen: func(f *fixture, a, b *ProxySession) {
			quiet(f, a, b)
			f.proxyReport(b, &agentv1alpha1.ProxyReport{Roster: []*agentv1alpha1.RosterEntry{on("", "lobby-a")}})
		}, proxies: both},
		"somebody was there": {happen: func(f *fixture, a, b *ProxySession) {
			quiet(f, a, b)
			f.proxyReport(b, &agentv1alpha1.ProxyReport{Roster: []*agentv1alpha1.RosterEntry{on("lobby-a", "")}})
			f.clock.Step(time.Second)
			f.proxyReport(b, &agentv1alpha1.ProxyReport{})
		}, proxies: both, want: time.Second, wantOK: true},
		"a gap in the reports": {happen: func(f *fixture, a, b *ProxySession) {
			quiet(f, a)
			f.proxyReport(b, &agentv1alpha1.ProxyReport{})
		}, proxies: both, want: 0, wantOK: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			a, b := f.OpenProxy(proxyPod("1"), &agentv1alpha1.Hello{}), f.OpenProxy(proxyPod("2"), &agentv1alpha1.Hello{})
			f.proxyReport(a, &agentv1alpha1.ProxyReport{})
			f.proxyReport(b, &agentv1alpha1.ProxyReport{})
			test.happen(f, a, b)
			since, ok := f.NobodySince(named("lobby-a"), test.proxies)
			if ok != test.wantOK || (ok && f.clock.Since(since) != test.want) {
				t.Errorf("nobody for %v (%v), want %v (%v)", f.clock.Since(since), ok, test.want, test.wantOK)
			}
		})
	}
}

func TestWaitingPlayersWakeTheirGroup(t *testing.T) {
	for name, waiting := range map[string]*agentv1alpha1.WaitingPlayers{
		"one more":      {Group: "game", Players: 2, Names: []string{"Ada", "Ben"}},
		"somebody else": {Group: "game", Players: 1, Names: []string{"Ben"}},
		"nobody":        nil,
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			session := f.OpenProxy(proxyPod("1"), &agentv1alpha1.Hello{})
			report := &agentv1alpha1.ProxyReport{Waiting: []*agentv1alpha1.WaitingPlayers{{Group: "game", Players: 1, Names: []string{"Ada"}}}}
			f.proxyReport(session, report)
			f.woken()
			f.proxyReport(session, proto.CloneOf(report))
			if got := f.woken(); len(got) > 0 {
				t.Errorf("the same again woke %v", got)
			}
			report = &agentv1alpha1.ProxyReport{}
			if waiting != nil {
				report.Waiting = []*agentv1alpha1.WaitingPlayers{waiting}
			}
			f.proxyReport(session, report)
			if diff := cmp.Diff(map[Wake]struct{}{{ServerGroup, named("game")}: {}}, f.woken()); diff != "" {
				t.Errorf("woken (-want +got):\n%s", diff)
			}
		})
	}
}

func entry(name string, players int32) *agentv1alpha1.DirectoryServer {
	return &agentv1alpha1.DirectoryServer{Name: name, Group: "lobby", Slots: 20, Players: &players}
}

func TestADirectoryIsSentWholeThenByDifference(t *testing.T) {
	f := newFixture(t)
	network := named("production")
	groups := []*agentv1alpha1.DirectoryGroup{{Name: "lobby"}}
	f.SetDirectory(network, Directory{Servers: []*agentv1alpha1.DirectoryServer{entry("a", 1), entry("b", 2)}, Groups: groups, Players: 3})
	session := f.OpenProxy(proxyPod("1"), &agentv1alpha1.Hello{})
	f.proxyOrder(session)
	first := f.proxyOrder(session).GetDirectory()
	want := &agentv1alpha1.Directory{
		Revision: first.GetRevision(), Full: true, NetworkPlayers: 3, Groups: groups,
		Servers: []*agentv1alpha1.DirectoryServer{entry("a", 1), entry("b", 2)},
	}
	if diff := cmp.Diff(want, first, protocmp.Transform()); diff != "" {
		t.Fatalf("the whole directory (-want +got):\n%s", diff)
	}

	f.SetDirectory(network, Directory{Servers: []*agentv1alpha1.DirectoryServer{entry("b", 2), entry("a", 1)}, Groups: groups, Players: 3})
	f.clock.Step(time.Second)
	f.wantIdle(idle(session.pick))

	f.SetDirectory(network, Directory{Servers: []*agentv1alpha1.DirectoryServer{entry("b", 5), entry("c", 0)}, Groups: groups, Players: 5})
	second := f.proxyOrder(session).GetDirectory()
	want = &agentv1alpha1.Directory{
		Revision: second.GetRevision(), NetworkPlayers: 5, Groups: groups,
		Servers: []*agentv1alpha1.DirectoryServer{entry("b", 5), entry("c", 0)}, Removed: []string{"a"},
	}
	if diff := cmp.Diff(want, second, protocmp.Transform()); diff != "" {
		t.Fatalf("the difference (-want +got):\n%s", diff)
	}
	if second.GetRevision() <= first.GetRevision() {
		t.Errorf("revision went from %d to %d", first.GetRevision(), second.GetRevision())
	}

	f.clock.Step(ResyncEvery)
	if order := f.proxyOrder(session); order.GetWelcome() == nil {
		t.Errorf("after the resync interval: %v, want a welcome again", order)
	}
	if again := f.proxyOrder(session).GetDirectory(); !again.GetFull() || again.GetRevision() != second.GetRevision() {
		t.Errorf("after the resync interval: %v", again)
	}
}

func TestAProxyHoldsTheDirectoryOnceItSaysSo(t *testing.T) {
	f := newFixture(t)
	f.SetDirectory(named("production"), Directory{Servers: []*agentv1alpha1.DirectoryServer{entry("a", 1)}})
	session := f.OpenProxy(proxyPod("1"), &agentv1alpha1.Hello{})
	f.proxyOrder(session)
	revision := f.proxyOrder(session).GetDirectory().GetRevision()
	f.proxyReport(session, &agentv1alpha1.ProxyReport{DirectoryRevision: revision - 1})
	if f.Proxy("1").HoldsDirectory {
		t.Error("a revision of before counts")
	}
	f.proxyReport(session, &agentv1alpha1.ProxyReport{DirectoryRevision: revision})
	if !f.Proxy("1").HoldsDirectory {
		t.Error("the revision sent does not count")
	}
	renewed := f.OpenProxy(proxyPod("1"), &agentv1alpha1.Hello{})
	session.Close()
	if !f.Proxy("1").HoldsDirectory {
		t.Error("a renewal lost the directory")
	}
	renewed.Close()
	f.OpenProxy(proxyPod("1"), &agentv1alpha1.Hello{})
	if f.Proxy("1").HoldsDirectory {
		t.Error("a session that sent no directory yet counts")
	}
}

// TestDifferencesAlwaysMakeTheWholeDirectory applies what a proxy that reads at
// random moments is sent, and compares with what was set last.
func TestDifferencesAlwaysMakeTheWholeDirectory(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	f := newFixture(t)
	session := f.OpenProxy(proxyPod("1"), &agentv1alpha1.Hello{})
	f.proxyOrder(session)
	held := map[string]*agentv1alpha1.DirectoryServer{}
	for range 500 {
		var wanted []*agentv1alpha1.DirectoryServer
		for i := range 6 {
			if random.IntN(3) > 0 {
				wanted = append(wanted, entry(fmt.Sprintf("s-%d", i), random.Int32N(3)))
			}
		}
		f.SetDirectory(named("production"), Directory{Servers: wanted})
		f.clock.Step(time.Second)
		f.proxyReport(session, &agentv1alpha1.ProxyReport{})
		if random.IntN(2) == 0 {
			continue
		}
		drain(f, session, held)
		want := map[string]*agentv1alpha1.DirectoryServer{}
		for _, server := range wanted {
			want[server.GetName()] = server
		}
		if diff := cmp.Diff(want, held, protocmp.Transform()); diff != "" {
			t.Fatalf("held (-want +got):\n%s", diff)
		}
	}
}

// drain applies every order that is to be sent now.
func drain(f *fixture, session *ProxySession, held map[string]*agentv1alpha1.DirectoryServer) {
	f.Helper()
	for {
		f.mu.Lock()
		order, _ := session.pick(f.clock.Now())
		f.mu.Unlock()
		if order == nil {
			return
		}
		sent := order.GetDirectory()
		if sent.GetFull() {
			clear(held)
		}
		for _, name := range sent.GetRemoved() {
			delete(held, name)
		}
		for _, server := range sent.GetServers() {
			held[server.GetName()] = server
		}
	}
}

func TestNextEndsWithTheSession(t *testing.T) {
	f := newFixture(t)
	session := f.OpenProxy(proxyPod("1"), &agentv1alpha1.Hello{})
	f.proxyOrder(session)
	ended := make(chan error, 1)
	go func() {
		_, err := session.Next(context.Background())
		ended <- err
	}()
	f.Forget("1")
	select {
	case err := <-ended:
		if !errors.Is(err, ErrCut) {
			t.Errorf("next ended with %v", err)
		}
	case <-time.After(5 * time.Second):
		t.Fatal("next still waits")
	}
}

func TestDeliverCollectsWhatItIsTooSlowFor(t *testing.T) {
	f := newFixture(t)
	delivered := make(chan Wake)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go f.Deliver(ctx, func(wake Wake) { delivered <- wake })
	f.wakes.add(Server, "minecraft", "first")
	first := <-delivered
	for range 1000 {
		f.wakes.add(Server, "minecraft", "second")
	}
	if second := <-delivered; first.Name != "first" || second.Name != "second" {
		t.Errorf("delivered %v, then %v", first, second)
	}
	f.wakes.add(Server, "minecraft", "third")
	// The thousand were taken in at most two rounds.
	for wake := range delivered {
		if wake.Name == "third" {
			return
		}
	}
}

func TestSomebodyOfThatNameOnAnotherNetworkIsSomebodyElse(t *testing.T) {
	f := newFixture(t)
	pod := proxyPod("2")
	pod.Network = "staging"
	dead, other := f.OpenProxy(proxyPod("1"), &agentv1alpha1.Hello{}), f.OpenProxy(pod, &agentv1alpha1.Hello{})
	f.proxyReport(dead, &agentv1alpha1.ProxyReport{Roster: []*agentv1alpha1.RosterEntry{at("Ada", "lobby-a", "")}})
	dead.Close()
	f.clock.Step(time.Second)
	f.proxyReport(other, &agentv1alpha1.ProxyReport{Roster: []*agentv1alpha1.RosterEntry{at("Ada", "lobby-s", "")}})
	if got := f.Presence(named("lobby-a")).On; got != 1 {
		t.Errorf("%d on lobby-a", got)
	}
}
