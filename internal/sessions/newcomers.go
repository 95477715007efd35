// SPDX-License-Identifier: Apache-2.0

package sessions

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
)

const (
	// longestNewcomerID bounds what a proxy may choose as an id.
	longestNewcomerID = 64
	// wordWithin is how long a proxy has for its first word about somebody who
	// may be in a newcomer's way, wayWithin for the last one. Nobody waits longer
	// for a proxy that is dead. One that has just reported the player has
	// busyWithin: by keeping it busy nobody gets in under the name of another.
	wordWithin = time.Second
	busyWithin = 4 * time.Second
	wayWithin  = 9 * time.Second
	// newcomersKept is how long one is remembered, for a proxy that repeats what
	// a session lost.
	newcomersKept = 12 * time.Second
)

// newcomer is a player who wants in by one proxy, and whom others may have.
type newcomer struct {
	id         string
	player     *agentv1alpha1.Player
	precedence agentv1alpha1.Precedence
	by         *proxy
	at         time.Time
	// rivals are the proxies that have not said yet that their way is free.
	rivals []*rival
	// answer is nil while there are any.
	answer *agentv1alpha1.NewcomerAnswer
}

// rival is a proxy that is asked to make way.
type rival struct {
	proxy *proxy
	until time.Time
}

// newcomers are those of one proxy. A flood of them must not make any of this
// slower: it happens under the lock of everybody.
type newcomers struct {
	byID map[string]*newcomer
	// open are those without an answer, by id; openAs the same by who they are.
	open, openAs map[string]*newcomer
	// inOrder has all of them, and those who gave up, the oldest first.
	inOrder []*newcomer
}

// add remembers one, in whose place whoever was open as the same player has
// given up.
func (n *newcomers) add(next *newcomer) {
	if n.byID == nil {
		n.byID, n.open, n.openAs = map[string]*newcomer{}, map[string]*newcomer{}, map[string]*newcomer{}
	}
	for old := n.openLike(next.player); old != nil; old = n.openLike(next.player) {
		n.close(old)
		delete(n.byID, old.id)
	}
	n.byID[next.id], n.open[next.id] = next, next
	for _, key := range keysOf(next.player) {
		n.openAs[key] = next
	}
	n.inOrder = append(n.inOrder, next)
}

// openLike is one without an answer who is that player, or nil.
func (n *newcomers) openLike(player *agentv1alpha1.Player) *newcomer {
	for _, key := range keysOf(player) {
		if found := n.openAs[key]; found != nil {
			return found
		}
	}
	return nil
}

// close takes one who waits for no answer any more off those who do.
func (n *newcomers) close(done *newcomer) {
	delete(n.open, done.id)
	for _, key := range keysOf(done.player) {
		if n.openAs[key] == done {
			delete(n.openAs, key)
		}
	}
}

// forget drops those of long ago.
func (n *newcomers) forget(now time.Time) {
	for len(n.inOrder) > 0 && now.Sub(n.inOrder[0].at) >= newcomersKept {
		old := n.inOrder[0]
		n.close(old)
		if n.byID[old.id] == old {
			delete(n.byID, old.id)
		}
		n.inOrder[0], n.inOrder = nil, n.inOrder[1:]
	}
}

// keysOf are what tells players apart: by name without case, and by UUID, for
// servers let neither be there twice.
func keysOf(player *agentv1alpha1.Player) []string {
	keys := []string{"name " + strings.ToLower(player.GetName())}
	if id := player.GetUuid(); len(id) > 0 {
		keys = append(keys, "uuid "+string(id))
	}
	return keys
}

// saying is an order to a proxy that is sent once in a session.
type saying struct {
	order *agentv1alpha1.ProxyOrder
	at    time.Time
	// about is whom the proxy is to make way for; nil: nobody.
	about *newcomer
	said  bool // in some session
	void  bool // it is not to be said any more
}

// sayings are the orders of one proxy, the oldest first. Their order is kept: a
// proxy learns that a player of its own is let in before it is asked to make
// way for the next.
type sayings struct {
	list []*saying
	// forgotten is how many there were before the first of list.
	forgotten int
}

