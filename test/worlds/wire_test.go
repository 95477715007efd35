// SPDX-License-Identifier: Apache-2.0

package worlds

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// fault is what the network or the API server does to one call.
type fault int

const (
	fine fault = iota
	// refusedBefore fails the call, which never takes effect.
	refusedBefore
	// lostAfter lets the call take effect, and loses the answer.
	lostAfter
	internalError
	tooMany
	conflicting
)

var faults = []fault{refusedBefore, lostAfter, internalError, tooMany, conflicting}

func (f fault) String() string {
	return [...]string{"fine", "refused before", "lost after", "500", "429", "409"}[f]
}

var (
	errCrashed = errors.New("the manager has crashed")
	errLost    = errors.New("the connection was lost")
)

// wire lies between one manager and the API server. It fails calls, holds
// watches back so that caches grow stale, and ends the manager at a call.
type wire struct {
	note  func(format string, args ...any)
	tally *tally

	mu     sync.Mutex
	random *rand.Rand
	// failing is how many calls of the next ones may fail.
	failing int
	// crashIn is after how many more writes the manager ends; 0 is never.
	crashIn int
	// stale says until when the watches of a resource are held back.
	stale map[string]time.Time
	dead  chan struct{}
	once  sync.Once
}

func newWire(random *rand.Rand, note func(string, ...any), tally *tally) *wire {
	return &wire{random: random, note: note, tally: tally, stale: map[string]time.Time{}, dead: make(chan struct{})}
}

// fail lets about every third of the next writes fail, and some reads.
func (w *wire) fail(calls int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.failing = calls
}

// crash ends the manager at one of its next writes.
func (w *wire) crash(writes int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.crashIn = writes
}

// hold makes the cache of a resource stale for a while.
func (w *wire) hold(resource string, until time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stale[resource] = until
}

// cut ends every call that there is or will be.
func (w *wire) cut() { w.once.Do(func() { close(w.dead) }) }

func (w *wire) isDead() bool {
	select {
	case <-w.dead:
		return true
	default:
		return false
	}
}

// through wraps the connections of a client.
func (w *wire) through(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(request *http.Request) (*http.Response, error) { return w.call(next, request) })
}

type roundTripper func(*http.Request) (*http.Response, error)

func (r roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return r(request) }

func (w *wire) call(next http.RoundTripper, request *http.Request) (*http.Response, error) {
	if w.isDead() {
		return nil, errCrashed
	}
	if request.URL.Query().Get("watch") == "true" {
		return w.watch(next, request)
	}
	fate, last := w.fate(request)
	if last && fate == refusedBefore {
		w.cut()
	}
	switch fate {
	case refusedBefore:
		return nil, errLost
	case internalError, tooMany, conflicting:
		return answer(request, fate), nil
	case fine, lostAfter:
	}
	response, err := next.RoundTrip(request)
	if last {
		w.cut()
	}
	if err == nil && (fate == lostAfter || w.isDead()) {
		_, _ = io.Copy(io.Discard, response.Body)
		_ = response.Body.Close()
		return nil, errLost
	}
	return response, err
}

// fate says what happens to a call, and whether it is the manager's last one.
// That one is lost before it takes effect, or after.
func (w *wire) fate(request *http.Request) (fault, bool) {
	writes := request.Method != http.MethodGet
	name := request.Method + " " + request.URL.Path
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.crashIn > 0 && writes {
		w.crashIn--
		if w.crashIn == 0 {
			fate := []fault{refusedBefore, lostAfter}[w.random.IntN(2)]
			w.tally.count(crashes)
			w.note("manager: crashes at %s (%s)", name, fate)
			return fate, true
		}
	}
	if w.failing == 0 || strings.HasSuffix(request.URL.Path, "/events") {
		return fine, false
	}
	// Reads are many more, and lose nothing.
	odds := 3
	if !writes {
		odds = 12
	}
	w.failing--
	if w.random.IntN(odds) > 0 {
		return fine, false
	}
	fate := faults[w.random.IntN(len(faults))]
	w.tally.count(failures)
	if fate == lostAfter && writes {
		w.tally.count(losses)
	}
	w.note("wire: %s: %s", name, fate)
	return fate, false
}

// answer is what the API server says instead of doing what it was asked.
func answer(request *http.Request, fate fault) *http.Response {
	status := metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure, Message: "played by the test"}
	switch fate {
	case tooMany:
		status.Code, status.Reason = http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests
	case conflicting:
		status.Code, status.Reason = http.StatusConflict, metav1.StatusReasonConflict
	case fine, refusedBefore, lostAfter, internalError:
		status.Code, status.Reason = http.StatusInternalServerError, metav1.StatusReasonInternalError
	}
	body, err := json.Marshal(status)
	if err != nil {
		body = nil
	}
	return &http.Response{
		Status: strconv.Itoa(int(status.Code)), StatusCode: int(status.Code), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader(body)),
		ContentLength: int64(len(body)), Request: request,
	}
}

// watch opens a watch whose events can be held back.
func (w *wire) watch(next http.RoundTripper, request *http.Request) (*http.Response, error) {
	response, err := next.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	parts := strings.Split(request.URL.Path, "/")
	response.Body = &heldBody{ReadCloser: response.Body, wire: w, resource: parts[len(parts)-1], ended: request.Context().Done()}
	return response, nil
}

// heldBody keeps what it has read to itself while its resource is held back.
type heldBody struct {
	io.ReadCloser
	wire     *wire
	resource string
	ended    <-chan struct{}
}

func (b *heldBody) Read(into []byte) (int, error) {
	read, err := b.ReadCloser.Read(into)
	for {
		b.wire.mu.Lock()
		wait := time.Until(b.wire.stale[b.resource])
		b.wire.mu.Unlock()
		if wait <= 0 {
			return read, err
		}
		select {
		case <-time.After(wait):
		case <-b.ended:
			return 0, errCrashed
		case <-b.wire.dead:
			return 0, errCrashed
		}
	}
}
