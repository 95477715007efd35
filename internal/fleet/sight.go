// SPDX-License-Identifier: Apache-2.0

package fleet

import "time"

// LeaderPatience is how long a new leader waits for the servers of a group to
// report before it decides without them.
const LeaderPatience = 60 * time.Second

// Sight says whether a new leader has heard from a group's servers.
type Sight uint8

const (
	// SightComplete means decisions may rest on the counts.
	SightComplete Sight = iota
	// SightForming means a registered server has not reported to this leader yet.
	// No demand is derived and nothing shrinks.
	SightForming
)

// SightOf judges what a leader that leads since the given instant has heard,
// and until when the answer can change by itself (the zero time: never).
func SightOf(servers []Server, leaderSince, now time.Time) (Sight, time.Time) {
	patienceEnds := leaderSince.Add(LeaderPatience)
	if !now.Before(patienceEnds) {
		return SightComplete, time.Time{}
	}
	for i := range servers {
		if servers[i].Registration == Registered && servers[i].Counts.state == CountsUnknown {
			return SightForming, patienceEnds
		}
	}
	return SightComplete, time.Time{}
}

// Earliest is the first instant that is not zero, or the zero time.
func Earliest(instants ...time.Time) time.Time {
	var first time.Time
	for _, t := range instants {
		if !t.IsZero() && (first.IsZero() || t.Before(first)) {
			first = t
		}
	}
	return first
}
