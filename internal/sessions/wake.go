// SPDX-License-Identifier: Apache-2.0

package sessions

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// Kind names what a Wake is about.
type Kind int

const (
	// Server is a Server whose counts, state, or players changed.
	Server Kind = iota
	// ServerGroup is a group one of whose servers changed, or for which
	// players began or ceased to wait.
	ServerGroup
	// ProxyGroup is a group one of whose proxies changed.
	ProxyGroup
	// Network is a network whose directory has to be put together again.
	Network
)

// Wake names an object whose decision may now be another.
type Wake struct {
	Kind Kind
	types.NamespacedName
}

// wakes collects what to wake until somebody takes it; the same object twice
// is one wake, so a slow consumer never holds up a report.
type wakes struct {
	mu      sync.Mutex
	pending map[Wake]struct{}
	ring    chan struct{}
}

func (w *wakes) add(kind Kind, namespace, name string) {
	if name == "" {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.pending[Wake{Kind: kind, NamespacedName: types.NamespacedName{Namespace: namespace, Name: name}}] = struct{}{}
	notify(w.ring)
}

func (w *wakes) take() map[Wake]struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	taken := w.pending
	w.pending = map[Wake]struct{}{}
	return taken
}

// Deliver calls deliver for every object that is to be looked at again, from
// one goroutine, until ctx ends. deliver may block; what changes meanwhile is
// collected. Only one Deliver may run per store.
func (s *Store) Deliver(ctx context.Context, deliver func(Wake)) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.wakes.ring:
		}
		for wake := range s.wakes.take() {
			deliver(wake)
		}
	}
}

func notify(ring chan struct{}) {
	select {
	case ring <- struct{}{}:
	default:
	}
}
