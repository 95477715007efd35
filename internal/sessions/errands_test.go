// SPDX-License-Identifier: Apache-2.0

package sessions

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
)

var runsErrands = &agentv1alpha1.Hello{Version: "2", Capabilities: []string{agentv1alpha1.CapabilityErrands}}

// errands are two proxies: that of crowd, with Ada on lobby-a and Ben on duels-a,
// and another one with Cleo on lobby-a, who asks.
func (f *fixture) errands(hello *agentv1alpha1.Hello) (*ProxySession, *ProxySession) {
	f.Helper()
	holder, asker := f.crowd(hello), f.OpenProxy(proxyPod("q"), runsErrands)
	f.proxyReport(asker, &agentv1alpha1.ProxyReport{Roster: []*agentv1alpha1.RosterEntry{
		{Player: &agentv1alpha1.Player{Name: "Cleo"}, Server: "lobby-a"},
	}})
	return holder, asker
}

func (f *fixture) asks(by *ProxySession, errand *agentv1alpha1.Errand) {
	f.Helper()
	if err := by.Receive(&agentv1alpha1.ProxyMessage{Message: &agentv1alpha1.ProxyMessage_Errand{Errand: errand}}); err != nil {
		f.Fatal(err)
	}
}

func (f *fixture) errandOrder(session *ProxySession) *agentv1alpha1.Errand {
	f.Helper()
	for {
		if errand := f.proxyOrder(session).GetErrand(); errand != nil {
			return errand
		}
	}
}

func (f *fixture) errandResult(session *ProxySession) *agentv1alpha1.ErrandResult {
	f.Helper()
	for {
		if result := f.proxyOrder(session).GetErrandResult(); result != nil {
			return result
		}
	}
}

func find(id, name string) *agentv1alpha1.Errand {
	return &agentv1alpha1.Errand{Id: id, Errand: &agentv1alpha1.Errand_FindPlayer{
		FindPlayer: &agentv1alpha1.FindPlayer{Player: &agentv1alpha1.Player{Name: name}},
	}}
}

func tellAll(id string) *agentv1alpha1.Errand {
	return &agentv1alpha1.Errand{Id: id, Errand: &agentv1alpha1.Errand_TellPlayers{TellPlayers: &agentv1alpha1.TellPlayers{Text: `"hello"`}}}
}

func payloadFor(servers ...string) *agentv1alpha1.Errand {
	return &agentv1alpha1.Errand{Id: "1", Errand: &agentv1alpha1.Errand_PluginPayload{
		PluginPayload: &agentv1alpha1.PluginPayload{Servers: servers, Payload: []byte("x")},
	}}
}

func TestAnErrandGoesToTheHolderAndItsResultBack(t *testing.T) {
	f := newFixture(t)
	holder, asker := f.errands(runsErrands)
	f.asks(asker, find("7", "ADA"))
	given := f.errandOrder(holder)
	if given.GetFindPlayer().GetPlayer().GetName() != "ADA" || !strings.HasSuffix(given.GetId(), "/7") {
		t.Errorf("given is %v", given)
	}
	for _, id := range []string{"7", "p/7", given.GetId(), given.GetId()} {
		result := &agentv1alpha1.ErrandResult{Id: id, Verdict: agentv1alpha1.Verdict_VERDICT_DONE, Address: "203.0.113.7:1"}
		if err := holder.Receive(&agentv1alpha1.ProxyMessage{Message: &agentv1alpha1.ProxyMessage_ErrandResult{ErrandResult: result}}); err != nil {
			t.Fatal(err)
		}
	}
	if got := f.errandResult(asker); got.GetId() != "7" || got.GetVerdict() != agentv1alpha1.Verdict_VERDICT_DONE || got.GetAddress() != "203.0.113.7:1" {
		t.Errorf("the result is %v", got)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if p, q := f.proxies["p"].errands, f.proxies["q"].errands; len(p.open)+len(p.given)+len(q.results) != 0 {
		t.Errorf("left are %v, %v and %v", p.open, p.given, q.results)
	}
}

func TestWhoGetsAnErrandAndWhatIsRefused(t *testing.T) {
	const done, missing, refused = agentv1alpha1.Verdict_VERDICT_DONE, agentv1alpha1.Verdict_VERDICT_NOT_FOUND, agentv1alpha1.Verdict_VERDICT_REFUSED
	for name, tt := range map[string]struct {
		errand *agentv1alpha1.Errand
		hello  *agentv1alpha1.Hello
		want   agentv1alpha1.Verdict
		says   string
	}{
		"nobody":                     {find("1", "Eve"), runsErrands, missing, `no proxy has a player "Eve"`},
		"a holder that is too old":   {find("1", "Ada"), movesPlayers, refused, "(version 2) takes no errands"},
		"everybody":                  {tellAll("1"), runsErrands, done, ""},
		"everybody, an old proxy":    {tellAll("1"), movesPlayers, missing, "no other proxy"},
		"a server with players":      {payloadFor("duels-a"), runsErrands, done, ""},
		"a server with none":         {payloadFor("skywars-a"), runsErrands, missing, "no other proxy has players on skywars-a"},
		"servers of an old proxy":    {payloadFor("duels-a", "lobby-a"), movesPlayers, missing, "no other proxy has players on duels-a, lobby-a"},
		"what this manager does not": {&agentv1alpha1.Errand{Id: "1"}, runsErrands, agentv1alpha1.Verdict_VERDICT_MALFORMED, "upgrade the operator"},
		"what is too large": {&agentv1alpha1.Errand{Id: "1", Errand: &agentv1alpha1.Errand_TellPlayers{
			TellPlayers: &agentv1alpha1.TellPlayers{Text: strings.Repeat("x", largestErrand)},
		}}, runsErrands, refused, "at most 524288 are passed on"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			_, asker := f.errands(tt.hello)
			f.asks(asker, tt.errand)
			if got := f.errandResult(asker); got.GetVerdict() != tt.want || !strings.Contains(got.GetDetail(), tt.says) {
				t.Errorf("the result is %v, want %v and %q", got, tt.want, tt.says)
			}
		})
	}
}

