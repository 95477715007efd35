// SPDX-License-Identifier: Apache-2.0

package sizing

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
)

func newImage(image string) func(*v1alpha1.ServerGroupSpec) {
	return func(spec *v1alpha1.ServerGroupSpec) { spec.Image = image }
}

func atMost(n int32) func(*v1alpha1.ServerGroupSpec) {
	return func(spec *v1alpha1.ServerGroupSpec) { spec.Scaling.MaxReplicas = n }
}

func (w *world) nobodyLostAnything() {
	w.t.Helper()
	if w.disconnected > 0 || w.refused > 0 {
		w.t.Errorf("%d players were disconnected and %d refused", w.disconnected, w.refused)
	}
}

func TestRollingAtTheCeilingAndSeventyPercent(t *testing.T) {
	w := newWorld(t, 4, 35)
	w.edit("a new image, with maxReplicas 4", func(spec *v1alpha1.ServerGroupSpec) {
		spec.Image, spec.Scaling.MaxReplicas = "new", 4
	})
	w.play(10 * time.Minute)
	if w.of("new") > 0 || w.of("old") != 4 {
		t.Fatalf("%d new and %d old servers at the ceiling", w.of("new"), w.of("old"))
	}
	w.edit("maxReplicas 5", atMost(5))
	w.play(2 * time.Hour)
	if w.of("old") > 0 || w.of("new") < 4 {
		t.Errorf("%d new and %d old servers in the end", w.of("new"), w.of("old"))
	}
	w.nobodyLostAnything()
	w.golden("ceiling")
}

func TestABrokenImageAndItsBackOut(t *testing.T) {
	w := newWorld(t, 3, 30)
	w.edit("an image that does not start", newImage(crash))
	w.play(10 * time.Minute)
	if w.of("old") != 3 {
		t.Errorf("%d old servers are left", w.of("old"))
	}
	w.edit("the old image again", newImage("old"))
	w.play(10 * time.Minute)
	if w.of("old") != 3 || w.made > 12 {
		t.Errorf("%d old servers are left, %d were made in all", w.of("old"), w.made)
	}
	w.nobodyLostAnything()
	w.golden("broken-image")
}

func TestABrokenImageIsReplacedByAThird(t *testing.T) {
	w := newWorld(t, 3, 30)
	w.edit("an image that does not start, with maxReplicas 4", func(spec *v1alpha1.ServerGroupSpec) {
		spec.Image, spec.Scaling.MaxReplicas = crash, 4
	})
	w.play(20 * time.Second)
	w.edit("one that does", newImage("new"))
	w.play(2 * time.Hour)
	if w.of("new") < 3 || w.of("old")+w.of(crash) > 0 {
		t.Errorf("%d new, %d old and %d broken servers in the end", w.of("new"), w.of("old"), w.of(crash))
	}
	w.nobodyLostAnything()
	w.golden("third-image")
}

func TestAChangeOfMindTakesRetirementsBack(t *testing.T) {
	w := newWorld(t, 3, 30)
	w.edit("a new image", newImage("new"))
	w.play(90 * time.Second)
	w.edit("the old image again", newImage("old"))
	w.play(time.Hour)
	if w.of("old") != 3 || w.of("new") > 0 {
		t.Errorf("%d old and %d new servers in the end", w.of("old"), w.of("new"))
	}
	w.nobodyLostAnything()
	w.golden("change-of-mind")
}

func TestAnIdleGroupAtItsCeilingRollsByItself(t *testing.T) {
	w := newWorld(t, 3, 0)
	w.edit("a new image, with minReplicas 1 and maxReplicas 3", func(spec *v1alpha1.ServerGroupSpec) {
		spec.Image = "new"
		spec.Scaling.MinReplicas, spec.Scaling.MaxReplicas = new(int32(1)), 3
	})
	w.play(time.Hour)
	if w.of("new") != 1 || w.of("old") > 0 {
		t.Errorf("%d new and %d old servers in the end", w.of("new"), w.of("old"))
	}
	w.golden("idle")
}

