// SPDX-License-Identifier: Apache-2.0

package ledger

// A game that only tells how many are online leaves open who of those on their
// way has arrived. Counting them twice until their seats expire would keep
// others out for a quarter of a minute. So a rise in the count is put down to
// seats: as many as it rose by, for whoever arrives has a seat and those who
// leave can only hide arrivals. Which seats does not matter to the sum, as long
// as none that is still needed runs out unseen: proxies renew exactly the seats
// of those who have not arrived, and a renewal moves a wrong guess on.

// guess takes count waiting seats for joined, the longest not renewed first. A
// negative count takes guesses back: somebody who was named now is whom they
// stood for.
func (l *Ledger) guess(count int) {
	for ; count > 0; count-- {
		oldest := l.oldest(pending)
		if oldest == nil {
			return
		}
		oldest.state = guessed
	}
	for ; count < 0; count++ {
		oldest := l.oldest(guessed)
		if oldest == nil {
			return
		}
		oldest.state = pending
	}
}

// disprove is told of a renewal: that player has not arrived. Somebody else
// has, most likely who was not renewed for longest.
func (l *Ledger) disprove(renewed *seat) {
	if renewed.state != guessed {
		return
	}
	renewed.state = pending
	if other := l.oldest(pending); other != nil && other.expires.Before(renewed.expires) {
		other.state = guessed
	}
}

// oldest is the seat in a state that was not renewed for longest.
func (l *Ledger) oldest(in seatState) *seat {
	var oldest *seat
	for _, s := range l.seats {
		if s.state == in && (oldest == nil || s.expires.Before(oldest.expires)) {
			oldest = s
		}
	}
	return oldest
}
