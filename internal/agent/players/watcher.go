// SPDX-License-Identifier: Apache-2.0

// Package players watches who is online on the game beside the agent: by the
// management protocol where the game has it, by ping where it has not.
package players

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"github.com/sourcegraph/jsonrpc2"
	"k8s.io/utils/clock"

	"github.com/spawnery/spawnery-operator/internal/agent/ledger"
	"github.com/spawnery/spawnery-operator/internal/msmp"
	"github.com/spawnery/spawnery-operator/internal/seats"
	"github.com/spawnery/spawnery-operator/internal/slp"
)

const (
	statusEvery = 5 * time.Second
	pingEvery   = time.Second
	// answerWithin bounds every question. A loaded server may take seconds.
	answerWithin = 5 * time.Second
	// redialSilent is when a connection that answers nothing is made anew.
	redialSilent = 15 * time.Second
	// The waits between two attempts to reach the management protocol: one
	// that was lost is likely there, one that refused the secret writes a line
	// into the game's log each time.
	redialLost         = 250 * time.Millisecond
	redialUnreachable  = 2 * time.Second
	redialUnauthorized = 15 * time.Second
)

// errSilent ends a connection that is open and answers nothing.
var errSilent = errors.New("the game does not answer on its management protocol")

// ErrNoManagement means that the game has no management protocol, or not now.
var ErrNoManagement = errors.New("the game's management protocol is not connected")

// ErrManaged means that the game tells by itself who is online.
var ErrManaged = errors.New("the game's management protocol tells who is online: nothing has to be said beside it")

// Config says which game is watched.
type Config struct {
	// Host and Port are where the game listens, ManagementPort its management
	// protocol on the same host.
	Host           string
	Port           int32
	ManagementPort int32
	// Secret of the management protocol.
	Secret string
	// Protocol is the version pings claim to be.
	Protocol int32
	Clock    clock.WithTicker
	// OnObservation gets each picture, one after the other. It must return
	// quickly and not call the Watcher.
	OnObservation func(Observation)
}

// Watcher asks one game for as long as Run runs.
type Watcher struct {
	cfg       Config
	pingNow   chan struct{}
	statusNow chan struct{}

	mu      sync.Mutex
	tracker tracker
	client  *msmp.Client
	// managed is true once the management protocol was connected.
	managed bool
	// saving counts saves under way: a game that writes its world may answer
	// nothing else for minutes, and its connection must stand until it has.
	saving int
}

// New makes a watcher that has seen nothing yet.
func New(cfg Config) *Watcher {
	return &Watcher{
		cfg:       cfg,
		pingNow:   make(chan struct{}, 1),
		statusNow: make(chan struct{}, 1),
		tracker:   tracker{port: cfg.Port},
	}
}

// Run watches until ctx ends.
func (w *Watcher) Run(ctx context.Context) {
	var running sync.WaitGroup
	running.Go(func() { w.manage(ctx) })
	running.Go(func() { w.ping(ctx) })
	running.Wait()
}

// Push takes in who is online by the word of a plugin, for a game that can only
// be pinged. It counts in place of what pings say until it is ledger.StaleAfter
// old.
func (w *Watcher) Push(online []seats.Player) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.managed {
		return ErrManaged
	}
	now := w.cfg.Clock.Now()
	w.tracker.pushed(ledger.Sample{At: now, Online: len(online), Players: online})
	w.cfg.OnObservation(w.tracker.observe(now))
	return nil
}

// Save has the game write its world to disk and returns when it has.
func (w *Watcher) Save(ctx context.Context) error {
	client := w.connected()
	if client == nil {
		return ErrNoManagement
	}
	w.countSaving(1)
	defer w.countSaving(-1)
	return client.Save(ctx, msmp.SaveFlush)
}

// Stop begins the game's own orderly stop.
func (w *Watcher) Stop(ctx context.Context) error {
	client := w.connected()
	if client == nil {
		return ErrNoManagement
	}
	return client.Stop(ctx)
}

// Managed reports whether the game has a management protocol: it was connected
// once, though it may not be now.
func (w *Watcher) Managed() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.managed
}

func (w *Watcher) countSaving(by int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.saving += by
}

func (w *Watcher) isSaving() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.saving > 0
}

func (w *Watcher) connected() *msmp.Client {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.client
}

// learn changes the picture and shows it.
func (w *Watcher) learn(change func(*tracker)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change(&w.tracker)
	w.cfg.OnObservation(w.tracker.observe(w.cfg.Clock.Now()))
}

