// SPDX-License-Identifier: Apache-2.0

package servergroup

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/fleet"
	"github.com/spawnery/spawnery-operator/internal/sessions"
	"github.com/spawnery/spawnery-operator/internal/sighting"
)

var now = time.Date(2026, 9, 18, 20, 0, 0, 0, time.UTC)

// rush is a group of servers of four seats that keeps three free, and what its
// agents and its proxy say of it.
type rush struct {
	*testing.T
	clock   *clocktesting.FakeClock
	store   *sessions.Store
	front   *sessions.ProxySession
	agents  map[string]*sessions.ServerSession
	group   *v1alpha1.ServerGroup
	objects []v1alpha1.Server
}

func newRush(t *testing.T, servers ...string) *rush {
	t.Helper()
	clk := clocktesting.NewFakeClock(now)
	r := &rush{T: t, clock: clk, store: sessions.New(sessions.Config{Clock: clk}), agents: map[string]*sessions.ServerSession{}}
	r.group = &v1alpha1.ServerGroup{
		ObjectMeta: metav1.ObjectMeta{Namespace: "minecraft", Name: "hub"},
		Spec: v1alpha1.ServerGroupSpec{
			Type: v1alpha1.GroupEphemeral, MaxPlayers: 4,
			Scaling: v1alpha1.Scaling{MinReplicas: new(int32(0)), MaxReplicas: 9, SpareSlots: new(int32(3))},
		},
		Status: v1alpha1.ServerGroupStatus{FirstRegisteredAt: &metav1.Time{Time: now.Add(-time.Hour)}},
	}
	r.front = r.store.OpenProxy(sessions.ProxyPod{UID: "front", Pod: types.NamespacedName{Namespace: "minecraft", Name: "front"}}, &agentv1alpha1.Hello{})
	for _, name := range servers {
		r.agents[name] = r.store.OpenServer(sessions.ServerPod{
			UID: types.UID(name), Server: types.NamespacedName{Namespace: "minecraft", Name: name}, Group: "hub",
		}, &agentv1alpha1.Hello{})
		r.objects = append(r.objects, v1alpha1.Server{
			ObjectMeta: metav1.ObjectMeta{Namespace: "minecraft", Name: name},
			Status:     v1alpha1.ServerStatus{Phase: v1alpha1.ServerReady, PodUID: name, Registered: new(true), ReadySince: &metav1.Time{Time: now}},
		})
	}
	return r
}

// agent says who is online on a server, and who has a seat there.
func (r *rush) agent(server string, online []string, admitted ...string) {
	r.Helper()
	report := &agentv1alpha1.ServerReport{
		SampledAt: timestamppb.New(r.clock.Now()), SentAt: timestamppb.New(r.clock.Now()),
		Online: int32(len(online)), Slots: 4, SeatsPending: int32(len(admitted)),
	}
	for _, name := range online {
		report.Players = append(report.Players, &agentv1alpha1.Player{Name: name})
	}
	for _, name := range admitted {
		report.Admitted = append(report.Admitted, &agentv1alpha1.Player{Name: name})
	}
	if err := r.agents[server].Receive(&agentv1alpha1.ServerMessage{Message: &agentv1alpha1.ServerMessage_Report{Report: report}}); err != nil {
		r.Fatal(err)
	}
}

// proxy says where everybody is; whoever is nowhere waits.
func (r *rush) proxy(where map[string][]string) {
	r.Helper()
	report := &agentv1alpha1.ProxyReport{SampledAt: timestamppb.New(r.clock.Now()), SentAt: timestamppb.New(r.clock.Now())}
	for server, names := range where {
		for _, name := range names {
			report.Roster = append(report.Roster, &agentv1alpha1.RosterEntry{Player: &agentv1alpha1.Player{Name: name}, Server: server})
			if server == "" {
				report.Waiting = append(report.Waiting, &agentv1alpha1.WaitingPlayers{Group: "hub", Players: 1, Names: []string{name}})
			}
		}
	}
	if err := r.front.Receive(&agentv1alpha1.ProxyMessage{Message: &agentv1alpha1.ProxyMessage_Report{Report: report}}); err != nil {
		r.Fatal(err)
	}
}

// ordered is how many servers a pass orders now.
func (r *rush) ordered() (int, string) {
	seen := observation{now: r.clock.Now(), network: &v1alpha1.Network{}, objects: r.objects}
	for i := range r.objects {
		presence := sighting.PresenceOf(&r.objects[i], r.store, nil)
		seen.servers = append(seen.servers, sighting.ServerOf(&r.objects[i], sighting.Group{MaxPlayers: 4}, fleet.PodSeen, presence))
	}
	reconciler := &Reconciler{Sessions: r.store, LeaderSince: func() time.Time { return now.Add(-time.Hour) }}
	reconciler.takeCensus(client.ObjectKeyFromObject(r.group), &seen)
	plan := reconciler.decide(r.group, seen)
	return len(plan.Create), plan.Note
}

func (r *rush) wantOrders(after string, want int) {
	r.Helper()
	if got, note := r.ordered(); got != want {
		r.Errorf("%s: %d servers ordered, want %d; %s", after, got, want, note)
	}
}

var (
	fullA = []string{"A1", "A2", "A3", "A4"}
	fullB = []string{"B1", "B2", "B3", "B4"}
)

