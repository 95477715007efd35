// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/backoff"
	"github.com/spawnery/spawnery-operator/internal/fleet"
	"github.com/spawnery/spawnery-operator/internal/scaling"
)

var update = flag.Bool("update", false, "write the golden stories anew")

// longest is how many lines a story has at most: it is read as a whole.
const longest = 60

// narrator tells one group's story to somebody who wants to learn from it, and
// keeps what its promise is about.
type narrator struct {
	g    *group
	text strings.Builder
	// every is how often it says how things stand, looks is when the next time is.
	every time.Duration
	looks time.Time
	// last is when it said something.
	last time.Time
	// stands are the last words about each thing, told the steps of changeovers
	// that need not be told twice.
	stands map[string]string
	told   map[string]bool
	// since says when each server began to start.
	since map[*server]time.Time

	// joins, holds, refusals and losses count players, longest is the longest hold
	// that ended in a seat.
	joins, holds, refusals, losses int
	heldSince                      map[*player]time.Time
	longest                        time.Duration
	// made and failed count servers, most is how many were alive at once.
	made, failed, most int
	// notes are all words, for what the group has to have said.
	notes []string
}

func newNarrator(w *World, one *tale) *narrator {
	n := &narrator{
		g: w.groups[one.group], every: one.every, looks: w.now.Add(one.every), stands: map[string]string{},
		told: map[string]bool{}, since: map[*server]time.Time{}, heldSince: map[*player]time.Time{},
	}
	fmt.Fprintf(&n.text, "%s\n\n%-12s %7s %5s %5s %8s\n", one.title, "", "players", "held", "free", "servers")
	return n
}

func (n *narrator) see(w *World, h *happening) {
	if h.what == passed {
		n.look(w)
	}
	if h.group != nil && h.group != n.g {
		return
	}
	switch h.what {
	case settled:
		n.decide(w, h.pass)
	case turned:
		n.say(w, "== "+h.note)
	case podChanged:
		n.pod(w, h)
	case created:
		n.made++
		n.since[h.server] = w.now
	case wrote:
		n.server(w, h)
	case joined, held, refused, lost:
		n.count(w, h)
	case decided, removed, retired, withdrawn, podDeleted, gone, seated, left, passed:
	}
}

// look says from time to time how things stand.
func (n *narrator) look(w *World) {
	if n.every == 0 || w.now.Before(n.looks) {
		return
	}
	n.looks = n.looks.Add(n.every)
	if w.now.Sub(n.last) > time.Minute {
		n.say(w, "")
	}
}

// decide tells what a pass came to and what the group's conditions say, each
// unless the last pass came to the same.
func (n *narrator) decide(w *World, pass *groupPass) {
	plan := &pass.plan
	note, _, _ := strings.Cut(plan.Note, "; changeover: ")
	what := decision(note)
	// A condition says what a ceiling holds back, and what failures do.
	if n.new("decision", what) && what != "enough" && what != plan.Limit.Note && !strings.Contains(what, " short; ") {
		n.say(w, "decides "+note)
	}
	limit, failures, nodes := "", "", ""
	if plan.Limit.Cause != scaling.NotLimited {
		limit = plan.Limit.Note
	}
	if plan.Failures.State != backoff.Calm {
		failures = plan.Failures.Note
	}
	if slices.ContainsFunc(n.g.servers, (*server).departing) {
		nodes = plan.NodeWait
	}
	n.condition(w, v1alpha1.ConditionScalingLimited, limit, limit != "")
	switch plan.Failures.State {
	case backoff.BackingOff:
		n.condition(w, v1alpha1.ConditionBackingOff, failures, true)
	case backoff.GaveUp:
		n.condition(w, v1alpha1.ConditionDegraded, failures, true)
	case backoff.Calm:
		n.condition(w, v1alpha1.ConditionBackingOff, "", false)
		n.condition(w, v1alpha1.ConditionDegraded, "", false)
	case backoff.Retrying:
	}
	n.condition(w, v1alpha1.ConditionNodeDraining, nodes, nodes != "")
	n.changeover(w, pass)
}

// condition tells what a condition says, and that it says it no more. Of two
// messages that differ in nothing but seats and servers, one is told.
func (n *narrator) condition(w *World, name, note string, holds bool) {
	news := note
	if name != v1alpha1.ConditionBackingOff {
		news = strings.Join(strings.FieldsFunc(note, func(r rune) bool { return r >= '0' && r <= '9' }), "")
	}
	if !n.new(name, news) {
		return
	}
	if holds {
		n.say(w, name+": "+note)
	} else {
		n.say(w, name+" no more")
	}
}

func (n *narrator) changeover(w *World, pass *groupPass) {
	over := &pass.plan.Changeover
	if !n.new("changeover", over.Note) {
		return
	}
	note := over.Note
	switch {
	case strings.HasPrefix(note, "starts have failed"), n.told[note]:
		return
	case note == "":
		note = "done"
	default:
		n.told[note] = true
	}
	n.say(w, fmt.Sprintf("changeover, %d of %d updated: %s", over.Progress.Updated, over.Progress.Total(), note))
}

// new is true when something stands otherwise than it was last heard to.
func (n *narrator) new(what, stands string) bool {
	was, known := n.stands[what]
	n.stands[what] = stands
	return was != stands || !known && stands != ""
}

