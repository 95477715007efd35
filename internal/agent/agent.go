// SPDX-License-Identifier: Apache-2.0

// Package agent is the program beside the game: it knows who is online, says
// whether the server is ready, gives out its seats, stops it in good order and
// tells the manager all of it. It works the same while no manager answers.
package agent

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"google.golang.org/protobuf/proto"
	"k8s.io/utils/clock"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/agent/ledger"
	"github.com/spawnery/spawnery-operator/internal/agent/local"
	"github.com/spawnery/spawnery-operator/internal/agent/players"
	"github.com/spawnery/spawnery-operator/internal/agent/serverspec"
	"github.com/spawnery/spawnery-operator/internal/channelclient"
	"github.com/spawnery/spawnery-operator/internal/mcproto"
	"github.com/spawnery/spawnery-operator/internal/seats"
)

// capabilities are what this agent announces to the manager.
var capabilities = []string{agentv1alpha1.CapabilityWatchers}

// shutdownWithin is what requests get to end in when the agent has to.
const shutdownWithin = time.Second

// Config is all an agent needs.
type Config struct {
	Spec serverspec.Spec
	// GameHost is where the game is, seen from here. In a pod: 127.0.0.1.
	GameHost string
	// ManagementSecret opens the game's management protocol.
	ManagementSecret string
	// ForwardingSecrets verify who asks for seats; the first is in force.
	ForwardingSecrets [][]byte
	// Listener is the agent's port, LocalListener its port on the loopback
	// address, for plugins. Run closes both.
	Listener, LocalListener net.Listener
	// RunDir keeps what plugins asked for while the agent restarts.
	RunDir string
	// Channel says where the manager is. Version and Clock in it are those of
	// the agent.
	Channel channelclient.Config
}

// Agent is the state of one server and everybody who reads or changes it.
type Agent struct {
	cfg      Config
	clock    clock.WithTicker
	ledger   *ledger.Ledger
	watcher  *players.Watcher
	verifier *seats.Verifier
	// changed wakes the channel, probe the prober. Both have room for one.
	changed, probe chan struct{}
	saves          saves
	log            logr.Logger
	stop           stopping

	mu    sync.Mutex
	state state
	// told is the last report that was worth one, without its times.
	told *agentv1alpha1.ServerReport
	// moved is closed and made anew whenever the state changes.
	moved chan struct{}
	// beyond is what the manager is, says and is asked.
	beyond *beyond
}

// New makes an agent that knows nothing yet.
func New(cfg Config) (*Agent, error) {
	if cfg.Channel.Clock == nil || cfg.Listener == nil || cfg.LocalListener == nil {
		return nil, errors.New("an agent needs a clock and two listeners")
	}
	kept, err := local.ReadWishes(cfg.RunDir)
	if err != nil {
		return nil, err
	}
	verifier, err := seats.NewVerifier(cfg.Channel.Clock, cfg.ForwardingSecrets...)
	if err != nil {
		return nil, err
	}
	protocols, err := mcproto.DefaultProtocols()
	if err != nil {
		return nil, fmt.Errorf("reading the table of protocols: %w", err)
	}
	cfg.Channel.Capabilities = capabilities
	a := &Agent{
		cfg: cfg, clock: cfg.Channel.Clock, verifier: verifier,
		changed: make(chan struct{}, 1), probe: make(chan struct{}, 1), moved: make(chan struct{}),
		state: state{spec: cfg.Spec},
	}
	a.state.recall(kept)
	a.beyond = newBeyond(a.clock, a.changed)
	a.ledger = ledger.New(cfg.Spec.Server, a.state.limits())
	a.watcher = players.New(players.Config{
		Host: cfg.GameHost, Port: cfg.Spec.Port, ManagementPort: cfg.Spec.ManagementPort(),
		Secret: cfg.ManagementSecret, Protocol: protocols.Newest().Number,
		Clock: a.clock, OnObservation: a.observed,
	})
	return a, nil
}

// Run works until ctx ends, and then ends within two seconds. It returns an
// error when it could not work at all.
func (a *Agent) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	a.log = logr.FromContextOrDiscard(ctx)
	ports := []*port{
		{a.web(ctx), a.cfg.Listener},
		{local.NewServer(ctx, &plugins{a}, a.clock), a.cfg.LocalListener},
	}
	failed := make(chan error, len(ports))
	var running sync.WaitGroup
	running.Go(func() { a.watcher.Run(ctx) })
	running.Go(func() { a.proveForwarding(ctx) })
	running.Go(func() { _ = channelclient.RunServer(ctx, a.cfg.Channel, a.peer()) })
	for _, one := range ports {
		running.Go(func() {
			if err := one.web.Serve(one.listener); !errors.Is(err, http.ErrServerClosed) {
				failed <- fmt.Errorf("serving %s: %w", one.listener.Addr(), err)
			}
		})
	}
	var err error
	select {
	case <-ctx.Done():
	case err = <-failed:
	}
	cancel()
	shutdown(context.WithoutCancel(ctx), ports)
	running.Wait()
	return err
}

// port is what the agent answers on.
type port struct {
	web      *http.Server
	listener net.Listener
}

// shutdown lets requests end, on all ports within one time, and ends those that
// do not.
func shutdown(ctx context.Context, ports []*port) {
	ctx, cancel := context.WithTimeout(ctx, shutdownWithin)
	defer cancel()
	for _, one := range ports {
		if one.web.Shutdown(ctx) != nil {
			// What is still open then, nobody waits for.
			_ = one.web.Close()
		}
	}
}

// observed takes the next picture of the game.
func (a *Agent) observed(game players.Observation) {
	a.change(func(s *state) {
		a.endWishes(s, game)
		s.game = game
		if game.Counted {
			a.ledger.Observe(game.Sample)
		} else {
			a.ledger.Forget()
		}
	})
}

// change changes the state and has everybody act on what follows from it.
func (a *Agent) change(how func(*state)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	how(&a.state)
	a.ledger.SetLimits(a.state.limits())
	a.ledger.SetDoor(a.state.door())
	if a.state.probeDue() {
		poke(a.probe)
	}
	a.tell()
	close(a.moved)
	a.moved = make(chan struct{})
}

// tell wakes the channel when there is something new to say.
func (a *Agent) tell() {
	report := a.whole()
	report.SampledAt = nil
	if proto.Equal(a.told, report) {
		return
	}
	a.told = report
	poke(a.changed)
}

// whole is the report of this moment. The caller holds the lock: who joins
// leaves the seats and comes online in one step.
func (a *Agent) whole() *agentv1alpha1.ServerReport {
	now := a.clock.Now()
	report := a.state.report(a.ledger.Pending(now), a.ledger.Admitted(now))
	report.NetworkWanted = a.beyond.wants()
	return report
}

// look returns the state of this moment, and a channel that is closed when
// there is another.
func (a *Agent) look() (state, <-chan struct{}) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.state, a.moved
}

// poke wakes whoever waits on a channel with room for one.
func poke(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
