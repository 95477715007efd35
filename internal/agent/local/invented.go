// SPDX-License-Identifier: Apache-2.0

package local

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
	"google.golang.org/protobuf/types/known/timestamppb"
	"k8s.io/utils/clock"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/allowance"
)

// The rest of an invented network: one more server, and a proxy.
const (
	otherGroup  = "arena"
	otherServer = "arena-k3q9"
	otherSlots  = 16
	proxyGroup  = "front"
	minReplicas = 1
	maxReplicas = 8
)

// Invented is a server that does not exist, for plugins that are tried without
// a cluster. It is Ready, empty, and does whatever it is asked for. Its network
// has one more server, in another group.
type Invented struct {
	told  func(Self)
	clock clock.PassiveClock

	mu      sync.Mutex
	self    Self
	group   int
	changed chan struct{}
	boosts  []Boost
	// online are those a plugin has named.
	online []Person
	// added are the answers to those that were asked for, by the ask.
	added map[string]*agentv1alpha1.Answer
}

// NewInvented makes a server of a group with that many slots and playable
// slots; told gets the server whenever a plugin has changed it.
func NewInvented(server, group string, slots, playableSlots int, clk clock.PassiveClock, told func(Self)) *Invented {
	made := &Invented{
		told: told, clock: clk, added: map[string]*agentv1alpha1.Answer{}, group: playableSlots, changed: make(chan struct{}),
		self: Self{Server: server, Group: group, DisplayName: group, State: Ready, Players: new(int), Slots: slots},
	}
	made.settle()
	return made
}

// settle works out what follows from the wishes. The caller holds the lock.
func (i *Invented) settle() {
	i.self.PlayableSlots = i.self.Wishes.Seats(i.group, i.self.Slots)
	i.self.Joins = i.self.Wishes.Door()
}

// Self describes the invented server.
func (i *Invented) Self() (Self, <-chan struct{}) {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.self, i.changed
}

// Wish takes everything.
func (i *Invented) Wish(change func(*Wishes)) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	change(&i.self.Wishes)
	i.settle()
	close(i.changed)
	i.changed = make(chan struct{})
	i.told(i.self)
	return nil
}

// Count believes it.
func (i *Invented) Count(online []Person) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.online, i.self.Players = online, new(len(online))
	close(i.changed)
	i.changed = make(chan struct{})
	i.told(i.self)
	return nil
}

// Network describes the invented network.
func (i *Invented) Network(context.Context) (Network, <-chan struct{}, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	players := len(i.online)
	free := max(0, i.self.PlayableSlots-players)
	if i.self.Joins == Closed {
		free = 0
	}
	return Network{
		Players: players,
		Groups: []Group{
			{Name: i.self.Group, DisplayName: i.self.DisplayName, Players: players, FreeSeats: free},
			{Name: otherGroup, DisplayName: otherGroup, FreeSeats: otherSlots},
		},
		Servers: []Server{
			{
				Name: i.self.Server, Group: i.self.Group, DisplayName: i.self.DisplayName, State: string(Ready),
				Joins: i.self.Joins, Players: &players, Slots: i.self.Slots, FreeSeats: free,
			},
			{
				Name: otherServer, Group: otherGroup, DisplayName: otherGroup, State: string(Ready),
				Joins: Open, Players: new(int), Slots: otherSlots, FreeSeats: otherSlots,
			},
		},
		Proxies: []Proxies{{Group: proxyGroup, Proxies: 1, Players: players}},
	}, i.changed, nil
}

