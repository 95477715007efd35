// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
)

// tally counts tests by their outcome.
type tally struct{ passed, failed, skipped int }

func (t *tally) add(other tally) {
	t.passed += other.passed
	t.failed += other.failed
	t.skipped += other.skipped
}

// event is what of a line of go test -json is read here.
type event struct{ Action, Package, Test string }

// test is one test of one package. The package itself has no name.
type test struct{ pkg, name string }

// outcomes says how each test ended: pass, fail or skip.
type outcomes map[test]string

func countFile(path string) (tally, error) {
	file, err := os.Open(path)
	if err != nil {
		return tally{}, err
	}
	defer func() { _ = file.Close() }()
	counted, err := count(file)
	if err != nil {
		return tally{}, fmt.Errorf("reading %s: %w", path, err)
	}
	return counted, nil
}

// count reads a report. A test with subtests is not counted beside them. A
// package that fails without a failed test, as by a panic or because it does
// not compile, counts as one failure.
func count(report io.Reader) (tally, error) {
	outcomes, err := outcomesOf(report)
	if err != nil {
		return tally{}, err
	}
	var counted tally
	for t, outcome := range outcomes {
		counted.add(outcomes.weigh(t, outcome))
	}
	return counted, nil
}

// weigh says what one outcome counts beside all the others.
func (o outcomes) weigh(t test, outcome string) tally {
	switch {
	case t.name == "" && (outcome != "fail" || o.anyFailed(t.pkg)):
		return tally{}
	case outcome == "fail":
		return tally{failed: 1}
	case o.isParent(t):
		return tally{}
	case outcome == "skip":
		return tally{skipped: 1}
	}
	return tally{passed: 1}
}

func (o outcomes) anyFailed(pkg string) bool {
	for t, outcome := range o {
		if t.pkg == pkg && t.name != "" && outcome == "fail" {
			return true
		}
	}
	return false
}

func (o outcomes) isParent(t test) bool {
	for other := range o {
		if other.pkg == t.pkg && strings.HasPrefix(other.name, t.name+"/") {
			return true
		}
	}
	return false
}

func outcomesOf(report io.Reader) (outcomes, error) {
	seen := outcomes{}
	lines := bufio.NewScanner(report)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		// go test mixes messages of the compiler in.
		if !strings.HasPrefix(lines.Text(), "{") {
			continue
		}
		var e event
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			return nil, err
		}
		switch e.Action {
		case "pass", "fail", "skip":
			seen[test{e.Package, e.Test}] = e.Action
		}
	}
	return seen, lines.Err()
}
