// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/spawnery/spawnery-operator/internal/agent/serverspec"
	"github.com/spawnery/spawnery-operator/internal/mcproto"
	"github.com/spawnery/spawnery-operator/internal/seats"
)

const (
	readWithin = 10 * time.Second
	// idleFor is longer than proxies keep idle connections: whoever asks
	// should be the one to close.
	idleFor        = time.Minute
	maxHeaderBytes = 16 << 10
	maxSeatID      = 64
)

// web answers on the agent's port. Answers have no time limit: a stop may take
// the whole grace period.
func (a *Agent) web(ctx context.Context) *http.Server {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+serverspec.LivePath, func(w http.ResponseWriter, _ *http.Request) { say(w, http.StatusOK, "alive") })
	mux.HandleFunc("GET "+serverspec.ReadyPath, a.serveReady)
	mux.HandleFunc("GET "+serverspec.StopPath, a.serveStop(ctx))
	mux.Handle("POST "+seats.Path, a.verifier.Protect(http.HandlerFunc(a.serveAsk)))
	mux.Handle("PUT "+seats.Path+"/{id}", a.verifier.Protect(http.HandlerFunc(a.serveRenew)))
	mux.Handle("DELETE "+seats.Path+"/{id}", a.verifier.Protect(http.HandlerFunc(a.serveRelease)))
	return &http.Server{
		Handler:     mux,
		ReadTimeout: readWithin, IdleTimeout: idleFor, MaxHeaderBytes: maxHeaderBytes,
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
}

// say answers a probe; what it says shows in the pod's events.
func say(w http.ResponseWriter, status int, sentence string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	// A prober that has gone needs no answer.
	_, _ = fmt.Fprintln(w, sentence)
}

func (a *Agent) serveReady(w http.ResponseWriter, _ *http.Request) {
	s, _ := a.look()
	if verdict := s.verdict(); !verdict.ready() {
		say(w, http.StatusServiceUnavailable, verdict.detail)
		return
	}
	say(w, http.StatusOK, "the game accepts players")
}

func (a *Agent) serveAsk(w http.ResponseWriter, r *http.Request) {
	ask, ok := readAsk(w, r)
	if !ok {
		return
	}
	seat, refusal := a.ledger.Ask(a.clock.Now(), ask)
	a.answerSeat(w, seat, refusal)
}

func (a *Agent) serveRenew(w http.ResponseWriter, r *http.Request) {
	ask, ok := readAsk(w, r)
	if !ok {
		return
	}
	seat, refusal := a.ledger.Renew(a.clock.Now(), r.PathValue("id"), ask)
	a.answerSeat(w, seat, refusal)
}

func (a *Agent) serveRelease(w http.ResponseWriter, r *http.Request) {
	if !a.ledger.Release(r.PathValue("id")) {
		seats.Refuse(w, http.StatusNotFound, seats.Refusal{Reason: seats.UnknownSeat, Message: "there is no such seat"})
		return
	}
	a.change(func(*state) {})
	w.WriteHeader(http.StatusNoContent)
}

func (a *Agent) answerSeat(w http.ResponseWriter, seat seats.Seat, refusal *seats.Refusal) {
	if refusal != nil {
		seats.Refuse(w, http.StatusConflict, *refusal)
		return
	}
	a.change(func(*state) {})
	w.Header().Set("Content-Type", "application/json")
	// A proxy that has gone lets the seat expire.
	_ = json.NewEncoder(w).Encode(seat)
}

// readAsk refuses a question that cannot be decided on.
func readAsk(w http.ResponseWriter, r *http.Request) (seats.Ask, bool) {
	var ask seats.Ask
	err := json.NewDecoder(r.Body).Decode(&ask)
	switch {
	case err != nil:
		err = fmt.Errorf("the question cannot be read: %w", err)
	case !mcproto.ValidName(ask.Player.Name):
		err = fmt.Errorf("%q is no player's name", ask.Player.Name)
	case ask.Way != seats.ByChoice && ask.Way != seats.ByName:
		err = fmt.Errorf("%q is no way to come here", ask.Way)
	case len(r.PathValue("id")) > maxSeatID:
		err = fmt.Errorf("the id of a seat has at most %d characters", maxSeatID)
	}
	if err != nil {
		seats.Refuse(w, http.StatusBadRequest, seats.Refusal{Reason: seats.Malformed, Message: err.Error()})
		return seats.Ask{}, false
	}
	return ask, true
}
