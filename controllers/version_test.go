// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"errors"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/version"
	clocktesting "k8s.io/utils/clock/testing"
)

func TestAnUpgradedAPIServerIsNoticedWithinAMinute(t *testing.T) {
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	clock, says, asked := clocktesting.NewFakePassiveClock(now), "v1.34.2", 0
	k := &kubernetesVersion{clock: clock, ask: func() (*version.Info, error) {
		asked++
		if says == "" {
			return nil, errors.New("refused")
		}
		return &version.Info{GitVersion: says}, nil
	}}
	want := func(want string, wantAsked int) {
		t.Helper()
		got, err := k.read(t.Context())
		if got != want || (err != nil) != (want == "") || asked != wantAsked {
			t.Errorf("%q (%v) after %d questions, want %q after %d", got, err, asked, want, wantAsked)
		}
	}
	want("v1.34.2", 1)
	says = "v1.35.0"
	want("v1.34.2", 1)
	clock.SetTime(now.Add(time.Minute))
	want("v1.35.0", 2)
	says = ""
	clock.SetTime(now.Add(2 * time.Minute))
	want("", 3)
	says = "v1.35.1"
	want("v1.35.1", 4)
}
