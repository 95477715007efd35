// SPDX-License-Identifier: Apache-2.0

// Package agentserver serves the channel on the leading manager: it bounds who
// may connect, asks for a token, and joins each stream to its session.
package agentserver

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"strconv"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/keepalive"
	"k8s.io/utils/clock"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/agentauth"
	"github.com/spawnery/spawnery-operator/internal/sessions"
)

const (
	// Port is where the leading manager serves the channel.
	Port = 9443
	// ServiceName is the headless Service in the manager's namespace.
	ServiceName = "spawnery-agent"

	helloWithin    = 10 * time.Second
	largestMessage = 4 << 20
	largestHeader  = 32 << 10
	streamsPerConn = 4
)

// Endpoint is what agents dial, given the manager's namespace.
func Endpoint(namespace string) string {
	return net.JoinHostPort(ServiceName+"."+namespace+".svc", strconv.Itoa(Port))
}

// Authenticator tells whose token it is.
type Authenticator interface {
	Authenticate(ctx context.Context, token string) (agentauth.Identity, error)
}

// PodResolver tells what of ours a proven pod is, by the caches of the
// controllers: the Server whose status names this pod UID, or the ProxyGroup
// that owns the pod by UID. Labels and names prove nothing. Any error makes the
// caller try again, for a cache may not show the pod yet.
type PodResolver interface {
	ResolveServer(ctx context.Context, pod agentauth.Identity) (sessions.ServerPod, error)
	ResolveProxy(ctx context.Context, pod agentauth.Identity) (sessions.ProxyPod, error)
}

// Config is what a Server needs.
type Config struct {
	// Address to listen on, host:port. Default: every address, Port.
	Address       string
	Authenticator Authenticator
	Pods          PodResolver
	Store         *sessions.Store
	// Certificate returns the serving certificate for each handshake.
	Certificate func(*tls.ClientHelloInfo) (*tls.Certificate, error)
	Clock       clock.WithTicker
	// Limits override the defaults where they are not zero.
	Limits Limits
}

// Server is a manager.Runnable that the leader alone runs: an agent that dials
// a follower is refused, and goes on to the next address.
type Server struct {
	cfg   Config
	guard *guard
	opens *opens
}

// New returns a server that does not listen yet.
func New(cfg Config) *Server {
	if cfg.Address == "" {
		cfg.Address = net.JoinHostPort("", strconv.Itoa(Port))
	}
	cfg.Limits = cfg.Limits.withDefaults()
	return &Server{cfg: cfg, guard: newGuard(cfg.Limits, cfg.Clock), opens: newOpens(cfg.Limits, cfg.Clock)}
}

// NeedLeaderElection says that only the leader opens the port.
func (*Server) NeedLeaderElection() bool { return true }

// Start listens and serves until ctx ends.
func (s *Server) Start(ctx context.Context) error {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", s.cfg.Address)
	if err != nil {
		return fmt.Errorf("listening for agents: %w", err)
	}
	return s.Serve(ctx, listener)
}

// Serve serves on a listener until ctx ends, and closes it.
func (s *Server) Serve(ctx context.Context, listener net.Listener) error {
	server := grpc.NewServer(
		grpc.Creds(credentials.NewTLS(&tls.Config{MinVersion: tls.VersionTLS13, GetCertificate: s.cfg.Certificate})),
		grpc.StreamInterceptor(s.authenticate),
		grpc.ConnectionTimeout(s.cfg.Limits.HandshakeWithin),
		grpc.MaxConcurrentStreams(streamsPerConn),
		grpc.MaxRecvMsgSize(largestMessage),
		grpc.MaxHeaderListSize(largestHeader),
		grpc.KeepaliveParams(keepalive.ServerParameters{
			MaxConnectionIdle: time.Minute,
			Time:              20 * time.Second,
			Timeout:           10 * time.Second,
		}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 5 * time.Second}),
	)
	agentv1alpha1.RegisterChannelServer(server, &channel{cfg: s.cfg, log: ctrllog.FromContext(ctx).WithName("channel")})

	// Whatever ends the serving ends its companions too.
	ctx, cancel := context.WithCancel(ctx)
	var companions sync.WaitGroup
	companions.Go(func() { s.cfg.Store.Run(ctx) })
	companions.Go(func() { s.guard.run(ctx) })
	stop := context.AfterFunc(ctx, server.Stop)
	err := server.Serve(s.guard.listen(listener))
	ended := !stop()
	cancel()
	companions.Wait()
	if err != nil && !ended {
		return fmt.Errorf("serving agents: %w", err)
	}
	return nil
}
