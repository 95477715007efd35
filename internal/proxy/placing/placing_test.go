// SPDX-License-Identifier: Apache-2.0

package placing

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/proxy/directory"
	"github.com/spawnery/spawnery-operator/internal/routing"
	"github.com/spawnery/spawnery-operator/internal/seats"
	"github.com/spawnery/spawnery-operator/internal/seats/seatstest"
)

var secret = []byte("a forwarding secret")

// network is a directory whose servers have agents.
type network struct {
	t       *testing.T
	store   *directory.Store
	agents  map[string]*seatstest.Agent
	listed  []*agentv1alpha1.DirectoryServer
	players int
}

func newNetwork(t *testing.T) *network {
	return &network{t: t, store: directory.NewStore(), agents: map[string]*seatstest.Agent{}}
}

// add makes a server; its group is its name up to the dash.
func (n *network) add(name string, players, playable, slots int) *agentv1alpha1.DirectoryServer {
	n.t.Helper()
	a, err := seatstest.Start(seatstest.Config{
		Server: name, Playable: playable, Slots: slots, Secret: secret, Online: func() []string { return make([]string, players) },
	})
	if err != nil {
		n.t.Fatal(err)
	}
	n.t.Cleanup(a.Close)
	group, _, _ := strings.Cut(name, "-")
	count := int32(players)
	server := &agentv1alpha1.DirectoryServer{
		Name: name, Group: group, SeatAddress: a.Address(), Door: agentv1alpha1.DoorState_DOOR_STATE_OPEN,
		Players: &count, PlayableSlots: int32(playable), Slots: int32(slots),
	}
	n.agents[name], n.listed = a, append(n.listed, server)
	return server
}

func (n *network) publish() {
	n.store.Apply(&agentv1alpha1.Directory{Revision: 1, Full: true, Servers: n.listed})
}

func (n *network) fill() {
	n.store.SetSettings(&agentv1alpha1.ProxySettings{Strategy: agentv1alpha1.RoutingStrategy_ROUTING_STRATEGY_FILL})
}

func (n *network) finder(clk clock.WithTicker) *Finder {
	n.t.Helper()
	client, err := seats.NewClient(clock.RealClock{}, secret)
	if err != nil {
		n.t.Fatal(err)
	}
	n.t.Cleanup(client.Close)
	return NewFinder(clk, n.store, client)
}

func (n *network) request(claim routing.Claim, groups ...string) Request {
	n.players++
	name := fmt.Sprintf("player%d", n.players)
	return Request{Player: seats.Player{UUID: uuid.New(), Name: name}, Claim: claim, Groups: groups}
}

func noPlace(err error) *NoPlace {
	lack, _ := errors.AsType[*NoPlace](err)
	return lack
}

func TestTheServerWithTheFewestPlayersIsChosen(t *testing.T) {
	n := newNetwork(t)
	n.add("lobby-a", 5, 20, 20)
	n.add("lobby-b", 3, 20, 20)
	n.add("lobby-c", 4, 20, 20)
	n.publish()
	place, err := n.finder(clock.RealClock{}).Find(t.Context(), n.request(routing.ByChoice, "lobby"))
	if err != nil {
		t.Fatal(err)
	}
	defer place.Close()
	if got := place.Server.GetName(); got != "lobby-b" {
		t.Errorf("got %s", got)
	}
	if n.agents["lobby-a"].Asked() != 0 {
		t.Error("another server was asked without need")
	}
}

func TestWithFillTheFullestServerWithAPlayableSeatIsChosen(t *testing.T) {
	n := newNetwork(t)
	n.fill()
	n.add("lobby-a", 5, 20, 20)
	n.add("lobby-b", 20, 20, 30)
	n.add("lobby-c", 9, 20, 20)
	n.publish()
	place, err := n.finder(clock.RealClock{}).Find(t.Context(), n.request(routing.ByChoice, "lobby"))
	if err != nil {
		t.Fatal(err)
	}
	defer place.Close()
	if got := place.Server.GetName(); got != "lobby-c" {
		t.Errorf("got %s", got)
	}
	if n.agents["lobby-a"].Asked()+n.agents["lobby-b"].Asked() != 0 {
		t.Error("another server was asked without need")
	}
}