// pod tells what a pod does by itself, unless its Server says it as well.
func (n *narrator) pod(w *World, h *happening) {
	if !strings.HasSuffix(h.note, "takes players") && !strings.HasSuffix(h.note, "exits") {
		n.say(w, h.server.name+": "+h.note)
	}
}

// server tells the turns of a server's life that an owner would notice.
func (n *narrator) server(w *World, h *happening) {
	name := h.server.name
	switch h.server.written.Status.Phase {
	case v1alpha1.ServerReady:
		if began, starting := n.since[h.server]; starting {
			delete(n.since, h.server)
			n.say(w, fmt.Sprintf("%s is Ready, %s after it was ordered", name, w.now.Sub(began).Round(time.Second)))
			return
		}
		n.say(w, name+" is Ready again")
	case v1alpha1.ServerFailed:
		n.failed++
		n.say(w, fmt.Sprintf("%s is %s", name, h.note))
	case v1alpha1.ServerRetiring:
		n.say(w, fmt.Sprintf("%s is %s", name, h.note))
	case v1alpha1.ServerDraining:
		if players := len(h.server.pod.players); players > 0 {
			n.say(w, fmt.Sprintf("%s is Draining, with %d players on it", name, players))
		}
	case v1alpha1.ServerStarting:
		if !h.server.firstStart() {
			n.say(w, fmt.Sprintf("%s is %s", name, h.note))
		}
	case v1alpha1.ServerTerminating:
		if h.server.written.Status.FailedAt != nil {
			return
		}
		n.say(w, fmt.Sprintf("%s goes. %s", name, strings.TrimPrefix(h.note, "Terminating. ")))
	case v1alpha1.ServerPending:
	}
}

func (n *narrator) count(w *World, h *happening) {
	switch h.what {
	case joined:
		n.joins++
		n.unhold(w, h.player)
	case held:
		if n.holds++; n.g.waiting == 1 {
			n.say(w, "somebody finds no seat, and is held")
		}
		n.heldSince[h.player] = w.now
	case refused:
		n.refusals++
		delete(n.heldSince, h.player)
	case lost:
		n.losses++
	case decided, settled, created, removed, retired, withdrawn, wrote, podDeleted, gone, podChanged, seated, left, turned, passed:
	}
}

func (n *narrator) unhold(w *World, one *player) {
	if since, waited := n.heldSince[one]; waited {
		n.longest = max(n.longest, w.now.Sub(since))
		delete(n.heldSince, one)
	}
}

// players is how many play in the group.
func (n *narrator) players() int {
	players := 0
	for _, s := range n.g.servers {
		if s.pod != nil {
			players += len(s.pod.players)
		}
	}
	return players
}

// say writes a line, with how the group stands.
func (n *narrator) say(w *World, text string) {
	t := n.g.truth()
	n.most = max(n.most, t.alive)
	n.notes, n.last = append(n.notes, text), w.now
	line := fmt.Sprintf("%s %7d %5d %5d %8d  %s", w.now.Format("Mon 15:04:05"), n.players(), n.g.waiting, t.free, t.alive, text)
	n.text.WriteString(strings.TrimRight(line, " ") + "\n")
}

// said is how often the group said something.
func (n *narrator) said(words string) int {
	times := 0
	for _, note := range n.notes {
		if strings.Contains(note, words) {
			times++
		}
	}
	return times
}

func (n *narrator) end(w *World) string {
	fmt.Fprintf(&n.text, "\n%s to %s: %d joins; %d players were held", w.scenario.Start.Format("Mon 15:04"), w.now.Format("Mon 15:04"), n.joins, n.holds)
	if n.holds > 0 {
		fmt.Fprintf(&n.text, ", at most %s until they played", n.longest.Round(time.Second))
	}
	fmt.Fprintf(&n.text, "; %d were refused; %d lost their server.\n", n.refusals, n.losses)
	return n.text.String()
}

// tale is a scenario and what is to be learned from it.
type tale struct {
	title    string
	scenario *Scenario
	// group is the one it is about, by index.
	group int
	// every is how often it is told how things stand; zero for never.
	every time.Duration
	// during are moments at which somebody looks, after everything of that
	// instant is done.
	during []glance
	// wants looks at how it ended.
	wants func(t *testing.T, n *narrator)
}

type glance struct {
	at   time.Time
	look func(t *testing.T, n *narrator)
}

// golden plays a tale and compares it with its file. A tale whose promises are
// broken is not written.
func (one tale) golden(t *testing.T, name string) {
	t.Helper()
	t.Parallel()
	w := New(one.scenario)
	n, c := newNarrator(w, &one), newChecks(w)
	w.watch(n, c)
	for _, g := range one.during {
		w.runTo(g.at, never)
		g.look(t, n)
	}
	w.Run()
	if c.broken != nil {
		t.Error(c.broken)
	}
	one.wants(t, n)
	got, file := n.end(w), filepath.Join("testdata", name+".txt")
	if lines := strings.Count(got, "\n"); lines > longest {
		t.Errorf("%d lines are no short story:\n%s", lines, got)
	}
	if *update && !t.Failed() {
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("the story is another (-update writes it anew):\n%s", diff)
	}
}

// forming is what a group says while a new leader has not heard from it.
const forming = "waiting for the servers to report to a new leader"

// deaf is true while no decision may rest on the counts.
func (n *narrator) deaf() bool { return n.g.w.manager.channelKnown == fleet.ChannelDegraded }
