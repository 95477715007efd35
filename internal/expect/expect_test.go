// SPDX-License-Identifier: Apache-2.0

package expect

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/types"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
)

var (
	now   = time.Date(2026, 9, 18, 20, 0, 0, 0, time.UTC)
	hub   = types.UID("hub")
	duels = types.UID("duels")
)

func TestACreateIsPendingUntilTheCacheShowsItsName(t *testing.T) {
	var writes Writes
	writes.Created(hub, "hub-abcd", now)
	writes.Created(hub, "hub-aaaa", now)
	writes.Created(duels, "duels-abcd", now)

	got := writes.Settle(hub, nil, now.Add(time.Second)).Creates
	if diff := cmp.Diff([]string{"hub-aaaa", "hub-abcd"}, got); diff != "" {
		t.Errorf("pending before the cache moved (-want +got):\n%s", diff)
	}
	got = writes.Settle(hub, []Seen{{Name: "hub-abcd", UID: "1"}}, now.Add(2*time.Second)).Creates
	if diff := cmp.Diff([]string{"hub-aaaa"}, got); diff != "" {
		t.Errorf("pending after the cache showed one (-want +got):\n%s", diff)
	}
}

func TestARefusedCreateIsNotBelieved(t *testing.T) {
	var writes Writes
	writes.Created(hub, "hub-abcd", now)
	writes.Refused(hub, "hub-abcd")
	if got := writes.Settle(hub, nil, now).Creates; len(got) != 0 {
		t.Errorf("pending = %v, want nothing", got)
	}
}

func TestADeleteIsPendingWhileTheCacheShowsItAlive(t *testing.T) {
	alive := []Seen{{Name: "hub-abcd", UID: "1"}}
	tests := map[string]struct {
		shown []Seen
		want  int
	}{
		"still alive in the cache": {alive, 1},
		"shown deleting":           {[]Seen{{Name: "hub-abcd", UID: "1", Deleting: true}}, 0},
		"gone":                     {nil, 0},
		"made again under its name": {
			[]Seen{{Name: "hub-abcd", UID: "2"}}, 0,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var writes Writes
			writes.Deleted(hub, "1", now)
			if got := len(writes.Settle(hub, test.shown, now.Add(time.Second)).Deletes); got != test.want {
				t.Errorf("%d deletes pending, want %d", got, test.want)
			}
		})
	}
}

func TestARetirementIsPendingUntilTheCacheShowsItsReason(t *testing.T) {
	shown := func(reason v1alpha1.RetireReason) []Seen {
		return []Seen{{Name: "hub-abcd", UID: "1", Retire: reason}}
	}
	tests := map[string]struct {
		written v1alpha1.RetireReason
		shown   []Seen
		want    map[types.UID]v1alpha1.RetireReason
	}{
		"not shown yet":               {v1alpha1.RetirePin, shown(""), map[types.UID]v1alpha1.RetireReason{"1": v1alpha1.RetirePin}},
		"shown":                       {v1alpha1.RetirePin, shown(v1alpha1.RetirePin), nil},
		"another reason shown":        {v1alpha1.RetirePin, shown(v1alpha1.RetireChangeover), map[types.UID]v1alpha1.RetireReason{"1": v1alpha1.RetirePin}},
		"taken back, not shown yet":   {v1alpha1.RetireNone, shown(v1alpha1.RetirePin), map[types.UID]v1alpha1.RetireReason{"1": v1alpha1.RetireNone}},
		"taken back, and shown to be": {v1alpha1.RetireNone, shown(""), nil},
		"gone meanwhile":              {v1alpha1.RetirePin, nil, nil},
		"deleted meanwhile":           {v1alpha1.RetirePin, []Seen{{Name: "hub-abcd", UID: "1", Deleting: true}}, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var writes Writes
			writes.Retired(hub, "1", test.written, now)
			got := writes.Settle(hub, test.shown, now.Add(time.Second))
			if diff := cmp.Diff(test.want, got.Retires, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("pending (-want +got):\n%s", diff)
			}
			if (len(test.want) > 0) != got.Until.Equal(now.Add(Lifetime)) {
				t.Errorf("believed until %v", got.Until)
			}
		})
	}
}

func TestTheLastWordOnARetirementIsBelieved(t *testing.T) {
	var writes Writes
	shown := []Seen{{Name: "hub-abcd", UID: "1"}}
	writes.Retired(hub, "1", v1alpha1.RetirePin, now)
	writes.Retired(hub, "1", v1alpha1.RetireNone, now)
	if got := writes.Settle(hub, shown, now).Retires; len(got) != 0 {
		t.Errorf("pending = %v after it was taken back", got)
	}
	writes.Retired(hub, "1", v1alpha1.RetirePin, now)
	writes.Unretired(hub, "1")
	if got := writes.Settle(hub, shown, now).Retires; len(got) != 0 {
		t.Errorf("pending = %v after it was refused", got)
	}
	writes.Retired(hub, "1", v1alpha1.RetirePin, now)
	if got := writes.Settle(hub, shown, now.Add(Lifetime)).Retires; len(got) != 0 {
		t.Errorf("pending = %v after its lifetime", got)
	}
}

func TestAWriteIsBelievedForItsLifetimeAtMost(t *testing.T) {
	var writes Writes
	writes.Created(hub, "hub-abcd", now)
	writes.Deleted(hub, "1", now)
	shown := []Seen{{Name: "hub-zzzz", UID: "1"}}
	late := writes.Settle(hub, shown, now.Add(Lifetime))
	if len(late.Creates) != 0 || len(late.Deletes) != 0 {
		t.Errorf("still pending after its lifetime: %+v", late)
	}
}

func TestForgetDropsOneOwnerOnly(t *testing.T) {
	var writes Writes
	writes.Created(hub, "hub-abcd", now)
	writes.Created(duels, "duels-abcd", now)
	writes.Forget(hub)
	if got := writes.Settle(hub, nil, now).Creates; len(got) != 0 {
		t.Errorf("forgotten owner has %v pending", got)
	}
	if got := writes.Settle(duels, nil, now).Creates; len(got) != 1 {
		t.Errorf("the other owner has %v pending, want its create", got)
	}
}

func TestWhatIsBelievedEndsAtAKnownInstant(t *testing.T) {
	var writes Writes
	writes.Created(hub, "hub-abcd", now)
	writes.Deleted(hub, "gone", now.Add(time.Second))
	shown := []Seen{{Name: "hub-efgh", UID: "gone"}}
	if got := writes.Settle(hub, shown, now.Add(2*time.Second)).Until; !got.Equal(now.Add(Lifetime)) {
		t.Errorf("believed until %v, want until the create is not", got)
	}
	writes.Refused(hub, "hub-abcd")
	writes.Spared(hub, "gone")
	if got := writes.Settle(hub, shown, now.Add(2*time.Second)); !got.Until.IsZero() || len(got.Deletes) != 0 {
		t.Errorf("pending %+v after both were refused, want nothing", got)
	}
}
