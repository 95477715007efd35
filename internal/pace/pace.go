// SPDX-License-Identifier: Apache-2.0

// Package pace spaces writes that only bring a number up to date, so that a
// busy network does not write every object at every report.
package pace

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Interval is the least time between two writes of one object that change
// nothing but counts.
const Interval = 15 * time.Second

const (
	retryFirst = 10 * time.Millisecond
	retryMost  = 30 * time.Second
)

// Retries paces the repetition of passes that failed. The queue's own pace
// grows to a quarter of an hour, after which an owner who has long removed the
// cause would still wait.
func Retries() workqueue.TypedRateLimiter[reconcile.Request] {
	return workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](retryFirst, retryMost)
}

// Pacer remembers when each object was last written. The zero value is ready
// to use; it is safe for concurrent use.
type Pacer struct {
	mu      sync.Mutex
	written map[types.UID]time.Time
}

// Wait returns how long a mere count of the object has to wait, 0 when it may
// be written now.
func (p *Pacer) Wait(object types.UID, now time.Time) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	last, ok := p.written[object]
	if !ok {
		return 0
	}
	return max(0, Interval-now.Sub(last))
}

// Written notes that the object's status was written.
func (p *Pacer) Written(object types.UID, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.written == nil {
		p.written = map[types.UID]time.Time{}
	}
	p.written[object] = now
}

// Forget drops an object that is gone.
func (p *Pacer) Forget(object types.UID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.written, object)
}
