// SPDX-License-Identifier: Apache-2.0

package sessions

import (
	"cmp"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
)

// restated is what a session was told last about watchers, and when.
type restated struct {
	watchers *agentv1alpha1.Watchers
	at       time.Time
}

// pickWatchers returns who watches on the server when its agent lacks it: in a
// session nobody is watching until the first word about somebody.
func (s *ServerSession) pickWatchers(now time.Time) (*agentv1alpha1.Watchers, time.Duration) {
	if !slices.Contains(s.server.able, agentv1alpha1.CapabilityWatchers) {
		return nil, ResyncEvery
	}
	wanted := s.store.watchersOn(s.server.pod)
	switch {
	case s.watchers.watchers == nil && len(wanted.GetPlayers()) == 0:
		return nil, ResyncEvery
	case now.Sub(s.watchers.at) < ResyncEvery && proto.Equal(wanted, s.watchers.watchers):
		return nil, ResyncEvery - now.Sub(s.watchers.at)
	}
	s.watchers = restated{watchers: wanted, at: now}
	return wanted, 0
}

// watchersOn collects who is on a server by the permission to join full rounds,
// by the last word of each proxy of its network.
func (s *Store) watchersOn(pod ServerPod) *agentv1alpha1.Watchers {
	list := &agentv1alpha1.Watchers{}
	for known := range s.within(pod.Server.Namespace) {
		if known.pod.Network == pod.Network {
			list.Players = append(list.Players, known.said.watchers[pod.Server.Name]...)
		}
	}
	slices.SortFunc(list.Players, func(a, b *agentv1alpha1.Player) int { return cmp.Compare(nameOf(a), nameOf(b)) })
	return list
}

// notifyAboutWatchers has the agents of the servers told of which a proxy names
// other watchers than before.
func (s *Store) notifyAboutWatchers(of *proxy, before, now said) {
	changed := map[string]struct{}{}
	differentBy(changed, before.watchers, now.watchers, func(a, b []*agentv1alpha1.Player) bool {
		return slices.EqualFunc(a, b, func(a, b *agentv1alpha1.Player) bool { return proto.Equal(a, b) })
	})
	if len(changed) == 0 {
		return
	}
	for _, known := range s.servers {
		if _, concerned := changed[known.pod.Server.Name]; concerned && known.pod.Server.Namespace == of.pod.Pod.Namespace {
			known.notify()
		}
	}
}