// forget drops those of long ago.
func (s *sayings) forget(now time.Time) {
	for len(s.list) > 0 && now.Sub(s.list[0].at) >= newcomersKept {
		s.list[0], s.list = nil, s.list[1:]
		s.forgotten++
	}
}

// askNoMore is for a proxy that is gone. When it is back nobody waits for its
// word, and whoever it was asked about may have come to it meanwhile.
func (s *sayings) askNoMore() {
	for _, known := range s.list {
		known.void = known.void || known.about != nil
	}
}

// say queues an order.
func (p *proxy) say(order *agentv1alpha1.ProxyOrder, about *newcomer, now time.Time) {
	p.sayings.forget(now)
	p.sayings.list = append(p.sayings.list, &saying{order: order, at: now, about: about})
	p.notify()
}

// pickSaying returns the next one that this session lacks. A question that was
// answered is not asked again: the player may be here by now, and would go.
func (s *ProxySession) pickSaying(now time.Time) *agentv1alpha1.ProxyOrder {
	of := &s.proxy.sayings
	of.forget(now)
	s.told = max(s.told, of.forgotten)
	for s.told-of.forgotten < len(of.list) {
		next := of.list[s.told-of.forgotten]
		s.told++
		if next.void || next.said && next.about != nil && next.about.answer != nil {
			continue
		}
		next.said = true
		return next.order
	}
	return nil
}

// came takes in a newcomer: answered at once where no other proxy can have them,
// else when the last of those has said so.
func (s *Store) came(by *proxy, said *agentv1alpha1.Newcomer, now time.Time) error {
	id := said.GetId()
	if id == "" || len(id) > longestNewcomerID {
		return fmt.Errorf("the id of a newcomer has %d bytes, and has to have 1 to %d", len(id), longestNewcomerID)
	}
	by.newcomers.forget(now)
	if known := by.newcomers.byID[id]; known != nil {
		if known.answer != nil {
			known.tell(now)
		}
		return nil
	}
	next := &newcomer{id: id, player: said.GetPlayer(), precedence: said.GetPrecedence(), by: by, at: now}
	by.newcomers.add(next)
	for other := range s.besides(by) {
		if taken := other.inTheWayOf(next, now); taken != "" {
			next.settle(agentv1alpha1.Way_WAY_TAKEN, taken, now)
			return nil
		}
	}
	for other := range s.besides(by) {
		if !slices.Contains(other.able, agentv1alpha1.CapabilityNewcomers) {
			continue
		}
		next.rivals = append(next.rivals, &rival{proxy: other, until: now.Add(other.firstWordWithin(next, now))})
		other.say(&agentv1alpha1.ProxyOrder{Order: &agentv1alpha1.ProxyOrder_MakeWay{MakeWay: &agentv1alpha1.MakeWay{
			Id: next.orderID(), Player: next.player, Precedence: next.precedence,
		}}}, next, now)
	}
	next.settleWhenFree(now)
	by.notify() // It is to look up when somebody has been silent for too long.
	return nil
}

// besides yields the other connected proxies of the same network.
func (s *Store) besides(by *proxy) func(func(*proxy) bool) {
	return func(yield func(*proxy) bool) {
		for _, known := range s.proxies {
			if known.beside(by) && !yield(known) {
				return
			}
		}
	}
}

// beside reports whether a proxy is another, connected one of the same network.
func (p *proxy) beside(by *proxy) bool {
	return p != by && p.connected() && p.pod.Network == by.pod.Network && p.pod.Pod.Namespace == by.pod.Pod.Namespace
}

// inTheWayOf is the name of who stays, as far as it is known without asking the
// proxy: another newcomer, or somebody on a proxy that cannot be asked. The
// newest of several newcomers overtakes the others where it may.
func (p *proxy) inTheWayOf(next *newcomer, now time.Time) string {
	newest := next.precedence == agentv1alpha1.Precedence_PRECEDENCE_NEWEST_WINS
	for other := p.newcomers.openLike(next.player); other != nil; other = p.newcomers.openLike(next.player) {
		if !newest {
			return other.player.GetName()
		}
		other.settle(agentv1alpha1.Way_WAY_OVERTAKEN, "", now)
	}
	if newest || slices.Contains(p.able, agentv1alpha1.CapabilityNewcomers) || freshness(p.sampledAt, now) != Fresh {
		return ""
	}
	for _, entry := range p.report.GetRoster() {
		if samePerson(entry.GetPlayer(), next.player) {
			return entry.GetPlayer().GetName()
		}
	}
	return ""
}