func TestTheOtherProxiesPlayersAreListedWhileFresh(t *testing.T) {
	f := newFixture(t)
	_, asker := f.errands(runsErrands)
	list := func(id string) []string {
		f.asks(asker, &agentv1alpha1.Errand{Id: id, Errand: &agentv1alpha1.Errand_ListPlayers{ListPlayers: &agentv1alpha1.ListPlayers{}}})
		var names []string
		for _, entry := range f.errandResult(asker).GetRoster() {
			names = append(names, entry.GetPlayer().GetName()+" on "+entry.GetServer())
		}
		return names
	}
	if got := list("1"); !slices.Equal(got, []string{"Ada on lobby-a", "Ben on duels-a"}) {
		t.Errorf("got %q", got)
	}
	f.clock.Step(FreshFor + time.Second)
	if got := list("2"); len(got) > 0 {
		t.Errorf("got %q of a proxy that fell silent", got)
	}
}

func TestAPayloadReachesEachServerOnceAndNobodyWhoAsks(t *testing.T) {
	f := newFixture(t)
	holder, asker := f.errands(runsErrands)
	third := f.OpenProxy(proxyPod("r"), runsErrands)
	f.proxyReport(third, &agentv1alpha1.ProxyReport{Roster: []*agentv1alpha1.RosterEntry{
		{Player: &agentv1alpha1.Player{Name: "Dora"}, Server: "duels-a"},
	}})
	f.asks(asker, payloadFor("duels-a", "lobby-a", "skywars-a"))
	f.mu.Lock()
	defer f.mu.Unlock()
	reached := map[string]int{}
	for _, session := range []*ProxySession{holder, asker, third} {
		for _, given := range session.proxy.errands.given {
			for _, server := range given.GetPluginPayload().GetServers() {
				reached[server]++
			}
		}
	}
	if want := map[string]int{"duels-a": 1, "lobby-a": 1}; fmt.Sprint(reached) != fmt.Sprint(want) || len(asker.proxy.errands.given) > 0 {
		t.Errorf("reached %v", reached)
	}
}

func TestErrandsAreBoundedAndNotKeptForLater(t *testing.T) {
	f := newFixture(t)
	holder, asker := f.errands(runsErrands)
	for i := range errandBurst + 50 {
		f.asks(asker, tellAll(strconv.Itoa(i)))
	}
	tooOften := 0
	for range errandBurst + 50 {
		if f.errandResult(asker).GetVerdict() == agentv1alpha1.Verdict_VERDICT_TOO_OFTEN {
			tooOften++
		}
	}
	if tooOften != 50 {
		t.Errorf("%d were too many", tooOften)
	}
	for _, id := range []string{"", strings.Repeat("x", longestErrandID+1)} {
		errand := &agentv1alpha1.ProxyMessage{Message: &agentv1alpha1.ProxyMessage_Errand{Errand: tellAll(id)}}
		if err := asker.Receive(errand); err == nil || !strings.Contains(err.Error(), "has to have 1 to 128") {
			t.Errorf("an id of %d bytes: %v", len(id), err)
		}
	}
	holder.Close()
	f.mu.Lock()
	left := len(f.proxies["p"].errands.given)
	f.mu.Unlock()
	if left > 0 {
		t.Errorf("%d errands wait for a proxy that is gone", left)
	}
}
