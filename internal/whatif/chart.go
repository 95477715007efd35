// SPDX-License-Identifier: Apache-2.0

package whatif

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spawnery/spawnery-operator/internal/simulate"
)

const (
	// margin is the room for the numbers at the left.
	margin = 8
	// highest is how many lines a chart has at the most.
	highest = 12
)

// stepOf is the shortest round length of a column with which a trace fits.
func stepOf(length time.Duration, width int) time.Duration {
	columns := int64(width - margin)
	for _, minutes := range []int64{1, 2, 3, 5, 10, 15, 20, 30, 60, 120, 180, 240, 360, 720} {
		if minutes*columns >= int64((length+time.Minute-1)/time.Minute) {
			return time.Duration(minutes) * time.Minute
		}
	}
	return 24 * time.Hour
}

// unitOf is the shortest round number of which a few lines reach a height.
func unitOf(most, lines int) int {
	for scale := 1; ; scale *= 10 {
		for _, unit := range []int{1, 2, 5} {
			if unit*scale*lines >= most {
				return unit * scale
			}
		}
	}
}

// columns draws one letter per column and line, the highest line first; letter
// gets the column and the number that the line stands for. The highest line
// stands for most, a multiple of unit.
func columns(chart *strings.Builder, count, unit, most int, letter func(column, number int) byte) {
	for number := most; number > 0; number -= unit {
		line := make([]byte, count)
		for i := range line {
			line[i] = letter(i, number)
		}
		row(chart, strconv.Itoa(number), string(line))
	}
}

func row(chart *strings.Builder, label, text string) {
	chart.WriteString(strings.TrimRight(fmt.Sprintf("%*s |%s", margin-2, label, text), " "))
	chart.WriteByte('\n')
}

// axis draws the line at the bottom, and under it the time at round columns.
func axis(chart *strings.Builder, steps []simulate.Step, step time.Duration) {
	layout, every := "", step
	for _, hours := range []float64{0.25, 0.5, 1, 2, 3, 4, 6, 12, 24, 48, 96, 168} {
		every = time.Duration(hours * float64(time.Hour))
		layout = layoutFor(time.Duration(len(steps))*step, every)
		if every%step == 0 && int(every/step) >= len(layout)+3 {
			break
		}
	}
	line, times := make([]byte, len(steps)), []byte(strings.Repeat(" ", len(steps)))
	for i, s := range steps {
		line[i] = '-'
		if sinceMidnight(s.At)%every == 0 || every > 24*time.Hour && s.At.Sub(steps[0].At)%every == 0 {
			line[i] = '+'
			if i+len(layout) <= len(steps) {
				copy(times[i:], s.At.Format(layout))
			}
		}
	}
	fmt.Fprintf(chart, "%*s%s\n", margin, "", line)
	chart.WriteString(strings.TrimRight(fmt.Sprintf("%*s%s", margin, "", times), " "))
	chart.WriteByte('\n')
}

// layoutFor is how times are written under a chart of so long a time.
func layoutFor(long, every time.Duration) string {
	switch {
	case long <= 36*time.Hour:
		return "15:04"
	case every < 24*time.Hour:
		return "Mon 15:04"
	case long <= 8*24*time.Hour:
		return "Mon"
	}
	return "Jan 2"
}

func sinceMidnight(at time.Time) time.Duration {
	return time.Duration(at.Hour())*time.Hour + time.Duration(at.Minute())*time.Minute + time.Duration(at.Second())*time.Second
}

// draw shows servers and players over time, and where joins had to wait.
func draw(l *simulate.Ledger, step time.Duration) string {
	chart := &strings.Builder{}
	steps := l.Steps
	chart.WriteString("servers (# running, + starts or stops)\n")
	unit := max(1, (l.MostServers+highest-1)/highest)
	columns(chart, len(steps), unit, (l.MostServers+unit-1)/unit*unit, func(i, number int) byte {
		switch s := steps[i]; {
		case s.Ready > number-unit:
			return '#'
		case s.Servers > number-unit:
			return '+'
		}
		return ' '
	})
	axis(chart, steps, step)
	chart.WriteString("players\n")
	unit = unitOf(l.MostPlayers, highest/2)
	columns(chart, len(steps), unit, (l.MostPlayers+unit/2)/unit*unit, func(i, number int) byte {
		switch players := steps[i].Players; {
		case players >= number:
			return '#'
		case 2*players >= 2*number-unit && players > 0:
			return '.'
		}
		return ' '
	})
	axis(chart, steps, step)
	if l.Held > 0 {
		row(chart, "held", digits(steps, func(s simulate.Step) int { return s.Held }))
	}
	if l.Refused > 0 {
		row(chart, "refused", digits(steps, func(s simulate.Step) int { return s.Refused }))
	}
	return chart.String()
}

// digits shows small numbers as themselves and others as *.
func digits(steps []simulate.Step, of func(simulate.Step) int) string {
	text := make([]byte, len(steps))
	for i, s := range steps {
		switch n := of(s); {
		case n == 0:
			text[i] = ' '
		case n < 10:
			text[i] = '0' + byte(n)
		default:
			text[i] = '*'
		}
	}
	return string(text)
}