// firstWordWithin is how long the proxy has to say anything of a newcomer.
func (p *proxy) firstWordWithin(next *newcomer, now time.Time) time.Duration {
	if _, here := p.said.names[nameOf(next.player)]; here && freshness(p.sampledAt, now) == Fresh {
		return busyWithin
	}
	return wordWithin
}

// samePerson tells players by UUID and by name without case, for servers let
// neither be there twice.
func samePerson(a, b *agentv1alpha1.Player) bool {
	return len(a.GetUuid()) > 0 && bytes.Equal(a.GetUuid(), b.GetUuid()) || strings.EqualFold(a.GetName(), b.GetName())
}

// orderID is unique among the newcomers of all proxies.
func (n *newcomer) orderID() string { return string(n.by.pod.UID) + "/" + n.id }

// settleWhenFree answers once nobody is asked any more.
func (n *newcomer) settleWhenFree(now time.Time) {
	if n.answer == nil && len(n.rivals) == 0 {
		n.settle(agentv1alpha1.Way_WAY_FREE, "", now)
	}
}

// settle answers a newcomer.
func (n *newcomer) settle(way agentv1alpha1.Way, name string, now time.Time) {
	n.answer, n.rivals = &agentv1alpha1.NewcomerAnswer{Id: n.id, Way: way, Name: name}, nil
	n.by.newcomers.close(n)
	n.tell(now)
}

func (n *newcomer) tell(now time.Time) {
	n.by.say(&agentv1alpha1.ProxyOrder{Order: &agentv1alpha1.ProxyOrder_NewcomerAnswer{NewcomerAnswer: n.answer}}, nil, now)
}

// madeWay takes in what a proxy says of somebody who was in a newcomer's way.
func (s *Store) madeWay(from *proxy, said *agentv1alpha1.MakeWayResult, now time.Time) {
	pod, id, _ := strings.Cut(said.GetId(), "/")
	by := s.proxies[types.UID(pod)]
	if by == nil || !by.beside(from) {
		return
	}
	known := by.newcomers.open[id]
	if known == nil {
		return
	}
	switch said.GetWay() {
	case agentv1alpha1.Way_WAY_TRYING:
		for _, asked := range known.rivals {
			if asked.proxy == from {
				asked.until = known.at.Add(wayWithin)
			}
		}
		by.notify()
	case agentv1alpha1.Way_WAY_TAKEN:
		known.settle(agentv1alpha1.Way_WAY_TAKEN, said.GetName(), now)
	case agentv1alpha1.Way_WAY_UNSPECIFIED, agentv1alpha1.Way_WAY_FREE, agentv1alpha1.Way_WAY_OVERTAKEN:
		known.without(from, now)
	}
}

// without takes a proxy off those that are asked.
func (n *newcomer) without(gone *proxy, now time.Time) {
	n.rivals = slices.DeleteFunc(n.rivals, func(asked *rival) bool { return asked.proxy == gone })
	n.settleWhenFree(now)
}

// nobodyOn drops a proxy that is not connected any more: its players have lost
// their connections, or it lives on without a manager and nobody can ask it.
func (s *Store) nobodyOn(gone *proxy, now time.Time) {
	gone.sayings.askNoMore()
	for _, known := range s.proxies {
		for _, waiting := range known.newcomers.open {
			waiting.without(gone, now)
		}
	}
}

// giveUp drops the proxies that were silent for too long from what the newcomers
// of this one wait for, and returns when the next one is.
func (p *proxy) giveUp(now time.Time) time.Duration {
	wait := ResyncEvery
	for _, known := range p.newcomers.open {
		known.rivals = slices.DeleteFunc(known.rivals, func(asked *rival) bool { return !now.Before(asked.until) })
		known.settleWhenFree(now)
		for _, asked := range known.rivals {
			wait = min(wait, asked.until.Sub(now))
		}
	}
	return wait
}
