// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

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

func (p *pod) wantBeyond(method, path, body string, status int, says string) {
	p.t.Helper()
	got := ""
	p.eventually(method+" "+path+" is answered with "+says, func() bool {
		code, said := p.beyond(method, path, body)
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
	p.wantBeyond("GET", local.NetworkPath, "", http.StatusServiceUnavailable, "no manager is connected")
	p.stop()
	<-p.ended
	manager := p.startManager()
	p.startAgent()
	<-manager.hellos
	p.wantBeyond("GET", local.NetworkPath, "", http.StatusNotImplemented, "the manager (version 1.2.3) does not support this")
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
	p.wantBeyond("GET", local.NetworkPath, "", http.StatusOK, `"players":8`)
	manager.hangUp()
	manager.awaitReport("another session begins with the same wish", func(r *agentv1alpha1.ServerReport) bool { return r.GetNetworkWanted() })
}
