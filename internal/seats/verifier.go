// SPDX-License-Identifier: Apache-2.0

package seats

import (
	"bytes"
	"crypto/hmac"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

const (
	// replayWindow is how far a request's time may lie from the clock, either
	// way.
	replayWindow = 30 * time.Second
	// maxNonces bounds the remembered nonces of one generation. Only signed
	// requests are remembered, so nobody without the secret can fill it.
	maxNonces = 1 << 17
)

// Verifier tells signed requests from others and each from its repetition.
// Its methods may be called from any goroutine.
type Verifier struct {
	clock clock.PassiveClock
	keys  []key

	mu sync.Mutex
	// Two generations of nonces: a nonce lives at least as long as its time
	// is acceptable, and forgetting costs nothing per nonce.
	fresh, old map[nonce]struct{}
	turned     time.Time
}

// NewVerifier accepts what was signed with any of the given forwarding
// secrets; two while one is being replaced.
func NewVerifier(clk clock.PassiveClock, secrets ...[]byte) (*Verifier, error) {
	keys, err := deriveKeys(secrets)
	if err != nil {
		return nil, err
	}
	return &Verifier{clock: clk, keys: keys, fresh: map[nonce]struct{}{}, turned: clk.Now()}, nil
}

func deriveKeys(secrets [][]byte) ([]key, error) {
	if len(secrets) == 0 {
		return nil, errors.New("no forwarding secret to derive the seat key from")
	}
	keys := make([]key, 0, len(secrets))
	for _, secret := range secrets {
		k, err := deriveKey(secret)
		if err != nil {
			return nil, err
		}
		keys = append(keys, k)
	}
	return keys, nil
}

// Protect passes signed requests on to next, their body read and bounded, and
// answers all others 401 with a Refusal.
func (v *Verifier) Protect(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, MaxBody))
		if err != nil {
			Refuse(w, http.StatusBadRequest, Refusal{Reason: Malformed, Message: "the body can not be read"})
			return
		}
		if err := v.Verify(r, body); err != nil {
			Refuse(w, http.StatusUnauthorized, Refusal{Reason: NotSigned, Message: err.Error()})
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		next.ServeHTTP(w, r)
	})
}

// Refuse writes a refusal with the given HTTP status; refusals of a seat are
// 409.
func Refuse(w http.ResponseWriter, status int, refusal Refusal) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	// A client that has gone needs no answer.
	_ = json.NewEncoder(w).Encode(refusal)
}

// Verify returns nil for a request that was signed with a key of ours, is of
// now, and was not seen before. The message of its error is safe to show.
func (v *Verifier) Verify(r *http.Request, body []byte) error {
	at, err := parseTime(r.Header.Get(headerTime))
	if err != nil {
		return err
	}
	n, err := parseNonce(r.Header.Get(headerNonce))
	if err != nil {
		return err
	}
	given, err := hex.DecodeString(r.Header.Get(headerMAC))
	if err != nil {
		return fmt.Errorf("reading %s: %w", headerMAC, err)
	}
	if r.URL.RawQuery != "" {
		return errors.New("a query is not covered by the signature")
	}
	now := v.clock.Now()
	if off := now.Sub(at); off > replayWindow || off < -replayWindow {
		return fmt.Errorf("signed %s away from this clock, more than %s", off.Round(time.Second), replayWindow)
	}
	signed := request{method: r.Method, path: r.URL.EscapedPath(), at: at, nonce: n, body: body}
	if !v.signedByUs(signed, given) {
		return errors.New("the signature does not match: another forwarding secret?")
	}
	return v.remember(n, now)
}

func (v *Verifier) signedByUs(r request, given []byte) bool {
	for _, k := range v.keys {
		if hmac.Equal(k.mac(r), given) {
			return true
		}
	}
	return false
}

// remember refuses a nonce that was seen, and more of them than are bounded.
func (v *Verifier) remember(n nonce, now time.Time) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	// A time is acceptable for two windows, from one before to one after.
	if now.Sub(v.turned) >= 2*replayWindow {
		v.fresh, v.old, v.turned = map[nonce]struct{}{}, v.fresh, now
	}
	_, inFresh := v.fresh[n]
	_, inOld := v.old[n]
	if inFresh || inOld {
		return errors.New("this request was seen before")
	}
	if len(v.fresh) >= maxNonces {
		return errors.New("too many requests to tell repetitions apart")
	}
	v.fresh[n] = struct{}{}
	return nil
}
