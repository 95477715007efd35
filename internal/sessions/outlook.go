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

// outlookSpacing bounds how often a server is told what changed in its network.
const outlookSpacing = time.Second

// outlookOf is a directory as servers may know it: without the addresses by
// which proxies reach games and agents, and with the proxies. It is the one
// there was when nothing is new.
func (s *Store) outlookOf(network types.NamespacedName, before, now *directory) *directory {
	was := s.outlooks[network]
	is := &directory{
		servers: make(map[string]*agentv1alpha1.DirectoryServer, len(now.servers)),
		listed:  now.listed, players: now.players, proxies: s.proxiesOf(network),
	}
	for name, entry := range now.servers {
		if was != nil && before.entry(name) == entry {
			is.servers[name] = was.entry(name)
			continue
		}
		told := proto.CloneOf(entry)
		told.Address, told.SeatAddress = "", ""
		is.servers[name] = told
	}
	if was.equal(is) {
		return was
	}
	is.follow(was, s.clock.Now())
	return is
}

// proxiesOf counts the connected proxies of a network by their groups.
func (s *Store) proxiesOf(network types.NamespacedName) []*agentv1alpha1.DirectoryProxies {
	groups := map[string]*agentv1alpha1.DirectoryProxies{}
	for known := range s.within(network.Namespace) {
		if !known.connected() || known.pod.Network != network.Name {
			continue
		}
		group := groups[known.pod.Group]
		if group == nil {
			group = &agentv1alpha1.DirectoryProxies{Group: known.pod.Group}
			groups[known.pod.Group] = group
		}
		group.Proxies++
		group.Players += int32(known.said.players)
	}
	var all []*agentv1alpha1.DirectoryProxies
	for _, name := range slices.Sorted(maps.Keys(groups)) {
		all = append(all, groups[name])
	}
	return all
}

// tellServers wakes the sessions of a network's servers that want to know it.
func (s *Store) tellServers(network types.NamespacedName) {
	for _, known := range s.servers {
		if known.report.GetNetworkWanted() && known.network() == network {
			known.notify()
		}
	}
}

func (s *server) network() types.NamespacedName {
	return types.NamespacedName{Namespace: s.pod.Server.Namespace, Name: s.pod.Network}
}

// outlook is what a session has been told of the network.
type outlook struct {
	told *directory
	// wish is the number of the wish that it answers.
	wish              int
	fullAt, changedAt time.Time
}

// pickNetwork returns the whole network to a session that has been told nothing
// since it began to want it, and then what changed: however slow the peer, at
// most one delta waits.
func (s *ServerSession) pickNetwork(now time.Time) (*agentv1alpha1.Directory, time.Duration) {
	wanted := s.store.outlooks[s.server.network()]
	switch {
	case !s.server.report.GetNetworkWanted() || wanted == nil:
		return nil, ResyncEvery
	case s.outlook.told == nil || s.outlook.wish != s.server.wishes || now.Sub(s.outlook.fullAt) >= ResyncEvery:
		s.outlook = outlook{told: wanted, wish: s.server.wishes, fullAt: now, changedAt: now}
		return wanted.full(), 0
	case wanted == s.outlook.told:
		return nil, ResyncEvery - now.Sub(s.outlook.fullAt)
	case now.Sub(s.outlook.changedAt) < outlookSpacing:
		return nil, outlookSpacing - now.Sub(s.outlook.changedAt)
	}
	delta := wanted.since(s.outlook.told)
	s.outlook.told, s.outlook.changedAt = wanted, now
	return delta, 0
}
