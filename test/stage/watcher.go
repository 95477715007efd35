// SPDX-License-Identifier: Apache-2.0

package stage

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// Look says what is seen now, and whether that is what is waited for.
type Look func(ctx context.Context) (seen string, there bool)

const interval = 100 * time.Millisecond

// Watcher waits for things to be seen.
type Watcher struct {
	// Changed is told each time something else is seen; may be nil.
	Changed func(seen string)
}

// Await looks until it is there. The error says what was seen last.
func (w Watcher) Await(ctx context.Context, what string, limit time.Duration, look Look) error {
	last := "nothing"
	err := wait.PollUntilContextTimeout(ctx, interval, limit, true, func(ctx context.Context) (bool, error) {
		seen, there := look(ctx)
		// A look that was cut off tells nothing.
		if ctx.Err() == nil && seen != last {
			last = seen
			if w.Changed != nil {
				w.Changed(seen)
			}
		}
		return there, nil
	})
	if err != nil {
		return fmt.Errorf("not seen within %s: %s; last seen: %s", limit, what, last)
	}
	return nil
}
