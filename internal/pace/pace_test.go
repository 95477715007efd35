// SPDX-License-Identifier: Apache-2.0

package pace

import (
	"testing"
	"time"
)

func TestAMereCountWaitsForItsInterval(t *testing.T) {
	now := time.Date(2026, 9, 18, 20, 0, 0, 0, time.UTC)
	var pacer Pacer
	if got := pacer.Wait("hub", now); got != 0 {
		t.Errorf("the first write waits %v, want none", got)
	}
	pacer.Written("hub", now)
	tests := map[string]struct {
		after time.Duration
		want  time.Duration
	}{
		"at once":               {0, Interval},
		"a third of the way":    {5 * time.Second, 10 * time.Second},
		"when the interval ran": {Interval, 0},
		"long after":            {time.Hour, 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := pacer.Wait("hub", now.Add(test.after)); got != test.want {
				t.Errorf("wait = %v, want %v", got, test.want)
			}
		})
	}
	if got := pacer.Wait("duels", now); got != 0 {
		t.Errorf("another object waits %v, want none", got)
	}
	pacer.Forget("hub")
	if got := pacer.Wait("hub", now); got != 0 {
		t.Errorf("a forgotten object waits %v, want none", got)
	}
}
