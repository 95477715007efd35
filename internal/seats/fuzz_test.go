// SPDX-License-Identifier: Apache-2.0

package seats

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	clocktesting "k8s.io/utils/clock/testing"
)

// agentSaying is an agent that answers this.
type agentSaying struct {
	status int
	body   []byte
}

func (a agentSaying) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: a.status, Body: io.NopCloser(bytes.NewReader(a.body)), Header: http.Header{}}, nil
}

func FuzzAnswer(f *testing.F) {
	f.Add(200, []byte(`{"id":"seat-1","expiresSeconds":15,"taken":3}`))
	f.Add(201, []byte(`{"id":"","taken":-1}`))
	f.Add(409, []byte(`{"reason":"Full","message":"every slot is taken"}`))
	f.Add(401, []byte(`{"reason":"NotSigned"}`))
	f.Add(500, []byte(`oops`))
	f.Fuzz(func(t *testing.T, status int, body []byte) {
		client, err := NewClient(clocktesting.NewFakePassiveClock(start), secret, []byte("the one before"))
		if err != nil {
			t.Fatal(err)
		}
		client.http.Transport = agentSaying{status, body}
		seat, err := client.Ask(t.Context(), "127.0.0.1:1", ask)
		if err == nil && (seat.ID == "" || status/100 != 2) {
			t.Fatalf("%d with %q is the seat %+v", status, body, seat)
		}
		var refused *Refusal
		if errors.As(err, &refused) && (refused == nil || refused.Reason == "") {
			t.Fatalf("%d with %q is no refusal", status, body)
		}
	})
}

func FuzzVerify(f *testing.F) {
	f.Add(formatTime(start), "000102030405060708090a0b0c0d0e0f", "00", []byte("{}"))
	f.Add("", "x", "zz", []byte{})
	f.Add("99999999999999999999", "00", "0", []byte{0})
	f.Fuzz(func(t *testing.T, at, nonce, mac string, body []byte) {
		v, err := NewVerifier(clocktesting.NewFakePassiveClock(start), secret)
		if err != nil {
			t.Fatal(err)
		}
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, Path, nil)
		r.Header[headerTime], r.Header[headerNonce], r.Header[headerMAC] = []string{at}, []string{nonce}, []string{mac}
		if v.Verify(r, body) == nil {
			t.Fatal("who does not know the secret has signed")
		}
	})
}
