// SPDX-License-Identifier: Apache-2.0

package seats

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"k8s.io/utils/clock"
)

// Client asks agents for seats. Its methods may be called from any goroutine;
// each waits no longer than its context.
type Client struct {
	clock clock.PassiveClock
	keys  []key
	http  *http.Client
}

// NewClient signs with the first of the given forwarding secrets and, where
// an agent does not know that one yet, with the others.
func NewClient(clk clock.PassiveClock, secrets ...[]byte) (*Client, error) {
	keys, err := deriveKeys(secrets)
	if err != nil {
		return nil, err
	}
	transport := &http.Transport{
		DialContext:         (&net.Dialer{Timeout: 3 * time.Second, KeepAlive: 15 * time.Second}).DialContext,
		MaxIdleConnsPerHost: 16,
		// Below any agent's own idle limit: whoever closes first should be
		// the side that knows whether a request is under way.
		IdleConnTimeout:    20 * time.Second,
		DisableCompression: true,
	}
	client := &http.Client{
		Transport: transport,
		// What is signed goes to the agent it is meant for and nowhere else.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return &Client{clock: clk, keys: keys, http: client}, nil
}

// Close lets go of idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Ask asks the agent at address (host:port) for a seat. A *Refusal is the
// agent's no; any other error means that it could not be asked.
func (c *Client) Ask(ctx context.Context, address string, ask Ask) (Seat, error) {
	seat, err := c.put(ctx, call{http.MethodPost, address, Path}, ask)
	if err != nil {
		return Seat{}, fmt.Errorf("asking %s for a seat: %w", ask.Server, err)
	}
	return seat, nil
}

// Renew keeps a seat for another Lifetime. A *Refusal means that the seat is
// gone.
func (c *Client) Renew(ctx context.Context, address, id string, ask Ask) (Seat, error) {
	seat, err := c.put(ctx, call{http.MethodPut, address, Path + "/" + url.PathEscape(id)}, ask)
	if err != nil {
		return Seat{}, fmt.Errorf("renewing a seat on %s: %w", ask.Server, err)
	}
	return seat, nil
}

// Release gives a seat back. Releasing one that is gone is no error.
func (c *Client) Release(ctx context.Context, address, id string) error {
	_, _, err := c.do(ctx, call{http.MethodDelete, address, Path + "/" + url.PathEscape(id)}, nil)
	var refused *Refusal
	if errors.As(err, &refused) && refused.Reason == UnknownSeat {
		return nil
	}
	if err != nil {
		return fmt.Errorf("releasing a seat at %s: %w", address, err)
	}
	return nil
}

// call names one endpoint of one agent.
type call struct {
	method, address, path string
}

func (c *Client) put(ctx context.Context, to call, ask Ask) (Seat, error) {
	body, err := json.Marshal(ask)
	if err != nil {
		return Seat{}, fmt.Errorf("writing the question: %w", err)
	}
	answer, secret, err := c.do(ctx, to, body)
	if err != nil {
		return Seat{}, err
	}
	seat := Seat{SignedWith: secret}
	if err := json.Unmarshal(answer, &seat); err != nil {
		return Seat{}, fmt.Errorf("reading the answer: %w", err)
	}
	if seat.ID == "" {
		return Seat{}, errors.New("reading the answer: a seat without an id")
	}
	return seat, nil
}

// do signs with each key in turn until the agent knows one of them, and
// returns its place beside the answer.
func (c *Client) do(ctx context.Context, to call, body []byte) ([]byte, int, error) {
	var unknown *Refusal
	for i, k := range c.keys {
		answer, err := c.once(ctx, k, to, body)
		if errors.As(err, &unknown) && unknown.Reason == NotSigned {
			continue
		}
		return answer, i, err
	}
	return nil, 0, unknown
}

func (c *Client) once(ctx context.Context, k key, to call, body []byte) ([]byte, error) {
	target := "http://" + to.address + to.path
	r, err := http.NewRequestWithContext(ctx, to.method, target, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("addressing the agent: %w", err)
	}
	c.sign(r, k, body)
	resp, err := c.http.Do(r)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, MaxBody))
	if err != nil {
		return nil, fmt.Errorf("reading the answer: %w", err)
	}
	if resp.StatusCode/100 == 2 {
		return answer, nil
	}
	var refused Refusal
	if err := json.Unmarshal(answer, &refused); err != nil || refused.Reason == "" {
		return nil, fmt.Errorf("unexpected answer %s", resp.Status)
	}
	return nil, &refused
}

func (c *Client) sign(r *http.Request, k key, body []byte) {
	signed := request{method: r.Method, path: r.URL.EscapedPath(), at: c.clock.Now(), body: body}
	_, _ = rand.Read(signed.nonce[:]) // never fails, by its documentation
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set(headerTime, formatTime(signed.at))
	r.Header.Set(headerNonce, hex.EncodeToString(signed.nonce[:]))
	r.Header.Set(headerMAC, hex.EncodeToString(k.mac(signed)))
}