// The ninth player waited for the third server, which is there now. Whoever
// tells of their arrival first, and however late the others do, that server
// was the answer to them.
func TestAPlayerWhoseArrivalIsToldInAnyOrderOrdersNoSecondServer(t *testing.T) {
	told := map[string]func(*rush){
		"the proxy": func(r *rush) { r.proxy(map[string][]string{"hub-a": fullA, "hub-b": fullB, "hub-c": {"Ninth"}}) },
		"the seat":  func(r *rush) { r.agent("hub-c", nil, "Ninth") },
		"the game":  func(r *rush) { r.agent("hub-c", []string{"Ninth"}) },
	}
	orders := [][]string{
		{"the seat", "the game", "the proxy"},
		{"the game", "the proxy"},
		{"the seat", "the proxy", "the game"},
		{"the proxy", "the game"},
		{"the proxy", "the seat", "the game"},
	}
	for _, order := range orders {
		for _, delay := range []time.Duration{0, time.Millisecond, time.Second, 4 * time.Second} {
			t.Run(fmt.Sprint(order, " each after ", delay), func(t *testing.T) {
				r := newRush(t, "hub-a", "hub-b", "hub-c")
				r.agent("hub-a", fullA)
				r.agent("hub-b", fullB)
				r.agent("hub-c", nil)
				r.proxy(map[string][]string{"hub-a": fullA, "hub-b": fullB, "": {"Ninth"}})
				r.wantOrders("the third server is there", 0)
				for _, by := range order {
					r.clock.Step(delay)
					// The others are silent no longer than they ever are.
					r.agent("hub-a", fullA)
					r.agent("hub-b", fullB)
					told[by](r)
					r.wantOrders("told by "+by, 0)
				}
				// A tenth finds one of the three spare seats and waits for nothing.
				r.agent("hub-c", []string{"Ninth", "Tenth"})
				r.wantOrders("there is one seat less than the group keeps free", 1)
			})
		}
	}
}

func TestAPlayerWithoutASeatOrdersAServerAtOnce(t *testing.T) {
	waits := func(names ...string) map[string][]string { return map[string][]string{"hub-a": fullA, "": names} }
	tests := map[string]struct {
		servers []string
		spare   int32
		happens func(*rush)
	}{
		"of a group at zero": {nil, 0, func(r *rush) { r.proxy(waits("Ninth")) }},
		"of a group that is full": {[]string{"hub-a"}, 0, func(r *rush) {
			r.agent("hub-a", fullA)
			r.proxy(waits("Ninth"))
		}},
		"beside one who has just got the last": {[]string{"hub-a"}, 0, func(r *rush) {
			r.agent("hub-a", fullA[:3])
			r.proxy(map[string][]string{"hub-a": fullA[:3], "": {"Ninth", "A4"}})
			r.clock.Step(time.Second)
			r.agent("hub-a", fullA)
		}},
		"while the seats go to players past the proxies": {[]string{"hub-a"}, 0, func(r *rush) {
			r.proxy(map[string][]string{"": {"Ninth"}})
			r.clock.Step(time.Second)
			r.agent("hub-a", fullA)
		}},
		"while players of other proxies arrive": {[]string{"hub-a"}, 0, func(r *rush) {
			r.proxy(waits("Ninth"))
			for i := range fullA {
				r.clock.Step(time.Second)
				r.agent("hub-a", fullA[:i+1])
			}
		}},
		"whose server died": {[]string{"hub-a"}, 0, func(r *rush) {
			r.agent("hub-a", fullA)
			r.proxy(map[string][]string{"hub-a": fullA})
			r.clock.Step(sessions.FreshFor + time.Second)
			r.proxy(map[string][]string{"": fullA})
		}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r := newRush(t, test.servers...)
			r.group.Spec.Scaling.SpareSlots = &test.spare
			test.happens(r)
			r.wantOrders("a player has no seat", 1)
		})
	}
}

// Moving within the group takes no seat that was not taken before, whichever of
// the two servers tells first.
func TestAPlayerWhoSwitchesLobbiesOrdersNothing(t *testing.T) {
	switched := []string{"A1", "A2", "A3"}
	arrived := append(slices.Clone(fullB[:1]), "A4")
	steps := map[string]func(*rush){
		"left":    func(r *rush) { r.agent("hub-a", switched) },
		"seated":  func(r *rush) { r.agent("hub-b", fullB[:1], "A4") },
		"arrived": func(r *rush) { r.agent("hub-b", arrived) },
		"moved":   func(r *rush) { r.proxy(map[string][]string{"hub-a": switched, "hub-b": arrived}) },
	}
	for _, order := range [][]string{
		{"seated", "arrived", "left", "moved"},
		{"seated", "left", "moved", "arrived"},
		{"arrived", "moved", "left"},
		{"moved", "arrived", "left"},
		{"seated", "moved", "left", "arrived"},
	} {
		t.Run(fmt.Sprint(order), func(t *testing.T) {
			r := newRush(t, "hub-a", "hub-b")
			r.agent("hub-a", fullA)
			r.agent("hub-b", fullB[:1])
			r.proxy(map[string][]string{"hub-a": fullA, "hub-b": fullB[:1]})
			r.wantOrders("three seats are free", 0)
			for _, step := range order {
				r.clock.Step(time.Second)
				steps[step](r)
				r.wantOrders(step, 0)
			}
		})
	}
}
