// SPDX-License-Identifier: Apache-2.0

package whatif

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	// mostPlayers and longest bound what a trace may ask for.
	mostPlayers = 20000
	longest     = 31 * 24 * time.Hour
)

// friday is the day of traces that name none.
var friday = time.Date(2026, 9, 18, 0, 0, 0, 0, time.UTC)

// Trace is who plays when. It has either counts or comings and goings.
type Trace struct {
	// Name is how it is called in the report.
	Name   string
	Counts []Count
	Flows  []Flow
}

// Count is how many want to play at an instant. Between two of them the number
// changes evenly.
type Count struct {
	At      time.Time
	Players int
}

// Flow is how many come and go in a stretch that begins at an instant and is as
// long as the shortest between two flows of a trace.
type Flow struct {
	At            time.Time
	Joins, Leaves int
}

// span is the part of a trace that is looked at.
func (t *Trace) span() (time.Time, time.Time) {
	if len(t.Counts) > 0 {
		return t.Counts[0].At, t.Counts[len(t.Counts)-1].At
	}
	return t.Flows[0].At, t.Flows[len(t.Flows)-1].At.Add(t.grain())
}

// grain is the shortest time between two flows, an hour at the most.
func (t *Trace) grain() time.Duration {
	shortest := time.Hour
	for i := range t.Flows[1:] {
		shortest = min(shortest, t.Flows[i+1].At.Sub(t.Flows[i].At))
	}
	return shortest
}

// ReadTrace reads a CSV file whose first line says what is in it: time,players
// or time,joins,leaves. Times are RFC 3339, "2006-01-02 15:04", 15:04 (each with
// seconds or without), or a number of seconds; they go forward, and 15:04 may
// pass midnight. Lines that begin with # are skipped. Errors name file and line.
func ReadTrace(file string, content io.Reader) (*Trace, error) {
	lines := csv.NewReader(content)
	lines.Comment, lines.TrimLeadingSpace, lines.ReuseRecord = '#', true, true
	header, err := lines.Read()
	if errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: the trace is empty", file)
	}
	if err != nil {
		return nil, wrongLine(file, err)
	}
	columns := strings.ToLower(strings.TrimSuffix(strings.TrimPrefix(strings.Join(header, ","), "\ufeff"), " "))
	r := &traceReader{trace: &Trace{Name: "trace " + file}}
	switch columns {
	case "time,players":
		r.line = r.count
	case "time,joins,leaves":
		r.line = r.flow
	default:
		return nil, fmt.Errorf("%s:1: the first line is %q; it must be time,players or time,joins,leaves", file, columns)
	}
	for {
		fields, err := lines.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, wrongLine(file, err)
		}
		if err := r.read(fields); err != nil {
			line, _ := lines.FieldPos(0)
			return nil, fmt.Errorf("%s:%d: %w", file, line, err)
		}
	}
	if len(r.trace.Counts)+len(r.trace.Flows) < 2 {
		return nil, fmt.Errorf("%s: a trace needs two lines with times at least", file)
	}
	return r.trace, nil
}

func wrongLine(file string, err error) error {
	if parse := (*csv.ParseError)(nil); errors.As(err, &parse) {
		return fmt.Errorf("%s:%d: %w", file, parse.Line, parse.Err)
	}
	return fmt.Errorf("reading %s: %w", file, err)
}

// traceReader reads line by line.
type traceReader struct {
	trace       *Trace
	line        func(at time.Time, numbers []int) error
	layout      string
	started     bool
	first, last time.Time
	// online is how many there are by the comings and goings so far.
	online int
}

func (r *traceReader) read(fields []string) error {
	at, err := r.time(strings.TrimSpace(fields[0]))
	if err != nil {
		return err
	}
	if !r.started {
		r.first, r.started = at, true
	} else if !at.After(r.last) {
		return fmt.Errorf("time %s is not after the line before", fields[0])
	}
	if at.Sub(r.first) > longest {
		return fmt.Errorf("time %s is more than %d days after the first", fields[0], int(longest.Hours()/24))
	}
	r.last = at
	numbers := make([]int, len(fields)-1)
	for i, field := range fields[1:] {
		n, err := strconv.Atoi(strings.TrimSpace(field))
		if err != nil || n < 0 || n > mostPlayers {
			return fmt.Errorf("%q is no whole number from 0 to %d", field, mostPlayers)
		}
		numbers[i] = n
	}
	return r.line(at, numbers)
}

func (r *traceReader) count(at time.Time, numbers []int) error {
	r.trace.Counts = append(r.trace.Counts, Count{at, numbers[0]})
	return nil
}

func (r *traceReader) flow(at time.Time, numbers []int) error {
	joins, leaves := numbers[0], numbers[1]
	if leaves > r.online+joins {
		return fmt.Errorf("%d leave, but only %d are online", leaves, r.online+joins)
	}
	r.online += joins - leaves
	if r.online > mostPlayers {
		return fmt.Errorf("%d are online now; %d are the most", r.online, mostPlayers)
	}
	r.trace.Flows = append(r.trace.Flows, Flow{at, joins, leaves})
	return nil
}

const seconds = "seconds"

// clocks are layouts without a day.
var clocks = []string{"15:04", "15:04:05"}

var layouts = append([]string{time.RFC3339, "2006-01-02 15:04", "2006-01-02 15:04:05", "2006-01-02T15:04", "2006-01-02T15:04:05"}, clocks...)

// time reads a time; the first line decides how the others are written.
func (r *traceReader) time(text string) (time.Time, error) {
	if r.layout == "" {
		r.layout = layoutOf(text)
	}
	switch r.layout {
	case "":
		return time.Time{}, fmt.Errorf("%q is no time: write 2026-09-18T17:00:00Z, 2026-09-18 17:00, 17:00 or seconds", text)
	case seconds:
		return r.second(text)
	}
	at, err := time.Parse(r.layout, text)
	if err != nil {
		return time.Time{}, fmt.Errorf("%q is no time like those before, which are written %s", text, r.layout)
	}
	if slices.Contains(clocks, r.layout) {
		at = friday.Add(time.Duration(at.Hour())*time.Hour + time.Duration(at.Minute())*time.Minute + time.Duration(at.Second())*time.Second)
		if r.started {
			at = at.AddDate(0, 0, int(r.last.Sub(friday)/(24*time.Hour)))
			if at.Before(r.last) {
				at = at.AddDate(0, 0, 1)
			}
		}
	}
	if r.started {
		at = at.In(r.first.Location())
	}
	return at, nil
}

func layoutOf(text string) string {
	for _, layout := range layouts {
		if _, err := time.Parse(layout, text); err == nil {
			return layout
		}
	}
	if _, err := strconv.ParseFloat(text, 64); err == nil {
		return seconds
	}
	return ""
}

// second reads seconds: of Unix time, or from midnight on where they are few.
func (r *traceReader) second(text string) (time.Time, error) {
	const fewest, most = 1e8, 1e11
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || !(n >= 0 && n < most) {
		return time.Time{}, fmt.Errorf("%q is no number of seconds like those before", text)
	}
	if n < fewest {
		return friday.Add(time.Duration(n * float64(time.Second)).Round(time.Millisecond)), nil
	}
	whole, fraction := math.Modf(n)
	return time.Unix(int64(whole), int64(fraction*1e3)*1e6).UTC(), nil
}
