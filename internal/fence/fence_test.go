// SPDX-License-Identifier: Apache-2.0

package fence_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/spawnery/spawnery-operator/internal/fence"
)

const (
	lease  = "/apis/coordination.k8s.io/v1/namespaces/spawnery-system/leases/spawnery-manager"
	events = "/api/v1/namespaces/spawnery-system/events"
	pods   = "/api/v1/namespaces/minecraft/pods"

	limit = 10 * time.Second
)

// world is an API server that answers everything the same way, and the two
// clients of a manager.
type world struct {
	t                 *testing.T
	clock             *clocktesting.FakeClock
	answer            int
	took              time.Duration
	reached           int
	election, working *http.Client
	url               string
}

func newWorld(t *testing.T) *world {
	w := &world{t: t, clock: clocktesting.NewFakeClock(time.Date(2026, 9, 18, 20, 0, 0, 0, time.UTC)), answer: http.StatusOK}
	server := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, _ *http.Request) {
		w.reached++
		w.clock.Step(w.took)
		out.WriteHeader(w.answer)
	}))
	t.Cleanup(server.Close)
	w.url = server.URL
	made := fence.New(w.clock, limit)
	w.election, w.working = clientFor(t, made.Watch(&rest.Config{Host: server.URL})), clientFor(t, made.Guard(&rest.Config{Host: server.URL}))
	return w
}

func clientFor(t *testing.T, config *rest.Config) *http.Client {
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func (w *world) send(client *http.Client, method, path string) error {
	w.t.Helper()
	request, err := http.NewRequestWithContext(w.t.Context(), method, w.url+path, strings.NewReader("{}"))
	if err != nil {
		w.t.Fatal(err)
	}
	response, err := client.Do(request)
	if err == nil {
		_ = response.Body.Close()
	}
	return err
}

func (w *world) renew() {
	w.t.Helper()
	if err := w.send(w.election, http.MethodPut, lease); err != nil {
		w.t.Fatal(err)
	}
}

// check wants a write to be let through, or to be refused before it reaches
// anybody.
func (w *world) check(want bool) {
	w.t.Helper()
	for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
		before := w.reached
		err := w.send(w.working, method, pods)
		if through := err == nil; through != want || (w.reached > before) != want {
			w.t.Errorf("%s: %v, want it let through: %v", method, err, want)
		}
		if err != nil && !errors.Is(err, fence.ErrNotLeading) {
			w.t.Errorf("%s: %v, which does not say that nothing was written", method, err)
		}
	}
	if err := w.send(w.working, http.MethodGet, pods); err != nil {
		w.t.Errorf("a read: %v", err)
	}
}

func TestNothingIsWrittenBeforeTheLeaseIsHeld(t *testing.T) {
	w := newWorld(t)
	w.check(false)
	w.renew()
	w.check(true)
}

func TestWritesPassUntilTheRenewalIsTooOld(t *testing.T) {
	w := newWorld(t)
	w.renew()
	w.clock.Step(limit)
	w.check(true)
	w.clock.Step(time.Millisecond)
	w.check(false)
	w.renew()
	w.check(true)
}

func TestARenewalCountsFromWhenItWasSent(t *testing.T) {
	w := newWorld(t)
	w.took = limit + time.Second
	w.renew()
	w.took = 0
	w.check(false)
}

func TestWhatIsNoRenewalDoesNotCount(t *testing.T) {
	w := newWorld(t)
	w.answer = http.StatusConflict
	w.renew()
	w.check(false)
	w.answer = http.StatusOK
	for _, call := range []struct{ method, path string }{{http.MethodGet, lease}, {http.MethodPost, events}} {
		if err := w.send(w.election, call.method, call.path); err != nil {
			t.Fatal(err)
		}
		w.check(false)
	}
}
