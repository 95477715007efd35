// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"crypto/rand"
	"fmt"
	mathrand "math/rand/v2"
	"sync"
	"time"

	"github.com/google/uuid"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/spawnery/spawnery-operator/controllers/asks"
	"github.com/spawnery/spawnery-operator/controllers/network"
	"github.com/spawnery/spawnery-operator/controllers/orphans"
	"github.com/spawnery/spawnery-operator/controllers/proxygroup"
	"github.com/spawnery/spawnery-operator/controllers/scaleboost"
	"github.com/spawnery/spawnery-operator/controllers/server"
	"github.com/spawnery/spawnery-operator/controllers/servergroup"
	"github.com/spawnery/spawnery-operator/internal/agentauth"
	"github.com/spawnery/spawnery-operator/internal/agentserver"
	"github.com/spawnery/spawnery-operator/internal/certs"
	"github.com/spawnery/spawnery-operator/internal/podspec"
	"github.com/spawnery/spawnery-operator/internal/sessions"
)

// setup is what the controllers share while they are registered.
type setup struct {
	Options
	mgr       ctrl.Manager
	store     *sessions.Store
	authority *certs.Authority
	news      *wakes
	leading   *leadership
}

func (s *setup) addNetwork() error {
	return (&network.Reconciler{
		Client:   s.mgr.GetClient(),
		Kube:     s.Kube,
		Sessions: s.store,
		Channel:  s.channel,
		Events:   s.mgr.GetEventRecorder("spawnery-network"),
		Clock:    s.Clock,
		Random:   rand.Read,

		LeaderSince: s.leading.since,
	}).SetupWithManager(s.mgr, s.news.of(sessions.Network))
}

func (s *setup) addServerGroup() error {
	return (&servergroup.Reconciler{
		Client:      s.mgr.GetClient(),
		Live:        s.mgr.GetAPIReader(),
		Sessions:    s.store,
		Events:      s.mgr.GetEventRecorder("spawnery-servergroup"),
		Clock:       s.Clock,
		LeaderSince: s.leading.since,
		DrainTaints: s.DrainTaints,
		Manager:     s.address(),
		Kubernetes:  (&kubernetesVersion{clock: s.Clock, ask: s.Kube.Discovery().ServerVersion}).read,
		Random:      mathrand.IntN,
	}).SetupWithManager(s.mgr, s.news.of(sessions.ServerGroup))
}

func (s *setup) addServer() error {
	return (&server.Reconciler{
		Client:          s.mgr.GetClient(),
		Live:            s.mgr.GetAPIReader(),
		Sessions:        s.store,
		Events:          s.mgr.GetEventRecorder("spawnery-server"),
		Clock:           s.Clock,
		Image:           s.Image,
		StartupDeadline: s.StartupDeadline,
		LeaderSince:     s.leading.since,
		DrainTaints:     s.DrainTaints,
		HookValue:       uuid.NewString,
	}).SetupWithManager(s.mgr, s.news.of(sessions.Server))
}

func (s *setup) addProxyGroup() error {
	return (&proxygroup.Reconciler{
		Client:        s.mgr.GetClient(),
		Live:          s.mgr.GetAPIReader(),
		Sessions:      s.store,
		Events:        s.mgr.GetEventRecorder("spawnery-proxygroup"),
		Clock:         s.Clock,
		Image:         s.Image,
		SessionServer: s.SessionServer,
		DrainTaints:   s.DrainTaints,
		Random:        mathrand.IntN,
	}).SetupWithManager(s.mgr, s.news.of(sessions.ProxyGroup))
}

// addAsks adds who carries out what plugins, and staff in the game, ask for.
func (s *setup) addAsks() error {
	err := s.mgr.Add(&asks.Office{
		Client: s.mgr.GetClient(), Live: s.mgr.GetAPIReader(), Sessions: s.store, Players: s.store,
		Events: s.mgr.GetEventRecorder("spawnery-asks"), Clock: s.Clock,
	})
	if err != nil {
		return fmt.Errorf("add the answers to plugins: %w", err)
	}
	return nil
}

// addSweeps adds what tidies up once a minute.
func (s *setup) addSweeps() error {
	leftover := &orphans.Sweeper{Client: s.mgr.GetClient(), Live: s.mgr.GetAPIReader(), Clock: s.Clock}
	expired := &scaleboost.Sweeper{Client: s.mgr.GetClient(), Clock: s.Clock}
	err := s.mgr.Add(&sweeps{clock: s.Clock, all: map[string]sweep{"orphans": leftover.Sweep, "expired boosts": expired.Sweep}})
	if err != nil {
		return fmt.Errorf("add the sweeps: %w", err)
	}
	return nil
}

// addMetrics adds what Prometheus reads beside the metrics of controller-runtime.
func (s *setup) addMetrics(ctx context.Context) error {
	if s.Metrics == nil {
		return nil
	}
	err := s.Metrics.Register(&servergroup.Collector{Context: ctx, Reader: s.mgr.GetClient(), Elected: s.mgr.Elected()})
	if err != nil {
		return fmt.Errorf("register the metrics of groups: %w", err)
	}
	return nil
}

// addChannel adds what agents and proxies talk to.
func (s *setup) addChannel() error {
	channel := agentserver.New(agentserver.Config{
		Address: s.ChannelAddress,
		Authenticator: agentauth.New(agentauth.Config{
			Reviews: s.Reviews.AuthenticationV1().TokenReviews(),
			Clock:   s.Clock,
		}),
		Pods:        pods{s.mgr.GetClient()},
		Store:       s.store,
		Certificate: s.authority.Certificate,
		Clock:       s.Clock,
	})
	for name, part := range map[string]manager.Runnable{
		"the certificates": s.authority, "the channel": channel,
		"the channel's news": s.news, "the leadership": s.leading,
	} {
		if err := s.mgr.Add(part); err != nil {
			return fmt.Errorf("add %s: %w", name, err)
		}
	}
	return nil
}

// channel is where pods find the manager, as of now.
func (s *setup) channel() podspec.Channel {
	endpoint := s.ChannelEndpoint
	if endpoint == "" {
		endpoint = agentserver.Endpoint(s.Namespace)
	}
	return podspec.Channel{Endpoint: endpoint, CA: s.authority.Bundle()}
}

// leadership remembers since when this manager leads.
type leadership struct {
	clock clock.PassiveClock
	mu    sync.Mutex
	began time.Time
}

// NeedLeaderElection says that it starts with the lead.
func (*leadership) NeedLeaderElection() bool { return true }

// Start notes the beginning.
func (l *leadership) Start(context.Context) error {
	l.since()
	return nil
}

// since is when the lead began. Whoever asks first is leading by then: only a
// leader reconciles.
func (l *leadership) since() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.began.IsZero() {
		l.began = l.clock.Now()
	}
	return l.began
}
