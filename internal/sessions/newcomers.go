// SPDX-License-Identifier: Apache-2.0

package sessions

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"time"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
)

const (
	// longestNewcomerID bounds what a proxy may choose as an id.
	longestNewcomerID = 64
	// wordWithin is how long a proxy has for its first word about somebody who
	// may be in a newcomer's way, wayWithin for the last one. Nobody waits longer
	// for a proxy that is dead.
	wordWithin = time.Second
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

// saying is an order to a proxy that is sent once in a session.
type saying struct {
	order  *agentv1alpha1.ProxyOrder
	at     time.Time
	sentOn *link
}

// say queues an order. Their order is kept: a proxy learns that a player
// of its own is let in before it is asked to make way for the next.
func (p *proxy) say(order *agentv1alpha1.ProxyOrder, now time.Time) {
	p.sayings = slices.DeleteFunc(p.sayings, func(old *saying) bool { return now.Sub(old.at) >= newcomersKept })
	p.sayings = append(p.sayings, &saying{order: order, at: now})
	p.notify()
}

// pickSaying returns the next one that this session lacks.
func (s *ProxySession) pickSaying() *agentv1alpha1.ProxyOrder {
	for _, known := range s.proxy.sayings {
		if known.sentOn != s.link {
			known.sentOn = s.link
			return known.order
		}
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
	by.newcomers = slices.DeleteFunc(by.newcomers, func(old *newcomer) bool {
		// Of two on one proxy the older has given up.
		return now.Sub(old.at) >= newcomersKept || old.id != id && old.answer == nil && old.is(said.GetPlayer())
	})
	if at := slices.IndexFunc(by.newcomers, func(known *newcomer) bool { return known.id == id }); at >= 0 {
		if known := by.newcomers[at]; known.answer != nil {
			known.tell(now)
		}
		return nil
	}
	next := &newcomer{id: id, player: said.GetPlayer(), precedence: said.GetPrecedence(), by: by, at: now}
	by.newcomers = append(by.newcomers, next)
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
		next.rivals = append(next.rivals, &rival{proxy: other, until: now.Add(wordWithin)})
		other.say(&agentv1alpha1.ProxyOrder{Order: &agentv1alpha1.ProxyOrder_MakeWay{MakeWay: &agentv1alpha1.MakeWay{
			Id: next.orderID(), Player: next.player, Precedence: next.precedence,
		}}}, now)
	}
	next.settleWhenFree(now)
	by.notify() // It is to look up when somebody has been silent for too long.
	return nil
}

// besides yields the other connected proxies of the same network.
func (s *Store) besides(by *proxy) func(func(*proxy) bool) {
	return func(yield func(*proxy) bool) {
		for _, known := range s.proxies {
			if known != by && known.connected() && known.pod.Network == by.pod.Network &&
				known.pod.Pod.Namespace == by.pod.Pod.Namespace && !yield(known) {
				return
			}
		}
	}
}

// inTheWayOf is the name of who stays, as far as it is known without asking the
// proxy: another newcomer, or somebody on a proxy that cannot be asked. The
// newest of several newcomers overtakes the others where it may.
func (p *proxy) inTheWayOf(next *newcomer, now time.Time) string {
	newest := next.precedence == agentv1alpha1.Precedence_PRECEDENCE_NEWEST_WINS
	for _, other := range p.newcomers {
		switch {
		case other.answer != nil || !other.is(next.player):
		case newest:
			other.settle(agentv1alpha1.Way_WAY_OVERTAKEN, "", now)
		default:
			return other.player.GetName()
		}
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

// is reports whether this is that player.
func (n *newcomer) is(player *agentv1alpha1.Player) bool { return samePerson(n.player, player) }

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
	n.tell(now)
}

func (n *newcomer) tell(now time.Time) {
	n.by.say(&agentv1alpha1.ProxyOrder{Order: &agentv1alpha1.ProxyOrder_NewcomerAnswer{NewcomerAnswer: n.answer}}, now)
}

// madeWay takes in what a proxy says of somebody who was in a newcomer's way.
func (s *Store) madeWay(from *proxy, said *agentv1alpha1.MakeWayResult, now time.Time) {
	for other := range s.besides(from) {
		for _, known := range other.newcomers {
			if known.answer != nil || known.orderID() != said.GetId() {
				continue
			}
			switch said.GetWay() {
			case agentv1alpha1.Way_WAY_TRYING:
				for _, asked := range known.rivals {
					if asked.proxy == from {
						asked.until = known.at.Add(wayWithin)
					}
				}
				other.notify()
			case agentv1alpha1.Way_WAY_TAKEN:
				known.settle(agentv1alpha1.Way_WAY_TAKEN, said.GetName(), now)
			case agentv1alpha1.Way_WAY_UNSPECIFIED, agentv1alpha1.Way_WAY_FREE, agentv1alpha1.Way_WAY_OVERTAKEN:
				known.without(from, now)
			}
		}
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
	for _, known := range s.proxies {
		for _, waiting := range known.newcomers {
			waiting.without(gone, now)
		}
	}
}

// giveUp drops the proxies that were silent for too long from what the newcomers
// of this one wait for, and returns when the next one is.
func (p *proxy) giveUp(now time.Time) time.Duration {
	wait := ResyncEvery
	for _, known := range p.newcomers {
		known.rivals = slices.DeleteFunc(known.rivals, func(asked *rival) bool { return !now.Before(asked.until) })
		known.settleWhenFree(now)
		for _, asked := range known.rivals {
			wait = min(wait, asked.until.Sub(now))
		}
	}
	return wait
}
