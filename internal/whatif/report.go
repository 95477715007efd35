// SPDX-License-Identifier: Apache-2.0

package whatif

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spawnery/spawnery-operator/api/v1alpha1"
	"github.com/spawnery/spawnery-operator/internal/fleet"
	"github.com/spawnery/spawnery-operator/internal/simulate"
)

// String is the report, as plain text of the width that was asked for.
func (a *Answer) String() string {
	q, l := a.question, a.ledger
	spec := &q.Group.Spec
	own := a.variants[0].numbers
	report := &strings.Builder{}
	say := func(format string, args ...any) {
		report.WriteString(wrap(fmt.Sprintf(format, args...), q.Width))
	}
	say("group %s: minReplicas %d, maxReplicas %d, spareSlots %d, %d seats a server", q.Group.Name,
		own.least, own.most, own.spare, fleet.Capacity(int(spec.PlayableSlots), int(spec.MaxPlayers)))
	say("proxies choose by strategy %s", own.routing)
	say("%s; %s from %s; a server starts in %s to %s; seed %d", q.Trace.Name, length(a.end.Sub(a.start)),
		a.start.Format("Mon 15:04"), length(q.Boot), length(q.Boot+q.Boot/4), q.Seed)
	fmt.Fprintf(report, "\n%sone column is %s\n\n", draw(l, a.step), length(a.step))
	say("server-hours  %.1f, at most %d servers at once", l.ServerTime.Hours(), l.MostServers)
	say("players       %d joined, at most %d at once", a.joins, l.MostPlayers)
	say("held          %s", a.holds())
	say("refused       %s", a.refusals())
	if l.Lost > 0 {
		say("lost          %s had their server go under them", count(l.Lost, "player"))
	}
	say("spare seats   %s", a.spare())
	report.WriteString("\nother settings, with the same players\n\n")
	a.table(report)
	return report.String()
}

func (a *Answer) holds() string {
	l := a.ledger
	if l.Held == 0 {
		return "nobody had to wait for a seat"
	}
	text := count(l.Held, "player") + " waited for a seat"
	if l.LongestHold > 0 {
		text += ", the longest wait that ended in one was " + length(l.LongestHold.Round(time.Second))
	}
	if l.GaveUp > 0 {
		text += fmt.Sprintf("; %d left before", l.GaveUp)
	}
	return text
}

func (a *Answer) refusals() string {
	l := a.ledger
	if l.Refused == 0 {
		return "nobody"
	}
	text := count(l.Refused, "player") + " found no seat"
	if a.question.Hold > 0 {
		text += " within " + length(a.question.Hold)
	}
	return text
}

func (a *Answer) spare() string {
	l, spec := a.ledger, &a.question.Group.Spec
	text := fmt.Sprintf("%d were free all the time", *spec.Scaling.SpareSlots)
	if short := l.Short.Round(time.Minute); short > 0 {
		text = fmt.Sprintf("fewer than %d were free for %s", *spec.Scaling.SpareSlots, length(short))
	}
	if full := l.AtCeiling.Round(time.Minute); full > 0 {
		text += "; the group had all of its maxReplicas for " + length(full)
	}
	return text
}

// table compares. The first line are the given numbers, and a dot stands for
// the same one.
func (a *Answer) table(report *strings.Builder) {
	write := func(cells ...string) {
		if a.question.Width < 80 {
			fmt.Fprintf(report, "%4s %4s %5s %4s %6s %6s %4s\n", cells[0], cells[1], cells[2], brief(cells[3]), brief(cells[4]), cells[5], brief(cells[9]))
			return
		}
		fmt.Fprintf(report, "%4s %4s %5s %13s %8s %7s %7s %5s %7s %7s\n", cells[0], cells[1], cells[2], cells[3], cells[4], cells[5], cells[6], cells[7], cells[8], cells[9])
	}
	write("min", "max", "spare", "consolidation", "strategy", "hours", "servers", "held", "longest", "refused")
	own := a.variants[0].numbers
	for i, v := range a.variants {
		mark := func(number, given any) string {
			if i > 0 && number == given {
				return "."
			}
			return fmt.Sprint(number)
		}
		n, l := v.numbers, v.ledger
		write(mark(n.least, own.least), mark(n.most, own.most), mark(n.spare, own.spare), mark(n.gather, own.gather), mark(n.routing, own.routing),
			fmt.Sprintf("%.1f", l.ServerTime.Hours()), strconv.Itoa(l.MostServers), strconv.Itoa(l.Held), wait(l), strconv.Itoa(l.Refused))
	}
}

// brief is what a narrow table has instead.
func brief(cell string) string {
	switch cell {
	case "consolidation":
		return "cons"
	case "strategy":
		return "mode"
	case "refused":
		return "ref."
	case string(v1alpha1.ConsolidationEnabled):
		return "on"
	case string(v1alpha1.ConsolidationDisabled):
		return "off"
	}
	return cell
}

func wait(l *simulate.Ledger) string {
	if l.LongestHold == 0 {
		return "-"
	}
	return length(l.LongestHold.Round(time.Second))
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprint(n, " ", what, "s")
}

// length writes a duration without the parts that are zero.
func length(d time.Duration) string {
	if days := d / (24 * time.Hour); days > 1 && d%(24*time.Hour) == 0 {
		return fmt.Sprint(int(days), " days")
	}
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// wrap breaks a line between words.
func wrap(text string, width int) string {
	var all strings.Builder
	used := 0
	for i, word := range strings.SplitAfter(text, " ") {
		if i > 0 && used+len(strings.TrimRight(word, " ")) > width {
			all.WriteString("\n  ")
			used = 2
		}
		all.WriteString(word)
		used += len(word)
	}
	lines := strings.Split(all.String(), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.Join(lines, "\n") + "\n"
}
