// SPDX-License-Identifier: Apache-2.0

// Package outcome is the vocabulary in which one step of a reconcile pass says
// how it ended, and the loop that runs steps until one of them stops the pass.
package outcome

import (
	"context"
	"errors"
	"fmt"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
)

// Kind says what a step's end means for the rest of the pass.
type Kind int

const (
	// KindContinue goes on with the next step.
	KindContinue Kind = iota
	// KindWait stops the pass; time alone will help.
	KindWait
	// KindBlock stops the pass; only a change elsewhere helps, and a watch
	// wakes the object when it happens.
	KindBlock
	// KindRetry stops the pass with an error that a repetition may cure.
	KindRetry
)

// Outcome is how a step ended. Reason and Message explain a wait or a block in
// the words of a condition.
type Outcome struct {
	Kind    Kind
	Reason  string
	Message string
	After   time.Duration
	Err     error
}

// Continue goes on with the next step.
func Continue() Outcome { return Outcome{Kind: KindContinue} }

// Wait looks again after the given time.
func Wait(after time.Duration, reason, message string) Outcome {
	return Outcome{Kind: KindWait, After: after, Reason: reason, Message: message}
}

// Block waits for a change elsewhere.
func Block(reason, message string) Outcome {
	return Outcome{Kind: KindBlock, Reason: reason, Message: message}
}

// Retry repeats the pass after the queue's back-off.
func Retry(err error) Outcome { return Outcome{Kind: KindRetry, Err: err} }

// Of is a step's end by its error alone: Retry, or Continue when there is none.
func Of(err error) Outcome {
	if err == nil {
		return Continue()
	}
	return Retry(err)
}

// Join is the end of steps that do not wait for one another: the reason of the
// first that gives one, the soonest wait, and every error.
func Join(ends ...Outcome) Outcome {
	var all Outcome
	var errs []error
	for _, one := range ends {
		all.Kind = max(all.Kind, one.Kind)
		all.After = Soonest(all.After, one.After)
		if !all.Explained() {
			all.Reason, all.Message = one.Reason, one.Message
		}
		errs = append(errs, one.Err)
	}
	all.Err = errors.Join(errs...)
	return all
}

// Stops tells whether the pass ends here.
func (o Outcome) Stops() bool { return o.Kind != KindContinue }

// Explained tells whether the outcome carries a reason for a condition.
func (o Outcome) Explained() bool { return o.Reason != "" }

// Result is what the reconciler returns to its queue: the outcome's own wait,
// or recheck when that comes sooner. Zero durations mean "not before an event",
// and so they are beside an error, whose repetition the queue itself paces.
func (o Outcome) Result(recheck time.Duration) ctrl.Result {
	if o.Err != nil {
		return ctrl.Result{}
	}
	return ctrl.Result{RequeueAfter: Soonest(o.After, recheck)}
}

// Stale is when a pass is repeated that worked on what the cache no longer
// holds. What made it stale usually wakes the object before.
const Stale = time.Second

// Soonest is the shorter of two waits; zero means no wait.
func Soonest(a, b time.Duration) time.Duration {
	switch {
	case a == 0:
		return b
	case b == 0:
		return a
	}
	return min(a, b)
}

// Until is the time to wait for an instant. It is zero for none, and for one
// that has passed: what is written for that instant wakes its object.
func Until(instant, now time.Time) time.Duration {
	if instant.IsZero() {
		return 0
	}
	return max(0, instant.Sub(now))
}

// Step is one named part of a pass over P.
type Step[P any] struct {
	Name string
	Do   func(context.Context, P) Outcome
}

// Run takes the steps in order and returns the outcome of the first that stops
// the pass, its error naming the step.
func Run[P any](ctx context.Context, pass P, steps []Step[P]) Outcome {
	for _, step := range steps {
		ended := step.Do(ctx, pass)
		if ended.Err != nil {
			ended.Err = fmt.Errorf("%s: %w", step.Name, ended.Err)
		}
		if ended.Stops() {
			return ended
		}
	}
	return Continue()
}
