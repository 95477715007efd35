// SPDX-License-Identifier: Apache-2.0

package boosts_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/boosts"
)

const ephemeral = v1alpha1.GroupEphemeral

var now = time.Date(2026, 9, 18, 20, 0, 0, 0, time.UTC)

func in(d time.Duration) time.Time { return now.Add(d) }

func add(replicas int, ends time.Time) boosts.Boost {
	return boosts.Boost{Name: "more", Mode: v1alpha1.BoostAdd, Replicas: replicas, CreatedAt: in(-time.Hour), ExpiresAt: ends}
}

func pin(name string, replicas int, age time.Duration, ends time.Time) boosts.Boost {
	return boosts.Boost{Name: name, Mode: v1alpha1.BoostExact, Replicas: replicas, CreatedAt: in(-age), ExpiresAt: ends}
}

func TestAt(t *testing.T) {
	never := time.Time{}
	held := func(name string, replicas int, until time.Time) boosts.Effect {
		return boosts.Effect{Pin: boosts.Pin{Name: name, Replicas: replicas, Until: until}, NextExpiry: until}
	}
	tests := map[string]struct {
		boosts []boosts.Boost
		want   boosts.Effect
	}{
		"no boost adds nothing":      {nil, boosts.Effect{}},
		"one without an end":         {[]boosts.Boost{add(2, never)}, boosts.Effect{Added: 2}},
		"one that ends later":        {[]boosts.Boost{add(2, in(time.Hour))}, boosts.Effect{Added: 2, NextExpiry: in(time.Hour)}},
		"one that ends now is over":  {[]boosts.Boost{add(2, now)}, boosts.Effect{}},
		"one that ended is over":     {[]boosts.Boost{add(2, in(-time.Second))}, boosts.Effect{}},
		"one that has an instant":    {[]boosts.Boost{add(2, in(time.Nanosecond))}, boosts.Effect{Added: 2, NextExpiry: in(time.Nanosecond)}},
		"two of them add up":         {[]boosts.Boost{add(2, in(2*time.Hour)), add(3, in(time.Hour))}, boosts.Effect{Added: 5, NextExpiry: in(time.Hour)}},
		"the ended do not set times": {[]boosts.Boost{add(2, in(-time.Hour)), add(3, in(time.Hour)), add(1, never)}, boosts.Effect{Added: 4, NextExpiry: in(time.Hour)}},
		"a boost without a mode adds": {
			[]boosts.Boost{{Name: "old", Replicas: 2}}, boosts.Effect{Added: 2},
		},
		"a pin to nothing is a pin": {[]boosts.Boost{pin("stop", 0, time.Minute, in(time.Hour))}, held("stop", 0, in(time.Hour))},
		"a pin without an end":      {[]boosts.Boost{pin("stop", 3, time.Minute, never)}, held("stop", 3, never)},
		"a pin that ends now":       {[]boosts.Boost{pin("stop", 3, time.Minute, now), add(2, never)}, boosts.Effect{Added: 2}},
		"what adds pauses under a pin, and its end changes nothing": {
			[]boosts.Boost{add(2, in(time.Minute)), pin("stop", 3, time.Minute, in(time.Hour))}, held("stop", 3, in(time.Hour)),
		},
		"the newest of two pins holds, also when it asks for less": {
			[]boosts.Boost{pin("new", 1, time.Minute, in(time.Hour)), pin("old", 9, time.Hour, never)}, held("new", 1, in(time.Hour)),
		},
		"an ended pin gives way to the one before it": {
			[]boosts.Boost{pin("new", 1, time.Minute, now), pin("old", 9, time.Hour, never)}, held("old", 9, never),
		},
		"pins of one second are told apart by name": {
			[]boosts.Boost{pin("a", 1, time.Minute, never), pin("c", 2, time.Minute, never), pin("b", 3, time.Minute, never)}, held("c", 2, never),
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, boosts.At(now, ephemeral, tt.boosts)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestAPersistentGroupIsNeverPinned(t *testing.T) {
	all := []boosts.Boost{add(2, in(time.Hour)), pin("stop", 0, time.Minute, in(time.Minute))}
	want := boosts.Effect{Added: 2, NextExpiry: in(time.Hour)}
	if diff := cmp.Diff(want, boosts.At(now, v1alpha1.GroupPersistent, all)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func anyBoosts(t *rapid.T) []boosts.Boost {
	all := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) boosts.Boost {
		b := boosts.Boost{
			Mode:      rapid.SampledFrom([]v1alpha1.BoostMode{v1alpha1.BoostAdd, v1alpha1.BoostExact}).Draw(t, "mode"),
			Replicas:  rapid.IntRange(1, 9).Draw(t, "replicas"),
			CreatedAt: in(-time.Duration(rapid.IntRange(0, 3).Draw(t, "age")) * time.Second),
		}
		if rapid.Bool().Draw(t, "ends") {
			b.ExpiresAt = in(time.Duration(rapid.IntRange(-100, 100).Draw(t, "ends in")) * time.Second)
		}
		return b
	}), 0, 6).Draw(t, "boosts")
	for i := range all {
		all[i].Name = fmt.Sprint("b", i)
	}
	return all
}

func TestTheEffectIsConstantUntilTheNextExpiryAndChangesThere(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		live := anyBoosts(t)
		at := boosts.At(now, ephemeral, live)
		if at.NextExpiry.IsZero() {
			if later := boosts.At(in(24*time.Hour), ephemeral, live); later != at {
				t.Fatalf("without an expiry %+v became %+v", at, later)
			}
			return
		}
		if !at.NextExpiry.After(now) {
			t.Fatalf("the next expiry %v is not later than now", at.NextExpiry)
		}
		if before := boosts.At(at.NextExpiry.Add(-1), ephemeral, live); before != at {
			t.Fatalf("before the expiry %+v became %+v", at, before)
		}
		if after := boosts.At(at.NextExpiry, ephemeral, live); after.Added == at.Added && after.Pin == at.Pin {
			t.Fatalf("at the expiry %+v stayed", at)
		}
	})
}

func TestTheOrderOfBoostsDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := anyBoosts(t)
		want := boosts.At(now, ephemeral, all)
		if got := boosts.At(now, ephemeral, rapid.Permutation(all).Draw(t, "shuffled")); got != want {
			t.Fatalf("%+v in one order, %+v in another", want, got)
		}
	})
}
