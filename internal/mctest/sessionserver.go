// SPDX-License-Identifier: Apache-2.0

package mctest

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	"golang.org/x/time/rate"

	"github.com/spawnery/spawnery-operator/internal/mcproto"
)

// The paths of the session server, below its base URL.
const (
	joinPath      = "/session/minecraft/join"
	hasJoinedPath = "/session/minecraft/hasJoined"
)

// SessionServer stands in for the service at which clients and servers in
// online mode meet.
type SessionServer struct {
	listener net.Listener
	http     *http.Server

	mu       sync.Mutex
	accounts map[string]mcproto.Profile // by access token
	joined   map[string]mcproto.Profile // by server hash
	status   int                        // answered instead, if not 0
	asked    int
	ration   *rate.Limiter // of answers; nil: unlimited
	rationed int
	fault    http.HandlerFunc // answers whoever asks instead; nil: nothing does
}

// sessionProfile is a profile as the session server words it.
type sessionProfile mcproto.Profile

// MarshalJSON implements json.Marshaler.
func (p sessionProfile) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		ID         string             `json:"id"`
		Name       string             `json:"name"`
		Properties []mcproto.Property `json:"properties"`
	}{undashed(p.ID), p.Name, p.Properties})
}

// UnmarshalJSON implements json.Unmarshaler.
func (p *sessionProfile) UnmarshalJSON(data []byte) error {
	var wire struct {
		ID         uuid.UUID          `json:"id"`
		Name       string             `json:"name"`
		Properties []mcproto.Property `json:"properties"`
	}
	if err := json.Unmarshal(data, &wire); err != nil {
		return err
	}
	*p = sessionProfile{ID: wire.ID, Name: wire.Name, Properties: wire.Properties}
	return nil
}

func undashed(id uuid.UUID) string { return strings.ReplaceAll(id.String(), "-", "") }

// StartSessionServer serves on a free port of the loopback interface until ctx
// ends.
func StartSessionServer(ctx context.Context) (*SessionServer, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", loopback)
	if err != nil {
		return nil, fmt.Errorf("listen for session requests: %w", err)
	}
	s := &SessionServer{
		listener: listener,
		accounts: make(map[string]mcproto.Profile),
		joined:   make(map[string]mcproto.Profile),
	}
	s.http = &http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = s.http.Serve(listener) }()
	context.AfterFunc(ctx, func() { _ = s.http.Close() })
	return s, nil
}

// URL is the base of its addresses, without a slash at the end.
func (s *SessionServer) URL() string { return "http://" + s.listener.Addr().String() }

// HasJoinedURL is the address servers ask, without its query.
func (s *SessionServer) HasJoinedURL() string { return s.URL() + hasJoinedPath }

// Register makes an account and returns its access token.
func (s *SessionServer) Register(who mcproto.Profile) string {
	token := uuid.NewString()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.accounts[token] = who
	return token
}

// Fail answers every request with an HTTP status from now on; 0 ends it.
func (s *SessionServer) Fail(status int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.status = status
}

// Answer has servers that ask answered otherwise from now on, by as bad a session
// server as one likes; nil ends it. Who joins is served as before.
func (s *SessionServer) Answer(fault http.HandlerFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault = fault
}

// Ration refuses servers that ask more often from now on, as the real service
// does: n at once, and n more spread over each minute.
func (s *SessionServer) Ration(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ration = rate.NewLimiter(rate.Limit(float64(n)/time.Minute.Seconds()), n)
}

// Rationed is how often a server was refused for asking too often.
func (s *SessionServer) Rationed() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.rationed
}

// Asked is how often a server has asked whether somebody joined.
func (s *SessionServer) Asked() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked
}

// ServeHTTP implements http.Handler. The prefix of the path does not matter.
func (s *SessionServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	asks := strings.HasSuffix(r.URL.Path, "/hasJoined")
	if fault := s.note(asks); asks && fault != nil {
		fault(w, r)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.status != 0:
		w.WriteHeader(s.status)
	case asks && s.ration != nil && !s.ration.Allow():
		s.rationed++
		w.WriteHeader(http.StatusTooManyRequests)
	case asks && r.Method == http.MethodGet:
		s.answer(w, r)
	case strings.HasSuffix(r.URL.Path, "/join") && r.Method == http.MethodPost:
		s.join(w, r)
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

// note counts a request and returns what answers it instead. A fault may take
// its time, and nobody else waits for it.
func (s *SessionServer) note(asks bool) http.HandlerFunc {
	s.mu.Lock()
	defer s.mu.Unlock()
	if asks {
		s.asked++
	}
	return s.fault
}

func (s *SessionServer) join(w http.ResponseWriter, r *http.Request) {
	var body struct {
		AccessToken     string    `json:"accessToken"`
		SelectedProfile uuid.UUID `json:"selectedProfile"`
		ServerID        string    `json:"serverId"`
	}
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<16)).Decode(&body); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	who, known := s.accounts[body.AccessToken]
	if !known || who.ID != body.SelectedProfile {
		w.WriteHeader(http.StatusForbidden)
		return
	}
	s.joined[body.ServerID] = who
	w.WriteHeader(http.StatusNoContent)
}

// answer tells each join once, as the real service soon forgets them.
func (s *SessionServer) answer(w http.ResponseWriter, r *http.Request) {
	hash := r.URL.Query().Get("serverId")
	who, ok := s.joined[hash]
	if !ok || !strings.EqualFold(who.Name, r.URL.Query().Get("username")) {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	delete(s.joined, hash)
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(sessionProfile(who))
}
