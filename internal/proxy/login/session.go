// SPDX-License-Identifier: Apache-2.0

package login

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/google/uuid"

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
	// ErrUnreachable: the session server does not answer, or wrongly.
	ErrUnreachable = errors.New("the session server cannot be asked")
)

const (
	askSessionWithin   = 10 * time.Second
	maxSessionResponse = 256 << 10
)

// SessionServer says who has logged in.
type SessionServer struct {
	hasJoined *url.URL
	http      *http.Client
}

// NewSessionServer asks the session server at the given base URL.
func NewSessionServer(address string) (*SessionServer, error) {
	base, err := url.Parse(address)
	if err != nil {
		return nil, fmt.Errorf("reading the session server's address: %w", err)
	}
	if base.Scheme != "http" && base.Scheme != "https" || base.Host == "" {
		return nil, fmt.Errorf("the session server's address %q is no HTTP URL", address)
	}
	// Who a player is, is said at the address that was configured: a redirect
	// may lead anywhere, also to where nothing is encrypted.
	client := &http.Client{
		Timeout:       askSessionWithin,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return &SessionServer{hasJoined: base.JoinPath(hasJoinedPath), http: client}, nil
}

// HasJoined returns the profile of whoever joined under this hash with this
// name. The error wraps one of those above.
func (s *SessionServer) HasJoined(ctx context.Context, name, hash string) (mcproto.Profile, error) {
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
		return mcproto.Profile{}, fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	defer response.Body.Close()
	switch response.StatusCode {
	case http.StatusOK:
		return readProfile(response.Body, name)
	case http.StatusNoContent:
		return mcproto.Profile{}, ErrUnauthenticated
	case http.StatusForbidden, http.StatusTooManyRequests:
		return mcproto.Profile{}, fmt.Errorf("%w: %s", ErrLimited, response.Status)
	}
	return mcproto.Profile{}, fmt.Errorf("%w: it answered %s", ErrUnreachable, response.Status)
}

func readProfile(body io.Reader, name string) (mcproto.Profile, error) {
	var answer struct {
		ID         string             `json:"id"`
		Name       string             `json:"name"`
		Properties []mcproto.Property `json:"properties"`
	}
	if err := json.NewDecoder(io.LimitReader(body, maxSessionResponse)).Decode(&answer); err != nil {
		return mcproto.Profile{}, fmt.Errorf("%w: reading its answer: %w", ErrUnreachable, err)
	}
	id, err := uuid.Parse(answer.ID)
	if err != nil {
		return mcproto.Profile{}, fmt.Errorf("%w: reading its answer: %w", ErrUnreachable, err)
	}
	who := mcproto.Profile{ID: id, Name: answer.Name, Properties: answer.Properties}
	if !strings.EqualFold(who.Name, name) || !who.Valid() {
		return mcproto.Profile{}, fmt.Errorf("%w: it named another player, or one who cannot be", ErrUnreachable)
	}
	return who, nil
}

// reasonOf is what the player is told.
func reasonOf(err error) mcproto.Text {
	switch {
	case errors.Is(err, ErrUnauthenticated):
		return messages.Text(messages.LoginUnauthenticated)
	case errors.Is(err, ErrLimited):
		return messages.Text(messages.LoginLimited)
	}
	return messages.Text(messages.LoginUnreachable)
}
