// SPDX-License-Identifier: Apache-2.0

// Package fence keeps a manager that may no longer lead from writing. A process
// that stood still for a while goes on where it was, before it notices that
// another one leads by now.
package fence

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
)

// ErrNotLeading is in the error of every write that was refused. It did not
// reach the API server.
var ErrNotLeading = errors.New("this manager may not lead any more")

// Fence knows when this process last renewed its lease. It is safe for
// concurrent use.
type Fence struct {
	clock clock.PassiveClock
	limit time.Duration

	mu      sync.Mutex
	renewed time.Time
}

// New makes a fence that lets writes pass for limit after each renewal: the
// renew deadline of the election, which is shorter than the lease.
func New(now clock.PassiveClock, limit time.Duration) *Fence {
	return &Fence{clock: now, limit: limit}
}

// Watch returns a configuration like the one given, by which an election's
// renewals are seen.
func (f *Fence) Watch(config *rest.Config) *rest.Config {
	return wrapped(config, func(next http.RoundTripper) http.RoundTripper { return &watching{f, next} })
}

// Guard returns a configuration like the one given, by which nothing is written
// while the last renewal is older than the limit.
func (f *Fence) Guard(config *rest.Config) *rest.Config {
	return wrapped(config, func(next http.RoundTripper) http.RoundTripper { return &guarding{f, next} })
}

func wrapped(config *rest.Config, wrap func(http.RoundTripper) http.RoundTripper) *rest.Config {
	config = rest.CopyConfig(config)
	config.Wrap(wrap)
	return config
}

// check is nil while the lease is held beyond doubt.
func (f *Fence) check() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.renewed.IsZero() {
		return fmt.Errorf("%w: it has no lease yet", ErrNotLeading)
	}
	if ago := elapsed(f.renewed, f.clock.Now()); ago > f.limit {
		return fmt.Errorf("%w: its lease was last renewed %s ago", ErrNotLeading, ago.Round(time.Second))
	}
	return nil
}

// elapsed takes the longer of what the two clocks of a machine say: one of them
// stands still while the machine sleeps.
func elapsed(since, now time.Time) time.Duration {
	return max(now.Sub(since), now.Round(0).Sub(since.Round(0)))
}

func (f *Fence) renewedAt(instant time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if instant.After(f.renewed) {
		f.renewed = instant
	}
}

func writes(request *http.Request) bool {
	return request.Method != http.MethodGet && request.Method != http.MethodHead
}

// released says that the lease is given up: whoever wants it may have it now.
func (f *Fence) released() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.renewed = time.Time{}
}

// watching sees what becomes of writes to leases. A renewal counts from when it
// was sent: that is when others began to wait. A release counts before it is
// sent, whatever comes of it: its answer may be lost on the way.
type watching struct {
	fence *Fence
	next  http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (w *watching) RoundTrip(request *http.Request) (*http.Response, error) {
	if !writes(request) || !strings.Contains(request.URL.Path, "/leases") {
		return w.next.RoundTrip(request)
	}
	holder, err := holderIn(request)
	if err != nil {
		return nil, err
	}
	if holder == "" {
		w.fence.released()
		return w.next.RoundTrip(request)
	}
	sent := w.fence.clock.Now()
	response, err := w.next.RoundTrip(request)
	if err == nil && response.StatusCode < http.StatusMultipleChoices {
		w.fence.renewedAt(sent)
	}
	return response, err
}

// holderIn is who holds the lease once the request was carried out; empty for
// nobody. The request's body can be read again afterwards.
func holderIn(request *http.Request) (string, error) {
	if request.Body == nil {
		return "", nil
	}
	content, err := io.ReadAll(request.Body)
	if err := errors.Join(err, request.Body.Close()); err != nil {
		return "", fmt.Errorf("reading a lease that is to be written: %w", err)
	}
	request.Body = io.NopCloser(bytes.NewReader(content))
	// In JSON or in another form that the API server takes.
	object, _, err := scheme.Codecs.UniversalDeserializer().Decode(content, nil, nil)
	if err != nil {
		return "", fmt.Errorf("reading a lease that is to be written: %w", err)
	}
	lease, ok := object.(*coordinationv1.Lease)
	if !ok {
		return "", fmt.Errorf("a lease is to be written as %T", object)
	}
	return ptr.Deref(lease.Spec.HolderIdentity, ""), nil
}

// guarding lets reads pass always.
type guarding struct {
	fence *Fence
	next  http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (g *guarding) RoundTrip(request *http.Request) (*http.Response, error) {
	if writes(request) {
		if err := g.fence.check(); err != nil {
			if request.Body != nil {
				_ = request.Body.Close()
			}
			return nil, err
		}
	}
	return g.next.RoundTrip(request)
}
