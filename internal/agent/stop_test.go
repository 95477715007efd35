// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/agent/serverspec"
)

// callStop calls the preStop hook as the kubelet does and returns the answer's
// status once it comes.
func (p *pod) callStop(ctx context.Context, token string) <-chan int {
	p.t.Helper()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, p.base+serverspec.StopPath, nil)
	if err != nil {
		p.t.Fatal(err)
	}
	request.Header.Set(serverspec.StopHeader, token)
	answered := make(chan int, 1)
	go func() {
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			answered <- 0
			return
		}
		_ = response.Body.Close()
		answered <- response.StatusCode
	}()
	return answered
}

func wantAnswer(t *testing.T, answered <-chan int, want int) {
	t.Helper()
	select {
	case got := <-answered:
		if got != want {
			t.Errorf("the hook answered %d, want %d", got, want)
		}
	case <-time.After(patience):
		t.Fatal("the hook did not answer")
	}
}

func TestOnlyThePodsOwnHookStopsTheGame(t *testing.T) {
	p := newPod(t)
	game := p.startGame(p.game())
	p.startAgent()
	p.awaitReady()
	for _, token := range []string{"", "stop", "stop-tokens", "STOP-TOKEN"} {
		wantAnswer(t, p.callStop(t.Context(), token), http.StatusForbidden)
	}
	select {
	case <-game.Done():
		t.Error("a stranger stopped the game")
	default:
	}
	if ready, sentence := p.ready(); !ready {
		t.Errorf("a stranger made the server not ready: %s", sentence)
	}
}

func TestTheHookAnswersWhenTheGameHasGone(t *testing.T) {
	p := newPod(t)
	manager := p.startManager()
	settings := p.game()
	clk := clocktesting.NewFakeClock(time.Now())
	settings.Clock, settings.SaveDelay = clk, 20*time.Second
	game := p.startGame(settings)
	p.startAgent()
	p.awaitReady()
	answered := p.callStop(t.Context(), "stop-token")
	p.awaitNotReady("the game is stopping")
	manager.awaitReport("the stop is told", func(r *agentv1alpha1.ServerReport) bool {
		return r.GetGameState() == agentv1alpha1.GameState_GAME_STATE_STOPPING
	})
	// One save before the stop, one by the game itself as it stops.
	for range 2 {
		last := ""
		p.eventually("the game saves", clk.HasWaiters, &last)
		select {
		case code := <-answered:
			t.Fatalf("the hook answered %d while the game saves", code)
		case <-game.Done():
			t.Fatal("the game went without saving")
		default:
		}
		clk.Step(20 * time.Second)
	}
	wantAnswer(t, answered, http.StatusNoContent)
	select {
	case <-game.Done():
	default:
		t.Error("the hook answered before the game had gone")
	}
}

func TestTheHookDoesNotKeepAGameThatCannotBeToldToStop(t *testing.T) {
	p := newPod(t)
	settings := p.game()
	settings.Management = nil
	p.startGame(settings)
	p.startAgent()
	p.awaitReady()
	began := time.Now()
	wantAnswer(t, p.callStop(t.Context(), "stop-token"), http.StatusNoContent)
	if took := time.Since(began); took > 2*time.Second {
		t.Errorf("the hook took %s to answer", took)
	}
}

func TestTheHookLeavesTenSecondsOfTheGrace(t *testing.T) {
	p := newPod(t)
	p.spec.GraceSeconds = 12
	h := startHangable(p)
	p.awaitReady()
	h.management.freeze()
	began := time.Now()
	wantAnswer(t, p.callStop(t.Context(), "stop-token"), http.StatusNoContent)
	if took := time.Since(began); took < time.Second || took > 4*time.Second {
		t.Errorf("the hook took %s to answer, want about two", took)
	}
}

func TestAGameIsToldToStopWhenItsConnectionIsBack(t *testing.T) {
	p := newPod(t)
	h := startHangable(p)
	p.awaitReady()
	h.management.freeze()
	h.management.cut()
	answered := p.callStop(t.Context(), "stop-token")
	p.awaitNotReady("the game is stopping")
	select {
	case code := <-answered:
		t.Fatalf("the hook answered %d, and the game was told nothing", code)
	case <-time.After(200 * time.Millisecond):
	}
	h.management.resume()
	last := ""
	p.eventually("the game is told to stop", func() bool {
		h.clock.Step(250 * time.Millisecond)
		select {
		case <-h.server.Done():
			return true
		default:
			return false
		}
	}, &last)
	// Nothing listens where a game has been.
	_ = h.game.listener.Close()
	p.eventually("the hook answers", func() bool {
		h.clock.Step(250 * time.Millisecond)
		select {
		case code := <-answered:
			return code == http.StatusNoContent
		default:
			return false
		}
	}, &last)
}

func TestAStopGoesOnWhenTheKubeletHangsUp(t *testing.T) {
	p := newPod(t)
	game := p.startGame(p.game())
	p.startAgent()
	p.awaitReady()
	ctx, hangUp := context.WithCancel(t.Context())
	answered := p.callStop(ctx, "stop-token")
	p.awaitNotReady("the game is stopping")
	hangUp()
	<-answered
	select {
	case <-game.Done():
	case <-time.After(patience):
		t.Error("the game was not stopped")
	}
	wantAnswer(t, p.callStop(t.Context(), "stop-token"), http.StatusNoContent)
}

func TestTheAgentEndsInTimeAlsoDuringAStop(t *testing.T) {
	p := newPod(t)
	h := startHangable(p)
	p.awaitReady()
	h.management.freeze()
	p.callStop(t.Context(), "stop-token")
	p.awaitNotReady("the game is stopping")
	began := time.Now()
	p.stop()
	<-p.ended
	if took := time.Since(began); took > 2*time.Second {
		t.Errorf("the agent took %s to end", took)
	}
}
