// SPDX-License-Identifier: Apache-2.0

package sessions

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
)

// connect is one order to move a player and what became of it.
type connect struct {
	order  *agentv1alpha1.ConnectOrder
	sentOn *link
	// result has room for the one there is.
	result chan *agentv1alpha1.ConnectResult
}

// arrivesWithin is how long a move that was ordered explains that the player is
// where the server wanted them.
const arrivesWithin = time.Minute

// ordered is a move that a server had ordered.
type ordered struct {
	player *agentv1alpha1.Player
	to     string
	at     time.Time
}

// Connect has the proxy that holds a player take them from the server that asks
// to another server or group, and waits until it says what became of that. It
// returns also whom the proxy has moved, nil when it was nobody: of a player who
// is there already by an order of the same server's, it is only said that they
// are.
func (s *Store) Connect(ctx context.Context, asked Asked) (*agentv1alpha1.Answer, *agentv1alpha1.Player) {
	by, given, answer := s.orderConnect(asked)
	if answer != nil {
		return answer, nil
	}
	defer s.forgetConnect(by, given)
	select {
	case result := <-given.result:
		var moved *agentv1alpha1.Player
		if result.GetVerdict() == agentv1alpha1.Verdict_VERDICT_DONE {
			moved = given.order.GetPlayer()
		}
		return &agentv1alpha1.Answer{Verdict: result.GetVerdict(), Detail: result.GetDetail()}, moved
	case <-ctx.Done():
		return &agentv1alpha1.Answer{
			Verdict: agentv1alpha1.Verdict_VERDICT_FAILED,
			Detail:  fmt.Sprintf("proxy %s has not said in time that the player was moved, and may move them yet", by.pod.Pod.Name),
		}, nil
	}
}

// orderConnect gives the order, or the answer when there is none to give.
func (s *Store) orderConnect(asked Asked) (*proxy, *connect, *agentv1alpha1.Answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	wish := asked.Ask.GetConnect()
	network := types.NamespacedName{Namespace: asked.Pod.Server.Namespace, Name: asked.Pod.Network}
	listed, to, from := s.directories[network], wish.GetTo(), asked.Pod.Server.Name
	if !listed.has(to) {
		return refuseConnect(agentv1alpha1.Verdict_VERDICT_NOT_FOUND, fmt.Sprintf("there is no server and no group %q in this network", to))
	}
	by, entry := s.holderOf(network, wish.GetPlayer())
	at, asker := entry.GetServer(), s.servers[asked.Pod.UID]
	switch {
	case at != from && listed.within(at, to) && asker.hasOrdered(wish, s.clock.Now()):
		return refuseConnect(agentv1alpha1.Verdict_VERDICT_DONE, "the player is there already")
	case by == nil || at != from:
		return refuseConnect(agentv1alpha1.Verdict_VERDICT_NOT_FOUND, fmt.Sprintf("no proxy has a player %s on %s", called(wish.GetPlayer()), from))
	case to == from:
		return refuseConnect(agentv1alpha1.Verdict_VERDICT_REFUSED, "the player is on "+from+" already")
	case !slices.Contains(by.able, agentv1alpha1.CapabilityConnect):
		return refuseConnect(agentv1alpha1.Verdict_VERDICT_REFUSED, by.movesNobody())
	}
	given := &connect{
		order: &agentv1alpha1.ConnectOrder{
			Id: string(asked.Pod.UID) + "/" + asked.Ask.GetId(), Player: entry.GetPlayer(), From: from, To: to,
		},
		result: make(chan *agentv1alpha1.ConnectResult, 1),
	}
	by.connects = append(by.connects, given)
	by.notify()
	asker.noteOrdered(given.order, s.clock.Now())
	return by, given, nil
}

// movesNobody says so of a proxy of an old version.
func (p *proxy) movesNobody() string {
	return fmt.Sprintf("proxy %s (version %s) moves nobody who is asked for: it will once it has been replaced", p.pod.Pod.Name, p.version)
}

// noteOrdered remembers a move. How many there are follows from how often a
// server may ask for one.
func (s *server) noteOrdered(order *agentv1alpha1.ConnectOrder, now time.Time) {
	if s == nil {
		return // Its pod has gone meanwhile.
	}
	s.ordered = slices.DeleteFunc(s.ordered, func(known ordered) bool { return now.Sub(known.at) >= arrivesWithin })
	s.ordered = append(s.ordered, ordered{order.GetPlayer(), order.GetTo(), now})
}

// hasOrdered is true for a move that the server had ordered lately. Where any
// other player is, is none of its business.
func (s *server) hasOrdered(wish *agentv1alpha1.Connect, now time.Time) bool {
	return s != nil && slices.ContainsFunc(s.ordered, func(known ordered) bool {
		return now.Sub(known.at) < arrivesWithin && known.to == wish.GetTo() && same(known.player, wish.GetPlayer())
	})
}

// has is true for the name of a server or a group.
func (d *directory) has(place string) bool {
	return d.entry(place) != nil || d != nil && slices.ContainsFunc(d.listed, func(group *agentv1alpha1.DirectoryGroup) bool {
		return group.GetName() == place
	})
}

// within is true for a server that is the place, or of it.
func (d *directory) within(server, place string) bool {
	return server != "" && (server == place || d.entry(server).GetGroup() == place)
}

func refuseConnect(verdict agentv1alpha1.Verdict, why string) (*proxy, *connect, *agentv1alpha1.Answer) {
	return nil, nil, &agentv1alpha1.Answer{Verdict: verdict, Detail: why}
}

// holderOf is the connected proxy of a network that has a player, and where.
func (s *Store) holderOf(network types.NamespacedName, player *agentv1alpha1.Player) (*proxy, *agentv1alpha1.RosterEntry) {
	for known := range s.within(network.Namespace) {
		if known.pod.Network != network.Name || !known.connected() {
			continue
		}
		for _, entry := range known.report.GetRoster() {
			if same(entry.GetPlayer(), player) {
				return known, entry
			}
		}
	}
	return nil, nil
}

// same tells a player by UUID where one is asked for, else by name, as servers
// compare them.
func same(is, wanted *agentv1alpha1.Player) bool {
	if len(wanted.GetUuid()) > 0 {
		return bytes.Equal(is.GetUuid(), wanted.GetUuid())
	}
	return wanted.GetName() != "" && strings.EqualFold(is.GetName(), wanted.GetName())
}

// called is what a person calls a player.
func called(player *agentv1alpha1.Player) string {
	if player.GetName() == "" {
		return "with that UUID"
	}
	return fmt.Sprintf("%q", player.GetName())
}

func (s *Store) forgetConnect(by *proxy, gone *connect) {
	s.mu.Lock()
	defer s.mu.Unlock()
	by.connects = slices.DeleteFunc(by.connects, func(known *connect) bool { return known == gone })
}

// pickConnect returns the next order to move a player that this session lacks.
func (s *ProxySession) pickConnect() *agentv1alpha1.ConnectOrder {
	for _, known := range s.proxy.connects {
		if known.sentOn != s.link {
			known.sentOn = s.link
			return known.order
		}
	}
	return nil
}

func (p *proxy) carriedOut(result *agentv1alpha1.ConnectResult) {
	for _, known := range p.connects {
		if known.order.GetId() != result.GetId() {
			continue
		}
		select {
		case known.result <- result:
		default: // It has one already.
		}
	}
}