func TestWhenEmptyWaitsForThePlayers(t *testing.T) {
	w := newWorld(t, 3, 10)
	w.arriving = 0
	w.edit("a new image, WhenEmpty", func(spec *v1alpha1.ServerGroupSpec) {
		spec.Image, spec.Update.Strategy = "new", v1alpha1.UpdateWhenEmpty
	})
	w.play(time.Minute)
	for _, s := range w.servers {
		if len(s.leaves) > 0 && s.Retire != v1alpha1.RetireNone {
			t.Errorf("%s retires with %d players", s.Name, len(s.leaves))
		}
	}
	w.play(time.Hour)
	if w.of("new") != 3 || w.of("old") > 0 {
		t.Errorf("%d new and %d old servers in the end", w.of("new"), w.of("old"))
	}
	w.nobodyLostAnything()
	w.golden("when-empty")
}

func TestMinAvailableIsHeldAllTheWay(t *testing.T) {
	w := newWorld(t, 3, 20)
	w.edit("a new image, minAvailable 3, five at once", func(spec *v1alpha1.ServerGroupSpec) {
		spec.Image, spec.Update = "new", v1alpha1.ServerUpdate{MaxUnavailable: 5, MinAvailable: 3}
	})
	for range int(time.Hour / pass) {
		w.play(pass)
		joinable := 0
		for _, s := range w.servers {
			if s.Joinable() && s.Retire == v1alpha1.RetireNone {
				joinable++
			}
		}
		if joinable < 3 {
			t.Fatalf("%d servers can be joined after %v", joinable, w.clock.Sub(now))
		}
	}
	if w.of("new") != 3 || w.of("old") > 0 {
		t.Errorf("%d new and %d old servers in the end", w.of("new"), w.of("old"))
	}
	w.nobodyLostAnything()
	w.golden("min-available")
}

// Whatever the owner allows and whenever they change their mind, a changeover
// that is given room for one server ends, costs nobody their place, and builds
// nothing over and over.
func TestEveryChangeoverWithRoomForOneEnds(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		servers := rapid.IntRange(1, 4).Draw(r, "servers")
		w := newWorld(t, servers, rapid.IntRange(0, 45).Draw(r, "players"))
		ceiling := servers + rapid.IntRange(1, 3).Draw(r, "room")
		w.edit("a new image", func(spec *v1alpha1.ServerGroupSpec) {
			spec.Image = "new"
			spec.Scaling.MaxReplicas = int32(ceiling)
			spec.Scaling.MinReplicas = new(int32(rapid.IntRange(0, servers).Draw(r, "minReplicas")))
			spec.Scaling.SpareSlots = new(int32(rapid.IntRange(0, 60).Draw(r, "spareSlots")))
			spec.Scaling.ScaleDownStabilizationSeconds = new(rapid.SampledFrom([]int32{0, 60, 300}).Draw(r, "stabilization"))
			spec.Update.Strategy = rapid.SampledFrom([]v1alpha1.UpdateStrategy{v1alpha1.UpdateRolling, v1alpha1.UpdateWhenEmpty}).Draw(r, "strategy")
			spec.Update.MaxUnavailable = int32(rapid.IntRange(1, 3).Draw(r, "maxUnavailable"))
			spec.Update.MinAvailable = int32(rapid.IntRange(0, ceiling-1).Draw(r, "minAvailable"))
		})
		if w.group.Spec.Update.Strategy == v1alpha1.UpdateWhenEmpty {
			w.arriving = 0 // or it may rightly never end
		}
		w.play(time.Duration(rapid.IntRange(0, 120).Draw(r, "pause")) * pass)
		last := rapid.SampledFrom([]string{"new", "old", "newer"}).Draw(r, "last")
		if last != "new" {
			w.edit("another change of mind", newImage(last))
		}
		for w.clock.Before(now.Add(8*time.Hour)) && (w.of(last) == 0 || w.of(last) < len(w.servers)) {
			w.play(pass)
			if strings.Contains(w.lastLimit, "a changeover") {
				ceiling++
				w.edit("room for one more", atMost(int32(ceiling)))
			}
		}
		if w.of(last) < len(w.servers) || w.disconnected > 0 || w.made > 4*ceiling {
			r.Fatalf("%d of %d servers are of the last image, %d players were disconnected, %d servers were made in all:\n%s",
				w.of(last), len(w.servers), w.disconnected, w.made, strings.Join(w.told, "\n"))
		}
	})
}
