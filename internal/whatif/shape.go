// SPDX-License-Identifier: Apache-2.0

package whatif

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// shape is a trace that everybody knows: shares of a peak at hours after a
// beginning.
type shape struct {
	name, means string
	// begins is hours after midnight of a Friday.
	begins float64
	curve  []point
}

type point struct{ hour, share float64 }

// day is how a day goes, from midnight on.
var day = []point{
	{0, 0.35},
	{1, 0.22},
	{2, 0.13},
	{4, 0.05},
	{6, 0.04},
	{8, 0.07},
	{12, 0.18},
	{14, 0.28},
	{16, 0.45},
	{18, 0.62},
	{19, 0.75},
	{20, 0.8},
	{21, 0.78},
	{22, 0.65},
	{23, 0.48},
	{24, 0.35},
}

var shapes = []shape{
	{"friday", "Friday noon to Saturday noon: after school, a long evening, a quiet night", 12, []point{
		{0, 0.18},
		{1.5, 0.25},
		{3, 0.42},
		{5, 0.65},
		{7, 0.9},
		{8.5, 1},
		{10, 0.97},
		{11.5, 0.8},
		{13, 0.5},
		{14.5, 0.28},
		{16, 0.14},
		{18, 0.07},
		{20, 0.09},
		{22, 0.22},
		{24, 0.38},
	}},
	{"weekday", "a day from midnight to midnight, with its peak in the evening", 0, oneDay()},
	{"week", "Friday to Thursday, Friday and Saturday above the other days", 0, sevenDays()},
	{"event", "a quiet evening into which everybody comes within three minutes, for an hour", 18, []point{
		{0, 0.15}, {2, 0.18}, {2.05, 1}, {3, 0.95}, {3.25, 0.4}, {4, 0.2}, {5, 0.15},
	}},
	{"steady", "twelve hours of the same number of players, who come and go", 8, []point{{0, 1}, {12, 1}}},
}

// oneDay has its peak at 1, where the days of a week have 0.8.
func oneDay() []point {
	all := slices.Clone(day)
	for i := range all {
		all[i].share /= 0.8
	}
	return all
}

func sevenDays() []point {
	weights := []float64{1.25, 1.2, 1, 0.85, 0.85, 0.85, 0.95}
	var all []point
	for i, weight := range weights {
		next := weights[(i+1)%len(weights)]
		for _, p := range day[:len(day)-1] {
			// Around midnight one day becomes the next.
			mixed := weight
			if p.hour >= 23 {
				mixed = (weight + next) / 2
			}
			all = append(all, point{24*float64(i) + p.hour, p.share * mixed})
		}
	}
	return append(all, point{24 * float64(len(weights)), day[0].share * weights[0]})
}

// Shapes lists the names of the built-in traces, each with what it means.
func Shapes() [][2]string {
	var all [][2]string
	for _, s := range shapes {
		all = append(all, [2]string{s.name, s.means})
	}
	return all
}

// ReadShape makes the trace of a built-in shape with a peak of so many players.
func ReadShape(name string, peak int) (*Trace, error) {
	if peak < 1 || peak > mostPlayers {
		return nil, fmt.Errorf("--peak is %d; it must be from 1 to %d players", peak, mostPlayers)
	}
	var names []string
	for _, s := range shapes {
		if s.name == name {
			return s.trace(peak), nil
		}
		names = append(names, s.name)
	}
	return nil, fmt.Errorf("--shape %q is unknown; there are %s", name, strings.Join(names, ", "))
}

func (s *shape) trace(peak int) *Trace {
	t := &Trace{Name: fmt.Sprintf("shape %s, peak %d players", s.name, peak)}
	for _, p := range s.curve {
		at := friday.Add(time.Duration((s.begins + p.hour) * float64(time.Hour))).Round(time.Minute)
		t.Counts = append(t.Counts, Count{at, int(math.Round(p.share * float64(peak)))})
	}
	return t
}
