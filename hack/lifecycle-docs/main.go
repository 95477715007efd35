// SPDX-License-Identifier: Apache-2.0

// Command lifecycle-docs writes the reference of a server's life from the very
// rules that decide it, so that the two cannot differ.
package main

import (
	"fmt"
	"os"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: lifecycle-docs FILE")
		os.Exit(2)
	}
	if err := os.WriteFile(os.Args[1], []byte(page()), 0o644); err != nil {
		fmt.Fprintln(os.Stderr, "writing the lifecycle reference:", err)
		os.Exit(1)
	}
}
