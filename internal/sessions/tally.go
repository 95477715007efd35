// SPDX-License-Identifier: Apache-2.0

package sessions

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// LastsFor is how long the game and the proxies must differ, or agree, without
// a gap before it is told: six reports, so that players who come and go between
// two reports are no news.
const LastsFor = 6 * ReportInterval

// Agreement says whether the game and the proxies count the same players.
type Agreement int

const (
	// AgreementUnknown means that one of them is not heard, or that what they
	// say has not lasted yet.
	AgreementUnknown Agreement = iota
	// CountsAgree means that they count the same.
	CountsAgree
	// CountsDiffer means that they do not, and that nobody on the way explains it.
	CountsDiffer
)

// Tally compares two counts of the players on one server.
type Tally struct {
	Agreement Agreement
	// Game is how many are online by the game's word, Proxies how many are
	// there by that of all proxies. Both are 0 while the agreement is unknown.
	Game, Proxies int
}

// Tally compares the counts of the server in the pod with this UID. Give every
// proxy pod of its network that exists: what one of them does not tell is no
// disagreement.
func (s *Store) Tally(pod types.UID, proxies []types.UID) Tally {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.clock.Now()
	for _, uid := range proxies {
		if known, ok := s.proxies[uid]; !ok || freshness(known.sampledAt, now) != Fresh {
			return Tally{}
		}
	}
	if known, ok := s.servers[pod]; ok && len(proxies) > 0 {
		return s.compare(known, now)
	}
	return Tally{}
}

// comparison is how the two counts of a server stand to each other, since when.
type comparison struct {
	known Agreement
	// sign is 1 while the game counts more, -1 while the proxies do.
	sign  int
	since time.Time
	told  Agreement
}

// compare takes one more look at the counts of a server.
func (s *Store) compare(of *server, now time.Time) Tally {
	there, heard := s.thereBy(of.pod, now)
	if !heard || !of.connected() || freshness(of.sampledAt, now) != Fresh {
		of.comparison = comparison{told: of.comparison.told}
		return Tally{}
	}
	tally := Tally{Game: int(of.report.GetOnline()), Proxies: there.On}
	is := comparison{known: CountsAgree, since: now, told: of.comparison.told}
	switch {
	case tally.Game > there.On+there.Coming:
		is.known, is.sign = CountsDiffer, 1
	case there.On > tally.Game+int(of.report.GetSeatsPending()):
		// Who still loads the world is on the server for the proxy alone.
		is.known, is.sign = CountsDiffer, -1
	}
	if is.known == of.comparison.known && is.sign == of.comparison.sign {
		is.since = of.comparison.since
	}
	of.comparison = is
	if now.Sub(is.since) < LastsFor {
		return Tally{}
	}
	tally.Agreement = is.known
	return tally
}

// thereBy is who is on a server by the word of its network's proxies; false
// while there is none, or one of them is not heard.
func (s *Store) thereBy(pod ServerPod, now time.Time) (Presence, bool) {
	var all Presence
	heard := false
	for known := range s.within(pod.Server.Namespace) {
		if known.pod.Network != pod.Network {
			continue
		}
		if freshness(known.sampledAt, now) != Fresh {
			return Presence{}, false
		}
		heard = true
		there := known.said.presence[pod.Server.Name]
		all.On += there.On
		all.Coming += there.Coming
	}
	return all, heard
}

// tally looks at every server, and wakes those whose agreement is news.
func (s *Store) tally(now time.Time) {
	for _, known := range s.servers {
		is := s.compare(known, now).Agreement
		if is != AgreementUnknown && is != known.comparison.told {
			known.comparison.told = is
			s.wakes.add(Server, known.pod.Server.Namespace, known.pod.Server.Name)
		}
	}
}
