// SPDX-License-Identifier: Apache-2.0

package server

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/pace"
)

func TestWhateverAPluginFlipsIsWrittenSoOftenAndNoMore(t *testing.T) {
	began := time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)
	for name, flip := range map[string]func(*v1alpha1.ServerStatus, time.Time){
		"its joins":       func(s *v1alpha1.ServerStatus, _ time.Time) { s.JoinsOpen = new(true) },
		"its seats":       func(s *v1alpha1.ServerStatus, _ time.Time) { s.PlayableSlots = new(int32(12)) },
		"the round's end": func(s *v1alpha1.ServerStatus, now time.Time) { s.RoundEndedAt = &metav1.Time{Time: now} },
		"round and joins": func(s *v1alpha1.ServerStatus, now time.Time) {
			s.RoundEndedAt, s.JoinsOpen = &metav1.Time{Time: now}, new(true)
		},
		"seats and counts": func(s *v1alpha1.ServerStatus, _ time.Time) {
			s.PlayableSlots, s.Players = new(int32(12)), new(int32(6))
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := &Reconciler{}
			quiet := v1alpha1.ServerStatus{JoinsOpen: new(false), Players: new(int32(5)), Slots: new(int32(20))}
			was, written := quiet, 0
			for tick := range 100 { // ten seconds, ten times a second
				now := began.Add(time.Duration(tick) * 100 * time.Millisecond)
				wanted := *quiet.DeepCopy()
				if tick%2 == 0 {
					flip(&wanted, now)
				}
				p := &pass{server: &v1alpha1.Server{ObjectMeta: metav1.ObjectMeta{UID: "s"}}, seen: observation{now: now}}
				if !pluginChanged(was, wanted) || r.heldBack(p, was, wanted) > 0 {
					continue
				}
				r.whims.Spend("s", now)
				was = wanted
				written++
			}
			if written != pace.Burst {
				t.Errorf("written %d times in ten seconds, want %d", written, pace.Burst)
			}
		})
	}
}
