// SPDX-License-Identifier: Apache-2.0

package conditions

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var (
	before = time.Date(2026, 9, 18, 20, 0, 0, 0, time.UTC)
	now    = before.Add(time.Minute)
)

func previous() []metav1.Condition {
	return []metav1.Condition{
		{Type: "Accepted", Status: metav1.ConditionTrue, Reason: "Accepted", LastTransitionTime: metav1.NewTime(before)},
		{Type: "Available", Status: metav1.ConditionFalse, Reason: "TooFew", Message: "1 of 2", LastTransitionTime: metav1.NewTime(before)},
	}
}

func TestTransitionTimeMovesOnlyWithTheStatus(t *testing.T) {
	set := From(previous(), 7, now)
	set.True("Accepted", "Accepted", "still")
	set.True("Available", "Enough", "2 of 2")
	for kind, want := range map[string]time.Time{"Accepted": before, "Available": now} {
		got, ok := set.Get(kind)
		if !ok || !got.LastTransitionTime.Time.Equal(want) {
			t.Errorf("%s changed at %v, want %v", kind, got.LastTransitionTime, want)
		}
		if got.ObservedGeneration != 7 {
			t.Errorf("%s observes generation %d, want 7", kind, got.ObservedGeneration)
		}
	}
}

func TestFlanksTellStatusAndReasonButNotMessage(t *testing.T) {
	set := From(previous(), 1, now)
	set.True("Accepted", "Accepted", "another sentence")
	set.False("Available", "NoneAtAll", "0 of 2")
	set.False("Degraded", "NoRecentFailures", "")
	var got []string
	for _, flank := range set.Flanks() {
		got = append(got, flank.Was.Reason+"->"+flank.Now.Reason)
	}
	want := []string{"TooFew->NoneAtAll", "->NoRecentFailures"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("flanks (-want +got):\n%s", diff)
	}
}

func TestKeepCarriesAConditionOverUntouched(t *testing.T) {
	set := From(previous(), 9, now)
	set.Keep("Available")
	set.Keep("NeverThere")
	if diff := cmp.Diff(previous()[1:], set.List()); diff != "" {
		t.Errorf("kept (-want +got):\n%s", diff)
	}
}

func TestTheLastStatementOfAPassWinsAndTheListIsSorted(t *testing.T) {
	set := From(nil, 1, now)
	set.False("Ready", "No", "")
	set.True("Accepted", "Yes", strings.Repeat("x", maxMessage+1))
	set.True("Ready", "Yes", "")
	var got []string
	for _, c := range set.List() {
		got = append(got, c.Type+"="+string(c.Status))
		if len(c.Message) > maxMessage {
			t.Errorf("%s carries a message of %d bytes", c.Type, len(c.Message))
		}
	}
	if diff := cmp.Diff([]string{"Accepted=True", "Ready=True"}, got); diff != "" {
		t.Errorf("list (-want +got):\n%s", diff)
	}
}
