// SPDX-License-Identifier: Apache-2.0

package fence_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
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
	leases            http.HandlerFunc // in place of the one answer
	election, working *http.Client
	url               string
}

func newWorld(t *testing.T) *world {
	w := &world{t: t, clock: clocktesting.NewFakeClock(time.Date(2026, 9, 18, 20, 0, 0, 0, time.UTC)), answer: http.StatusOK}
	server := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, request *http.Request) {
		if w.leases != nil && strings.Contains(request.URL.Path, "/leases") {
			w.leases(out, request)
			return
		}
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

// elector writes leases as the election does.
func (w *world) elector() coordinationclient.LeaseInterface {
	w.t.Helper()
	client, err := coordinationclient.NewForConfigAndClient(&rest.Config{Host: w.url}, w.election)
	if err != nil {
		w.t.Fatal(err)
	}
	return client.Leases("spawnery-system")
}

// write has the lease held by somebody, or by nobody.
func (w *world) write(holder string) {
	w.t.Helper()
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: "spawnery-manager"}}
	if holder != "" {
		lease.Spec.HolderIdentity = &holder
	}
	// What comes of it is the world's.
	_, _ = w.elector().Update(w.t.Context(), lease, metav1.UpdateOptions{})
}

func (w *world) renew() {
	w.t.Helper()
	w.write("manager-a")
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

// A manager that gave its lease up on its way out may still have something
// under way, and the next one leads at once.
func TestARenewalThatNamesNobodyIsARelease(t *testing.T) {
	for name, answer := range map[string]int{"carried out": http.StatusOK, "with an answer that is lost": http.StatusBadGateway} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.renew()
			w.check(true)
			w.answer = answer
			w.write("")
			w.answer = http.StatusOK
			w.check(false)
			w.renew()
			w.check(true)
		})
	}
}

// The election of a manager that ends is the one that client-go runs.
func TestAnElectionThatEndsLeavesNothingToWrite(t *testing.T) {
	w := newWorld(t)
	var held *coordinationv1.Lease
	w.leases = func(out http.ResponseWriter, request *http.Request) {
		if request.Method != http.MethodGet {
			content, err := io.ReadAll(request.Body)
			if err != nil {
				t.Error(err)
			}
			held = &coordinationv1.Lease{}
			if _, _, err := scheme.Codecs.UniversalDeserializer().Decode(content, nil, held); err != nil {
				t.Error(err)
			}
		}
		out.Header().Set("Content-Type", "application/json")
		if held == nil {
			out.WriteHeader(http.StatusNotFound)
			return
		}
		_ = json.NewEncoder(out).Encode(held)
	}
	client, err := coordinationclient.NewForConfigAndClient(&rest.Config{Host: w.url}, w.election)
	if err != nil {
		t.Fatal(err)
	}
	leading := make(chan struct{})
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: &resourcelock.LeaseLock{
			LeaseMeta: metav1.ObjectMeta{Namespace: "spawnery-system", Name: "spawnery-manager"}, Client: client,
			LockConfig: resourcelock.ResourceLockConfig{Identity: "manager-a"},
		},
		LeaseDuration: 15 * time.Second, RenewDeadline: limit, RetryPeriod: 2 * time.Second, ReleaseOnCancel: true,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(context.Context) { close(leading) },
			OnStoppedLeading: func() {},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		elector.Run(ctx)
	}()
	<-leading
	w.check(true)
	cancel()
	<-ended
	if held.Spec.HolderIdentity != nil && *held.Spec.HolderIdentity != "" {
		t.Fatalf("%s holds the lease", *held.Spec.HolderIdentity)
	}
	w.check(false)
}
