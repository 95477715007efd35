// SPDX-License-Identifier: Apache-2.0

package sessions

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
)

// askCloud has a player on the proxy want something.
func (f *fixture) askCloud(session *ProxySession, ask *agentv1alpha1.CloudAsk) {
	f.Helper()
	ask.By = &agentv1alpha1.Player{Name: "Ada"}
	if err := session.Receive(&agentv1alpha1.ProxyMessage{Message: &agentv1alpha1.ProxyMessage_CloudAsk{CloudAsk: ask}}); err != nil {
		f.Fatal(err)
	}
}

func (f *fixture) cloudAnswer(session *ProxySession) *agentv1alpha1.CloudAnswer {
	f.Helper()
	for {
		if answer := f.proxyOrder(session).GetCloudAnswer(); answer != nil {
			return answer
		}
	}
}

func stopBoosts(id, group string) *agentv1alpha1.CloudAsk {
	return &agentv1alpha1.CloudAsk{Id: id, Ask: &agentv1alpha1.CloudAsk_StopBoosts{StopBoosts: &agentv1alpha1.GroupName{Group: group}}}
}

func cloudDone(detail string) *agentv1alpha1.CloudAnswer {
	return &agentv1alpha1.CloudAnswer{Verdict: agentv1alpha1.Verdict_VERDICT_DONE, Detail: detail}
}

func TestWhatAPlayerWantsIsCarriedOutOnceAndAnsweredAgain(t *testing.T) {
	f := newFixture(t)
	session := f.OpenProxy(proxyPod("p"), &agentv1alpha1.Hello{})
	f.askCloud(session, stopBoosts("a", "lobby"))
	f.askCloud(session, stopBoosts("a", "lobby"))
	asked := f.nextAsk()
	if asked.Cloud.GetId() != "a" || asked.Proxy.Network != "production" || asked.Cloud.GetBy().GetName() != "Ada" {
		t.Errorf("asked: %v", asked)
	}
	f.wantNothingToDo()
	f.AnswerCloud(asked, cloudDone("first"))
	f.AnswerCloud(asked, cloudDone("second"))
	for range 2 {
		if got := f.cloudAnswer(session); got.GetId() != "a" || got.GetDetail() != "first" {
			t.Errorf("the answer is %v", got)
		}
		f.askCloud(session, stopBoosts("a", "lobby"))
	}
	f.wantNothingToDo()
}

func TestAsksOfOneGroupRunOneAfterTheOther(t *testing.T) {
	f := newFixture(t)
	session := f.OpenProxy(proxyPod("p"), &agentv1alpha1.Hello{})
	server := f.welcomed(serverPod("1"))
	f.askCloud(session, stopBoosts("a", "lobby"))
	first := f.nextAsk()
	f.ask(server, "of a plugin")
	f.askCloud(session, stopBoosts("b", "lobby"))
	f.wantNothingToDo()
	f.askCloud(session, stopBoosts("c", "duels"))
	if other := f.nextAsk(); other.Cloud.GetId() != "c" {
		t.Errorf("of another group: %v", other)
	}
	f.AnswerCloud(first, cloudDone(""))
	if next := f.nextAsk(); next.Ask.GetId() != "of a plugin" {
		t.Errorf("next: %v", next)
	}
}

