// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/spawnery/spawnery-operator/internal/agent/serverspec"
	"github.com/spawnery/spawnery-operator/internal/seats"
)

// eavesdropper passes requests on to an agent and keeps them.
type eavesdropper struct {
	*httptest.Server
	target string

	mu   sync.Mutex
	kept []kept
}

type kept struct {
	header http.Header
	body   []byte
}

func newEavesdropper(p *pod, target string) *eavesdropper {
	p.t.Helper()
	e := &eavesdropper{target: target}
	e.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			p.t.Error(err)
			return
		}
		one := kept{r.Header.Clone(), body}
		e.mu.Lock()
		e.kept = append(e.kept, one)
		e.mu.Unlock()
		status, answer := e.send(r.Context(), p, one)
		w.WriteHeader(status)
		_, _ = w.Write(answer)
	}))
	p.t.Cleanup(e.Close)
	return e
}

// send sends what was kept, once more.
func (e *eavesdropper) send(ctx context.Context, p *pod, one kept) (int, []byte) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+e.target+seats.Path, bytes.NewReader(one.body))
	if err != nil {
		p.t.Error(err)
		return 0, nil
	}
	request.Header = one.header
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		p.t.Error(err)
		return 0, nil
	}
	defer func() { _ = response.Body.Close() }()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		p.t.Error(err)
	}
	return response.StatusCode, answer
}

// crowd is everybody who wants to play, and the proxies they are on.
type crowd struct {
	*pod
	slots   int32
	proxies []askedFor
}

// askedFor is a proxy that signs with these secrets.
type askedFor struct {
	client  *seats.Client
	address string
}

func (c *crowd) through(address string, signed ...string) {
	c.t.Helper()
	var secrets [][]byte
	for _, secret := range signed {
		secrets = append(secrets, []byte(secret))
	}
	client, err := seats.NewClient(c.clock, secrets...)
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(client.Close)
	c.proxies = append(c.proxies, askedFor{client, address})
}

// ask reports whether the person got a seat.
func (c *crowd) ask(n int) bool {
	proxy := c.proxies[n%len(c.proxies)]
	seat, err := proxy.client.Ask(c.t.Context(), proxy.address, c.pod.ask(person(n)))
	var refused *seats.Refusal
	switch {
	case err == nil && seat.Taken > c.slots:
		c.t.Errorf("admitted as number %d of %d", seat.Taken, c.slots)
	case err != nil && (!errors.As(err, &refused) || refused.Reason != seats.Full):
		c.t.Error(err)
	}
	return err == nil
}

// rush has a thousand ask at once, from the given one on.
func (c *crowd) rush(from int) int32 {
	var admitted atomic.Int32
	var running sync.WaitGroup
	queue := make(chan int)
	for range 64 {
		running.Go(func() {
			for n := range queue {
				if c.ask(n) {
					admitted.Add(1)
				}
			}
		})
	}
	for n := range 1000 {
		queue <- from + n
	}
	close(queue)
	running.Wait()
	return admitted.Load()
}

// TestAThousandWhoAskThroughFiveProxiesNeverOvershoot is a rush during a
// rotation of the network's secret, so that proxies sign with different keys.
// Nobody of those who are let in joins: their seats expire.
func TestAThousandWhoAskThroughFiveProxiesNeverOvershoot(t *testing.T) {
	const slots, previous = 12, "the secret before"
	p := newPod(t)
	clk := clocktesting.NewFakeClock(time.Now())
	p.clock, p.forwardingSecrets = clk, []string{forwardingSecret, previous}
	p.spec.Forwarding, p.spec.MaxPlayers = serverspec.ForwardingNone, slots
	p.startGame(p.game())
	p.startAgent()
	p.awaitReady()
	_, address := p.proxy()
	overheard := newEavesdropper(p, address)
	all := &crowd{pod: p, slots: slots}
	all.through(address, forwardingSecret)
	all.through(address, previous)
	all.through(address, forwardingSecret, previous)
	all.through(address, "a secret the agent does not know", previous)
	all.through(strings.TrimPrefix(overheard.URL, "http://"), forwardingSecret)
	if got := all.rush(0); got != slots {
		t.Errorf("%d were admitted, want %d", got, slots)
	}
	for _, one := range overheard.kept {
		if status, _ := overheard.send(t.Context(), p, one); status != http.StatusUnauthorized {
			t.Errorf("a question that is repeated is answered with %d", status)
		}
	}

	passed, last := time.Duration(0), ""
	p.eventually("a seat has expired", func() bool {
		_, err := all.proxies[0].client.Ask(t.Context(), address, p.ask(person(2000)))
		if err == nil {
			return true
		}
		clk.Step(time.Second)
		passed, last = passed+time.Second, err.Error()
		return false
	}, &last)
	if passed < seats.Lifetime {
		t.Errorf("a seat expired after %s, want %s", passed, seats.Lifetime)
	}
	if got := all.rush(1000); got != slots-1 {
		t.Errorf("%d were admitted after the seats expired, want %d", got, slots-1)
	}
}
