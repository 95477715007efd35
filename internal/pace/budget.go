// SPDX-License-Identifier: Apache-2.0

package pace

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Burst is how often within an Interval an object is written because of
// something that others may change at will.
const Burst = 5

// Budget bounds such writes: the first ones go at once, and the last word
// always goes. The zero value is ready to use; it is safe for concurrent use.
type Budget struct {
	mu    sync.Mutex
	spent map[types.UID][]time.Time
}

// Wait returns how long the next such write has to wait, 0 when it may go now.
func (b *Budget) Wait(object types.UID, now time.Time) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	spent := b.spent[object]
	if len(spent) < Burst {
		return 0
	}
	return max(0, Interval-now.Sub(spent[len(spent)-Burst]))
}

// Spend notes such a write.
func (b *Budget) Spend(object types.UID, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.spent == nil {
		b.spent = map[types.UID][]time.Time{}
	}
	spent := append(b.spent[object], now)
	b.spent[object] = spent[max(0, len(spent)-Burst):]
}

// Forget drops an object that is gone.
func (b *Budget) Forget(object types.UID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.spent, object)
}
