// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/go-logr/logr"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/agent/players"
	"github.com/spawnery/spawnery-operator/internal/agent/serverspec"
	"github.com/spawnery/spawnery-operator/internal/gameconfig"
)

// saveWithin bounds a save that the manager ordered: it waits 30 s.
const saveWithin = 25 * time.Second

// stopping is the stop of the game, begun at most once.
type stopping struct {
	once sync.Once
	done chan struct{}
}

// serveStop is the game container's preStop hook. It answers when the game may
// get its signal: it has gone, it has no other way to stop, or time is up.
func (a *Agent) serveStop(ctx context.Context) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		given := []byte(r.Header.Get(serverspec.StopHeader))
		if subtle.ConstantTimeCompare(given, []byte(a.cfg.Spec.StopToken)) != 1 {
			http.Error(w, "this stops the game; only its own preStop hook may", http.StatusForbidden)
			return
		}
		a.stop.once.Do(func() {
			a.stop.done = make(chan struct{})
			// The stop goes on when the kubelet hangs up.
			go func() {
				defer close(a.stop.done)
				a.stopGame(ctx)
			}()
		})
		select {
		case <-a.stop.done:
		case <-r.Context().Done():
		case <-ctx.Done():
		}
		w.WriteHeader(http.StatusNoContent)
	}
}

// stopGame saves, stops, and waits until the game has gone.
func (a *Agent) stopGame(ctx context.Context) {
	log := logr.FromContextOrDiscard(ctx)
	budget := time.Duration(max(1, a.cfg.Spec.GraceSeconds-gameconfig.StopMarginSeconds)) * time.Second
	ctx, cancel := context.WithTimeout(ctx, budget)
	defer cancel()
	a.change(func(s *state) { s.stopping = true })
	// A game that does not finish its save in half of the time is told to stop
	// all the same: it does both in order, and saves again as it stops.
	err := a.save(ctx, budget/2)
	if errors.Is(err, players.ErrNoManagement) && !a.watcher.Managed() {
		log.Info("the game is stopped by its signal", "cause", err.Error())
		return
	}
	log.Info("the world was saved before the stop", "error", fmt.Sprint(err))
	if err := a.tellToStop(ctx); err != nil {
		log.Info("the game is stopped by its signal", "cause", err.Error())
		return
	}
	if a.awaitAbsence(ctx) {
		log.Info("the game has stopped")
	} else {
		log.Info("the game has not stopped in time and gets its signal", "seconds", budget.Seconds())
	}
}

// tellToStop tells the game until it has understood or gone: a connection that
// waits long for a game that saves may be taken for dead, and made anew, and an
// image whose first process hears no signal has no other way to stop.
func (a *Agent) tellToStop(ctx context.Context) error {
	for {
		s, moved := a.look()
		err := a.watcher.Stop(ctx)
		if err == nil || s.game.Presence == players.Absent {
			return nil
		}
		select {
		case <-ctx.Done():
			return err
		case <-moved:
		}
	}
}

// awaitAbsence reports whether the game went before ctx ended.
func (a *Agent) awaitAbsence(ctx context.Context) bool {
	for {
		s, moved := a.look()
		if s.game.Presence == players.Absent {
			return true
		}
		select {
		case <-ctx.Done():
			return false
		case <-moved:
		}
	}
}

func (a *Agent) save(ctx context.Context, within time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	return a.watcher.Save(ctx)
}

// saves answers orders to save, each once done and as often as it is asked.
type saves struct {
	mu sync.Mutex
	// id is the newest order, result its answer once there is one.
	id     string
	result *agentv1alpha1.SaveResult
}

// begin reports whether an order is new; an old one is answered again.
func (s *saves) begin(id string) (*agentv1alpha1.SaveResult, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.id == id {
		return s.result, false
	}
	s.id, s.result = id, nil
	return nil, true
}

func (s *saves) end(result *agentv1alpha1.SaveResult) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.id == result.GetId() {
		s.result = result
	}
}