// manage keeps a connection to the management protocol.
func (w *Watcher) manage(ctx context.Context) {
	log := logr.FromContextOrDiscard(ctx)
	told := ""
	for ctx.Err() == nil {
		wait := redialLost
		err := w.converse(ctx)
		switch {
		case errors.Is(err, msmp.ErrUnauthorized):
			w.learn(func(t *tracker) { t.managementRefused(managementUnauthorized) })
			wait = redialUnauthorized
		case errors.Is(err, errLost), errors.Is(err, errSilent):
			w.learn((*tracker).managementLost)
			told = ""
		case errors.Is(err, context.DeadlineExceeded):
			w.learn((*tracker).managementTimedOut)
			wait = redialUnreachable
		default:
			w.learn(func(t *tracker) { t.managementRefused(managementUnreachable) })
			wait = redialUnreachable
		}
		poke(w.pingNow)
		if ctx.Err() == nil && err.Error() != told {
			told = err.Error()
			log.Info("the management protocol of the game is not connected, trying on", "cause", told)
		}
		w.wait(ctx, wait)
	}
}

// errLost ends a conversation that had begun.
var errLost = errors.New("the game closed its management protocol")

// converse holds one connection until it is of no more use.
func (w *Watcher) converse(ctx context.Context) error {
	connection := &connection{watcher: w}
	client, err := w.dial(ctx, connection)
	if err != nil {
		return err
	}
	defer func() {
		w.mu.Lock()
		connection.open, w.client = false, nil
		w.mu.Unlock()
		_ = client.Close()
	}()
	w.learn(func(t *tracker) {
		connection.open, w.client, w.managed = true, client, true
		t.managementOpened()
	})
	logr.FromContextOrDiscard(ctx).Info("connected to the game's management protocol")
	return w.poll(ctx, client)
}

func (w *Watcher) dial(ctx context.Context, c *connection) (*msmp.Client, error) {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	return msmp.Dial(ctx, w.address(w.cfg.ManagementPort), w.cfg.Secret, c.notify)
}

func (w *Watcher) address(port int32) string {
	return net.JoinHostPort(w.cfg.Host, strconv.Itoa(int(port)))
}

// poll asks for the status, in intervals and when there is reason to.
func (w *Watcher) poll(ctx context.Context, client *msmp.Client) error {
	ticker := w.cfg.Clock.NewTicker(statusEvery)
	defer ticker.Stop()
	answered := w.cfg.Clock.Now()
	for {
		asked := w.cfg.Clock.Now()
		status, err := w.status(ctx, client)
		var refusal *jsonrpc2.Error
		switch {
		case err == nil:
			answered = asked
			w.learn(func(t *tracker) { t.answered(asked, status) })
		case errors.As(err, &refusal):
			return fmt.Errorf("asking the game for its status: %w", err)
		case w.cfg.Clock.Since(answered) >= redialSilent && !w.isSaving():
			return errSilent
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-client.Done():
			return errLost
		case <-ticker.C():
		case <-w.statusNow:
		}
	}
}

func (w *Watcher) status(ctx context.Context, client *msmp.Client) (msmp.Status, error) {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	w.learn((*tracker).asking)
	return client.Status(ctx)
}

// connection receives what the game says by itself, while it is the one.
type connection struct {
	watcher *Watcher
	open    bool
}

func (c *connection) notify(n msmp.Notification) {
	w := c.watcher
	w.mu.Lock()
	defer w.mu.Unlock()
	if !c.open {
		return
	}
	now := w.cfg.Clock.Now()
	w.tracker.notified(now, n)
	w.cfg.OnObservation(w.tracker.observe(now))
	if n.Event == msmp.EventStarted {
		poke(w.statusNow)
	}
}

// ping asks in the one way every game answers, while no better one works, and
// lets time pass for what is known.
func (w *Watcher) ping(ctx context.Context) {
	ticker := w.cfg.Clock.NewTicker(pingEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C():
		case <-w.pingNow:
		}
		w.pingOnce(ctx)
	}
}

func (w *Watcher) pingOnce(ctx context.Context) {
	w.mu.Lock()
	may := w.tracker.mayPing()
	w.mu.Unlock()
	if !may {
		w.learn(func(*tracker) {})
		return
	}
	asked := w.cfg.Clock.Now()
	bounded, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	status, err := slp.Ping(bounded, w.address(w.cfg.Port), w.cfg.Protocol)
	w.learn(func(t *tracker) {
		switch {
		case ctx.Err() != nil || !t.mayPing():
			// The better way works again; it knows more than this answer.
		case err == nil:
			t.pinged(asked, status)
		case errors.Is(err, syscall.ECONNREFUSED):
			t.refused()
		default:
			t.unanswered()
		}
	})
}

func (w *Watcher) wait(ctx context.Context, d time.Duration) {
	timer := w.cfg.Clock.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C():
	}
}

// poke wakes whoever waits on a channel with room for one.
func poke(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
