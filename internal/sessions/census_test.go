// SPDX-License-Identifier: Apache-2.0

package sessions

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
)

func players(names ...string) []*agentv1alpha1.Player {
	var list []*agentv1alpha1.Player
	for _, name := range names {
		list = append(list, &agentv1alpha1.Player{Name: name})
	}
	return list
}

// lobbies are the pods of a group of two servers.
var lobbies = map[string]types.UID{"lobby-a": "a", "lobby-b": "b"}

// network has a proxy and two lobbies, which speak one second apart, so that
// every word is newer than those before.
type network struct {
	*fixture
	front  *ProxySession
	second *ProxySession
	agents map[string]*ServerSession
}

func newNetwork(t *testing.T) *network {
	t.Helper()
	n := &network{fixture: newFixture(t), agents: map[string]*ServerSession{}}
	n.front = n.OpenProxy(proxyPod("1"), &agentv1alpha1.Hello{})
	n.second = n.OpenProxy(proxyPod("2"), &agentv1alpha1.Hello{})
	for name, uid := range lobbies {
		n.agents[name] = n.OpenServer(ServerPod{UID: uid, Server: named(name), Group: "lobby", Network: "production"}, &agentv1alpha1.Hello{})
	}
	return n
}

// fact is one report.
type fact func(*network)

// names is a game that tells who is online.
func names(server string, online ...string) fact {
	return admits(server, nil, online...)
}

// admits is a game of which some have seats and others are online.
func admits(server string, seats []string, online ...string) fact {
	return func(n *network) {
		n.report(n.agents[server], &agentv1alpha1.ServerReport{
			Online: int32(len(online)), Players: players(online...), Admitted: players(seats...), SeatsPending: int32(len(seats)),
		}, 0, 0)
	}
}

// numbers is the first lobby with a game that tells how many are online and not who.
func numbers(online int32, seats ...string) fact {
	return func(n *network) {
		n.report(n.agents["lobby-a"], &agentv1alpha1.ServerReport{Online: online, Admitted: players(seats...)}, 0, 0)
	}
}

func at(name, server, destination string) *agentv1alpha1.RosterEntry {
	return &agentv1alpha1.RosterEntry{Player: &agentv1alpha1.Player{Name: name}, Server: server, Destination: destination}
}

func held(names ...string) *agentv1alpha1.WaitingPlayers {
	return &agentv1alpha1.WaitingPlayers{Group: "lobby", Players: 1, Names: names}
}

// places is a proxy's report.
func places(roster []*agentv1alpha1.RosterEntry, waiting ...*agentv1alpha1.WaitingPlayers) fact {
	return func(n *network) {
		n.proxyReport(n.front, &agentv1alpha1.ProxyReport{Roster: roster, Waiting: waiting})
	}
}

func holds(names ...string) fact {
	var roster []*agentv1alpha1.RosterEntry
	var waiting []*agentv1alpha1.WaitingPlayers
	for _, name := range names {
		roster, waiting = append(roster, at(name, "", "")), append(waiting, held(name))
	}
	return places(roster, waiting...)
}

// elsewhere has the other proxy say what this one would.
func elsewhere(said fact) fact {
	return func(n *network) {
		n.front, n.second = n.second, n.front
		said(n)
		n.front, n.second = n.second, n.front
	}
}

