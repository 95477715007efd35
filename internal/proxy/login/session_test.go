// SPDX-License-Identifier: Apache-2.0

package login

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/utils/clock"
)

const adasID = "069a79f444e94726a5befca90e38aaf5"

func says(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		// Whoever hangs up has read enough.
		_, _ = fmt.Fprint(w, body)
	}
}

func TestOnlyTheSessionServersOwnWordIsTaken(t *testing.T) {
	profile := fmt.Sprintf(`{"id":%q,"name":"Ada","properties":[]}`, adasID)
	elsewhere := httptest.NewServer(says(http.StatusOK, profile))
	t.Cleanup(elsewhere.Close)
	tests := map[string]struct {
		answer http.HandlerFunc
		want   error
	}{
		"a profile":                 {says(http.StatusOK, profile), nil},
		"in other case":             {says(http.StatusOK, strings.Replace(profile, "Ada", "aDA", 1)), nil},
		"nobody":                    {says(http.StatusNoContent, ""), ErrUnauthenticated},
		"too many":                  {says(http.StatusTooManyRequests, ""), ErrLimited},
		"forbidden":                 {says(http.StatusForbidden, ""), ErrLimited},
		"an error with a profile":   {says(http.StatusInternalServerError, profile), ErrUnreachable},
		"a redirect with a profile": {http.RedirectHandler(elsewhere.URL, http.StatusFound).ServeHTTP, ErrNonsense},
		"a lasting redirect":        {http.RedirectHandler(elsewhere.URL, http.StatusPermanentRedirect).ServeHTTP, ErrNonsense},
		"another player":            {says(http.StatusOK, strings.Replace(profile, "Ada", "Eve", 1)), ErrNonsense},
		"a name that is none":       {says(http.StatusOK, strings.Replace(profile, "Ada", "A a", 1)), ErrNonsense},
		"an id that is none":        {says(http.StatusOK, strings.Replace(profile, adasID, "1", 1)), ErrNonsense},
		"no id":                     {says(http.StatusOK, `{"name":"Ada"}`), ErrNonsense},
		"an id of nobody":           {says(http.StatusOK, strings.Replace(profile, adasID, strings.Repeat("0", 32), 1)), ErrNonsense},
		"too many properties":       {says(http.StatusOK, strings.Replace(profile, "[]", "["+strings.Repeat(`{"name":"a","value":"b"},`, 16)+`{}]`, 1)), ErrNonsense},
		"a property too large":      {says(http.StatusOK, strings.Replace(profile, "[]", `[{"name":"a","value":"`+strings.Repeat("b", 40_000)+`"}]`, 1)), ErrNonsense},
		"something else":            {says(http.StatusOK, "<html>"), ErrNonsense},
		"far too much":              {says(http.StatusOK, strings.Repeat(" ", 1<<20)+profile), ErrNonsense},
		"a request that is wrong":   {says(http.StatusBadRequest, profile), ErrNonsense},
		"half a profile, for a long time": {func(w http.ResponseWriter, r *http.Request) {
			says(http.StatusOK, profile[:len(profile)/2])(w, r)
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}, ErrSlow},
		"an end in the middle":     {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, ErrUnreachable},
		"nothing, for a long time": {func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, ErrSlow},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(test.answer)
			t.Cleanup(server.Close)
			sessions, err := NewSessionServer(server.URL, DefaultSessionLimits(), clock.RealClock{})
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
			defer cancel()
			who, err := sessions.HasJoined(ctx, "Ada", "-hash")
			if !errors.Is(err, test.want) {
				t.Errorf("got %v, want %v", err, test.want)
			}
			if test.want != nil && who.Name != "" {
				t.Errorf("got %s beside an error", who.Name)
			}
		})
	}
}

func TestTroubleThatPassesIsWaitedFor(t *testing.T) {
	profile := fmt.Sprintf(`{"id":%q,"name":"Ada","properties":[]}`, adasID)
	for name, row := range map[string]struct {
		first int
		asked int32
		want  error
	}{
		"limited at first":          {http.StatusTooManyRequests, 2, nil},
		"forbidden at first":        {http.StatusForbidden, 2, nil},
		"down at first":             {http.StatusServiceUnavailable, 2, nil},
		"nobody is the last word":   {http.StatusNoContent, 1, ErrUnauthenticated},
		"a mistake is the last one": {http.StatusBadRequest, 1, ErrNonsense},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var asked atomic.Int32
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if asked.Add(1) == 1 {
					w.WriteHeader(row.first)
					return
				}
				says(http.StatusOK, profile)(w, r)
			}))
			t.Cleanup(server.Close)
			sessions, err := NewSessionServer(server.URL, DefaultSessionLimits(), clock.RealClock{})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := sessions.HasJoined(t.Context(), "Ada", "-hash"); !errors.Is(err, row.want) {
				t.Errorf("got %v, want %v", err, row.want)
			}
			if got := asked.Load(); got != row.asked {
				t.Errorf("asked %d times, want %d", got, row.asked)
			}
		})
	}
}

func TestARationOfNothingIsRefused(t *testing.T) {
	for _, limits := range []SessionLimits{{}, {Burst: 1}, {PerSecond: 1}, {Burst: -1, PerSecond: 1}} {
		if _, err := NewSessionServer(DefaultSessionServer, limits, clock.RealClock{}); err == nil || !strings.Contains(err.Error(), "both must be above 0") {
			t.Errorf("%+v: %v", limits, err)
		}
	}
}

func TestLoginsBeyondTheRationWaitOrAreTurnedAway(t *testing.T) {
	var asked atomic.Int32
	profile := fmt.Sprintf(`{"id":%q,"name":"Ada","properties":[]}`, adasID)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		says(http.StatusOK, profile)(w, r)
	}))
	t.Cleanup(server.Close)
	// A call a minute after the first two: whoever has less time is told so.
	sessions, err := NewSessionServer(server.URL, SessionLimits{Burst: 2, PerSecond: 1.0 / 60}, clock.RealClock{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	for range 2 {
		if _, err := sessions.HasJoined(ctx, "Ada", "-hash"); err != nil {
			t.Fatal(err)
		}
	}
	began := time.Now()
	if _, err := sessions.HasJoined(ctx, "Ada", "-hash"); !errors.Is(err, ErrQueue) || errors.Is(err, ErrLimited) {
		t.Errorf("got %v", err)
	}
	if waited := time.Since(began); waited > 5*time.Second {
		t.Errorf("told so after %s", waited)
	}
	if asked.Load() != 2 {
		t.Errorf("asked %d times", asked.Load())
	}
	// With time enough they wait for their turn.
	quick, err := NewSessionServer(server.URL, SessionLimits{Burst: 1, PerSecond: 20}, clock.RealClock{})
	if err != nil {
		t.Fatal(err)
	}
	for range 5 {
		if _, err := quick.HasJoined(ctx, "Ada", "-hash"); err != nil {
			t.Error(err)
		}
	}
}

func TestASessionServerThatIsNotThereIsNotSlow(t *testing.T) {
	gone := httptest.NewServer(nil)
	gone.Close()
	sessions, err := NewSessionServer(gone.URL, DefaultSessionLimits(), clock.RealClock{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := sessions.HasJoined(t.Context(), "Ada", "-hash"); !errors.Is(err, ErrUnreachable) || errors.Is(err, ErrSlow) {
		t.Errorf("got %v", err)
	}
}
