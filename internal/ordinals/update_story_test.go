// SPDX-License-Identifier: Apache-2.0

package ordinals_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/fleet"
)

func allRun(int, fleet.SpecAge) bool { return true }

// onlyOld is a new spec that no ordinal starts with.
func onlyOld(_ int, spec fleet.SpecAge) bool { return spec == fleet.SpecOld }

// serving are the ordinals that are Ready, by the age of their spec.
func (w *world) serving(spec fleet.SpecAge) []int {
	var all []int
	for _, s := range w.servers {
		if s.Phase == v1alpha1.ServerReady && s.Spec == spec {
			all = append(all, s.Ordinal)
		}
	}
	slices.Sort(all)
	return all
}

func ready3(t *testing.T) *world {
	t.Helper()
	w := newWorld(3, allRun)
	if !w.run(func() bool { return len(w.serving(fleet.SpecCurrent)) == 3 }) {
		t.Fatal("three ordinals never serve")
	}
	return w
}

func TestANewSpecTakesOneOrdinalAfterTheOther(t *testing.T) {
	w := ready3(t)
	w.edit(allRun)
	if !w.run(func() bool { return len(w.serving(fleet.SpecCurrent)) == 3 }) {
		t.Fatalf("of the new spec serve %v, of the old one %v", w.serving(fleet.SpecCurrent), w.serving(fleet.SpecOld))
	}
	if w.notReady != 1 {
		t.Errorf("%d ordinals did not serve at once, want 1", w.notReady)
	}
	if diff := cmp.Diff([]string{"survival-2", "survival-1", "survival-0"}, w.taken); diff != "" {
		t.Errorf("taken down (-want +got):\n%s", diff)
	}
}

func TestANewSpecThatDoesNotStartCostsOneOrdinal(t *testing.T) {
	w := ready3(t)
	w.edit(onlyOld)
	if w.run(func() bool { return len(w.taken) > 1 }) {
		t.Fatalf("%v were taken down, and none came back", w.taken)
	}
	if diff := cmp.Diff([]int{0, 1}, w.serving(fleet.SpecOld)); diff != "" {
		t.Errorf("serve on with the old spec (-want +got):\n%s", diff)
	}
	w.edit(allRun)
	for i := range w.servers {
		if w.servers[i].Phase == v1alpha1.ServerReady {
			w.servers[i].Spec = fleet.SpecCurrent // the one before is put back
		}
	}
	if !w.run(func() bool { return len(w.serving(fleet.SpecCurrent)) == 3 }) || len(w.taken) > 0 {
		t.Errorf("the old spec again: serve %v, taken down %v", w.serving(fleet.SpecCurrent), w.taken)
	}
}

func TestAnOrdinalThatWasBrokenBeforeHoldsNobodyUp(t *testing.T) {
	w, _ := givenUp(t) // its ordinal 1 has failed six times, and the sixth corpse stands
	w.edit(func(ordinal int, _ fleet.SpecAge) bool { return ordinal != 1 })
	if !w.run(func() bool { return slices.Equal(w.serving(fleet.SpecCurrent), []int{0}) }) {
		t.Fatal("the healthy sibling never gets the new spec")
	}
	if !slices.ContainsFunc(w.servers, func(s fleet.Server) bool {
		return broken(s) && s.Phase == v1alpha1.ServerFailed && s.Spec == fleet.SpecOld
	}) {
		t.Error("the failed ordinal is not kept for its retention")
	}
}
