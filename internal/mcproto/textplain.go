// SPDX-License-Identifier: Apache-2.0

package mcproto

import (
	"strconv"
	"strings"
)

// String is the text without any formatting, as a console shows it. A
// translated component is its fallback with the arguments filled in, or its
// key followed by them.
func (t Text) String() string {
	p := plainPrinter{steps: maxTextParts}
	p.text(t, maxTextDepth)
	return p.out.String()
}

// plainPrinter counts its steps: a fallback may name an argument many times,
// and each argument may do the same.
type plainPrinter struct {
	out   strings.Builder
	steps int
}

func (p *plainPrinter) text(t Text, depth int) {
	p.steps--
	if depth == 0 || p.steps < 0 {
		return
	}
	switch {
	case t.Translate == "":
		p.out.WriteString(t.Text)
	case t.Fallback != "":
		p.fill(t, depth)
	default:
		p.out.WriteString(t.Translate)
		for _, arg := range t.With {
			p.out.WriteByte(' ')
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
	for {
		before, after, found := strings.Cut(rest, "%")
		p.out.WriteString(before)
		if !found {
			return
		}
		arg, length := next, len("s")
		switch number, tail, numbered := strings.Cut(after, "$s"); {
		case strings.HasPrefix(after, "s"):
			next++
		case strings.HasPrefix(after, "%"):
			p.out.WriteByte('%')
			arg = -1
		case numbered && isArgumentNumber(number):
			n, _ := strconv.Atoi(number)
			arg, length = n-1, len(after)-len(tail)
		default:
			p.out.WriteByte('%')
			arg, length = -1, 0
		}
		if arg >= 0 && arg < len(t.With) {
			p.text(t.With[arg], depth-1)
		}
		rest = after[length:]
	}
}

func isArgumentNumber(s string) bool {
	n, err := strconv.Atoi(s)
	return err == nil && n >= 1
}
