// SPDX-License-Identifier: Apache-2.0

package login

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/google/uuid"
	"golang.org/x/time/rate"
	"k8s.io/utils/clock"

	"github.com/spawnery/spawnery-operator/internal/mcproto"
	"github.com/spawnery/spawnery-operator/internal/proxy/messages"
)

// DefaultSessionServer is where the game's makers say who has joined.
const DefaultSessionServer = "https://sessionserver.mojang.com"

// hasJoinedPath is where any session server says it.
const hasJoinedPath = "session/minecraft/hasJoined"

// Why the session server named nobody.
var (
	// ErrUnauthenticated: the client did not prove to be who it says.
	ErrUnauthenticated = errors.New("the session server does not know of this login")
	// ErrLimited: too many logins came from this network's address.
	ErrLimited = errors.New("the session server limits this address")
	// ErrQueue: so many players log in at once that the session server may not
	// be asked in time.
	ErrQueue = errors.New("too many logins wait for the session server")
	// ErrUnreachable: there is no session server to ask, or it says that it cannot
	// answer.
	ErrUnreachable = errors.New("the session server cannot be asked")
	// ErrSlow: the session server does not answer in time.
	ErrSlow = errors.New("the session server takes too long")
	// ErrNonsense: what answers is no session server, or is not to be believed.
	ErrNonsense = errors.New("the session server answers what cannot be right")
)

const (
	askSessionWithin = 10 * time.Second
	// dialSessionWithin is less, so that a server that is not there is told from
	// one that is slow.
	dialSessionWithin  = 5 * time.Second
	idleSession        = 90 * time.Second
	maxIdleSessions    = 16
	retryFirst         = 500 * time.Millisecond
	maxSessionResponse = 256 << 10
)

// errPassing is joined to what may be over in a moment.
var errPassing = errors.New("it may pass")

// SessionLimits ration the calls to the session server: it locks addresses out
// from which too many come, and all proxies of a network often share one.
type SessionLimits struct {
	// Burst is how many calls may be made at once, PerSecond how many more
	// there are each second. Further logins wait, as long as they have time.
	Burst     int
	PerSecond float64
	// RetryFor is how long a call that the session server refused or could not
	// serve is made again.
	RetryFor time.Duration
}

// DefaultSessionLimits stay below what is known to be locked out: some 600 calls
// in ten minutes.
func DefaultSessionLimits() SessionLimits {
	return SessionLimits{Burst: 60, PerSecond: 1, RetryFor: 10 * time.Second}
}

// SessionServer says who has logged in.
type SessionServer struct {
	hasJoined *url.URL
	http      *http.Client
	clock     clock.WithTicker
	limits    SessionLimits
	turns     *rate.Limiter
}

// NewSessionServer asks the session server at the given base URL.
func NewSessionServer(address string, limits SessionLimits, clk clock.WithTicker) (*SessionServer, error) {
	base, err := url.Parse(address)
	if err != nil {
		return nil, fmt.Errorf("reading the session server's address: %w", err)
	}
	if base.Scheme != "http" && base.Scheme != "https" || base.Host == "" {
		return nil, fmt.Errorf("the session server's address %q is no HTTP URL", address)
	}
	if limits.Burst < 1 || limits.PerSecond <= 0 {
		return nil, fmt.Errorf("%d calls to the session server at once and %g a second let nobody in; both must be above 0", limits.Burst, limits.PerSecond)
	}
	// Who a player is, is said at the address that was configured: a redirect
	// may lead anywhere, also to where nothing is encrypted.
	transport := &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           (&net.Dialer{Timeout: dialSessionWithin}).DialContext,
		TLSHandshakeTimeout:   dialSessionWithin,
		ForceAttemptHTTP2:     true,
		IdleConnTimeout:       idleSession,
		MaxIdleConnsPerHost:   maxIdleSessions,
		ResponseHeaderTimeout: askSessionWithin,
	}
	client := &http.Client{
		Transport:     transport,
		Timeout:       askSessionWithin,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return &SessionServer{
		hasJoined: base.JoinPath(hasJoinedPath), http: client, clock: clk,
		limits: limits, turns: rate.NewLimiter(rate.Limit(limits.PerSecond), limits.Burst),
	}, nil
}

