// SPDX-License-Identifier: Apache-2.0

package sessions

import (
	"maps"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"
	"k8s.io/apimachinery/pkg/types"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
)

// Directory is a network's servers as all its proxies are to see them.
type Directory struct {
	Servers []*agentv1alpha1.DirectoryServer
	Groups  []*agentv1alpha1.DirectoryGroup
	// Players is how many the server list shows.
	Players int32
}

// directory is one state of a network's directory; it never changes, and equal
// entries of two states are the same pointer.
type directory struct {
	revision uint64
	servers  map[string]*agentv1alpha1.DirectoryServer
	listed   []*agentv1alpha1.DirectoryGroup
	players  int32
	// proxies are in the one that servers see.
	proxies []*agentv1alpha1.DirectoryProxies
}

// SetDirectory states the directory of a network. Every proxy of it is sent
// what it lacks; one that equals the last is nothing new. The messages must not
// be changed afterwards.
func (s *Store) SetDirectory(network types.NamespacedName, wanted Directory) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.directories[network]
	after := &directory{
		servers: make(map[string]*agentv1alpha1.DirectoryServer, len(wanted.Servers)),
		listed:  wanted.Groups, players: wanted.Players,
	}
	for _, entry := range wanted.Servers {
		if known := before.entry(entry.GetName()); known != nil && proto.Equal(known, entry) {
			entry = known
		}
		after.servers[entry.GetName()] = entry
	}
	outlook := s.outlooks[network]
	s.outlooks[network] = s.outlookOf(network, before, after)
	if s.outlooks[network] != outlook {
		s.tellServers(network)
	}
	if before.equal(after) {
		return
	}
	after.follow(before, s.clock.Now())
	s.directories[network] = after
	for _, known := range s.proxies {
		if known.pod.Pod.Namespace == network.Namespace && known.pod.Network == network.Name {
			known.notify()
		}
	}
}

// DropDirectory drops what SetDirectory was told of a network that is gone. Who
// was told keeps what it has.
func (s *Store) DropDirectory(network types.NamespacedName) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.directories, network)
	delete(s.outlooks, network)
}

// follow numbers a state after the one before. Revisions go on rising when
// another manager takes over.
func (d *directory) follow(before *directory, now time.Time) {
	d.revision = uint64(max(now.UnixMilli(), 1))
	if before != nil {
		d.revision = max(d.revision, before.revision+1)
	}
}

func (d *directory) entry(name string) *agentv1alpha1.DirectoryServer {
	if d == nil {
		return nil
	}
	return d.servers[name]
}

func (d *directory) equal(other *directory) bool {
	return d != nil && d.players == other.players && maps.Equal(d.servers, other.servers) &&
		slices.EqualFunc(d.listed, other.listed, func(a, b *agentv1alpha1.DirectoryGroup) bool { return proto.Equal(a, b) }) &&
		slices.EqualFunc(d.proxies, other.proxies, func(a, b *agentv1alpha1.DirectoryProxies) bool { return proto.Equal(a, b) })
}

func (d *directory) full() *agentv1alpha1.Directory {
	order := &agentv1alpha1.Directory{Revision: d.revision, Full: true, NetworkPlayers: d.players, Groups: d.listed, Proxies: d.proxies}
	for _, name := range slices.Sorted(maps.Keys(d.servers)) {
		order.Servers = append(order.Servers, d.servers[name])
	}
	return order
}

// since returns what makes d out of an earlier state.
func (d *directory) since(before *directory) *agentv1alpha1.Directory {
	order := &agentv1alpha1.Directory{Revision: d.revision, NetworkPlayers: d.players, Groups: d.listed, Proxies: d.proxies}
	for _, name := range slices.Sorted(maps.Keys(d.servers)) {
		if d.servers[name] != before.servers[name] {
			order.Servers = append(order.Servers, d.servers[name])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(before.servers)) {
		if d.servers[name] == nil {
			order.Removed = append(order.Removed, name)
		}
	}
	return order
}
