// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"testing"

	"github.com/google/uuid"
	"k8s.io/utils/clock"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/agent/serverspec"
	"github.com/spawnery/spawnery-operator/internal/mcproto"
	"github.com/spawnery/spawnery-operator/internal/mctest"
	"github.com/spawnery/spawnery-operator/internal/seats"
)

func person(n int) seats.Player {
	name := fmt.Sprint("Player", n)
	return seats.Player{UUID: mcproto.OfflineUUID(name), Name: name}
}

// join lets somebody in past the proxies, into a game that believes names.
func (p *pod) join(name string) *mctest.Bot {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), patience)
	defer cancel()
	bot, err := mctest.Join(ctx, mctest.BotSettings{Address: net.JoinHostPort(p.ip, "25565"), Name: name})
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(bot.Leave)
	if err := bot.WaitState(ctx, mcproto.StatePlay); err != nil {
		p.t.Fatal(err)
	}
	return bot
}

func (p *pod) wantRefused(client *seats.Client, address string, want seats.Reason) {
	p.t.Helper()
	_, err := client.Ask(p.t.Context(), address, p.ask(person(1)))
	var refused *seats.Refusal
	if !errors.As(err, &refused) || refused.Reason != want {
		p.t.Errorf("asking for a seat: %v, want a refusal %s", err, want)
	}
}

// open is a pod whose game believes names and whose agent knows who is online.
func open(t *testing.T, maxPlayers int32) *pod {
	t.Helper()
	p := newPod(t)
	p.spec.Forwarding, p.spec.MaxPlayers = serverspec.ForwardingNone, maxPlayers
	p.startGame(p.game())
	p.startAgent()
	p.awaitReady()
	return p
}

func TestASeatLivesFromTheQuestionToTheJoin(t *testing.T) {
	p := newPod(t)
	p.spec.Forwarding, p.spec.MaxPlayers = serverspec.ForwardingNone, 2
	manager := p.startManager()
	p.startGame(p.game())
	p.startAgent()
	p.awaitReady()
	client, address := p.proxy()
	seat, err := client.Ask(t.Context(), address, p.ask(person(1)))
	if err != nil || seat.Taken != 1 || seat.ExpiresSeconds != 15 {
		t.Fatalf("seat %+v (%v), want the first for 15 s", seat, err)
	}
	manager.awaitReport("one is on the way", func(r *agentv1alpha1.ServerReport) bool {
		return r.GetSeatsPending() == 1 && r.GetOnline() == 0 && len(r.GetAdmitted()) == 1 && r.GetAdmitted()[0].GetName() == "Player1"
	})
	if _, err := client.Renew(t.Context(), address, seat.ID, p.ask(person(1))); err != nil {
		t.Error(err)
	}
	bot := p.join("Player1")
	manager.awaitReport("they have joined", func(r *agentv1alpha1.ServerReport) bool {
		return r.GetSeatsPending() == 0 && r.GetOnline() == 1 && r.GetPlayers()[0].GetName() == "Player1" && len(r.GetAdmitted()) == 0
	})
	bot.Leave()
	manager.awaitReport("they have left", func(r *agentv1alpha1.ServerReport) bool { return r.GetOnline() == 0 })
}

func TestAReleasedSeatIsFreeAtOnce(t *testing.T) {
	p := open(t, 1)
	client, address := p.proxy()
	seat, err := client.Ask(t.Context(), address, p.ask(person(2)))
	if err != nil {
		t.Fatal(err)
	}
	p.wantRefused(client, address, seats.Full)
	for range 2 {
		if err := client.Release(t.Context(), address, seat.ID); err != nil {
			t.Error(err)
		}
	}
	if _, err := client.Ask(t.Context(), address, p.ask(person(3))); err != nil {
		t.Error(err)
	}
}

func TestSeatsAreForProxiesOfThisNetworkOnly(t *testing.T) {
	p := open(t, 10)
	stranger, err := seats.NewClient(clock.RealClock{}, []byte("another secret"))
	if err != nil {
		t.Fatal(err)
	}
	defer stranger.Close()
	_, address := p.proxy()
	p.wantRefused(stranger, address, seats.NotSigned)
	for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodDelete} {
		url := p.base + seats.Path
		if method != http.MethodPost {
			url += "/some-id"
		}
		request, err := http.NewRequestWithContext(t.Context(), method, url, bytes.NewBufferString("{}"))
		if err != nil {
			t.Fatal(err)
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		if response.StatusCode != http.StatusUnauthorized {
			t.Errorf("%s without a signature answered %s", method, response.Status)
		}
	}
}

func TestAQuestionThatCannotBeDecidedOnIsMalformed(t *testing.T) {
	p := open(t, 10)
	client, address := p.proxy()
	tests := map[string]seats.Ask{
		"nobody":           {Server: p.spec.Server, Way: seats.ByName},
		"a name too long":  {Server: p.spec.Server, Way: seats.ByName, Player: seats.Player{UUID: uuid.New(), Name: "ThisNameIsFarTooLong"}},
		"no way to get in": {Server: p.spec.Server, Player: person(1)},
	}
	for name, ask := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := client.Ask(t.Context(), address, ask)
			var refused *seats.Refusal
			if !errors.As(err, &refused) || refused.Reason != seats.Malformed {
				t.Errorf("Ask() = %v, want %s", err, seats.Malformed)
			}
		})
	}
}

func TestBothSidesMeanTheSamePort(t *testing.T) {
	if seats.Port != serverspec.Port {
		t.Errorf("proxies ask on port %d, the agent listens on %d", seats.Port, serverspec.Port)
	}
}
