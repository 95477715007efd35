// SPDX-License-Identifier: Apache-2.0

// Command test-report counts the tests in reports of go test -json, prints a
// row for each report and ends with one plain line, "N passed, N failed". It
// fails when a test failed, and when a report holds no test at all.
//
//	test-report [-failed-parts N] bin/reports/*.json
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

func main() {
	parts := flag.Int("failed-parts", 0, "how many parts failed, with or without a failed test")
	flag.Parse()

	var total tally
	var empty []string
	for _, path := range flag.Args() {
		counted, err := countFile(path)
		if err != nil {
			fmt.Fprintln(os.Stderr, "test-report:", err)
			os.Exit(1)
		}
		name := strings.TrimSuffix(filepath.Base(path), ".json")
		fmt.Printf("%-18s %5d passed, %d failed, %d skipped\n", name, counted.passed, counted.failed, counted.skipped)
		if counted.passed+counted.failed == 0 {
			empty = append(empty, name)
		}
		total.add(counted)
	}
	// A part can fail without a failed test: lint does.
	failed := total.failed
	if failed == 0 {
		failed = *parts + len(empty)
	}
	if len(empty) > 0 {
		fmt.Println("no test ran in", strings.Join(empty, ", "))
	}
	fmt.Printf("%d passed, %d failed\n", total.passed, failed)
	if failed > 0 {
		os.Exit(1)
	}
}
