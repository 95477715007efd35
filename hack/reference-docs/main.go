// SPDX-License-Identifier: Apache-2.0

// Command reference-docs writes the pages of docs/reference whose content is
// data in the code: the permissions of the manager, the conditions and events
// of the API, the metrics, and what players read.
//
//	reference-docs docs/reference
package main

import (
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	metrics, err := metricsPage()
	if err != nil {
		fmt.Fprintln(os.Stderr, "reference-docs:", err)
		os.Exit(1)
	}
	for name, page := range map[string]string{
		"permissions.md": permissionsPage(),
		"conditions.md":  conditionsPage(),
		"metrics.md":     metrics,
		"events.md":      eventsPage(),
		"messages.md":    messagesPage(),
	} {
		if err := os.WriteFile(filepath.Join(os.Args[1], name), []byte(page), 0o644); err != nil {
			fmt.Fprintln(os.Stderr, "reference-docs:", err)
			os.Exit(1)
		}
	}
}
