// SPDX-License-Identifier: Apache-2.0

package pace

import (
	"testing"
	"time"
)

func TestABudgetLetsAFewGoAtOnceAndTheLastOneInTheEnd(t *testing.T) {
	var b Budget
	now := time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)
	written := 0
	for range 600 { // a minute, ten times a second
		if b.Wait("a", now) == 0 {
			b.Spend("a", now)
			written++
		}
		now = now.Add(100 * time.Millisecond)
	}
	if want := int(time.Minute/Interval) * Burst; written != want {
		t.Errorf("written %d times in a minute, want %d", written, want)
	}
	wait := b.Wait("a", now)
	if wait < 0 || wait > Interval || b.Wait("a", now.Add(wait)) != 0 {
		t.Errorf("the last word waits %s and then %s", wait, b.Wait("a", now.Add(wait)))
	}
	if b.Wait("b", now) != 0 {
		t.Error("one object spends another's budget")
	}
	b.Forget("a")
	if len(b.spent) != 0 {
		t.Error("an object that is gone is remembered")
	}
}
