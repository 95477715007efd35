// SPDX-License-Identifier: Apache-2.0

package sessions

import (
	"testing"
	"time"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
)

func watching(name, server string) *agentv1alpha1.RosterEntry {
	return &agentv1alpha1.RosterEntry{Player: &agentv1alpha1.Player{Name: name}, Server: server, Watches: true}
}

func roster(entries ...*agentv1alpha1.RosterEntry) *agentv1alpha1.ProxyReport {
	return &agentv1alpha1.ProxyReport{Roster: entries}
}

func watchers(names ...string) *agentv1alpha1.ServerOrder {
	list := &agentv1alpha1.Watchers{}
	for _, name := range names {
		list.Players = append(list.Players, &agentv1alpha1.Player{Name: name})
	}
	return &agentv1alpha1.ServerOrder{Order: &agentv1alpha1.ServerOrder_Watchers{Watchers: list}}
}

var knowsWatchers = &agentv1alpha1.Hello{Capabilities: []string{agentv1alpha1.CapabilityWatchers}}

// greeted opens a session of lobby-a's agent and takes the welcome.
func (f *fixture) greeted(hello *agentv1alpha1.Hello) *ServerSession {
	f.Helper()
	session := f.OpenServer(serverPod("u"), hello)
	f.wantOrder(session, &agentv1alpha1.ServerOrder{Order: &agentv1alpha1.ServerOrder_Welcome{Welcome: f.welcome()}})
	return session
}

func TestAnAgentIsToldWhoWatchesByTheWordOfAllProxies(t *testing.T) {
	f := newFixture(t)
	session := f.greeted(knowsWatchers)
	f.wantIdle(idle(session.pick))
	one, two := f.OpenProxy(proxyPod("1"), &agentv1alpha1.Hello{}), f.OpenProxy(proxyPod("2"), &agentv1alpha1.Hello{})
	f.proxyReport(one, roster(watching("Zoe", "lobby-a"), watching("Eve", "game-a"), on("lobby-a", "")))
	f.wantOrder(session, watchers("Zoe"))
	f.proxyReport(two, roster(watching("Ada", "lobby-a")))
	f.wantOrder(session, watchers("Ada", "Zoe"))
	f.wantIdle(idle(session.pick))
	f.proxyReport(one, roster())
	f.wantOrder(session, watchers("Ada"))
	f.Forget("2")
	f.wantOrder(session, watchers())
}

func TestWhoWatchesIsRestatedInEachSessionAndFromTimeToTime(t *testing.T) {
	f := newFixture(t)
	proxy := f.OpenProxy(proxyPod("1"), &agentv1alpha1.Hello{})
	f.proxyReport(proxy, roster(watching("Ada", "lobby-a")))
	first := f.greeted(knowsWatchers)
	f.wantOrder(first, watchers("Ada"))
	f.clock.Step(ResyncEvery - time.Second)
	f.wantIdle(idle(first.pick))
	f.clock.Step(time.Second)
	f.wantOrder(first, &agentv1alpha1.ServerOrder{Order: &agentv1alpha1.ServerOrder_Welcome{Welcome: f.welcome()}})
	f.wantOrder(first, watchers("Ada"))
	f.wantOrder(f.greeted(knowsWatchers), watchers("Ada"))
}

func TestAnAgentThatDidNotAnnounceItIsToldNothingOfWatchers(t *testing.T) {
	f := newFixture(t)
	session := f.greeted(&agentv1alpha1.Hello{})
	f.proxyReport(f.OpenProxy(proxyPod("1"), &agentv1alpha1.Hello{}), roster(watching("Ada", "lobby-a")))
	f.wantIdle(idle(session.pick))
}

func TestAProxyOfAnotherNetworkSaysNothingOfWatchers(t *testing.T) {
	f := newFixture(t)
	session := f.greeted(knowsWatchers)
	stranger := proxyPod("1")
	stranger.Network = "staging"
	f.proxyReport(f.OpenProxy(stranger, &agentv1alpha1.Hello{}), roster(watching("Ada", "lobby-a")))
	f.wantIdle(idle(session.pick))
}
