// SPDX-License-Identifier: Apache-2.0

package login

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
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
		"a redirect with a profile": {http.RedirectHandler(elsewhere.URL, http.StatusFound).ServeHTTP, ErrUnreachable},
		"a lasting redirect":        {http.RedirectHandler(elsewhere.URL, http.StatusPermanentRedirect).ServeHTTP, ErrUnreachable},
		"another player":            {says(http.StatusOK, strings.Replace(profile, "Ada", "Eve", 1)), ErrUnreachable},
		"a name that is none":       {says(http.StatusOK, strings.Replace(profile, "Ada", "A a", 1)), ErrUnreachable},
		"an id that is none":        {says(http.StatusOK, strings.Replace(profile, adasID, "1", 1)), ErrUnreachable},
		"no id":                     {says(http.StatusOK, `{"name":"Ada"}`), ErrUnreachable},
		"an id of nobody":           {says(http.StatusOK, strings.Replace(profile, adasID, strings.Repeat("0", 32), 1)), ErrUnreachable},
		"too many properties":       {says(http.StatusOK, strings.Replace(profile, "[]", "["+strings.Repeat(`{"name":"a","value":"b"},`, 16)+`{}]`, 1)), ErrUnreachable},
		"a property too large":      {says(http.StatusOK, strings.Replace(profile, "[]", `[{"name":"a","value":"`+strings.Repeat("b", 40_000)+`"}]`, 1)), ErrUnreachable},
		"something else":            {says(http.StatusOK, "<html>"), ErrUnreachable},
		"far too much":              {says(http.StatusOK, strings.Repeat(" ", 1<<20)+profile), ErrUnreachable},
		"nothing, for a long time":  {func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, ErrUnreachable},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(test.answer)
			t.Cleanup(server.Close)
			sessions, err := NewSessionServer(server.URL)
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
