// SPDX-License-Identifier: Apache-2.0

package sessions

import (
	"slices"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"
)

// skew places a pod's times on the manager's clock. The least difference seen
// between sending and arrival is clock difference plus the fastest way, so a
// report that waited in a buffer still shows its age. It looks back a few
// reports only, for a clock may be set.
type skew struct {
	differences [8]time.Duration
	seen        int
}

// learn takes in how long after its sending a report arrived, on two clocks.
func (s *skew) learn(sent *timestamppb.Timestamp, received time.Time) {
	if sent == nil {
		return
	}
	s.differences[s.seen%len(s.differences)] = received.Sub(sent.AsTime())
	s.seen++
}

// place puts a time of a report on the manager's clock; zero when there is
// none. A sender that does not date its reports is taken to have that clock.
func (s *skew) place(at *timestamppb.Timestamp, received time.Time) time.Time {
	if at == nil {
		return time.Time{}
	}
	placed := at.AsTime()
	if s.seen > 0 {
		placed = placed.Add(slices.Min(s.differences[:min(s.seen, len(s.differences))]))
	}
	return earlier(placed, received)
}

// earlier keeps a sample from being dated into the future, where it would stay
// fresh for longer than it is.
func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}
