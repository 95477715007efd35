// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"k8s.io/utils/clock"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/agent/local"
)

const (
	// answerWithin is how long a plugin waits for the manager. The API for Java
	// waits two seconds longer.
	answerWithin = 8 * time.Second
	// wantedFor is how long the manager goes on telling the network after a
	// plugin has last asked for it.
	wantedFor = time.Minute
)

// beyond is the manager as plugins see it.
type beyond struct {
	clock clock.WithTicker
	// changed wakes the channel.
	changed chan<- struct{}

	mu sync.Mutex
	// manager greeted in the session that stands; nil without one.
	manager *agentv1alpha1.Welcome
	// wantedUntil is zero while nobody wants to know the network.
	wantedUntil time.Time
	network     local.Outlook
	// say sends something on the session that stands.
	say func(*agentv1alpha1.ServerMessage)
	// asked are those who wait for an answer, by the id of what they asked.
	asked map[string][]chan *agentv1alpha1.Answer
	// moved is closed and made anew whenever one of these changes.
	moved chan struct{}
}

func newBeyond(clk clock.WithTicker, changed chan<- struct{}) *beyond {
	return &beyond{clock: clk, changed: changed, moved: make(chan struct{}), asked: map[string][]chan *agentv1alpha1.Answer{}}
}

// move tells whoever waits. The caller holds the lock.
func (b *beyond) move() {
	close(b.moved)
	b.moved = make(chan struct{})
}

func (b *beyond) welcomed(by *agentv1alpha1.Welcome, say func(*agentv1alpha1.ServerMessage)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.manager, b.say = by, say
	b.move()
}

// lost: nobody keeps what was told of the network true any more.
func (b *beyond) lost() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.manager, b.network = nil, local.Outlook{}
	b.move()
}

func (b *beyond) told(network *agentv1alpha1.Directory) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.network.Apply(network) {
		b.move()
	}
}

// wants says whether the manager is to tell the network.
func (b *beyond) wants() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return !b.wantedUntil.IsZero()
}

// lapse ends that when no plugin has asked for long. It is called for the
// report that says so and for no other: the manager tells only changes until it
// has heard that.
func (b *beyond) lapse() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.clock.Now().After(b.wantedUntil) {
		b.wantedUntil, b.network = time.Time{}, local.Outlook{}
	}
}

// able returns why the manager cannot be asked for something; nil when it can.
// The caller holds the lock.
func (b *beyond) able(capability, what string) error {
	switch {
	case b.manager == nil:
		return &local.Failed{Status: http.StatusServiceUnavailable, Why: fmt.Sprintf(
			"no manager is connected, and %s comes from it; try again in a moment", what)}
	case !slices.Contains(b.manager.GetCapabilities(), capability):
		return &local.Failed{Status: http.StatusNotImplemented, Why: fmt.Sprintf(
			"the manager (version %s) does not support this: upgrade the operator, %s comes from it", b.manager.GetVersion(), what)}
	}
	return nil
}

// awaitNetwork returns what was told last, waiting for the first word.
func (b *beyond) awaitNetwork(ctx context.Context) (local.Network, <-chan struct{}, error) {
	late := b.clock.NewTimer(answerWithin)
	defer late.Stop()
	for {
		network, known, moved, err := b.look()
		if known || err != nil {
			return network, moved, err
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return local.Network{}, nil, context.Cause(ctx)
		case <-late.C():
			return local.Network{}, nil, &local.Failed{Status: http.StatusGatewayTimeout, Why: fmt.Sprintf(
				"the manager has not told the network within %s; ask again", answerWithin)}
		}
	}
}

func (b *beyond) look() (local.Network, bool, <-chan struct{}, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.able(agentv1alpha1.CapabilityNetwork, "the network"); err != nil {
		return local.Network{}, false, nil, err
	}
	if b.wantedUntil.IsZero() {
		poke(b.changed)
	}
	b.wantedUntil = b.clock.Now().Add(wantedFor)
	network, known := b.network.Network()
	return network, known, b.moved, nil
}
