// SPDX-License-Identifier: Apache-2.0

// Package expect remembers what was just written to the API server until the
// cache shows it, so that a decision taken on a lagging cache does not order
// the same thing twice. It is a correction of the observation, not a barrier.
package expect

import (
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
)

// Lifetime bounds how long a write is believed without the cache showing it.
// A call whose outcome is unknown is believed just as long.
const Lifetime = 30 * time.Second

// Writes holds the outstanding creates, deletes and retirements of every owner,
// by its UID: one made again under the same name has ordered nothing. The zero value is
// ready to use; it is safe for concurrent use.
type Writes struct {
	mu     sync.Mutex
	owners map[types.UID]*outstanding
}

type outstanding struct {
	creates map[string]time.Time
	deletes map[types.UID]time.Time
	retires map[types.UID]retirement
}

type retirement struct {
	reason v1alpha1.RetireReason
	since  time.Time
}

// Pending is what an owner has ordered and the cache does not show yet.
type Pending struct {
	// Creates are names, sorted.
	Creates []string
	// Deletes are the UIDs of objects asked to go.
	Deletes map[types.UID]struct{}
	// Retires are the reasons to retire that were written to objects, by UID;
	// RetireNone is one that was taken back.
	Retires map[types.UID]v1alpha1.RetireReason
	// Until is when the first of them is no longer believed, zero for none: a
	// call whose end nobody knows may leave nothing that would wake its owner.
	Until time.Time
}

// Created notes that an object was ordered under a name.
func (w *Writes) Created(owner types.UID, name string, now time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.of(owner).creates[name] = now
}

// Refused takes a create back that the API server certainly did not carry out.
func (w *Writes) Refused(owner types.UID, name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.of(owner).creates, name)
}

// Deleted notes that an object was asked to go.
func (w *Writes) Deleted(owner, uid types.UID, now time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.of(owner).deletes[uid] = now
}

// Spared takes a delete back that the API server certainly did not carry out.
func (w *Writes) Spared(owner, uid types.UID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.of(owner).deletes, uid)
}

// Retired notes that a reason to retire was written to an object, or taken back
// by RetireNone.
func (w *Writes) Retired(owner, uid types.UID, reason v1alpha1.RetireReason, now time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.of(owner).retires[uid] = retirement{reason, now}
}

// Unretired takes back what the API server certainly did not write.
func (w *Writes) Unretired(owner, uid types.UID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.of(owner).retires, uid)
}

// Seen is one child as the cache shows it.
type Seen struct {
	Name     string
	UID      types.UID
	Deleting bool
	Retire   v1alpha1.RetireReason
}

// Settle drops what the cache shows by now, and what is older than Lifetime,
// and returns the rest.
func (w *Writes) Settle(owner types.UID, shown []Seen, now time.Time) Pending {
	w.mu.Lock()
	defer w.mu.Unlock()
	held, ok := w.owners[owner]
	if !ok {
		return Pending{}
	}
	alive := map[types.UID]Seen{}
	for _, child := range shown {
		delete(held.creates, child.Name)
		if !child.Deleting {
			alive[child.UID] = child
		}
	}
	pending := held.believed(alive, now)
	if len(held.creates)+len(held.deletes)+len(held.retires) == 0 {
		delete(w.owners, owner)
	}
	return pending
}

// believed drops what is shown or too old, and returns what is left.
func (held *outstanding) believed(alive map[types.UID]Seen, now time.Time) Pending {
	pending := Pending{Deletes: map[types.UID]struct{}{}, Retires: map[types.UID]v1alpha1.RetireReason{}}
	for name, since := range held.creates {
		if now.Sub(since) >= Lifetime {
			delete(held.creates, name)
			continue
		}
		pending.Creates = append(pending.Creates, name)
		pending.believe(since)
	}
	for uid, since := range held.deletes {
		if _, there := alive[uid]; !there || now.Sub(since) >= Lifetime {
			delete(held.deletes, uid)
			continue
		}
		pending.Deletes[uid] = struct{}{}
		pending.believe(since)
	}
	for uid, written := range held.retires {
		child, there := alive[uid]
		if !there || child.Retire == written.reason || now.Sub(written.since) >= Lifetime {
			delete(held.retires, uid)
			continue
		}
		pending.Retires[uid] = written.reason
		pending.believe(written.since)
	}
	slices.Sort(pending.Creates)
	return pending
}

func (p *Pending) believe(since time.Time) {
	if until := since.Add(Lifetime); p.Until.IsZero() || until.Before(p.Until) {
		p.Until = until
	}
}

// Forget drops everything known of an owner that is gone.
func (w *Writes) Forget(owner types.UID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.owners, owner)
}

func (w *Writes) of(owner types.UID) *outstanding {
	if w.owners == nil {
		w.owners = map[types.UID]*outstanding{}
	}
	held, ok := w.owners[owner]
	if !ok {
		held = &outstanding{
			creates: map[string]time.Time{}, deletes: map[types.UID]time.Time{}, retires: map[types.UID]retirement{},
		}
		w.owners[owner] = held
	}
	return held
}
