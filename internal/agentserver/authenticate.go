// SPDX-License-Identifier: Apache-2.0

package agentserver

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/agentauth"
)

// roles says who may open which session.
var roles = map[string]agentauth.Role{
	agentv1alpha1.Channel_ServerSession_FullMethodName: agentauth.RoleServer,
	agentv1alpha1.Channel_ProxySession_FullMethodName:  agentauth.RoleProxy,
}

type identityKey struct{}

// identified is a stream whose context knows the caller.
type identified struct {
	grpc.ServerStream
	ctx context.Context
}

// Context returns the context that holds the caller's identity.
func (s identified) Context() context.Context { return s.ctx }

func identityFrom(ctx context.Context) agentauth.Identity {
	identity, _ := ctx.Value(identityKey{}).(agentauth.Identity)
	return identity
}

// authenticate lets a stream through whose token proves the role it needs.
func (s *Server) authenticate(service any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	ctx := stream.Context()
	remote := remoteOf(ctx)
	identity, err := s.cfg.Authenticator.Authenticate(ctx, tokenFrom(ctx))
	switch {
	case errors.Is(err, agentauth.ErrRefused):
		s.guard.refuse(remote)
		return status.Error(codes.Unauthenticated, err.Error())
	case err != nil:
		return status.Error(codes.Unavailable, err.Error())
	}
	s.guard.prove(remote)
	if roles[info.FullMethod] != identity.Role {
		return status.Error(codes.PermissionDenied, "this ServiceAccount may not open this kind of session")
	}
	if !s.opens.allow(identity.UID) {
		return status.Error(codes.ResourceExhausted, "this pod opens sessions too often")
	}
	return handler(service, identified{ServerStream: stream, ctx: context.WithValue(ctx, identityKey{}, identity)})
}

func tokenFrom(ctx context.Context) string {
	headers, _ := metadata.FromIncomingContext(ctx)
	values := headers.Get("authorization")
	if len(values) != 1 {
		return ""
	}
	token, ok := strings.CutPrefix(values[0], "Bearer ")
	if !ok {
		return ""
	}
	return token
}

func remoteOf(ctx context.Context) net.Addr {
	if from, ok := peer.FromContext(ctx); ok && from.Addr != nil {
		return from.Addr
	}
	return &net.TCPAddr{}
}

// opens bounds how often each pod opens a session: one that fails at once and
// comes back at once would otherwise keep the manager busy.
type opens struct {
	every time.Duration
	burst int
	clock clock.PassiveClock

	mu   sync.Mutex
	pods map[types.UID]*rate.Limiter
}

func newOpens(limits Limits, clk clock.PassiveClock) *opens {
	return &opens{
		every: time.Second / time.Duration(limits.SessionsPerSecond), burst: limits.SessionBurst,
		clock: clk, pods: map[types.UID]*rate.Limiter{},
	}
}

// opensKept is how many pods are remembered before those that owe nothing are
// dropped.
const opensKept = 4096

func (o *opens) allow(pod types.UID) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	now := o.clock.Now()
	if len(o.pods) >= opensKept {
		for uid, limiter := range o.pods {
			if limiter.TokensAt(now) >= float64(o.burst) {
				delete(o.pods, uid)
			}
		}
	}
	limiter, ok := o.pods[pod]
	if !ok {
		limiter = rate.NewLimiter(rate.Every(o.every), o.burst)
		o.pods[pod] = limiter
	}
	return limiter.AllowN(now, 1)
}
