// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/agent/local"
)

// beyond asks what only the manager knows or does.
func (p *pod) beyond(method, path, body string) (int, string) {
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
	said, err := io.ReadAll(response.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	return response.StatusCode, string(said)
}

func (p *pod) wantBeyond(method, path string, status int, says string) {
	p.t.Helper()
	got := ""
	p.eventually(method+" "+path+" is answered with "+says, func() bool {
		code, said := p.beyond(method, path, "")
		got = said
		return code == status && strings.Contains(said, says)
	}, &got)
}

func network(full bool, players int32) *agentv1alpha1.ServerOrder {
	return &agentv1alpha1.ServerOrder{Order: &agentv1alpha1.ServerOrder_Network{Network: &agentv1alpha1.Directory{
		Full: full, NetworkPlayers: players, Groups: []*agentv1alpha1.DirectoryGroup{{Name: "lobby", DisplayName: "The Lobby"}},
	}}}
}

func TestAManagerThatKnowsNothingOfItIsNotWaitedFor(t *testing.T) {
	p := newPod(t)
	p.startAgent()
	p.wantBeyond("GET", local.NetworkPath, http.StatusServiceUnavailable, "no manager is connected")
	p.stop()
	<-p.ended
	manager := p.startManager()
	p.startAgent()
	<-manager.hellos
	p.wantBeyond("GET", local.NetworkPath, http.StatusNotImplemented, "the manager (version 1.2.3) does not support this")
}

func TestTheManagerTellsTheNetworkWhileAPluginWantsToKnowIt(t *testing.T) {
	p := newPod(t)
	manager := p.startManager()
	manager.capabilities = []string{agentv1alpha1.CapabilityNetwork}
	p.startAgent()
	manager.awaitReport("nobody wants to know it", func(r *agentv1alpha1.ServerReport) bool { return !r.GetNetworkWanted() })
	told := make(chan local.Network)
	go func() {
		_, body := p.beyond("GET", local.NetworkPath, "")
		var got local.Network
		_ = json.Unmarshal([]byte(body), &got)
		told <- got
	}()
	manager.awaitReport("somebody wants to know it", func(r *agentv1alpha1.ServerReport) bool { return r.GetNetworkWanted() })
	manager.orders <- network(true, 7)
	if got := <-told; got.Players != 7 || got.Groups[0].DisplayName != "The Lobby" {
		t.Errorf("it is told %+v", got)
	}
	manager.orders <- network(false, 8)
	p.wantBeyond("GET", local.NetworkPath, http.StatusOK, `"players":8`)
	manager.hangUp()
	manager.awaitReport("another session begins with the same wish", func(r *agentv1alpha1.ServerReport) bool { return r.GetNetworkWanted() })
}

// asks are what the agent asked, in order.
func (m *manager) nextAsk() *agentv1alpha1.Ask {
	m.t.Helper()
	select {
	case got := <-m.asks:
		return got
	case <-time.After(patience):
		m.t.Fatal("nothing was asked")
		return nil
	}
}

func (m *manager) answer(answer *agentv1alpha1.Answer) {
	m.orders <- &agentv1alpha1.ServerOrder{Order: &agentv1alpha1.ServerOrder_Answer{Answer: answer}}
}

type said struct {
	status int
	body   string
}

// asking asks and goes on.
func (p *pod) asking(method, path, body string) <-chan said {
	answered := make(chan said, 1)
	go func() {
		status, body := p.beyond(method, path, body)
		answered <- said{status, body}
	}()
	return answered
}

func TestAnAskOutlivesTheSessionItWasSentOn(t *testing.T) {
	p := newPod(t)
	manager := p.startManager()
	manager.capabilities = []string{agentv1alpha1.CapabilityBoosts}
	p.startAgent()
	p.wantBeyond("POST", local.RetirePath, http.StatusNotImplemented, "does not support this")
	answered := p.asking("POST", local.BoostsPath, `{"replicas": 2, "for": "90m"}`)
	asked := manager.nextAsk()
	if add := asked.GetAddBoost(); add.GetReplicas() != 2 || add.GetSeconds() != 5400 || asked.GetId() == "" {
		t.Errorf("it is asked %v", asked)
	}
	manager.hangUp()
	again := manager.nextAsk()
	if again.GetId() != asked.GetId() {
		t.Errorf("another session is asked %v after %v", again, asked)
	}
	manager.answer(&agentv1alpha1.Answer{Id: "of somebody else", Verdict: agentv1alpha1.Verdict_VERDICT_REFUSED})
	manager.answer(&agentv1alpha1.Answer{
		Id: asked.GetId(), Verdict: agentv1alpha1.Verdict_VERDICT_DONE,
		Boosts: []*agentv1alpha1.OwnBoost{{Name: "lobby-x", Replicas: 2, ExpiresAt: timestamppb.New(time.Unix(1893456000, 0))}},
	})
	if got := <-answered; got.status != http.StatusOK || !strings.Contains(got.body, `{"name":"lobby-x","replicas":2,"expiresAt":"2030-01-01T00:00:00Z"}`) {
		t.Errorf("the plugin is told %+v", got)
	}
}

func TestAManagerThatSaysNothingIsWaitedForSoLong(t *testing.T) {
	p := newPod(t)
	manager := p.startManager()
	manager.capabilities = []string{agentv1alpha1.CapabilityRetire}
	p.startAgent()
	p.wantBeyond("GET", local.BoostsPath, http.StatusNotImplemented, "does not support this")
	answered := p.asking("POST", local.RetirePath, "")
	if manager.nextAsk().GetRetire() == nil {
		t.Error("it asks for something else")
	}
	if got := <-answered; got.status != http.StatusGatewayTimeout || !strings.Contains(got.body, "has not answered within 8s, and may do it all the same") {
		t.Errorf("the plugin is told %+v", got)
	}
}
