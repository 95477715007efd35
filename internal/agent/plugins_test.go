// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/agent/local"
	"github.com/spawnery/spawnery-operator/internal/agent/serverspec"
	"github.com/spawnery/spawnery-operator/internal/seats"
)

// plugin sends what a plugin would, and returns the server as it is then.
func (p *pod) plugin(method, path, body string) local.Self {
	p.t.Helper()
	request, err := http.NewRequestWithContext(p.t.Context(), method, "http://"+net.JoinHostPort(p.ip, "9358")+path, strings.NewReader(body))
	if err != nil {
		p.t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		p.t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	var self local.Self
	if err := json.NewDecoder(response.Body).Decode(&self); err != nil || response.StatusCode != http.StatusOK {
		p.t.Fatalf("%s %s: %s, %v", method, path, response.Status, err)
	}
	return self
}

const twelve = `{"playableSlots": 12}`

func TestWhatAPluginSetsIsReportedAndTakenBack(t *testing.T) {
	p := newPod(t)
	manager := p.startManager()
	p.startGame(p.game())
	p.startAgent()
	p.awaitReady()
	manager.orders <- settings(&agentv1alpha1.ServerSettings{MaxPlayers: 40, PlayableSlots: new(int32(30)), DisplayName: "The Lobby"})
	manager.awaitReport("the limit is the group's", func(r *agentv1alpha1.ServerReport) bool {
		return r.GetSlots() == 40 && r.PlayableSlots == nil && r.GetJoinsOpen()
	})
	want := local.Self{
		Server: "lobby-ab2c", Group: "lobby", DisplayName: "The Lobby", State: local.Ready, Players: new(0),
		Slots: 40, PlayableSlots: 30, Joins: local.Open,
	}
	if diff := cmp.Diff(want, p.plugin("GET", local.SelfPath, "")); diff != "" {
		t.Errorf("the server says of itself (-want +got):\n%s", diff)
	}
	if got := p.plugin("PUT", local.PlayableSlotsPath, twelve).PlayableSlots; got != 12 {
		t.Errorf("%d playable seats, want 12", got)
	}
	p.plugin("PUT", local.JoinsPath, `{"joins": "Closed"}`)
	manager.awaitReport("the plugin has its way", func(r *agentv1alpha1.ServerReport) bool { return r.GetPlayableSlots() == 12 && !r.GetJoinsOpen() })
	p.plugin("PUT", local.PlayableSlotsPath, `{"playableSlots": 2147483647}`)
	manager.awaitReport("more than the slots is all of them", func(r *agentv1alpha1.ServerReport) bool { return r.GetPlayableSlots() == 40 })
	p.plugin("PUT", local.JoinsPath, `{"joins": "Open"}`)
	if got := p.plugin("DELETE", local.PlayableSlotsPath, "").PlayableSlots; got != 30 {
		t.Errorf("%d playable seats after it was taken back, want the group's 30", got)
	}
	manager.awaitReport("it is taken back", func(r *agentv1alpha1.ServerReport) bool { return r.PlayableSlots == nil && r.GetJoinsOpen() })
}

func TestWhatAPluginSetOutlivesTheAgentAndEndsWithTheGame(t *testing.T) {
	p := newPod(t)
	manager := p.startManager()
	game := p.startGame(p.game())
	p.startAgent()
	p.awaitReady()
	p.plugin("PUT", local.PlayableSlotsPath, twelve)
	p.stop()
	<-p.ended
	p.startAgent()
	restated := func(r *agentv1alpha1.ServerReport) bool { return r.GetPlayableSlots() == 12 && isReady(r) }
	manager.awaitReport("another agent restates it", restated)
	game.Stop()
	<-game.Done()
	manager.awaitReport("it is gone with its game", func(r *agentv1alpha1.ServerReport) bool { return !isReady(r) && r.PlayableSlots == nil })
	p.startGame(p.game())
	manager.awaitReport("the next game begins without it", func(r *agentv1alpha1.ServerReport) bool { return isReady(r) && r.PlayableSlots == nil })
}

// Both containers of a pod restart after a node has run out of memory, and the
// agent sees neither game come nor go.
func TestAClosedDoorDoesNotOutliveAGameThatDiedWithItsAgent(t *testing.T) {
	tests := map[string]func(*pod){
		"and is back before the agent": func(p *pod) {
			p.startGame(p.game())
			p.startAgent()
		},
		"and is back after the agent": func(p *pod) {
			p.startAgent()
			p.awaitNotReady("nothing listens")
			p.startGame(p.game())
		},
	}
	for name, comeBack := range tests {
		t.Run(name, func(t *testing.T) {
			p := newPod(t)
			game := p.startGame(p.game())
			p.startAgent()
			p.awaitReady()
			p.plugin("PUT", local.JoinsPath, `{"joins": "Closed"}`)
			p.stop()
			<-p.ended
			game.Stop()
			<-game.Done()
			comeBack(p)
			p.awaitReady()
			if joins := p.plugin("GET", local.SelfPath, "").Joins; joins != local.Open {
				t.Errorf("the door of the next game is %s", joins)
			}
		})
	}
}

// A plugin may ask for something while its game does not listen yet.
func TestWhatAPluginSetBeforeItsGameListensEndsWithThatGame(t *testing.T) {
	p := newPod(t)
	p.startAgent()
	p.plugin("PUT", local.JoinsPath, `{"joins": "Closed"}`)
	restart := func() {
		p.stop()
		<-p.ended
		p.startAgent()
	}
	restart()
	game := p.startGame(p.game())
	p.awaitReady()
	restart()
	p.awaitReady()
	if joins := p.plugin("GET", local.SelfPath, "").Joins; joins != local.Closed {
		t.Errorf("the door of the same game is %s", joins)
	}
	p.stop()
	<-p.ended
	game.Stop()
	<-game.Done()
	p.startGame(p.game())
	p.startAgent()
	p.awaitReady()
	if joins := p.plugin("GET", local.SelfPath, "").Joins; joins != local.Open {
		t.Errorf("the door of the next game is %s", joins)
	}
}

func TestTheEndOfARoundExplainsTheExitAndEndsWithTheNextGame(t *testing.T) {
	p := newPod(t)
	manager := p.startManager()
	game := p.startGame(p.game())
	p.startAgent()
	p.awaitReady()
	p.plugin("PUT", local.PlayableSlotsPath, twelve)
	p.plugin("POST", local.RoundEndPath, "")
	ended := func(r *agentv1alpha1.ServerReport) bool { return r.GetRoundEnded() && !r.GetJoinsOpen() }
	manager.awaitReport("the round has ended", ended)
	p.stop()
	<-p.ended
	p.startAgent()
	manager.awaitReport("another agent restates it", func(r *agentv1alpha1.ServerReport) bool { return ended(r) && isReady(r) })
	game.Stop()
	<-game.Done()
	manager.awaitReport("it explains the exit, and is all that is left", func(r *agentv1alpha1.ServerReport) bool {
		return ended(r) && !isReady(r) && r.SampledAt == nil && r.PlayableSlots == nil
	})
	p.stop()
	<-p.ended
	p.startAgent()
	manager.awaitReport("another agent restates that too", func(r *agentv1alpha1.ServerReport) bool {
		return ended(r) && !isReady(r) && strings.Contains(r.GetDetail(), "nothing listens")
	})
	p.startGame(p.game())
	manager.awaitReport("the next game begins without it", func(r *agentv1alpha1.ServerReport) bool {
		return isReady(r) && !r.GetRoundEnded() && r.GetJoinsOpen()
	})
}

func TestAClosedDoorTurnsBackWhoChoseTheGroupAndNobodyElse(t *testing.T) {
	p := newPod(t)
	p.spec.Forwarding, p.spec.MaxPlayers = serverspec.ForwardingNone, 2
	p.startGame(p.game())
	p.startAgent()
	p.awaitReady()
	client, address := p.proxy()
	before, err := client.Ask(t.Context(), address, p.ask(person(1)))
	if err != nil {
		t.Fatal(err)
	}
	p.plugin("PUT", local.JoinsPath, `{"joins": "Closed"}`)
	if _, err := client.Renew(t.Context(), address, before.ID, p.ask(person(1))); err != nil {
		t.Errorf("who was on the way already is turned back: %v", err)
	}
	_, err = client.Ask(t.Context(), address, p.ask(person(2)))
	var refused *seats.Refusal
	if !errors.As(err, &refused) || refused.Reason != seats.DoorClosed {
		t.Errorf("who chose the group gets %v, want a refusal %s", err, seats.DoorClosed)
	}
	byName := p.ask(person(2))
	byName.Way = seats.ByName
	if _, err := client.Ask(t.Context(), address, byName); err != nil {
		t.Errorf("who named the server: %v", err)
	}
}

func TestAPluginCountsWhereTheGameCanOnlyBePinged(t *testing.T) {
	p := newPod(t)
	manager := p.startManager()
	settings := p.game()
	settings.Management = nil
	p.startGame(settings)
	p.startAgent()
	p.awaitReady()
	p.plugin("PUT", local.PlayersPath, `{"players": [{"name": "Ada"}, {"name": "Ben"}]}`)
	manager.awaitReport("two are online by a plugin's word", func(r *agentv1alpha1.ServerReport) bool {
		return r.GetOnline() == 2 && len(r.GetPlayers()) == 2 && r.GetPlayers()[1].GetName() == "Ben" && isReady(r)
	})
}

func TestAPluginIsToldThatItsGameCountsByItself(t *testing.T) {
	p := newPod(t)
	p.startGame(p.game())
	p.startAgent()
	p.awaitReady()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPut, "http://"+net.JoinHostPort(p.ip, "9358")+local.PlayersPath, strings.NewReader(`{"players": []}`))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	var failure local.Failure
	if err := json.NewDecoder(response.Body).Decode(&failure); err != nil || response.StatusCode != http.StatusConflict || !strings.Contains(failure.Error, "management protocol tells who is online") {
		t.Errorf("%s: %+v, %v", response.Status, failure, err)
	}
}
