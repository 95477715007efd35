// SPDX-License-Identifier: Apache-2.0

package statespace_test

import (
	"testing"

	"github.com/spawnery/spawnery-operator/internal/statespace"
)

type lamp struct {
	on     bool
	colour string
}

func lamps() statespace.Space[lamp] {
	return statespace.Space[lamp]{
		{Name: "switch", Values: []statespace.Value[lamp]{
			{Name: "off", Set: func(*lamp) {}},
			{Name: "on", Set: func(l *lamp) { l.on = true }},
		}},
		{Name: "colour", Values: []statespace.Value[lamp]{
			{Name: "red", Set: func(l *lamp) { l.colour = "red" }},
			{Name: "blue", Set: func(l *lamp) { l.colour = "blue" }},
			{Name: "none", Set: func(l *lamp) { l.colour = "" }},
		}},
	}
}

func TestPointsVisitsEveryCombinationOnce(t *testing.T) {
	seen := map[lamp]string{}
	for point, l := range lamps().Points(lamp{}) {
		if other, twice := seen[l]; twice {
			t.Errorf("%v visited twice, as %s and as %s", l, other, point)
		}
		seen[l] = point.String()
	}
	if len(seen) != lamps().Size() || len(seen) != 6 {
		t.Errorf("visited %d points of %d, want 6", len(seen), lamps().Size())
	}
	if got := seen[lamp{on: true, colour: "blue"}]; got != "switch=on colour=blue" {
		t.Errorf("point is called %q", got)
	}
}

func TestPointsStopsWhenTold(t *testing.T) {
	visits := 0
	for range lamps().Points(lamp{}) {
		visits++
		if visits == 2 {
			break
		}
	}
	if visits != 2 {
		t.Errorf("visited %d points after a break at the second", visits)
	}
}
