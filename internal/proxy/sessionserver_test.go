// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

// What a player reads of each trouble with the session server.
const (
	readLimited     = "Mojang's servers are limiting our logins. Please try again in a minute."
	readUnreachable = "Mojang's servers cannot be reached. Please try again in a minute."
	readSlow        = "Mojang's servers take too long to answer. Please try again in a minute."
	readNonsense    = "Mojang's servers gave an answer that cannot be right. Please try again in a minute."
)

func fixed(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		// Whoever hangs up has read enough.
		_, _ = io.WriteString(w, body)
	}
}

func TestEachTroubleWithTheSessionServerIsToldAndCounted(t *testing.T) {
	const good = `{"id":"0123456789abcdef0123456789abcdef","name":"Ada"}`
	elsewhere := http.RedirectHandler("http://192.0.2.1/", http.StatusFound).ServeHTTP
	for name, row := range map[string]struct {
		fault   http.HandlerFunc
		outcome string
		want    string
	}{
		"nobody joined": {
			fixed(http.StatusNoContent, ""), outcomeUnauthenticated,
			"Your account could not be verified. Please restart your game and try again.",
		},
		"it limits us":              {fixed(http.StatusTooManyRequests, ""), outcomeLimited, readLimited},
		"it forbids it":             {fixed(http.StatusForbidden, ""), outcomeLimited, readLimited},
		"it is down":                {fixed(http.StatusBadGateway, ""), outcomeUnreachable, readUnreachable},
		"it hangs up":               {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, outcomeUnreachable, readUnreachable},
		"it is slow":                {func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, outcomeSlow, readSlow},
		"it answers no JSON":        {fixed(http.StatusOK, "<html>"), outcomeNonsense, readNonsense},
		"it answers far too much":   {fixed(http.StatusOK, strings.Repeat(" ", 1<<20)+good), outcomeNonsense, readNonsense},
		"it names somebody else":    {fixed(http.StatusOK, strings.Replace(good, "Ada", "Eve", 1)), outcomeNonsense, readNonsense},
		"it names no UUID":          {fixed(http.StatusOK, `{"id":"Ada","name":"Ada"}`), outcomeNonsense, readNonsense},
		"it says to ask elsewhere":  {elsewhere, outcomeNonsense, readNonsense},
		"it knows no such question": {fixed(http.StatusNotFound, ""), outcomeNonsense, readNonsense},
	} {
		t.Run(name, func(t *testing.T) {
			n := newNetwork(t)
			sessions, online := n.sessionServer()
			sessions.Answer(row.fault)
			n.add("lobby-a", rig{})
			p := n.front(online)
			if got := n.ends(n.bot(p, "Ada", account(sessions, ada))); got != row.want {
				t.Errorf("got %q, want %q", got, row.want)
			}
			n.eventually("the login is over", func() bool { return p.gate.Inside() == 0 })
			p.shows(t, `spawnery_proxy_logins_total{outcome="`+row.outcome+`"} 1`)
			sessions.Answer(nil)
			n.on(n.bot(p, "Ada", account(sessions, ada)), "lobby-a")
		})
	}
}
