// SPDX-License-Identifier: Apache-2.0

package mcproto

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// String is the text without any formatting, as a console shows it. A
// translated component is its fallback with the arguments filled in, or its
// key followed by them.
func (t Text) String() string {
	p := plainPrinter{steps: maxTextParts}
	p.text(t, maxTextDepth)
	return p.out.String()
}

// maxPlain bounds a plain text in bytes: it goes into logs.
const maxPlain = 16 << 10

// plainPrinter counts its steps and bytes: a fallback may name an argument
// many times, and each argument may do the same.
type plainPrinter struct {
	out   strings.Builder
	steps int
}

// write writes what there is room for, whole characters.
func (p *plainPrinter) write(s string) {
	if room := maxPlain - p.out.Len(); len(s) > room {
		for room > 0 && !utf8.RuneStart(s[room]) {
			room--
		}
		s, p.steps = s[:room], -1
	}
	p.out.WriteString(s)
}

func (p *plainPrinter) text(t Text, depth int) {
	p.steps--
	if depth == 0 || p.steps < 0 {
		return
	}
	switch {
	case t.Translate == "":
		p.write(t.Text)
	case t.Fallback != "":
		p.fill(t, depth)
	default:
		p.write(t.Translate)
		for _, arg := range t.With {
			p.write(" ")
			p.text(arg, depth-1)
		}
	}
	for _, part := range t.Extra {
		p.text(part, depth-1)
	}
}

// fill puts the arguments into the fallback: %s in order, %1$s by number, %%
// for the sign itself.
func (p *plainPrinter) fill(t Text, depth int) {
	next, rest := 0, t.Fallback
	for p.steps >= 0 {
		before, after, found := strings.Cut(rest, "%")
		p.write(before)
		if !found {
			return
		}
		p.steps--
		arg, length := argument(after)
		switch arg {
		case noArgument:
			p.write("%")
		case inOrder:
			arg = next
			next++
		}
		if arg >= 0 && arg < len(t.With) {
			p.text(t.With[arg], depth-1)
		}
		rest = after[length:]
	}
}

// What argument returns instead of a place among the arguments.
const (
	inOrder    = -1
	noArgument = -2
)

// argument reads what follows a percent sign: which argument it stands for and
// how many bytes that took, 0 when it stands for itself.
func argument(after string) (int, int) {
	switch {
	case strings.HasPrefix(after, "s"):
		return inOrder, 1
	case strings.HasPrefix(after, "%"):
		return noArgument, 1
	}
	digits := 0
	for digits < min(len(after), maxArgumentDigits) && after[digits] >= '0' && after[digits] <= '9' {
		digits++
	}
	n, err := strconv.Atoi(after[:digits])
	if err != nil || n < 1 || !strings.HasPrefix(after[digits:], "$s") {
		return noArgument, 0
	}
	return n - 1, digits + len("$s")
}

// maxArgumentDigits is more than any text has arguments.
const maxArgumentDigits = 9
