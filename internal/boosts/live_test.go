// SPDX-License-Identifier: Apache-2.0

package boosts_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/spawnery/spawnery-operator/internal/boosts"
)

var now = time.Date(2026, 9, 18, 20, 0, 0, 0, time.UTC)

func in(d time.Duration) time.Time { return now.Add(d) }

func TestAt(t *testing.T) {
	tests := map[string]struct {
		boosts []boosts.Boost
		want   boosts.Effect
	}{
		"no boost adds nothing":      {nil, boosts.Effect{}},
		"one without an end":         {[]boosts.Boost{{Replicas: 2}}, boosts.Effect{Added: 2}},
		"one that ends later":        {[]boosts.Boost{{2, in(time.Hour)}}, boosts.Effect{Added: 2, NextExpiry: in(time.Hour)}},
		"one that ends now is over":  {[]boosts.Boost{{2, now}}, boosts.Effect{}},
		"one that ended is over":     {[]boosts.Boost{{2, in(-time.Second)}}, boosts.Effect{}},
		"one that has an instant":    {[]boosts.Boost{{2, in(time.Nanosecond)}}, boosts.Effect{Added: 2, NextExpiry: in(time.Nanosecond)}},
		"two of them add up":         {[]boosts.Boost{{2, in(2 * time.Hour)}, {3, in(time.Hour)}}, boosts.Effect{Added: 5, NextExpiry: in(time.Hour)}},
		"the ended do not set times": {[]boosts.Boost{{2, in(-time.Hour)}, {3, in(time.Hour)}, {Replicas: 1}}, boosts.Effect{Added: 4, NextExpiry: in(time.Hour)}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := boosts.At(now, tt.boosts); got.Added != tt.want.Added || !got.NextExpiry.Equal(tt.want.NextExpiry) {
				t.Errorf("At() = %+v, want %+v", got, tt.want)
			}
		})
	}
}

func TestTheSumIsConstantUntilTheNextExpiryAndFallsThere(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		live := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) boosts.Boost {
			b := boosts.Boost{Replicas: rapid.IntRange(1, 9).Draw(t, "replicas")}
			if rapid.Bool().Draw(t, "ends") {
				b.ExpiresAt = in(time.Duration(rapid.IntRange(-100, 100).Draw(t, "ends in")) * time.Second)
			}
			return b
		}), 0, 6).Draw(t, "boosts")
		at := boosts.At(now, live)
		if at.NextExpiry.IsZero() {
			if later := boosts.At(in(24*time.Hour), live); later != at {
				t.Fatalf("without an expiry %+v became %+v", at, later)
			}
			return
		}
		if !at.NextExpiry.After(now) {
			t.Fatalf("the next expiry %v is not later than now", at.NextExpiry)
		}
		if before := boosts.At(at.NextExpiry.Add(-1), live); before != at {
			t.Fatalf("before the expiry %+v became %+v", at, before)
		}
		if after := boosts.At(at.NextExpiry, live); after.Added >= at.Added {
			t.Fatalf("at the expiry %+v became %+v", at, after)
		}
	})
}
