// SPDX-License-Identifier: Apache-2.0

package directory

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"google.golang.org/protobuf/proto"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
)

// Store takes the manager's orders and publishes views. Its methods may be
// called from any goroutine.
type Store struct {
	view atomic.Pointer[View]

	mu      sync.Mutex // one change at a time; guards changed
	changed chan struct{}
}

// NewStore knows nothing yet.
func NewStore() *Store {
	s := &Store{changed: make(chan struct{})}
	s.view.Store(&View{})
	return s
}

// View is the network as last heard; never nil.
func (s *Store) View() *View { return s.view.Load() }

// Changed returns a channel that is closed at the next change. Take it before
// the view that is acted on, and no change is missed.
func (s *Store) Changed() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.changed
}

// Revision is that of the list held; 0 until this process received a full one.
func (s *Store) Revision() uint64 { return s.View().revision }

// SetSettings replaces the settings. Equal ones, which the manager restates,
// are no change.
func (s *Store) SetSettings(settings *agentv1alpha1.ProxySettings) {
	if proto.Equal(settings, s.View().Settings) {
		return
	}
	s.change(func(v *View) { v.Settings = settings })
}

// Apply takes a full list or a change. A session begins with a full list and
// its changes arrive in order, so a change without a full list before it, or
// one that is not newer, belongs to a session that was replaced: it is left out.
func (s *Store) Apply(d *agentv1alpha1.Directory) {
	s.change(func(v *View) {
		switch {
		case d.GetFull():
			v.servers, v.complete = make(map[string]*agentv1alpha1.DirectoryServer, len(d.GetServers())), true
		case v.revision == 0 || d.GetRevision() <= v.revision:
			return
		default:
			v.servers = maps.Clone(v.servers)
		}
		for _, server := range d.GetServers() {
			v.servers[server.GetName()] = server
		}
		for _, name := range d.GetRemoved() {
			delete(v.servers, name)
		}
		v.revision = d.GetRevision()
		v.NetworkPlayers = int(d.GetNetworkPlayers())
		v.groups = slices.SortedFunc(slices.Values(d.GetGroups()), func(a, b *agentv1alpha1.DirectoryGroup) int {
			return cmp.Compare(a.GetName(), b.GetName())
		})
	})
}

// change publishes a changed copy of the view.
func (s *Store) change(edit func(*View)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	next := *s.view.Load()
	edit(&next)
	s.view.Store(&next)
	close(s.changed)
	s.changed = make(chan struct{})
}
