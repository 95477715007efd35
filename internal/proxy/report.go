// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"

	"google.golang.org/protobuf/types/known/timestamppb"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/channelclient"
	"github.com/spawnery/spawnery-operator/internal/proxy/directory"
)

// problems are the servers that this proxy does not join players to.
type problems struct {
	mu    sync.Mutex
	state map[string]agentv1alpha1.ForwardingState
}

// judge takes in what a login met, and reports whether that is news.
func (p *problems) judge(server string, state agentv1alpha1.ForwardingState) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	before := p.state[server]
	if state == agentv1alpha1.ForwardingState_FORWARDING_STATE_ACTIVE {
		delete(p.state, server)
		return before != agentv1alpha1.ForwardingState_FORWARDING_STATE_UNSPECIFIED
	}
	if p.state == nil {
		p.state = map[string]agentv1alpha1.ForwardingState{}
	}
	p.state[server] = state
	return before != state
}

// list names the problems of servers that still exist.
func (p *problems) list(view *directory.View) []*agentv1alpha1.ForwardingProblem {
	p.mu.Lock()
	defer p.mu.Unlock()
	maps.DeleteFunc(p.state, func(server string, _ agentv1alpha1.ForwardingState) bool { return view.Server(server) == nil })
	var list []*agentv1alpha1.ForwardingProblem
	for _, server := range slices.Sorted(maps.Keys(p.state)) {
		list = append(list, &agentv1alpha1.ForwardingProblem{Server: server, State: p.state[server]})
	}
	return list
}

// channel is how the manager is reached, and what it is told of this program.
func (p *Proxy) channel() channelclient.Config {
	channel := p.config.Channel
	channel.Capabilities = capabilities
	return channel
}

// peer is this proxy's end of the channel.
func (p *Proxy) peer() channelclient.ProxyPeer {
	return channelclient.ProxyPeer{
		Report:  p.report,
		Changed: p.changed,
		OnOrder: func(ctx context.Context, order *agentv1alpha1.ProxyOrder, answer func(*agentv1alpha1.ProxyMessage)) {
			if p.orderAboutPlayers(ctx, order, answer) {
				return
			}
			if welcome := order.GetWelcome(); welcome != nil {
				p.staff.greeted(welcome, answer)
			}
			if answer := order.GetCloudAnswer(); answer != nil {
				p.staff.answered(answer)
				return
			}
			if settings := order.GetSettings(); settings != nil {
				p.store.SetSettings(settings)
			}
			if d := order.GetDirectory(); d != nil {
				p.store.Apply(d)
			}
			// The manager waits to hear that this proxy holds the directory.
			p.moved()
		},
		OnConnection: func(c channelclient.Connection) {
			p.connected.Store(c == channelclient.Connected)
			if c == channelclient.Disconnected {
				p.newcomers.left()
				p.errands.lost()
			}
		},
	}
}

// orderAboutPlayers carries out what changes nothing that is reported of this
// proxy itself; false: it is another order.
func (p *Proxy) orderAboutPlayers(ctx context.Context, order *agentv1alpha1.ProxyOrder, answer func(*agentv1alpha1.ProxyMessage)) bool {
	switch order := order.GetOrder().(type) {
	case *agentv1alpha1.ProxyOrder_Connect:
		p.connects.carryOut(ctx, p, order.Connect, answer)
	case *agentv1alpha1.ProxyOrder_NewcomerAnswer:
		p.answered(order.NewcomerAnswer)
	case *agentv1alpha1.ProxyOrder_MakeWay:
		p.makeWay(ctx, order.MakeWay, answer)
	case *agentv1alpha1.ProxyOrder_Errand:
		p.runErrand(ctx, order.Errand, answer)
	case *agentv1alpha1.ProxyOrder_ErrandResult:
		p.errands.answered(order.ErrandResult)
	case *agentv1alpha1.ProxyOrder_Welcome:
		p.newcomers.welcomed(order.Welcome, answer)
		p.errands.welcomed(order.Welcome, answer)
		return false
	default:
		return false
	}
	return true
}

// moved has a report sent soon.
func (p *Proxy) moved() {
	select {
	case p.changed <- struct{}{}:
	default:
	}
}

// report is the whole state of this proxy.
func (p *Proxy) report() *agentv1alpha1.ProxyMessage {
	view := p.store.View()
	census := newCensus(view)
	for _, player := range p.roster.all() {
		census.count(player.Profile(), player.Address(), player.Standing())
	}
	report := census.report
	report.SampledAt = timestamppb.New(p.config.Clock.Now())
	report.Waiting, report.Moves = census.waiting(), census.moves()
	report.ForwardingProblems = p.problems.list(view)
	report.LoginOrigins = p.origins.report()
	report.DirectoryRevision = p.store.Revision()
	report.Withdrawn = p.withdrawn()
	report.ConfigProblems = p.given.Content().Problems
	slices.SortFunc(report.Roster, func(a, b *agentv1alpha1.RosterEntry) int {
		return cmp.Compare(a.GetPlayer().GetName(), b.GetPlayer().GetName())
	})
	return &agentv1alpha1.ProxyMessage{Message: &agentv1alpha1.ProxyMessage_Report{Report: report}}
}
