// SPDX-License-Identifier: Apache-2.0

package outcome

import (
	"context"
	"errors"
	"testing"
	"time"
)

func TestRunStopsAtTheFirstStepThatDoesNotContinue(t *testing.T) {
	cause := errors.New("the disk is full")
	tests := map[string]struct {
		second    Outcome
		wantRan   []string
		wantKind  Kind
		wantError string
	}{
		"every step continues": {Continue(), []string{"first", "second", "third"}, KindContinue, ""},
		"a wait stops":         {Wait(time.Second, "R", "m"), []string{"first", "second"}, KindWait, ""},
		"a block stops":        {Block("R", "m"), []string{"first", "second"}, KindBlock, ""},
		"an error names its step": {
			Retry(cause), []string{"first", "second"}, KindRetry, "second: the disk is full",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var ran []string
			step := func(name string, ended Outcome) Step[*[]string] {
				return Step[*[]string]{Name: name, Do: func(_ context.Context, log *[]string) Outcome {
					*log = append(*log, name)
					return ended
				}}
			}
			got := Run(t.Context(), &ran, []Step[*[]string]{
				step("first", Continue()), step("second", test.second), step("third", Continue()),
			})
			if got.Kind != test.wantKind {
				t.Errorf("kind = %v, want %v", got.Kind, test.wantKind)
			}
			if len(ran) != len(test.wantRan) {
				t.Errorf("ran %v, want %v", ran, test.wantRan)
			}
			if test.wantError != "" && (got.Err == nil || got.Err.Error() != test.wantError || !errors.Is(got.Err, cause)) {
				t.Errorf("error = %v, want %q wrapping the cause", got.Err, test.wantError)
			}
		})
	}
}

func TestResultTakesTheSoonerOfWaitAndRecheck(t *testing.T) {
	tests := map[string]struct {
		outcome Outcome
		recheck time.Duration
		want    time.Duration
	}{
		"nothing to wait for":          {Continue(), 0, 0},
		"recheck alone":                {Continue(), 5 * time.Second, 5 * time.Second},
		"wait alone":                   {Wait(3*time.Second, "R", "m"), 0, 3 * time.Second},
		"wait before recheck":          {Wait(3*time.Second, "R", "m"), 5 * time.Second, 3 * time.Second},
		"recheck before wait":          {Wait(9*time.Second, "R", "m"), 5 * time.Second, 5 * time.Second},
		"a block still has a recheck":  {Block("R", "m"), 5 * time.Second, 5 * time.Second},
		"a block alone waits for news": {Block("R", "m"), 0, 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := test.outcome.Result(test.recheck).RequeueAfter; got != test.want {
				t.Errorf("RequeueAfter = %v, want %v", got, test.want)
			}
		})
	}
}

func TestJoinedEndsKeepEveryErrorAndTheFirstReason(t *testing.T) {
	failed := errors.New("failed")
	got := Join(Of(failed), Of(nil), Wait(time.Minute, "Refused", "ask somebody"), Wait(time.Second, "Other", ""))
	if !errors.Is(got.Err, failed) || got.Reason != "Refused" || got.After != time.Second || got.Kind != KindRetry {
		t.Errorf("joined %+v", got)
	}
	if result := got.Result(time.Hour); !result.IsZero() {
		t.Errorf("result %+v beside an error, which the queue would complain about", result)
	}
	if got := Join(Of(nil)); got.Stops() {
		t.Errorf("nothing joined stops: %+v", got)
	}
}
