// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"k8s.io/utils/clock"
)

// screen is what a person watches: lines, of which none is ever overwritten, so
// that a file of them reads as well.
type screen struct {
	out   io.Writer
	clock clock.PassiveClock

	start   time.Time
	step    time.Time
	title   string
	records []record
}

// record is one line of the table at the end.
type record struct {
	title, seen string
	took        time.Duration
}

func newScreen(out io.Writer, clock clock.PassiveClock) *screen {
	return &screen{out: out, clock: clock, start: clock.Now()}
}

func (s *screen) line(text string) {
	_, _ = fmt.Fprintln(s.out, strings.TrimRight("     "+text, " "))
}

// block shows what a program printed.
func (s *screen) block(text string) {
	for line := range strings.Lines(text) {
		s.line("  " + strings.TrimRight(line, "\n"))
	}
}

// command shows what a person would type.
func (s *screen) command(words ...string) {
	for i, word := range words {
		if strings.ContainsAny(word, " {}[]\"'$") {
			words[i] = "'" + word + "'"
		}
	}
	s.line("$ " + strings.Join(words, " "))
}

func (s *screen) begin(number, of int, title string) {
	s.step, s.title = s.clock.Now(), title
	_, _ = fmt.Fprintf(s.out, "\n== %d/%d %s\n", number, of, title)
}

// noting shows a thing that changed while somebody waits for it.
func (s *screen) noting(seen string) {
	s.line(fmt.Sprintf("%5.1f s  %s", s.clock.Since(s.step).Seconds(), seen))
}

func (s *screen) done(seen string) {
	took := s.clock.Since(s.step)
	s.records = append(s.records, record{s.title, seen, took})
	_, _ = fmt.Fprintf(s.out, "   ✓ %s (%.1f s)\n", seen, took.Seconds())
}

func (s *screen) failed(err error) {
	s.records = append(s.records, record{s.title, "NOT SEEN", s.clock.Since(s.step)})
	_, _ = fmt.Fprintf(s.out, "   ✗ %v\n", err)
}

// table lists the steps that were shown.
func (s *screen) table() {
	_, _ = fmt.Fprintln(s.out, "\n== What was seen")
	for i, r := range s.records {
		_, _ = fmt.Fprintf(s.out, "  %2d  %-38s %6.1f s  %s\n", i+1, r.title, r.took.Seconds(), r.seen)
	}
	_, _ = fmt.Fprintf(s.out, "      %-38s %6.1f s\n", "everything", s.clock.Since(s.start).Seconds())
}
