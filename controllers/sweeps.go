// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"time"

	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
)

const (
	// sweepEvery is the time between two sweeps.
	sweepEvery = time.Minute
	// sweepWithin bounds one, like a pass.
	sweepWithin = 60 * time.Second
)

// sweep looks at everything of a kind and removes what is left over.
type sweep func(context.Context) error

// sweeps runs them once a minute while this manager leads, the first time at
// once.
type sweeps struct {
	clock clock.WithTicker
	all   map[string]sweep
}

// NeedLeaderElection says that only the leader tidies up.
func (*sweeps) NeedLeaderElection() bool { return true }

// Start sweeps until ctx ends. A sweep that failed is repeated with the next.
func (s *sweeps) Start(ctx context.Context) error {
	ticker := s.clock.NewTicker(sweepEvery)
	defer ticker.Stop()
	for {
		for name, do := range s.all {
			s.once(ctx, name, do)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C():
		}
	}
}

func (*sweeps) once(ctx context.Context, name string, do sweep) {
	ctx, cancel := context.WithTimeout(ctx, sweepWithin)
	defer cancel()
	if err := do(ctx); err != nil && ctx.Err() == nil {
		ctrl.LoggerFrom(ctx).Error(err, "Could not tidy up everything", "what", name)
	}
}
