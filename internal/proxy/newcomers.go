// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/mcproto"
	"github.com/spawnery/spawnery-operator/internal/proxy/login"
	"github.com/spawnery/spawnery-operator/internal/proxy/messages"
	"github.com/spawnery/spawnery-operator/internal/proxy/session"
)

const (
	// newcomerWithin is how long a newcomer waits for the manager's word, which
	// takes 9 s where somebody has to show that they are alive.
	newcomerWithin = 11 * time.Second
	// newcomerAgain is when one without an answer is told of again: a session
	// that is renewed may lose what was sent on it last.
	newcomerAgain = time.Second
	// makeWayWithin bounds how long somebody who is in the way has: to show that
	// they are alive, and to be gone.
	makeWayWithin = 8 * time.Second
)

// precedence is what a player has proven about who they are: by their login, or
// because a proxy of this network sent them, who is whoever is still there.
func precedence(player *session.Player, mode login.Mode) agentv1alpha1.Precedence {
	if mode == login.Online || player.Transferred() {
		return agentv1alpha1.Precedence_PRECEDENCE_NEWEST_WINS
	}
	return agentv1alpha1.Precedence_PRECEDENCE_OLDER_STAYS
}

// newcomers are the players of this proxy of whom it is asked whether other
// proxies have them.
type newcomers struct {
	mu sync.Mutex
	// say tells the manager; nil while none is there that knows of newcomers.
	say func(*agentv1alpha1.ProxyMessage)
	// lost is closed when that manager has gone.
	lost chan struct{}
	open map[string]newcomer
}

type newcomer struct {
	player   *session.Player
	answered chan *agentv1alpha1.NewcomerAnswer // with room for one
}

// welcomed notes what the manager knows.
func (n *newcomers) welcomed(welcome *agentv1alpha1.Welcome, say func(*agentv1alpha1.ProxyMessage)) {
	if !slices.Contains(welcome.GetCapabilities(), agentv1alpha1.CapabilityNewcomers) {
		n.left()
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.say = say
	if n.lost == nil {
		n.lost = make(chan struct{})
	}
}

// left lets everybody in who waits for a manager that has gone: without one the
// rule holds for each proxy alone.
func (n *newcomers) left() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.lost != nil {
		close(n.lost)
	}
	n.say, n.lost = nil, nil
}

// begin tells the manager of a newcomer; a nil function means that there is none.
func (n *newcomers) begin(player *session.Player, said *agentv1alpha1.Newcomer) (newcomer, func(), <-chan struct{}) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.say == nil {
		return newcomer{}, nil, nil
	}
	opened := newcomer{player: player, answered: make(chan *agentv1alpha1.NewcomerAnswer, 1)}
	if n.open == nil {
		n.open = map[string]newcomer{}
	}
	n.open[said.GetId()] = opened
	say := n.say
	return opened, func() {
		say(&agentv1alpha1.ProxyMessage{Message: &agentv1alpha1.ProxyMessage_Newcomer{Newcomer: said}})
	}, n.lost
}

func (n *newcomers) end(id string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.open, id)
}

// answered takes in the manager's word. A newcomer who may come in is one of the
// proxy's players before the next order arrives, which may be to make way.
func (p *Proxy) answered(answer *agentv1alpha1.NewcomerAnswer) {
	p.newcomers.mu.Lock()
	defer p.newcomers.mu.Unlock()
	waiting, open := p.newcomers.open[answer.GetId()]
	if !open {
		return
	}
	if answer.GetWay() == agentv1alpha1.Way_WAY_FREE {
		p.roster.letIn(waiting.player)
	}
	select {
	case waiting.answered <- answer:
	default: // It has one already.
	}
}

// letIn makes a player who is on the roster one of this proxy's, once nobody on
// any other is in their way. A text is why they may not come in.
func (p *Proxy) letIn(ctx context.Context, player *session.Player, rule agentv1alpha1.Precedence) *mcproto.Text {
	who := player.Profile()
	said := &agentv1alpha1.Newcomer{
		Id: uuid.NewString(), Player: &agentv1alpha1.Player{Uuid: who.ID[:], Name: who.Name}, Precedence: rule,
	}
	waiting, tell, lost := p.newcomers.begin(player, said)
	if tell == nil {
		p.roster.letIn(player)
		return nil
	}
	defer p.newcomers.end(said.GetId())
	late, again := p.config.Clock.NewTimer(newcomerWithin), p.config.Clock.NewTicker(newcomerAgain)
	defer late.Stop()
	defer again.Stop()
	for tell(); ; {
		select {
		case answer := <-waiting.answered:
			return refusal(answer)
		case <-again.C():
			tell()
		case <-player.Dismissed():
			return new(messages.Text(messages.LoginElsewhere))
		case <-ctx.Done():
			return new(messages.Text(messages.LoginDuplicate, mcproto.Plain(who.Name)))
		case <-late.C():
			p.log.Info("the manager does not say whether another proxy has a player, who is let in", "player", who.Name)
			p.roster.letIn(player)
			return nil
		case <-lost:
			p.roster.letIn(player)
			return nil
		}
	}
}

// refusal is what a newcomer is told; nil when they may come in.
func refusal(answer *agentv1alpha1.NewcomerAnswer) *mcproto.Text {
	switch answer.GetWay() {
	case agentv1alpha1.Way_WAY_TAKEN:
		return new(messages.Text(messages.LoginDuplicate, mcproto.Plain(answer.GetName())))
	case agentv1alpha1.Way_WAY_OVERTAKEN:
		return new(messages.Text(messages.LoginElsewhere))
	case agentv1alpha1.Way_WAY_UNSPECIFIED, agentv1alpha1.Way_WAY_FREE, agentv1alpha1.Way_WAY_TRYING:
	}
	return nil
}

// makeWay answers whether somebody here is in the way of a newcomer of another
// proxy, and has them go where they must. Those who wait themselves are not
// anybody yet: the manager chooses among them.
func (p *Proxy) makeWay(ctx context.Context, order *agentv1alpha1.MakeWay, answer func(*agentv1alpha1.ProxyMessage)) {
	tell := func(way agentv1alpha1.Way, name string) {
		result := &agentv1alpha1.MakeWayResult{Id: order.GetId(), Way: way, Name: name}
		answer(&agentv1alpha1.ProxyMessage{Message: &agentv1alpha1.ProxyMessage_MakeWayResult{MakeWayResult: result}})
	}
	older := p.roster.as(order.GetPlayer())
	if older == nil {
		tell(agentv1alpha1.Way_WAY_FREE, "")
		return
	}
	tell(agentv1alpha1.Way_WAY_TRYING, "")
	go func() {
		ctx, cancel := context.WithTimeout(ctx, makeWayWithin)
		defer cancel()
		if !p.roster.makesWay(ctx, older, order.GetPrecedence()) {
			tell(agentv1alpha1.Way_WAY_TAKEN, older.Profile().Name)
			return
		}
		tell(agentv1alpha1.Way_WAY_FREE, "")
	}()
}
