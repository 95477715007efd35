// SPDX-License-Identifier: Apache-2.0

package seats

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	clocktesting "k8s.io/utils/clock/testing"
)

var (
	start  = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	secret = []byte("a forwarding secret")
	ask    = Ask{
		Server: "lobby-x7fq",
		Player: Player{UUID: uuid.MustParse("11111111-2222-3333-4444-555555555555"), Name: "Ada"},
		Way:    ByChoice,
	}
)

func newClient(t *testing.T, clk *clocktesting.FakePassiveClock, secrets ...[]byte) *Client {
	t.Helper()
	c, err := NewClient(clk, secrets...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func newVerifier(t *testing.T, clk *clocktesting.FakePassiveClock, secrets ...[]byte) *Verifier {
	t.Helper()
	v, err := NewVerifier(clk, secrets...)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// agent serves h behind a verifier and returns its host:port.
func agent(t *testing.T, v *Verifier, h http.HandlerFunc) string {
	t.Helper()
	srv := httptest.NewServer(v.Protect(h))
	t.Cleanup(srv.Close)
	return strings.TrimPrefix(srv.URL, "http://")
}

func TestASeatIsAskedRenewedAndReleased(t *testing.T) {
	clk := clocktesting.NewFakePassiveClock(start)
	var got []string
	addr := agent(t, newVerifier(t, clk, secret), func(w http.ResponseWriter, r *http.Request) {
		got = append(got, r.Method+" "+r.URL.Path)
		if r.Method == http.MethodDelete {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		var a Ask
		if err := json.NewDecoder(r.Body).Decode(&a); err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff(ask, a); diff != "" {
			t.Error(diff)
		}
		_ = json.NewEncoder(w).Encode(Seat{ID: "s1", ExpiresSeconds: 15, Taken: 3})
	})
	c := newClient(t, clk, secret)

	seat, err := c.Ask(t.Context(), addr, ask)
	if err != nil || seat != (Seat{ID: "s1", ExpiresSeconds: 15, Taken: 3}) {
		t.Fatalf("got %+v, %v", seat, err)
	}
	if _, err := c.Renew(t.Context(), addr, seat.ID, ask); err != nil {
		t.Fatal(err)
	}
	if err := c.Release(t.Context(), addr, seat.ID); err != nil {
		t.Fatal(err)
	}
	want := []string{"POST /v1/seats", "PUT /v1/seats/s1", "DELETE /v1/seats/s1"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestARefusalIsToldApartFromAFailure(t *testing.T) {
	clk := clocktesting.NewFakePassiveClock(start)
	status := http.StatusConflict
	addr := agent(t, newVerifier(t, clk, secret), func(w http.ResponseWriter, _ *http.Request) {
		if status == http.StatusConflict {
			Refuse(w, status, Refusal{Reason: Full, Message: "20 of 20"})
			return
		}
		http.Error(w, "broken", status)
	})
	c := newClient(t, clk, secret)

	_, err := c.Ask(t.Context(), addr, ask)
	var refused *Refusal
	if !errors.As(err, &refused) || refused.Reason != Full || refused.Message != "20 of 20" {
		t.Errorf("got %v, want the refusal", err)
	}
	status = http.StatusInternalServerError
	_, err = c.Ask(t.Context(), addr, ask)
	if err == nil || errors.As(err, &refused) {
		t.Errorf("got %v, want an error that is no refusal", err)
	}
}

func TestAQuestionIsNotSentOnToSomebodyElse(t *testing.T) {
	clk := clocktesting.NewFakePassiveClock(start)
	asked := 0
	other := agent(t, newVerifier(t, clk, secret), func(http.ResponseWriter, *http.Request) { asked++ })
	liar := httptest.NewServer(http.RedirectHandler("http://"+other+Path, http.StatusTemporaryRedirect))
	t.Cleanup(liar.Close)
	if _, err := newClient(t, clk, secret).Ask(t.Context(), strings.TrimPrefix(liar.URL, "http://"), ask); err == nil {
		t.Error("a seat was given by nobody")
	}
	if asked > 0 {
		t.Error("the signed question reached another agent")
	}
}

func TestReleasingASeatThatIsGoneIsNoError(t *testing.T) {
	clk := clocktesting.NewFakePassiveClock(start)
	addr := agent(t, newVerifier(t, clk, secret), func(w http.ResponseWriter, _ *http.Request) {
		Refuse(w, http.StatusNotFound, Refusal{Reason: UnknownSeat})
	})
	if err := newClient(t, clk, secret).Release(t.Context(), addr, "s1"); err != nil {
		t.Error(err)
	}
}

func TestDuringARotationEitherSecretIsGood(t *testing.T) {
	clk := clocktesting.NewFakePassiveClock(start)
	previous, next, other := []byte("previous"), []byte("next"), []byte("other")
	for name, tt := range map[string]struct {
		proxy, agent [][]byte
		wantGood     bool
		wantWith     int
	}{
		"the proxy is ahead":    {proxy: [][]byte{next, previous}, agent: [][]byte{previous}, wantGood: true, wantWith: 1},
		"the agent is ahead":    {proxy: [][]byte{previous}, agent: [][]byte{next, previous}, wantGood: true},
		"they share no secret":  {proxy: [][]byte{next, previous}, agent: [][]byte{other}},
		"a single other secret": {proxy: [][]byte{next}, agent: [][]byte{other}},
	} {
		t.Run(name, func(t *testing.T) {
			addr := agent(t, newVerifier(t, clk, tt.agent...), func(w http.ResponseWriter, _ *http.Request) {
				_ = json.NewEncoder(w).Encode(Seat{ID: "s1", ExpiresSeconds: 15})
			})
			seat, err := newClient(t, clk, tt.proxy...).Ask(t.Context(), addr, ask)
			var refused *Refusal
			notSigned := errors.As(err, &refused) && refused.Reason == NotSigned
			if tt.wantGood && err != nil || !tt.wantGood && !notSigned {
				t.Errorf("got %v, want good: %v", err, tt.wantGood)
			}
			if seat.SignedWith != tt.wantWith {
				t.Errorf("signed with %d, want %d", seat.SignedWith, tt.wantWith)
			}
		})
	}
}

// signed makes a request as the client would send it.
func signed(t *testing.T, c *Client, body string) *http.Request {
	t.Helper()
	r := httptest.NewRequest(http.MethodPost, "http://10.0.0.1:9357"+Path, bytes.NewReader([]byte(body)))
	c.sign(r, c.keys[0], []byte(body))
	return r
}

func TestTheVerifierRefusesWhatWasNotSignedLikeThis(t *testing.T) {
	for name, change := range map[string]func(r *http.Request, body *string, clk *clocktesting.FakePassiveClock){
		"another body":   func(_ *http.Request, body *string, _ *clocktesting.FakePassiveClock) { *body = "{ }" },
		"another method": func(r *http.Request, _ *string, _ *clocktesting.FakePassiveClock) { r.Method = http.MethodPut },
		"another path": func(r *http.Request, _ *string, _ *clocktesting.FakePassiveClock) {
			r.URL.Path += "/s1"
		},
		"a query": func(r *http.Request, _ *string, _ *clocktesting.FakePassiveClock) {
			r.URL.RawQuery = "way=Named"
		},
		"another nonce": func(r *http.Request, _ *string, _ *clocktesting.FakePassiveClock) {
			r.Header.Set(headerNonce, strings.Repeat("00", nonceSize))
		},
		"another time": func(r *http.Request, _ *string, _ *clocktesting.FakePassiveClock) {
			r.Header.Set(headerTime, formatTime(start.Add(time.Second)))
		},
		"no signature": func(r *http.Request, _ *string, _ *clocktesting.FakePassiveClock) { r.Header.Del(headerMAC) },
		"no nonce":     func(r *http.Request, _ *string, _ *clocktesting.FakePassiveClock) { r.Header.Del(headerNonce) },
		"no time":      func(r *http.Request, _ *string, _ *clocktesting.FakePassiveClock) { r.Header.Del(headerTime) },
		"too late": func(_ *http.Request, _ *string, clk *clocktesting.FakePassiveClock) {
			clk.SetTime(start.Add(replayWindow + time.Millisecond))
		},
		"too early": func(_ *http.Request, _ *string, clk *clocktesting.FakePassiveClock) {
			clk.SetTime(start.Add(-replayWindow - time.Millisecond))
		},
	} {
		t.Run(name, func(t *testing.T) {
			clk := clocktesting.NewFakePassiveClock(start)
			body := "{}"
			r := signed(t, newClient(t, clk, secret), body)
			change(r, &body, clk)
			if err := newVerifier(t, clk, secret).Verify(r, []byte(body)); err == nil {
				t.Error("it was accepted")
			}
		})
	}
}

func TestARequestIsGoodOnceForAsLongAsItsTimeIs(t *testing.T) {
	clk := clocktesting.NewFakePassiveClock(start)
	v := newVerifier(t, clk, secret)
	r := signed(t, newClient(t, clk, secret), "{}")
	// Seen at the earliest moment, so that it must be remembered longest.
	clk.SetTime(start.Add(-replayWindow))
	if err := v.Verify(r, []byte("{}")); err != nil {
		t.Fatal(err)
	}
	for at := start.Add(-replayWindow); !at.After(start.Add(2 * replayWindow)); at = at.Add(time.Second) {
		clk.SetTime(at)
		if v.Verify(r, []byte("{}")) == nil {
			t.Fatalf("repeated at %s it was accepted", at.Sub(start))
		}
	}
}

func TestRememberedNoncesAreBounded(t *testing.T) {
	clk := clocktesting.NewFakePassiveClock(start)
	v := newVerifier(t, clk, secret)
	for i := range maxNonces {
		v.fresh[nonce{byte(i), byte(i >> 8), byte(i >> 16), 1}] = struct{}{}
	}
	c := newClient(t, clk, secret)
	if v.Verify(signed(t, c, "{}"), []byte("{}")) == nil {
		t.Error("more than the bound were accepted")
	}
	clk.SetTime(start.Add(2 * replayWindow))
	if err := v.Verify(signed(t, c, "{}"), []byte("{}")); err != nil {
		t.Errorf("after the window: %v", err)
	}
}

func TestProtectBoundsTheBody(t *testing.T) {
	clk := clocktesting.NewFakePassiveClock(start)
	h := newVerifier(t, clk, secret).Protect(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		t.Error("it was passed on")
	}))
	w := httptest.NewRecorder()
	h.ServeHTTP(w, signed(t, newClient(t, clk, secret), strings.Repeat("x", MaxBody+1)))
	if w.Code != http.StatusBadRequest {
		t.Errorf("got %d", w.Code)
	}
}

func TestWithoutASecretThereIsNeitherClientNorVerifier(t *testing.T) {
	clk := clocktesting.NewFakePassiveClock(start)
	if _, err := NewClient(clk); err == nil {
		t.Error("a client was made")
	}
	if _, err := NewVerifier(clk); err == nil {
		t.Error("a verifier was made")
	}
}
