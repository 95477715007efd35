// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"math"
	"time"
)

// queue holds what is planned, as a heap with the earliest first. The heap
// itself holds no pointers: millions of events pass through it.
type queue struct {
	start   time.Time
	heap    []due
	plans   []func()
	free    []int32
	planned uint64
}

// due is when a plan is carried out. What is due at one instant keeps the order
// in which it was planned.
type due struct {
	at    time.Duration
	order uint64
	plan  int32
}

func (d *due) before(other *due) bool {
	return d.at < other.at || d.at == other.at && d.order < other.order
}

func (q *queue) add(at time.Time, do func()) {
	q.planned++
	slot := int32(len(q.plans))
	if last := len(q.free) - 1; last >= 0 {
		slot = q.free[last]
		q.free = q.free[:last]
		q.plans[slot] = do
	} else {
		if slot == math.MaxInt32 {
			panic("more is planned than can be counted")
		}
		q.plans = append(q.plans, do)
	}
	q.heap = append(q.heap, due{at: at.Sub(q.start), order: q.planned, plan: slot})
	for child := len(q.heap) - 1; child > 0; {
		parent := (child - 1) / 2
		if !q.heap[child].before(&q.heap[parent]) {
			return
		}
		q.heap[child], q.heap[parent] = q.heap[parent], q.heap[child]
		child = parent
	}
}

// next takes the earliest plan that is not due after the end, and says when it
// was due.
func (q *queue) next(end time.Time) (time.Time, func()) {
	if len(q.heap) == 0 || q.heap[0].at > end.Sub(q.start) {
		return time.Time{}, nil
	}
	first, last := q.heap[0], len(q.heap)-1
	q.heap[0] = q.heap[last]
	q.heap = q.heap[:last]
	q.sink()
	do := q.plans[first.plan]
	q.plans[first.plan] = nil
	q.free = append(q.free, first.plan)
	return q.start.Add(first.at), do
}

// sink puts what was moved to the top where it belongs.
func (q *queue) sink() {
	for parent := 0; ; {
		least := parent
		for child := 2*parent + 1; child <= 2*parent+2 && child < len(q.heap); child++ {
			if q.heap[child].before(&q.heap[least]) {
				least = child
			}
		}
		if least == parent {
			return
		}
		q.heap[parent], q.heap[least] = q.heap[least], q.heap[parent]
		parent = least
	}
}

// alarm is the next pass over an object. As in a work queue, the sooner of two
// counts, and a pass says itself when the next is due.
type alarm struct {
	at  time.Time
	set bool
}