func TestEverybodyCountsOnceByTheNewestWord(t *testing.T) {
	tests := map[string]struct {
		facts []fact
		// a and b are the seats taken on the two servers.
		a, b, waiting int
	}{
		"a player is held":                           {[]fact{names("lobby-a"), holds("Ada")}, 0, 0, 1},
		"whoever held them is the last to speak":     {[]fact{names("lobby-a", "Ada"), holds("Ada")}, 0, 0, 1},
		"the agent has a seat for them":              {[]fact{holds("Ada"), admits("lobby-a", []string{"Ada"})}, 1, 0, 0},
		"the game has them, the proxy is late":       {[]fact{holds("Ada"), names("lobby-a", "Ada")}, 1, 0, 0},
		"the game writes their name otherwise":       {[]fact{holds("Ada"), names("lobby-a", "ADA")}, 1, 0, 0},
		"the proxy has them there, the game is late": {[]fact{names("lobby-a"), places([]*agentv1alpha1.RosterEntry{at("Ada", "lobby-a", "")})}, 1, 0, 0},
		"they are on the way":                        {[]fact{names("lobby-a"), places([]*agentv1alpha1.RosterEntry{at("Ada", "", "lobby-a")})}, 1, 0, 0},
		"both know of the seat":                      {[]fact{admits("lobby-a", []string{"Ada"}), places([]*agentv1alpha1.RosterEntry{at("Ada", "", "lobby-a")})}, 1, 0, 0},
		"the seat is of no use, they wait again":     {[]fact{admits("lobby-a", []string{"Ada"}), holds("Ada")}, 0, 0, 1},
		"two agents have a seat for them":            {[]fact{holds("Ada"), admits("lobby-a", []string{"Ada"}), admits("lobby-b", []string{"Ada"})}, 0, 1, 0},
		"they went from one to the other":            {[]fact{places([]*agentv1alpha1.RosterEntry{at("Ada", "lobby-a", "")}), names("lobby-a", "Ada"), names("lobby-b", "Ada")}, 0, 1, 0},
		"they are about to":                          {[]fact{names("lobby-a", "Ada"), places([]*agentv1alpha1.RosterEntry{at("Ada", "lobby-a", "lobby-b")})}, 0, 1, 0},
		"they went to another group":                 {[]fact{names("lobby-a", "Ada"), places([]*agentv1alpha1.RosterEntry{at("Ada", "game-a", "")})}, 0, 0, 0},
		"they are about to go to another group":      {[]fact{names("lobby-a", "Ada"), places([]*agentv1alpha1.RosterEntry{at("Ada", "lobby-a", "game-a")})}, 1, 0, 0},
		"they came by another proxy":                 {[]fact{holds("Ada"), elsewhere(places([]*agentv1alpha1.RosterEntry{at("Ada", "lobby-a", "")}))}, 1, 0, 0},
		"two proxies hold them":                      {[]fact{holds("Ada"), elsewhere(holds("Ada"))}, 0, 0, 1},
		"two proxies hold two":                       {[]fact{holds("Ada"), elsewhere(holds("Ben"))}, 0, 0, 2},
		"another one joined meanwhile":               {[]fact{holds("Ada"), names("lobby-a", "Ben")}, 1, 0, 1},
		"others joined past the proxies":             {[]fact{holds("Ada"), names("lobby-a", "Ben", "Cyd"), names("lobby-b", "Dan")}, 2, 1, 1},
		"the game names nobody":                      {[]fact{holds("Ada"), numbers(1, "Ada")}, 1, 0, 0},
		"the game names nobody, the proxy is late": {
			[]fact{places([]*agentv1alpha1.RosterEntry{at("Ada", "", "lobby-a"), at("Ben", "lobby-a", "")}), numbers(2)}, 2, 0, 0,
		},
		"the game names nobody, and was asked before they left": {
			[]fact{places([]*agentv1alpha1.RosterEntry{at("Ada", "lobby-a", "")}), numbers(1), holds("Ada")}, 0, 0, 1,
		},
		"the game names nobody, and was asked after they left": {
			[]fact{places([]*agentv1alpha1.RosterEntry{at("Ada", "lobby-a", "")}), holds("Ada"), numbers(1)}, 1, 0, 1,
		},
		"the game names nobody, and they have a seat elsewhere": {
			[]fact{places([]*agentv1alpha1.RosterEntry{at("Ada", "lobby-a", "")}), numbers(1), admits("lobby-b", []string{"Ada"})}, 0, 1, 0,
		},
		"the game names nobody, no proxy spoke of them, and they went on": {
			[]fact{numbers(1, "Ada"), admits("lobby-b", []string{"Ada"})}, 0, 1, 0,
		},
		"the seat is newer than the game's last answer": {
			[]fact{holds("Ada"), func(n *network) {
				n.report(n.agents["lobby-a"], &agentv1alpha1.ServerReport{Admitted: players("Ada")}, 4*time.Second, 0)
			}}, 1, 0, 0,
		},
		"the game knows them by another name": {
			[]fact{places([]*agentv1alpha1.RosterEntry{at("Ada", "lobby-a", ""), at("Ben", "lobby-a", "")}), names("lobby-a", "*Ada", "*Ben")}, 2, 0, 0,
		},
		"two of one address are one": {[]fact{places(nil, held("Ada", "Ben"))}, 0, 0, 1},
		"and still one when the first has a place": {
			[]fact{places(nil, held("Ada", "Ben")), names("lobby-a", "Ada")}, 1, 0, 1,
		},
		"and none when both have": {
			[]fact{places(nil, held("Ada", "Ben")), names("lobby-a", "Ada"), names("lobby-b", "Ben")}, 1, 1, 0,
		},
		"a proxy that does not say who waits": {
			[]fact{places(nil, &agentv1alpha1.WaitingPlayers{Group: "lobby", Players: 2}), names("lobby-a", "Ada")}, 1, 0, 2,
		},
		"they wait for another group": {[]fact{places(nil, &agentv1alpha1.WaitingPlayers{Group: "game", Players: 1, Names: []string{"Ada"}})}, 0, 0, 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			n := newNetwork(t)
			for _, happens := range test.facts {
				n.clock.Step(time.Second)
				happens(n)
			}
			got := n.Census(named("lobby"), lobbies)
			want := Census{Seated: map[string]int{"lobby-a": test.a, "lobby-b": test.b}, Waiting: test.waiting}
			got.Seated = map[string]int{"lobby-a": got.Seated["lobby-a"], "lobby-b": got.Seated["lobby-b"]}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// A dead server's last word must not hide those who fell off it.
func TestAPlayerWhoseServerFellSilentWaits(t *testing.T) {
	n := newNetwork(t)
	names("lobby-a", "Ada")(n)
	n.clock.Step(time.Second)
	places([]*agentv1alpha1.RosterEntry{at("Ada", "lobby-a", "")})(n)
	n.clock.Step(time.Second)
	holds("Ada")(n)
	if got := n.Census(named("lobby"), lobbies); got.Waiting != 1 || got.Seated["lobby-a"] != 0 {
		t.Errorf("%+v, want the player to wait", got)
	}
}

func TestReportsThatArriveLateAreOldWords(t *testing.T) {
	n := newNetwork(t)
	n.clock.Step(time.Minute)
	// Both agents' clocks are minutes off, the proxy's is right.
	ahead := 3 * time.Minute
	n.report(n.agents["lobby-a"], &agentv1alpha1.ServerReport{}, 0, ahead)
	n.clock.Step(5 * time.Second)
	holds("Ada")(n)
	n.clock.Step(time.Second)
	// It was taken before the proxy held the player, and took three seconds.
	sent := n.clock.Now().Add(ahead).Add(-3 * time.Second)
	report := &agentv1alpha1.ServerReport{Online: 1, Players: players("Ada")}
	n.receive(n.agents["lobby-a"], report, sent, sent)
	if got := n.Census(named("lobby"), lobbies); got.Waiting != 1 || got.Seated["lobby-a"] != 0 {
		t.Errorf("%+v, want the newer word of the proxy", got)
	}
	n.clock.Step(time.Second)
	sent = n.clock.Now().Add(ahead)
	n.receive(n.agents["lobby-a"], report, sent, sent)
	if got := n.Census(named("lobby"), lobbies); got.Waiting != 0 || got.Seated["lobby-a"] != 1 {
		t.Errorf("%+v, want the newer word of the game", got)
	}
}