func TestAsksOfAProxyAreBounded(t *testing.T) {
	long := strings.Repeat("a", longestName+1)
	for name, tt := range map[string]struct {
		ask  *agentv1alpha1.CloudAsk
		want string
	}{
		"a group": {stopBoosts("a", long), "no group and no server has a name of 254 bytes"},
		"a place": {
			&agentv1alpha1.CloudAsk{Id: "a", Ask: &agentv1alpha1.CloudAsk_MovePlayers{MovePlayers: &agentv1alpha1.MovePlayers{To: long}}},
			"no group and no server has a name of 254 bytes",
		},
		"a player": {
			movesTo("lobby", &agentv1alpha1.MovePlayers{Who: &agentv1alpha1.MovePlayers_Player{Player: &agentv1alpha1.Player{Name: long}}}).Cloud,
			"no player has a name of 254 bytes",
		},
	} {
		t.Run("the name of "+name, func(t *testing.T) {
			f := newFixture(t)
			session := f.OpenProxy(proxyPod("p"), &agentv1alpha1.Hello{})
			f.askCloud(session, tt.ask)
			if got := f.cloudAnswer(session); got.GetVerdict() != agentv1alpha1.Verdict_VERDICT_MALFORMED || got.GetDetail() != tt.want {
				t.Errorf("the answer is %v", got)
			}
			f.wantNothingToDo()
		})
	}
	t.Run("their number", func(t *testing.T) {
		f := newFixture(t)
		session := f.OpenProxy(proxyPod("p"), &agentv1alpha1.Hello{})
		for i := range cloudBurst + 1 {
			f.askCloud(session, stopBoosts(strconv.Itoa(i), "lobby"))
		}
		if got := f.cloudAnswer(session); got.GetId() != strconv.Itoa(cloudBurst) || got.GetVerdict() != agentv1alpha1.Verdict_VERDICT_TOO_OFTEN {
			t.Errorf("the answer is %v", got)
		}
		f.clock.Step(cloudEvery)
		f.askCloud(session, stopBoosts("later", "duels"))
		f.nextAsk()
		if next := f.nextAsk(); next.Cloud.GetId() != "later" {
			t.Errorf("next: %v", next)
		}
	})
	t.Run("the memory of them", func(t *testing.T) {
		f := newFixture(t)
		session := f.OpenProxy(proxyPod("p"), &agentv1alpha1.Hello{})
		for i := range 2 * asksKept {
			f.askCloud(session, stopBoosts(strconv.Itoa(i), "lobby"))
		}
		if got := len(f.proxies["p"].cloud.asks); got != asksKept {
			t.Errorf("%d are remembered", got)
		}
	})
	t.Run("an id", func(t *testing.T) {
		f := newFixture(t)
		session := f.OpenProxy(proxyPod("p"), &agentv1alpha1.Hello{})
		for _, id := range []string{"", strings.Repeat("a", longestAskID+1)} {
			ask := &agentv1alpha1.ProxyMessage_CloudAsk{CloudAsk: stopBoosts(id, "lobby")}
			if err := session.Receive(&agentv1alpha1.ProxyMessage{Message: ask}); err == nil {
				t.Errorf("the id %q is taken", id)
			}
		}
	})
}

func TestWhoIsNamedIsOfTheNetworkOfWhoeverAsks(t *testing.T) {
	f := newFixture(t)
	f.crowd(movesPlayers)
	for uid, network := range map[types.UID]string{"q": "production", "r": "other"} {
		pod := proxyPod(uid)
		pod.Network = network
		f.proxyReport(f.OpenProxy(pod, movesPlayers), &agentv1alpha1.ProxyReport{Roster: []*agentv1alpha1.RosterEntry{
			{Player: &agentv1alpha1.Player{Name: "of " + network}, Server: "lobby-a"},
		}})
	}
	names := map[string]string{}
	for _, entry := range f.NamePlayers(Asked{Proxy: proxyPod("p"), Cloud: &agentv1alpha1.CloudAsk{}}).GetPlayers() {
		names[entry.GetPlayer().GetName()] = entry.GetServer()
	}
	if len(names) != 3 || names["Ada"] != "lobby-a" || names["Ben"] != "duels-a" || names["of production"] != "lobby-a" {
		t.Errorf("named: %v", names)
	}
}

func TestOnlySoManyAreNamed(t *testing.T) {
	f := newFixture(t)
	var roster []*agentv1alpha1.RosterEntry
	for i := range mostNamed + 1 {
		roster = append(roster, &agentv1alpha1.RosterEntry{Player: &agentv1alpha1.Player{Name: fmt.Sprint("player", i)}, Server: "lobby-a"})
	}
	f.proxyReport(f.OpenProxy(proxyPod("p"), movesPlayers), &agentv1alpha1.ProxyReport{Roster: roster})
	got := f.NamePlayers(Asked{Proxy: proxyPod("p"), Cloud: &agentv1alpha1.CloudAsk{}})
	if len(got.GetPlayers()) != mostNamed || got.GetDetail() != "only 1000 players are named" {
		t.Errorf("%d are named: %s", len(got.GetPlayers()), got.GetDetail())
	}
}
