// SPDX-License-Identifier: Apache-2.0

// Package statespace walks every point of a finite space of inputs, so that a
// test can hold an invariant against all of them instead of against examples.
package statespace

import (
	"iter"
	"strings"
)

// Value is one choice on an axis: its name and the change it makes.
type Value[T any] struct {
	Name string
	Set  func(*T)
}

// Axis is one dimension of a space. Exactly one of its values holds at a point.
type Axis[T any] struct {
	Name   string
	Values []Value[T]
}

// Space is the product of its axes, applied in their order.
type Space[T any] []Axis[T]

// Point is one choice per axis. It is valid only while it is being visited.
type Point[T any] struct {
	space  Space[T]
	choice []int
}

// String names the choices in the order of the axes.
func (p Point[T]) String() string {
	names := make([]string, len(p.space))
	for i, axis := range p.space {
		names[i] = axis.Name + "=" + axis.Values[p.choice[i]].Name
	}
	return strings.Join(names, " ")
}

// Size is the number of points.
func (s Space[T]) Size() int {
	size := 1
	for _, axis := range s {
		size *= len(axis.Values)
	}
	return size
}

// Points visits every point with the value that the start becomes there.
func (s Space[T]) Points(start T) iter.Seq2[Point[T], T] {
	return func(yield func(Point[T], T) bool) {
		s.walk(0, start, Point[T]{space: s, choice: make([]int, len(s))}, yield)
	}
}

func (s Space[T]) walk(depth int, at T, p Point[T], yield func(Point[T], T) bool) bool {
	if depth == len(s) {
		return yield(p, at)
	}
	for i, value := range s[depth].Values {
		next := at
		value.Set(&next)
		p.choice[depth] = i
		if !s.walk(depth+1, next, p, yield) {
			return false
		}
	}
	return true
}
