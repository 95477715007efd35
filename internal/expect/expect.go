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
)

// Lifetime bounds how long a write is believed without the cache showing it.
// A call whose outcome is unknown is believed just as long.
const Lifetime = 30 * time.Second

// Writes holds the outstanding creates and deletes of every owner, by its UID:
// one made again under the same name has ordered nothing. The zero value is
// ready to use; it is safe for concurrent use.
type Writes struct {
	mu     sync.Mutex
	owners map[types.UID]*outstanding
}

type outstanding struct {
	creates map[string]time.Time
	deletes map[types.UID]time.Time
}

// Pending is what an owner has ordered and the cache does not show yet.
type Pending struct {
	// Creates are names, sorted.
	Creates []string
	// Deletes are the UIDs of objects asked to go.
	Deletes map[types.UID]struct{}
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

// Seen is one child as the cache shows it.
type Seen struct {
	Name     string
	UID      types.UID
	Deleting bool
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
	alive := map[types.UID]struct{}{}
	for _, child := range shown {
		delete(held.creates, child.Name)
		if !child.Deleting {
			alive[child.UID] = struct{}{}
		}
	}
	pending := Pending{Deletes: map[types.UID]struct{}{}}
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
	slices.Sort(pending.Creates)
	if len(held.creates)+len(held.deletes) == 0 {
		delete(w.owners, owner)
	}
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
		held = &outstanding{creates: map[string]time.Time{}, deletes: map[types.UID]time.Time{}}
		w.owners[owner] = held
	}
	return held
}
