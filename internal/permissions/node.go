// SPDX-License-Identifier: Apache-2.0

package permissions

import "strings"

// node is one line of an entry.
type node struct {
	text     string // without sign and star
	wildcard bool
	answer   Answer
}

func parse(text string) node {
	n := node{answer: Granted}
	text = strings.ToLower(strings.TrimSpace(text))
	if rest, denied := strings.CutPrefix(text, "-"); denied {
		n.answer, text = Denied, rest
	}
	n.text, n.wildcard = strings.CutSuffix(text, "*")
	return n
}

// verdict is an answer and how much of the wanted node stands behind it.
type verdict struct {
	answer Answer
	weight int
}

// on is what the node says about a wanted one. A whole node outweighs the
// wildcard of the same length.
func (n *node) on(wanted string) verdict {
	switch {
	case n.wildcard && strings.HasPrefix(wanted, n.text):
		return verdict{n.answer, 2*len(n.text) + 1}
	case !n.wildcard && wanted == n.text:
		return verdict{n.answer, 2*len(n.text) + 2}
	}
	return verdict{}
}

// or is the weightier of two verdicts, and of equals the denial.
func (v verdict) or(other verdict) verdict {
	if other.weight > v.weight || (other.weight == v.weight && other.answer == Denied) {
		return other
	}
	return v
}
