// SPDX-License-Identifier: Apache-2.0

// Package whatif tells the owner of an ephemeral group what minReplicas,
// maxReplicas and spareSlots would give their players, and what it would cost.
package whatif

import (
	"cmp"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/routing"
	"github.com/spawnery/spawnery-operator/internal/simulate"
)

const (
	// startupDeadline is the manager's default.
	startupDeadline = 5 * time.Minute
	// mostHeld is how many players a network of two proxies holds.
	mostHeld = 400
	// Narrowest and Widest bound the width of a report, in characters.
	Narrowest, Widest = 40, 240
)

// Question is what is asked.
type Question struct {
	// Group with the API's defaults.
	Group *v1alpha1.ServerGroup
	Trace *Trace
	Seed  uint64
	// Boot is how long a server takes from its pod to the first player; a
	// quarter of it is added by chance.
	Boot time.Duration
	// Stay is how long players stay on average; a trace of joins and leaves
	// says it itself.
	Stay time.Duration
	// Hold is holdSeconds of the proxies.
	Hold time.Duration
	// Strategy is that of the proxies: Spread or Fill; empty is Spread.
	Strategy v1alpha1.RoutingStrategy
	// Width of the report, in characters.
	Width int
}

// Answer is what came of it.
type Answer struct {
	question *Question
	step     time.Duration
	start    time.Time
	end      time.Time
	joins    int
	ledger   *simulate.Ledger
	variants []variant
}

// variant is what other numbers would have given.
type variant struct {
	numbers numbers
	ledger  *simulate.Ledger
}

// numbers are what an owner chooses.
type numbers struct {
	least, most, spare int32
	gather             v1alpha1.Consolidation
	routing            v1alpha1.RoutingStrategy
}

// strategies are those of routing, by the names of the API.
var strategies = map[v1alpha1.RoutingStrategy]routing.Strategy{v1alpha1.RoutingSpread: routing.Spread, v1alpha1.RoutingFill: routing.Fill}

func known(strategy v1alpha1.RoutingStrategy) bool {
	_, ok := strategies[strategy]
	return ok
}

func (q *Question) strategy() v1alpha1.RoutingStrategy {
	return cmp.Or(q.Strategy, v1alpha1.RoutingSpread)
}

func (q *Question) check() error {
	deadline := startupDeadline
	if own := q.Group.Spec.StartupDeadlineSeconds; own > 0 {
		deadline = time.Duration(own) * time.Second
	}
	switch {
	case q.Boot < time.Second:
		return fmt.Errorf("--boot is %s; a server takes a second at least", q.Boot)
	case q.Boot+q.Boot/4 > deadline:
		return fmt.Errorf("--boot is %s, and a quarter more by chance: the startup deadline of %s would end starts; set spec.startupDeadlineSeconds", q.Boot, deadline)
	case q.Stay < time.Minute:
		return fmt.Errorf("--stay is %s; it must be a minute at least", q.Stay)
	case q.Hold < 0 || q.Hold > time.Hour:
		return fmt.Errorf("--hold is %s; it must be from 0 to an hour", q.Hold)
	case !known(q.strategy()):
		return fmt.Errorf("--strategy is %s; it must be Spread or Fill", q.Strategy)
	case q.Width < Narrowest || q.Width > Widest:
		return fmt.Errorf("--width is %d; it must be from %d to %d", q.Width, Narrowest, Widest)
	case len(q.Trace.Counts)+len(q.Trace.Flows) == 0:
		return errors.New("the trace is empty")
	}
	return nil
}

// Ask lives the trace with the group's own numbers and with others around them.
// The same question has the same answer.
func Ask(q *Question) (*Answer, error) {
	if err := q.check(); err != nil {
		return nil, err
	}
	a := &Answer{question: q}
	a.start, a.end = q.Trace.span()
	a.step = stepOf(a.end.Sub(a.start), q.Width)
	people := visits(q.Trace, q.Stay, q.Seed)
	for i := range people {
		if !people[i].At.Before(a.start) {
			a.joins++
		}
	}
	scaling := &q.Group.Spec.Scaling
	own := numbers{*scaling.MinReplicas, scaling.MaxReplicas, *scaling.SpareSlots, scaling.Consolidation, q.strategy()}
	for _, one := range around(own) {
		if one.most <= q.Group.Spec.Update.MinAvailable {
			continue
		}
		a.variants = append(a.variants, variant{numbers: one})
	}
	runs := errgroup.Group{}
	runs.SetLimit(runtime.GOMAXPROCS(0))
	for i := range a.variants {
		runs.Go(func() error {
			a.variants[i].ledger = a.live(a.variants[i].numbers, people)
			return nil
		})
	}
	if err := runs.Wait(); err != nil {
		return nil, err
	}
	a.ledger = a.variants[0].ledger
	return a, nil
}

// live runs the engine once.
func (a *Answer) live(n numbers, people []simulate.Visit) *simulate.Ledger {
	q := a.question
	spec := q.Group.Spec.DeepCopy()
	spec.Scaling.MinReplicas, spec.Scaling.MaxReplicas, spec.Scaling.SpareSlots = &n.least, n.most, &n.spare
	spec.Scaling.Consolidation = n.gather
	return simulate.Run(&simulate.Scenario{
		Seed:   q.Seed,
		Start:  a.start.Add(-lead),
		End:    a.end,
		Groups: []simulate.Group{{Name: q.Group.Name, Spec: *spec, Boot: simulate.Range{Least: q.Boot, Most: q.Boot + q.Boot/4}}},
		Visits: people,
		Pace:   simulate.Swift(),
		Nodes:  3,
		Hold:   q.Hold,
		Held:   mostHeld,

		Strategy: strategies[n.routing],
	}, a.start, a.step)
}

// around are the given numbers first, then others that differ in one.
func around(own numbers) []numbers {
	all := []numbers{own}
	add := func(n numbers) {
		n.least, n.most = max(0, n.least), min(1000, max(1, n.most))
		if n.least <= n.most && !slices.Contains(all, n) {
			all = append(all, n)
		}
	}
	with := func(change func(*numbers)) {
		n := own
		change(&n)
		add(n)
	}
	quarter := max(1, own.most/4)
	with(func(n *numbers) { n.spare = 0 })
	with(func(n *numbers) { n.spare /= 2 })
	with(func(n *numbers) { n.spare = min(1000000, max(10, 2*n.spare)) })
	with(func(n *numbers) { n.least-- })
	with(func(n *numbers) { n.least++ })
	with(func(n *numbers) { n.most -= quarter })
	with(func(n *numbers) { n.most += quarter })
	with(func(n *numbers) {
		n.gather = v1alpha1.ConsolidationEnabled
		if own.gather == n.gather {
			n.gather = v1alpha1.ConsolidationDisabled
		}
	})
	with(func(n *numbers) {
		n.routing = v1alpha1.RoutingFill
		if own.routing == n.routing {
			n.routing = v1alpha1.RoutingSpread
		}
	})
	return all
}
