// SPDX-License-Identifier: Apache-2.0

// Package agentauth tells from a pod-bound ServiceAccount token which pod
// calls, and in which role. Nothing else about a caller is believed.
package agentauth

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/singleflight"
	"golang.org/x/time/rate"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"k8s.io/utils/lru"
)

const (
	// Audience is what a token has to be made for.
	Audience = "spawnery-operator"
	// ServerAccount is the ServiceAccount of server pods in every namespace.
	ServerAccount = "spawnery-server"
	// ProxyAccount is the ServiceAccount of proxy pods in every namespace.
	ProxyAccount = "spawnery-proxy"

	goodFor       = time.Minute
	badFor        = 10 * time.Second
	reviewWithin  = 10 * time.Second
	goodKept      = 16384
	badKept       = 4096
	longestToken  = 16 << 10
	atOnce        = 32
	accountPrefix = "system:serviceaccount:"
	podNameExtra  = "authentication.kubernetes.io/pod-name"
	podUIDExtra   = "authentication.kubernetes.io/pod-uid"
)

var (
	// ErrRefused means that the token proves nothing of use here; asking again
	// with the same token gives the same answer for a while.
	ErrRefused = errors.New("the token is refused")
	// ErrBusy means that the token could not be judged now.
	ErrBusy = errors.New("the token cannot be judged now")
)

// Role is what a pod may do over the channel.
type Role int

const (
	// RoleServer is the agent of a game server.
	RoleServer Role = iota + 1
	// RoleProxy is a proxy.
	RoleProxy
)

// Identity is what a token proves.
type Identity struct {
	Role      Role
	Namespace string
	Pod       string
	UID       types.UID
}

// Reviews is the part of the TokenReview client that is used. A client with a
// rate limit of its own would make a fleet that reconnects wait; give one
// without.
type Reviews interface {
	Create(ctx context.Context, review *authenticationv1.TokenReview, opts metav1.CreateOptions) (*authenticationv1.TokenReview, error)
}

// Config is what an Authenticator needs.
type Config struct {
	Reviews Reviews
	Clock   clock.PassiveClock
	// MissesPerSecond and MissBurst bound the reviews asked of the API server.
	// Defaults 200 and 4096: a whole fleet may come at once.
	MissesPerSecond float64
	MissBurst       int
}

// Authenticator judges tokens. It is safe for concurrent use.
type Authenticator struct {
	reviews Reviews
	clock   clock.PassiveClock
	good    *lru.Cache
	bad     *lru.Cache
	flights singleflight.Group
	misses  *rate.Limiter
	slots   chan struct{}
}

// verdict is a cached answer.
type verdict struct {
	identity Identity
	err      error
	until    time.Time
}

// New returns an authenticator with empty caches.
func New(cfg Config) *Authenticator {
	if cfg.MissesPerSecond == 0 {
		cfg.MissesPerSecond, cfg.MissBurst = 200, 4096
	}
	return &Authenticator{
		reviews: cfg.Reviews,
		clock:   cfg.Clock,
		good:    lru.New(goodKept),
		bad:     lru.New(badKept),
		misses:  rate.NewLimiter(rate.Limit(cfg.MissesPerSecond), cfg.MissBurst),
		slots:   make(chan struct{}, atOnce),
	}
}

// Authenticate returns whose token it is. Errors are ErrRefused or ErrBusy,
// with the reason. An answer is remembered for a minute, a refusal for ten
// seconds, and callers with one token share one question.
func (a *Authenticator) Authenticate(ctx context.Context, token string) (Identity, error) {
	if token == "" || len(token) > longestToken {
		return Identity{}, fmt.Errorf("%w: it has %d bytes", ErrRefused, len(token))
	}
	key := sha256.Sum256([]byte(token))
	if known, ok := a.remembered(key); ok {
		return known.identity, known.err
	}
	// The question outlives the caller who happened to ask first.
	shared := context.WithoutCancel(ctx)
	answers := a.flights.DoChan(string(key[:]), func() (any, error) {
		answer := a.judge(shared, key, token)
		return answer, nil
	})
	select {
	case <-ctx.Done():
		return Identity{}, fmt.Errorf("%w: %w", ErrBusy, context.Cause(ctx))
	case answer := <-answers:
		known, ok := answer.Val.(verdict)
		if !ok {
			return Identity{}, fmt.Errorf("%w: the review came to nothing", ErrBusy)
		}
		return known.identity, known.err
	}
}

func (a *Authenticator) remembered(key [sha256.Size]byte) (verdict, bool) {
	for _, cache := range []*lru.Cache{a.good, a.bad} {
		if found, ok := cache.Get(key); ok {
			if known, ok := found.(verdict); ok && a.clock.Now().Before(known.until) {
				return known, true
			}
			cache.Remove(key)
		}
	}
	return verdict{}, false
}

// judge asks the API server and remembers what it said. That it said nothing
// is not remembered.
func (a *Authenticator) judge(ctx context.Context, key [sha256.Size]byte, token string) verdict {
	// A caller may have come between the end of one question and this.
	if known, ok := a.remembered(key); ok {
		return known
	}
	now := a.clock.Now()
	if !a.misses.AllowN(now, 1) {
		return verdict{err: fmt.Errorf("%w: too many tokens are new", ErrBusy)}
	}
	ctx, cancel := context.WithTimeout(ctx, reviewWithin)
	defer cancel()
	select {
	case a.slots <- struct{}{}:
		defer func() { <-a.slots }()
	case <-ctx.Done():
		return verdict{err: fmt.Errorf("%w: too many reviews are under way", ErrBusy)}
	}
	review := &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token, Audiences: []string{Audience}}}
	answer, err := a.reviews.Create(ctx, review, metav1.CreateOptions{})
	if err != nil {
		return verdict{err: fmt.Errorf("%w: reviewing it: %w", ErrBusy, err)}
	}
	identity, err := read(answer.Status)
	if err != nil {
		known := verdict{err: fmt.Errorf("%w: %w", ErrRefused, err), until: now.Add(badFor)}
		a.bad.Add(key, known)
		return known
	}
	known := verdict{identity: identity, until: now.Add(goodFor)}
	a.good.Add(key, known)
	return known
}

// read takes the identity from a review's answer.
func read(status authenticationv1.TokenReviewStatus) (Identity, error) {
	switch {
	case status.Error != "":
		return Identity{}, errors.New(status.Error)
	case !status.Authenticated:
		return Identity{}, errors.New("the API server does not know it")
	case !slices.Contains(status.Audiences, Audience):
		return Identity{}, fmt.Errorf("it is not meant for %s", Audience)
	}
	account, ok := strings.CutPrefix(status.User.Username, accountPrefix)
	namespace, name, whole := strings.Cut(account, ":")
	if !ok || !whole {
		return Identity{}, errors.New("it is not of a ServiceAccount")
	}
	identity := Identity{Namespace: namespace}
	switch name {
	case ServerAccount:
		identity.Role = RoleServer
	case ProxyAccount:
		identity.Role = RoleProxy
	default:
		return Identity{}, fmt.Errorf("ServiceAccount %s has no part in the channel", name)
	}
	pod, uid := status.User.Extra[podNameExtra], status.User.Extra[podUIDExtra]
	if len(pod) != 1 || len(uid) != 1 || pod[0] == "" || uid[0] == "" {
		return Identity{}, errors.New("it is not bound to a pod")
	}
	identity.Pod, identity.UID = pod[0], types.UID(uid[0])
	return identity, nil
}
