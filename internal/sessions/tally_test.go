// SPDX-License-Identifier: Apache-2.0

package sessions

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
)

// counted is what agent and proxy say, one time.
type counted struct {
	online, pending int32
	on, coming      int
}

func (c counted) roster() *agentv1alpha1.ProxyReport {
	report := &agentv1alpha1.ProxyReport{}
	for range c.on {
		report.Roster = append(report.Roster, on("lobby-a", ""))
	}
	for range c.coming {
		report.Roster = append(report.Roster, on("", "lobby-a"))
	}
	return report
}

func TestTheGameAndTheProxiesDisagreeWhenItLasts(t *testing.T) {
	const reports = int(LastsFor / ReportInterval)
	repeat := func(one counted, times int) []counted {
		var list []counted
		for range times {
			list = append(list, one)
		}
		return list
	}
	tests := map[string]struct {
		said []counted
		want Tally
	}{
		"they agree":             {repeat(counted{online: 3, on: 3}, reports+1), Tally{CountsAgree, 3, 3}},
		"the game counts more":   {repeat(counted{online: 5, on: 3}, reports+1), Tally{CountsDiffer, 5, 3}},
		"the proxies count more": {repeat(counted{online: 1, on: 4}, reports+1), Tally{CountsDiffer, 1, 4}},
		"it has not lasted yet":  {repeat(counted{online: 5, on: 3}, reports), Tally{}},
		"who has a seat and loads the world is no dispute":  {repeat(counted{online: 1, pending: 3, on: 4}, reports+1), Tally{CountsAgree, 1, 4}},
		"nor is who the game counts before the proxy":       {repeat(counted{online: 2, on: 1, coming: 1}, reports+1), Tally{CountsAgree, 2, 1}},
		"numbers that change do not end it":                 {append(repeat(counted{online: 5, on: 3}, reports-1), counted{online: 9, on: 1}, counted{online: 7, on: 6}), Tally{CountsDiffer, 7, 6}},
		"a moment of agreement begins it anew":              {append(repeat(counted{online: 5, on: 3}, reports-1), counted{online: 3, on: 3}, counted{online: 5, on: 3}), Tally{}},
		"who is ahead changing sides begins it anew":        {append(repeat(counted{online: 5, on: 3}, reports-1), counted{online: 3, on: 5}, counted{online: 5, on: 3}), Tally{}},
		"a moment of dispute does not end an agreement yet": {append(repeat(counted{online: 3, on: 3}, reports+1), counted{online: 4, on: 3}), Tally{}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			agent, proxy := f.OpenServer(serverPod("u"), &agentv1alpha1.Hello{}), f.OpenProxy(proxyPod("1"), &agentv1alpha1.Hello{})
			for i, one := range test.said {
				if i > 0 {
					f.clock.Step(ReportInterval)
				}
				f.report(agent, &agentv1alpha1.ServerReport{Online: one.online, SeatsPending: one.pending}, 0, 0)
				f.proxyReport(proxy, one.roster())
				f.sweep()
			}
			if got := f.Tally("u", []types.UID{"1"}); got != test.want {
				t.Errorf("tally = %+v, want %+v", got, test.want)
			}
		})
	}
}

func TestWhatIsNotHeardIsNoDisagreement(t *testing.T) {
	for name, silence := range map[string]func(*fixture) []types.UID{
		"there is no proxy":          func(*fixture) []types.UID { return nil },
		"a proxy never said a word":  func(*fixture) []types.UID { return []types.UID{"1", "2"} },
		"a proxy fell silent":        func(f *fixture) []types.UID { f.clock.Step(FreshFor + time.Second); return []types.UID{"1"} },
		"the agent lost its session": func(f *fixture) []types.UID { f.servers["u"].links = nil; return []types.UID{"1"} },
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			agent, proxy := f.OpenServer(serverPod("u"), &agentv1alpha1.Hello{}), f.OpenProxy(proxyPod("1"), &agentv1alpha1.Hello{})
			for range 8 {
				f.report(agent, &agentv1alpha1.ServerReport{Online: 2}, 0, 0)
				f.proxyReport(proxy, &agentv1alpha1.ProxyReport{})
				f.sweep()
				f.clock.Step(ReportInterval)
			}
			if got := f.Tally("u", []types.UID{"1"}); got.Agreement != CountsDiffer {
				t.Fatalf("tally = %+v before the silence", got)
			}
			if got := f.Tally("u", silence(f)); got != (Tally{}) {
				t.Errorf("tally = %+v", got)
			}
		})
	}
}

func TestAServerIsWokenOnceWhenItsCountsBeginToDisagree(t *testing.T) {
	f := newFixture(t)
	agent, proxy := f.OpenServer(serverPod("u"), &agentv1alpha1.Hello{}), f.OpenProxy(proxyPod("1"), &agentv1alpha1.Hello{})
	wakes := 0
	for i := range 20 {
		f.report(agent, &agentv1alpha1.ServerReport{Online: 2}, 0, 0)
		f.proxyReport(proxy, &agentv1alpha1.ProxyReport{})
		f.woken()
		f.sweep()
		if _, woken := f.woken()[Wake{Server, named("lobby-a")}]; woken && i > 0 {
			wakes++
		}
		f.clock.Step(ReportInterval)
	}
	if wakes != 1 {
		t.Errorf("woken %d times", wakes)
	}
}