// Ask answers as a manager would, by the same bounds.
func (i *Invented) Ask(_ context.Context, ask *agentv1alpha1.Ask) (*agentv1alpha1.Answer, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	now := i.clock.Now()
	i.boosts = slices.DeleteFunc(i.boosts, func(boost Boost) bool { return !now.Before(boost.ExpiresAt) })
	answer := &agentv1alpha1.Answer{Id: ask.GetId(), Verdict: agentv1alpha1.Verdict_VERDICT_DONE}
	switch ask := ask.GetAsk().(type) {
	case *agentv1alpha1.Ask_AddBoost:
		if i.added[answer.GetId()] == nil {
			i.addBoost(answer, ask.AddBoost, now)
			i.added[answer.GetId()] = answer
		}
		return i.added[answer.GetId()], nil
	case *agentv1alpha1.Ask_EndBoost:
		at := slices.IndexFunc(i.boosts, func(boost Boost) bool { return boost.Name == ask.EndBoost.GetName() })
		if at < 0 {
			answer.Verdict = agentv1alpha1.Verdict_VERDICT_NOT_FOUND
			answer.Detail = fmt.Sprintf("%s has made no boost %q that still lasts", i.self.Server, ask.EndBoost.GetName())
			return answer, nil
		}
		i.boosts = slices.Delete(i.boosts, at, at+1)
	}
	if connect := ask.GetConnect(); connect != nil {
		i.connect(answer, connect)
		return answer, nil
	}
	for _, boost := range i.boosts {
		answer.Boosts = append(answer.Boosts, own(boost))
	}
	return answer, nil
}

// connect moves whoever is online; while no plugin has named anybody, everybody
// is. The caller holds the lock.
func (i *Invented) connect(answer *agentv1alpha1.Answer, ask *agentv1alpha1.Connect) {
	to := ask.GetTo()
	if len(i.online) > 0 && !slices.ContainsFunc(i.online, func(one Person) bool { return is(one, ask.GetPlayer()) }) {
		answer.Verdict = agentv1alpha1.Verdict_VERDICT_NOT_FOUND
		answer.Detail = fmt.Sprintf("no such player is on %s: PUT %s named %d others", i.self.Server, PlayersPath, len(i.online))
		return
	}
	switch to {
	case otherServer, otherGroup, i.self.Group:
	case i.self.Server:
		answer.Verdict, answer.Detail = agentv1alpha1.Verdict_VERDICT_REFUSED, "the player is on "+to+" already"
	default:
		answer.Verdict = agentv1alpha1.Verdict_VERDICT_NOT_FOUND
		answer.Detail = fmt.Sprintf("there is no server and no group %q in this network", to)
	}
}

// is tells a player by UUID where one is asked for, else by name.
func is(one Person, wanted *agentv1alpha1.Player) bool {
	if len(wanted.GetUuid()) == 0 {
		return one.Name == wanted.GetName()
	}
	id, err := uuid.Parse(one.UUID)
	return err == nil && bytes.Equal(id[:], wanted.GetUuid())
}

// addBoost makes one. The caller holds the lock.
func (i *Invented) addBoost(answer *agentv1alpha1.Answer, ask *agentv1alpha1.AddBoost, now time.Time) {
	group := allowance.Group{
		Name: i.self.Group, Min: minReplicas, Max: maxReplicas, MadeByThis: len(i.boosts), MadeByServers: len(i.boosts),
	}
	for _, boost := range i.boosts {
		group.Boosted += boost.Replicas
	}
	wanted := allowance.Boost{Server: i.self.Server, Replicas: int(ask.GetReplicas()), For: time.Duration(ask.GetSeconds()) * time.Second}
	until, denial := wanted.Admit(group, now)
	if denial != nil {
		answer.Verdict, answer.Detail = agentv1alpha1.Verdict_VERDICT_REFUSED, denial.Why
		if denial.Cause == allowance.Malformed {
			answer.Verdict = agentv1alpha1.Verdict_VERDICT_MALFORMED
		}
		return
	}
	made := Boost{Name: fmt.Sprintf("%s-boost%d", i.self.Group, len(i.added)), Replicas: wanted.Replicas, ExpiresAt: until.UTC().Truncate(time.Second)}
	i.boosts = append(i.boosts, made)
	answer.Boosts = []*agentv1alpha1.OwnBoost{own(made)}
}

func own(boost Boost) *agentv1alpha1.OwnBoost {
	return &agentv1alpha1.OwnBoost{Name: boost.Name, Replicas: int32(boost.Replicas), ExpiresAt: timestamppb.New(boost.ExpiresAt)}
}