// The agents enforce nothing here and the directory is never updated: what two
// proxies learn of each other are the answers.
func TestTwoProxiesThatFillLeaveNoPlayableSeatForOneBeyond(t *testing.T) {
	n := newNetwork(t)
	n.fill()
	for _, name := range []string{"lobby-a", "lobby-b", "lobby-c"} {
		n.add(name, 0, 40, 40).PlayableSlots = 12
	}
	n.publish()
	proxies := []*Finder{n.finder(clock.RealClock{}), n.finder(clock.RealClock{})}
	for i := range 30 {
		// Uneven on purpose: one proxy gets two of three players.
		place, err := proxies[min(i%3, 1)].Find(t.Context(), n.request(routing.ByChoice, "lobby"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(place.Close)
	}
	var got []int
	for _, name := range []string{"lobby-a", "lobby-b", "lobby-c"} {
		eventually(t, func() bool { return n.agents[name].Pending() <= 12 })
		got = append(got, n.agents[name].Pending())
	}
	if diff := cmp.Diff([]int{12, 12, 6}, got); diff != "" {
		t.Errorf("players (-want +got):\n%s", diff)
	}
}

func TestGroupsAreTriedInOrder(t *testing.T) {
	n := newNetwork(t)
	n.add("survival-0", 0, 20, 20)
	n.add("lobby-a", 20, 20, 20)
	n.publish()
	place, err := n.finder(clock.RealClock{}).Find(t.Context(), n.request(routing.ByChoice, "lobby", "survival"))
	if err != nil {
		t.Fatal(err)
	}
	defer place.Close()
	if got := place.Server.GetName(); got != "survival-0" {
		t.Errorf("got %s", got)
	}
}

func TestWhyThereIsNoPlace(t *testing.T) {
	closed := agentv1alpha1.DoorState_DOOR_STATE_CLOSED
	for name, tt := range map[string]struct {
		prepare func(n *network)
		want    NoPlace
	}{
		"there are no servers":      {prepare: func(*network) {}, want: NoPlace{LackServers, "lobby"}},
		"every door is closed":      {prepare: func(n *network) { n.add("lobby-a", 0, 9, 9).Door = closed }, want: NoPlace{LackServers, "lobby"}},
		"every seat is taken":       {prepare: func(n *network) { n.add("lobby-a", 9, 9, 9) }, want: NoPlace{LackSeats, "lobby"}},
		"the second group is full":  {prepare: func(n *network) { n.add("hub-a", 9, 9, 9) }, want: NoPlace{LackSeats, "lobby"}},
		"the agent refuses":         {prepare: func(n *network) { n.add("lobby-a", 9, 9, 9).Players = new(int32(2)) }, want: NoPlace{LackSeats, "lobby"}},
		"the agent does not answer": {prepare: func(n *network) { n.add("lobby-a", 0, 9, 9); n.agents["lobby-a"].Close() }, want: NoPlace{LackAnswers, "lobby"}},
	} {
		t.Run(name, func(t *testing.T) {
			n := newNetwork(t)
			tt.prepare(n)
			n.publish()
			_, err := n.finder(clock.RealClock{}).Find(t.Context(), n.request(routing.ByChoice, "lobby", "hub"))
			if got := noPlace(err); got == nil || *got != tt.want {
				t.Errorf("got %v, want %v", err, tt.want)
			}
		})
	}
}

func TestNobodyWaitsForAGroupThatDoesNotExist(t *testing.T) {
	n := newNetwork(t)
	n.store.Apply(&agentv1alpha1.Directory{Revision: 1, Full: true, Groups: []*agentv1alpha1.DirectoryGroup{{Name: "hub"}}})
	_, err := n.finder(clock.RealClock{}).Find(t.Context(), n.request(routing.ByChoice, "misspelt", "hub"))
	if got := noPlace(err); got == nil || *got != (NoPlace{LackServers, "hub"}) {
		t.Errorf("got %v", err)
	}
}

func TestWhoMayTakeASeatBeyondThePlayableOnes(t *testing.T) {
	for name, tt := range map[string]struct {
		claim     routing.Claim
		privilege routing.Privilege
		door      agentv1alpha1.DoorState
		want      bool
	}{
		"who could go elsewhere may not":             {claim: routing.ByChoice, door: agentv1alpha1.DoorState_DOOR_STATE_OPEN},
		"who must leave may":                         {claim: routing.ByNeed, door: agentv1alpha1.DoorState_DOOR_STATE_OPEN, want: true},
		"who may join full rounds may":               {claim: routing.ByChoice, privilege: routing.JoinsFull, door: agentv1alpha1.DoorState_DOOR_STATE_OPEN, want: true},
		"who is sent by name may":                    {claim: routing.ByName, door: agentv1alpha1.DoorState_DOOR_STATE_BY_NAME, want: true},
		"who must leave stays out of a named door":   {claim: routing.ByNeed, door: agentv1alpha1.DoorState_DOOR_STATE_BY_NAME},
		"nobody passes a closed door":                {claim: routing.ByName, door: agentv1alpha1.DoorState_DOOR_STATE_CLOSED},
		"nobody passes into a server that is moving": {claim: routing.ByName, door: agentv1alpha1.DoorState_DOOR_STATE_MOVING},
	} {
		t.Run(name, func(t *testing.T) {
			n := newNetwork(t)
			n.add("lobby-a", 12, 12, 20).Door = tt.door
			n.publish()
			r := n.request(tt.claim, "lobby")
			r.Server, r.Privilege = "lobby-a", func(string) routing.Privilege { return tt.privilege }
			place, err := n.finder(clock.RealClock{}).Find(t.Context(), r)
			if (err == nil) != tt.want {
				t.Errorf("got %v, want a seat: %v", err, tt.want)
			}
			if place != nil {
				place.Close()
			}
		})
	}
}

func TestWhoMustLeavePrefersAFreePlayableSeat(t *testing.T) {
	n := newNetwork(t)
	n.add("lobby-a", 3, 3, 20)
	n.add("lobby-b", 9, 10, 20)
	n.publish()
	place, err := n.finder(clock.RealClock{}).Find(t.Context(), n.request(routing.ByNeed, "lobby"))
	if err != nil {
		t.Fatal(err)
	}
	defer place.Close()
	if got := place.Server.GetName(); got != "lobby-b" {
		t.Errorf("got %s", got)
	}
}

func TestAServerToAvoidIsNotAsked(t *testing.T) {
	n := newNetwork(t)
	n.add("lobby-a", 0, 20, 20)
	n.add("lobby-b", 9, 20, 20)
	n.publish()
	r := n.request(routing.ByNeed, "lobby")
	r.Exclude = []string{"lobby-a"}
	place, err := n.finder(clock.RealClock{}).Find(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	defer place.Close()
	if place.Server.GetName() != "lobby-b" || n.agents["lobby-a"].Asked() != 0 {
		t.Errorf("got %s", place.Server.GetName())
	}
}

func TestASeatIsRenewedUntilThePlayerArrivesAndGivenBackWhenTheyDoNot(t *testing.T) {
	n := newNetwork(t)
	n.add("lobby-a", 0, 20, 20)
	n.publish()
	clk := clocktesting.NewFakeClock(time.Now())
	f := n.finder(clk)
	agent := n.agents["lobby-a"]

	stays, err := f.Find(t.Context(), n.request(routing.ByChoice, "lobby"))
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, clk.HasWaiters)
	clk.Step(seats.RenewEvery)
	eventually(t, func() bool { return agent.Renewed() == 1 })
	stays.Arrived()
	stays.Close()

	fails, err := f.Find(t.Context(), n.request(routing.ByChoice, "lobby"))
	if err != nil {
		t.Fatal(err)
	}
	if agent.Pending() != 2 {
		t.Errorf("%d seats pending", agent.Pending())
	}
	fails.Close()
	fails.Close()
	eventually(t, func() bool { return agent.Pending() == 1 })
	if len(f.estimates.here) != 0 {
		t.Errorf("still counted: %v", f.estimates.here)
	}
}

func eventually(t *testing.T, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(5 * time.Second); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		if condition() {
			return
		}
	}
	t.Fatal("it did not come to pass")
}

// The directory is never updated here: all that the two proxies learn of each
// other are the agents' answers.
func TestTwoProxiesKeepTwoServersWithinOnePlayer(t *testing.T) {
	n := newNetwork(t)
	n.add("lobby-a", 0, 500, 500)
	n.add("lobby-b", 0, 500, 500)
	n.publish()
	proxies := []*Finder{n.finder(clock.RealClock{}), n.finder(clock.RealClock{})}
	for i := range 60 {
		// Uneven on purpose: one proxy gets two of three players.
		place, err := proxies[min(i%3, 1)].Find(t.Context(), n.request(routing.ByChoice, "lobby"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(place.Close)
		settled := func() bool { return n.agents["lobby-a"].Pending()+n.agents["lobby-b"].Pending() == i+1 }
		eventually(t, settled)
		if a, b := n.agents["lobby-a"].Pending(), n.agents["lobby-b"].Pending(); max(a, b)-min(a, b) > 1 {
			t.Fatalf("after %d players: %d and %d", i+1, a, b)
		}
	}
}

func TestARushThroughTwoProxiesFillsExactlyTheSeats(t *testing.T) {
	n := newNetwork(t)
	n.add("bedwars-a", 0, 12, 24)
	n.publish()
	proxies := []*Finder{n.finder(clock.RealClock{}), n.finder(clock.RealClock{})}
	var group sync.WaitGroup
	var mu sync.Mutex
	in, lacks := 0, []Lack{}
	for i := range 200 {
		r := n.request(routing.ByChoice, "bedwars")
		group.Go(func() {
			place, err := proxies[i%2].Find(t.Context(), r)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				lacks = append(lacks, noPlace(err).Lack)
				return
			}
			in++
			t.Cleanup(place.Close)
		})
	}
	group.Wait()
	if in != 12 || len(lacks) != 188 || n.agents["bedwars-a"].Most() != 12 {
		t.Errorf("%d came in, %d did not, at most %d at once", in, len(lacks), n.agents["bedwars-a"].Most())
	}
	slices.Sort(lacks)
	if diff := cmp.Diff([]Lack{LackSeats}, slices.Compact(lacks)); diff != "" {
		t.Error(diff)
	}
	asked := n.agents["bedwars-a"].Asked()
	for _, f := range proxies {
		if _, err := f.Find(t.Context(), n.request(routing.ByChoice, "bedwars")); noPlace(err) == nil {
			t.Errorf("got %v", err)
		}
	}
	if n.agents["bedwars-a"].Asked() != asked {
		t.Error("a server that has just said that it is full was asked again")
	}
}
