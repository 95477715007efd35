// SPDX-License-Identifier: Apache-2.0

package sessions

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
)

// movesAtOnce is how many players of one ask are on their way at the same time.
const movesAtOnce = 32

// peersOf are the connected proxies of the network of one.
func (s *Store) peersOf(pod ProxyPod) iter.Seq[*proxy] {
	return func(yield func(*proxy) bool) {
		for known := range s.within(pod.Pod.Namespace) {
			if known.connected() && known.pod.Network == pod.Network && !yield(known) {
				return
			}
		}
	}
}

// aMove is an order to a proxy that holds the player.
type aMove struct {
	by    *proxy
	given *connect
}

// MovePlayers has proxies take players elsewhere, and waits until they have said
// what became of that. It returns also who was moved.
func (s *Store) MovePlayers(ctx context.Context, asked Asked) (*agentv1alpha1.CloudAnswer, []*agentv1alpha1.Player) {
	moves, answer := s.planMoves(asked)
	if answer != nil {
		return answer, nil
	}
	answer = &agentv1alpha1.CloudAnswer{Verdict: agentv1alpha1.Verdict_VERDICT_DONE}
	var (
		mu    sync.Mutex
		moved []*agentv1alpha1.Player
		going sync.WaitGroup
		slots = make(chan struct{}, movesAtOnce)
	)
	for _, one := range moves {
		slots <- struct{}{} // Everybody on the way is back when ctx ends.
		going.Go(func() {
			defer func() { <-slots }()
			result := s.carryOut(ctx, one)
			mu.Lock()
			defer mu.Unlock()
			if result.GetVerdict() == agentv1alpha1.Verdict_VERDICT_DONE {
				moved = append(moved, one.given.order.GetPlayer())
				return
			}
			answer.Stayed++
			answer.Detail = result.GetDetail()
			if len(moves) == 1 {
				answer.Verdict = result.GetVerdict()
			}
		})
	}
	going.Wait()
	answer.Moved = int32(len(moved))
	return answer, moved
}

// carryOut gives one order and waits for its result.
func (s *Store) carryOut(ctx context.Context, one aMove) *agentv1alpha1.ConnectResult {
	late := &agentv1alpha1.ConnectResult{
		Verdict: agentv1alpha1.Verdict_VERDICT_FAILED,
		Detail:  fmt.Sprintf("proxy %s has not said in time that the player was moved, and may move them yet", one.by.pod.Pod.Name),
	}
	if ctx.Err() != nil {
		late.Detail = "there was no time to move everybody"
		return late
	}
	s.mu.Lock()
	one.by.connects = append(one.by.connects, one.given)
	one.by.notify()
	s.mu.Unlock()
	defer s.forgetConnect(one.by, one.given)
	select {
	case result := <-one.given.result:
		return result
	case <-ctx.Done():
		return late
	}
}

// planMoves finds whom an ask is about, or says why it is about nobody.
func (s *Store) planMoves(asked Asked) ([]aMove, *agentv1alpha1.CloudAnswer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	wish := asked.Cloud.GetMovePlayers()
	listed := s.directories[types.NamespacedName{Namespace: asked.Proxy.Pod.Namespace, Name: asked.Proxy.Network}]
	if !listed.has(wish.GetTo()) {
		return nil, notMoved(agentv1alpha1.Verdict_VERDICT_NOT_FOUND, fmt.Sprintf("there is no server and no group %q in this network", wish.GetTo()))
	}
	var moves []aMove
	var there bool
	var unable *proxy
	for known := range s.peersOf(asked.Proxy) {
		for _, entry := range known.report.GetRoster() {
			switch {
			case !concerns(wish, entry):
			case listed.within(entry.GetServer(), wish.GetTo()):
				there = true
			case entry.GetServer() == "":
			case !slices.Contains(known.able, agentv1alpha1.CapabilityConnect):
				unable = known
			default:
				moves = append(moves, aMove{known, &connect{
					order: &agentv1alpha1.ConnectOrder{
						Id:     fmt.Sprintf("%s/%s/%d", asked.Proxy.UID, asked.Cloud.GetId(), len(moves)),
						Player: entry.GetPlayer(), From: entry.GetServer(), To: wish.GetTo(),
					},
					result: make(chan *agentv1alpha1.ConnectResult, 1),
				}})
			}
		}
	}
	switch {
	case len(moves) > 0:
		return moves, nil
	case unable != nil:
		return nil, notMoved(agentv1alpha1.Verdict_VERDICT_REFUSED, unable.movesNobody())
	case there:
		return nil, notMoved(agentv1alpha1.Verdict_VERDICT_DONE, "whoever this is about is on "+wish.GetTo()+" already")
	case wish.GetPlayer() != nil:
		return nil, notMoved(agentv1alpha1.Verdict_VERDICT_NOT_FOUND, fmt.Sprintf("no proxy has a player %s on a server", called(wish.GetPlayer())))
	}
	return nil, notMoved(agentv1alpha1.Verdict_VERDICT_NOT_FOUND, "nobody is there to be moved")
}

func notMoved(verdict agentv1alpha1.Verdict, why string) *agentv1alpha1.CloudAnswer {
	return &agentv1alpha1.CloudAnswer{Verdict: verdict, Detail: why}
}

// concerns reports whether an ask is about a player.
func concerns(wish *agentv1alpha1.MovePlayers, entry *agentv1alpha1.RosterEntry) bool {
	switch who := wish.GetWho().(type) {
	case *agentv1alpha1.MovePlayers_Player:
		return same(entry.GetPlayer(), who.Player)
	case *agentv1alpha1.MovePlayers_Server:
		return entry.GetServer() == who.Server
	case *agentv1alpha1.MovePlayers_Everybody:
		return entry.GetServer() != ""
	}
	return false
}