// HasJoined returns the profile of whoever joined under this hash with this
// name. It waits for its turn, and asks again when the trouble may pass. The
// error wraps one of those above.
func (s *SessionServer) HasJoined(ctx context.Context, name, hash string) (mcproto.Profile, error) {
	ends := s.clock.Now().Add(s.limits.RetryFor)
	var last error
	for pause := retryFirst; ; pause *= 2 {
		if err := s.turns.Wait(ctx); err != nil {
			return mcproto.Profile{}, cmp.Or(last, fmt.Errorf("%w: %w", ErrQueue, err))
		}
		profile, err := s.ask(ctx, name, hash)
		if err == nil || !errors.Is(err, errPassing) {
			return profile, err
		}
		last = err
		// Those who were refused together do not come back together.
		wait := pause/2 + rand.N(pause)
		if s.clock.Now().Add(wait).After(ends) {
			return mcproto.Profile{}, last
		}
		select {
		case <-s.clock.After(wait):
		case <-ctx.Done():
			return mcproto.Profile{}, last
		}
	}
}

func (s *SessionServer) ask(ctx context.Context, name, hash string) (mcproto.Profile, error) {
	target := *s.hasJoined
	query := target.Query()
	query.Set("username", name)
	query.Set("serverId", hash)
	target.RawQuery = query.Encode()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, target.String(), nil)
	if err != nil {
		return mcproto.Profile{}, fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	response, err := s.http.Do(request)
	if err != nil {
		return mcproto.Profile{}, fmt.Errorf("%w: %w", kindOf(err, ErrUnreachable), err)
	}
	defer response.Body.Close()
	switch response.StatusCode {
	case http.StatusOK:
		return readProfile(response.Body, name)
	case http.StatusNoContent:
		return mcproto.Profile{}, ErrUnauthenticated
	case http.StatusForbidden, http.StatusTooManyRequests:
		return mcproto.Profile{}, fmt.Errorf("%w: %s, %w", ErrLimited, response.Status, errPassing)
	}
	if response.StatusCode >= http.StatusInternalServerError {
		return mcproto.Profile{}, fmt.Errorf("%w: it answered %s, %w", ErrUnreachable, response.Status, errPassing)
	}
	return mcproto.Profile{}, fmt.Errorf("%w: it answered %s", ErrNonsense, response.Status)
}

// kindOf tells a server that is slow from one that fails otherwise. Who cannot
// even be dialled is not slow.
func kindOf(err, otherwise error) error {
	if dial, ok := errors.AsType[*net.OpError](err); ok && dial.Op == "dial" {
		return ErrUnreachable
	}
	if timed, ok := errors.AsType[net.Error](err); ok && timed.Timeout() || errors.Is(err, context.DeadlineExceeded) {
		return ErrSlow
	}
	return otherwise
}

func readProfile(body io.Reader, name string) (mcproto.Profile, error) {
	var answer struct {
		ID         string             `json:"id"`
		Name       string             `json:"name"`
		Properties []mcproto.Property `json:"properties"`
	}
	if err := json.NewDecoder(io.LimitReader(body, maxSessionResponse)).Decode(&answer); err != nil {
		return mcproto.Profile{}, fmt.Errorf("%w: reading its answer: %w", kindOf(err, ErrNonsense), err)
	}
	id, err := uuid.Parse(answer.ID)
	if err != nil {
		return mcproto.Profile{}, fmt.Errorf("%w: reading its answer: %w", ErrNonsense, err)
	}
	who := mcproto.Profile{ID: id, Name: answer.Name, Properties: answer.Properties}
	if !strings.EqualFold(who.Name, name) || !who.Valid() {
		return mcproto.Profile{}, fmt.Errorf("%w: it named another player, or one who cannot be", ErrNonsense)
	}
	return who, nil
}

// reasonOf is what the player is told.
func reasonOf(err error) mcproto.Text {
	switch {
	case errors.Is(err, ErrUnauthenticated):
		return messages.Text(messages.LoginUnauthenticated)
	case errors.Is(err, ErrQueue):
		return messages.Text(messages.LoginQueue)
	case errors.Is(err, ErrLimited):
		return messages.Text(messages.LoginLimited)
	case errors.Is(err, ErrSlow):
		return messages.Text(messages.LoginSlow)
	case errors.Is(err, ErrNonsense):
		return messages.Text(messages.LoginNonsense)
	}
	return messages.Text(messages.LoginUnreachable)
}
