// SPDX-License-Identifier: Apache-2.0

// Package seatstest stands in for an agent in tests of those who ask for
// seats. It counts like one and knows no game: the test says who has arrived.
package seatstest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/spawnery/spawnery-operator/internal/seats"
)

// Agent is the agent of one server.
type Agent struct {
	server   string
	http     *httptest.Server
	once     sync.Once
	closed   chan struct{}
	mu       sync.Mutex
	playable int
	slots    int
	online   func() []string
	refusal  *seats.Refusal
	granted  map[string]seats.Ask
	next     int
	asked    int
	renewed  int
	most     int
}

// Config describes the server.
type Config struct {
	Server          string
	Playable, Slots int
	Secret          []byte
	// Online names who has arrived: their seats end there. Optional.
	Online func() []string
}

// Start serves until Close.
func Start(c Config) (*Agent, error) {
	verifier, err := seats.NewVerifier(clock.RealClock{}, c.Secret)
	if err != nil {
		return nil, fmt.Errorf("starting an agent: %w", err)
	}
	a := &Agent{server: c.Server, playable: c.Playable, slots: c.Slots, online: c.Online, granted: map[string]seats.Ask{}, closed: make(chan struct{})}
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+seats.Path, a.ask)
	mux.HandleFunc("PUT "+seats.Path+"/{id}", a.renew)
	mux.HandleFunc("DELETE "+seats.Path+"/{id}", a.release)
	a.http = httptest.NewServer(verifier.Protect(mux))
	go a.look()
	return a, nil
}

// look sees players arrive who leave again before anybody asks.
func (a *Agent) look() {
	ticker := clock.RealClock{}.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	for {
		select {
		case <-a.closed:
			return
		case <-ticker.C():
			_ = a.Pending()
		}
	}
}

// Close stops the agent.
func (a *Agent) Close() {
	a.once.Do(func() { close(a.closed) })
	a.http.Close()
}

// Address is where it answers, host:port.
func (a *Agent) Address() string { return strings.TrimPrefix(a.http.URL, "http://") }

// Refuse makes it refuse everybody, or nobody with nil.
func (a *Agent) Refuse(refusal *seats.Refusal) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.refusal = refusal
}

// Open sets how many playable seats there are.
func (a *Agent) Open(playable int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.playable = playable
}

// Asked is how many questions were asked.
func (a *Agent) Asked() int { return a.read(&a.asked) }

// Renewed is how many renewals came.
func (a *Agent) Renewed() int { return a.read(&a.renewed) }

// Most is the most seats that were ever taken at once.
func (a *Agent) Most() int { return a.read(&a.most) }

// Pending is how many seats are given to players who have not arrived.
func (a *Agent) Pending() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	_ = a.taken()
	return len(a.granted)
}

func (a *Agent) read(n *int) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return *n
}

// taken counts everybody once: a seat ends when its player has arrived.
func (a *Agent) taken() int {
	if a.online == nil {
		return len(a.granted)
	}
	online := a.online()
	for id, ask := range a.granted {
		if slices.Contains(online, ask.Player.Name) {
			delete(a.granted, id)
		}
	}
	return len(a.granted) + len(online)
}

func (a *Agent) ask(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.asked++
	var ask seats.Ask
	if err := json.NewDecoder(r.Body).Decode(&ask); err != nil {
		seats.Refuse(w, http.StatusBadRequest, seats.Refusal{Reason: seats.Malformed, Message: err.Error()})
		return
	}
	if refusal := a.refuses(ask); refusal != nil {
		seats.Refuse(w, http.StatusConflict, *refusal)
		return
	}
	a.next++
	id := fmt.Sprintf("seat-%d", a.next)
	a.granted[id] = ask
	a.most = max(a.most, a.taken())
	a.answer(w, id)
}

func (a *Agent) refuses(ask seats.Ask) *seats.Refusal {
	taken := a.taken()
	switch {
	case a.refusal != nil:
		return a.refusal
	case ask.Server != a.server:
		return &seats.Refusal{Reason: seats.WrongServer, Message: "this is " + a.server}
	case taken >= a.slots:
		return &seats.Refusal{Reason: seats.Full, Message: fmt.Sprintf("%d of %d slots are taken", taken, a.slots)}
	case ask.Way == seats.ByChoice && !ask.Bypass && taken >= a.playable:
		return &seats.Refusal{Reason: seats.PlayableSeatsTaken, Message: fmt.Sprintf("%d of %d seats are taken", taken, a.playable)}
	}
	return nil
}

func (a *Agent) renew(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.renewed++
	if _, ok := a.granted[r.PathValue("id")]; !ok {
		seats.Refuse(w, http.StatusNotFound, seats.Refusal{Reason: seats.UnknownSeat, Message: "there is no such seat"})
		return
	}
	a.answer(w, r.PathValue("id"))
}

func (a *Agent) release(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, ok := a.granted[r.PathValue("id")]; !ok {
		seats.Refuse(w, http.StatusNotFound, seats.Refusal{Reason: seats.UnknownSeat, Message: "there is no such seat"})
		return
	}
	delete(a.granted, r.PathValue("id"))
	w.WriteHeader(http.StatusNoContent)
}

func (a *Agent) answer(w http.ResponseWriter, id string) {
	w.Header().Set("Content-Type", "application/json")
	// A client that has gone needs no answer.
	_ = json.NewEncoder(w).Encode(seats.Seat{ID: id, ExpiresSeconds: int32(seats.Lifetime.Seconds()), Taken: int32(a.taken())})
}
