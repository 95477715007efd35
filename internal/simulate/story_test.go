// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"fmt"
	"strings"
	"time"
)

// story writes down what a person would tell of a run.
type story struct {
	lines []line
	// notes and changeovers are the last ones told, by group.
	notes, changeovers map[*group]string
	// coming and going since the last line, by group.
	traffic map[*group]*traffic
}

type line struct {
	at   time.Time
	text string
}

type traffic struct{ joined, left, held, refused, lost int }

func newStory() *story {
	return &story{notes: map[*group]string{}, changeovers: map[*group]string{}, traffic: map[*group]*traffic{}}
}

func (s *story) see(w *World, h *happening) {
	switch h.what {
	case joined, left, held, refused, lost:
		s.count(h)
	case settled:
		s.decisions(w, h)
	case decided, seated, passed:
	case created, removed, retired, withdrawn, wrote, podDeleted, gone, podChanged, turned:
		verb, text := words(h)
		s.tell(w, h, verb, text)
	}
}

// words tells what was done to a server, or to the network.
func words(h *happening) (string, string) {
	switch h.what {
	case created:
		return "created", h.server.name
	case removed:
		return "deleted", h.server.name
	case retired:
		return "retired", h.server.name + ", " + string(h.server.written.Spec.RetireReason)
	case withdrawn:
		return "taken back", h.server.name
	case wrote:
		return "server", h.server.name + " is " + h.note
	case podDeleted:
		return "pod deleted", fmt.Sprintf("%s with %d players on it", h.server.name, len(h.server.pod.players))
	case gone:
		return "gone", h.server.name
	case podChanged:
		return "pod", h.server.name + ": " + h.note
	case turned, decided, settled, seated, joined, left, held, refused, lost, passed:
	}
	return "turn", h.note
}

// decisions tells what a pass came to, unless the last one came to the same.
func (s *story) decisions(w *World, h *happening) {
	plan := &h.pass.plan
	if what := decision(plan.Note); s.notes[h.group] != what {
		s.notes[h.group] = what
		s.tell(w, h, "decides", plan.Note)
	}
	if over := plan.Changeover.Note; s.changeovers[h.group] != over {
		s.changeovers[h.group] = over
		progress := plan.Changeover.Progress
		if over == "" {
			over = "done"
		}
		s.tell(w, h, "changeover", fmt.Sprintf("%d of %d updated: %s", progress.Updated, progress.Total(), over))
	}
}

// decision is the end of a note, which says what is done; what comes before are
// numbers that change with every player.
func decision(note string) string {
	if _, what, ok := strings.Cut(note, ": "); ok {
		return what
	}
	return note
}

func (s *story) count(h *happening) {
	t := s.traffic[h.group]
	if t == nil {
		t = &traffic{}
		s.traffic[h.group] = t
	}
	switch h.what {
	case joined:
		t.joined++
	case left:
		t.left++
	case held:
		t.held++
	case refused:
		t.refused++
	case lost:
		t.lost++
	case decided, settled, created, removed, retired, withdrawn, wrote, podDeleted, gone, podChanged, seated, turned, passed:
	}
}

func (s *story) tell(w *World, h *happening, verb, text string) {
	for _, g := range w.groups {
		if t := s.traffic[g]; t != nil && *t != (traffic{}) {
			s.lines = append(s.lines, line{w.now, fmt.Sprintf("%-8s %-11s %s", g.plan.Name, "players", t)})
			*t = traffic{}
		}
	}
	name := "network"
	if h.group != nil {
		name = h.group.plan.Name
	}
	s.lines = append(s.lines, line{w.now, fmt.Sprintf("%-8s %-11s %s", name, verb, text)})
}

func (t *traffic) String() string {
	var parts []string
	say := func(n int, what string) {
		if n > 0 {
			parts = append(parts, fmt.Sprint(n, " ", what))
		}
	}
	say(t.joined, "joined")
	say(t.left, "left")
	say(t.held, "held")
	say(t.refused, "refused")
	say(t.lost, "lost their server")
	return strings.Join(parts, ", ")
}

// around is the part of the story that led to an instant.
func (s *story) around(at time.Time, before time.Duration, most int) string {
	var told strings.Builder
	for i, l := range s.lines {
		if l.at.After(at.Add(-before)) && i >= len(s.lines)-most {
			fmt.Fprintf(&told, "  %s  %s\n", l.at.Format("Mon 15:04:05.000"), l.text)
		}
	}
	return told.String()
}
