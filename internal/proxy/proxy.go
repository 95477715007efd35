// SPDX-License-Identifier: Apache-2.0

// Package proxy is a network's front door: it takes clients in, keeps the
// manager informed, and moves players when it is told to.
package proxy

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/sync/errgroup"
	"k8s.io/utils/clock"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/channelclient"
	"github.com/spawnery/spawnery-operator/internal/mcproto"
	"github.com/spawnery/spawnery-operator/internal/proxy/commands"
	"github.com/spawnery/spawnery-operator/internal/proxy/configmaps"
	"github.com/spawnery/spawnery-operator/internal/proxy/directory"
	"github.com/spawnery/spawnery-operator/internal/proxy/grants"
	"github.com/spawnery/spawnery-operator/internal/proxy/guard"
	"github.com/spawnery/spawnery-operator/internal/proxy/login"
	"github.com/spawnery/spawnery-operator/internal/proxy/placing"
	"github.com/spawnery/spawnery-operator/internal/proxy/session"
	"github.com/spawnery/spawnery-operator/internal/proxy/ticket"
	"github.com/spawnery/spawnery-operator/internal/seats"
)

// movesAtOnce bounds the players of this proxy that are moved off servers at
// the same time: each costs the target a login.
const movesAtOnce = 32

// Config is what a proxy is told at its start. The channel tells the rest.
type Config struct {
	// Listener takes players, HTTP answers probes and metrics. Both are closed
	// when Run returns.
	Listener, HTTP net.Listener
	// Channel says where the manager is.
	Channel channelclient.Config
	// Secrets are the network's forwarding secret and, while it is being
	// replaced, the one before.
	Secrets [][]byte
	// StateDir keeps the last directory for a restart; empty: nothing is kept.
	StateDir string
	// ConfigDir holds the owner's ConfigMaps, each in a directory named by what it
	// holds; empty: there are none.
	ConfigDir string
	// SessionServer is the base URL of whoever authenticates players.
	SessionServer string
	// Sessions ration the calls to it.
	Sessions login.SessionLimits
	// Limits bound connections.
	Limits guard.Limits
	// DrainTimeout is how long a proxy that must go waits for its players,
	// until the manager says otherwise.
	DrainTimeout time.Duration
	// Linger is how long a proxy that must go serves at least, also without
	// players: load balancers take a while to notice.
	Linger time.Duration
	// TransferRate is how many players are sent to another proxy each second
	// while this one must go; 0: DefaultTransferRate.
	TransferRate float64
	// Clock drives every wait.
	Clock clock.WithTicker
}

// Proxy is one front door.
type Proxy struct {
	config    Config
	log       logr.Logger
	given     *configmaps.Reader
	store     *directory.Store
	desk      *login.Desk
	gate      *guard.Gate
	rates     rates
	origins   *origins
	world     *session.World
	roster    *roster
	held      session.Held
	book      *grants.Book
	problems  problems
	connects  connects
	newcomers newcomers
	errands   *errands
	plugins   *plugins
	staff     staffDesk
	console   *commands.Console
	metrics   *metrics
	clients   guard.Traffic
	servers   guard.Traffic
	changed   chan struct{}
	connected atomic.Bool
	draining  atomic.Bool
}

// New prepares a proxy and takes over what an earlier process kept.
func New(config Config, log logr.Logger) (*Proxy, error) {
	config.TransferRate = cmp.Or(config.TransferRate, DefaultTransferRate)
	given, err := configmaps.New(config.ConfigDir)
	if err != nil {
		return nil, err
	}
	sessions, err := login.NewSessionServer(config.SessionServer, config.Sessions, config.Clock)
	if err != nil {
		return nil, err
	}
	tickets, err := ticket.NewOffice(config.Secrets, config.Clock, nil)
	if err != nil {
		return nil, err
	}
	store := directory.NewStore()
	said := words{given: given, store: store}
	desk, err := login.NewDesk(func() *mcproto.Protocols { return given.Content().Protocols }, sessions, tickets, said.early)
	if err != nil {
		return nil, err
	}
	agents, err := seats.NewClient(config.Clock, config.Secrets...)
	if err != nil {
		return nil, err
	}
	if config.StateDir != "" {
		if err := store.Load(config.StateDir); err != nil {
			// It is a help for bad times, no condition for good ones.
			log.Error(err, "starting without the last directory")
		}
	}
	p := &Proxy{
		config: config, log: log, given: given, store: store, desk: desk,
		gate: guard.NewGate(config.Limits), rates: newRates(config.Clock), origins: newOrigins(config.Clock), roster: newRoster(), changed: make(chan struct{}, 1),
	}
	p.errands, p.plugins = newErrands(config.Clock), newPlugins(p)
	book := grants.NewBook(store, log)
	p.book, p.console = book, commands.NewConsole(store, book, p)
	p.metrics = newMetrics(p)
	finder := placing.NewFinder(config.Clock, store, agents)
	finder.Asked = p.metrics.seatAsked
	p.world = &session.World{
		Clock: config.Clock, Log: log, Store: store, Finder: finder, Traffic: &p.servers, Meter: p.metrics,
		Secrets: config.Secrets, Tickets: tickets, Commands: p.console, Grants: book, Words: said, Plugins: p.plugins,
		Held: &p.held, Sent: session.NewSent(), Moved: p.moved, Judged: p.judged, Moves: make(chan struct{}, movesAtOnce),
	}
	return p, nil
}

func (p *Proxy) judged(server string, state agentv1alpha1.ForwardingState) {
	if p.problems.judge(server, state) {
		p.moved()
	}
}

// withdrawn is true while no new players should be sent to this proxy. It
// serves on.
func (p *Proxy) withdrawn() bool {
	return p.draining.Load() || p.store.View().Settings.GetWithdrawn()
}

// ready says why the proxy should be sent no players; nil: it should.
func (p *Proxy) ready() error {
	if !p.store.View().Complete() {
		return errors.New("the server list has not been received yet")
	}
	if p.withdrawn() {
		return errors.New("withdrawn")
	}
	return nil
}

// errStopped is why everything ends once the players have gone.
var errStopped = errors.New("the proxy stops")

// Run serves until ctx ends and its players have left, or the time for that is
// over. The end of ctx is an order to drain.
func (p *Proxy) Run(ctx context.Context) error {
	base := logr.NewContext(context.WithoutCancel(ctx), p.log)
	serving, stop := context.WithCancelCause(base)
	defer stop(errStopped)
	tasks, serving := errgroup.WithContext(serving)
	tasks.Go(func() error { return p.serve(serving) })
	tasks.Go(func() error { return p.serveHTTP(serving) })
	tasks.Go(func() error { p.moveOn(serving); return nil })
	tasks.Go(func() error { p.tellNews(serving); return nil })
	tasks.Go(func() error { p.sendOn(serving); return nil })
	tasks.Go(func() error { p.given.Follow(serving, p.config.Clock, p.givenBy, p.moved); return nil })
	tasks.Go(func() error { p.plugins.work(serving); return nil })
	tasks.Go(func() error { return channelclient.RunProxy(serving, p.channel(), p.peer()) })
	if p.config.StateDir != "" {
		tasks.Go(func() error { p.store.Keep(serving, p.config.StateDir, p.config.Clock); return nil })
	}
	tasks.Go(func() error {
		select {
		case <-ctx.Done():
			p.drain(serving)
		case <-serving.Done():
		}
		stop(errStopped)
		return nil
	})
	if err := tasks.Wait(); err != nil && !errors.Is(err, errStopped) {
		return fmt.Errorf("serving players: %w", err)
	}
	return nil
}
