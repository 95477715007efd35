// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// unreleased heads what the next version brings; a version's own heading is
// "## 1.2.3 - 2026-11-30".
const unreleased = "## Unreleased\n"

// section heads a version, or what has none yet.
var section = regexp.MustCompile(`(?m)^## `)

// entry is a line of a list.
var entry = regexp.MustCompile(`(?m)^- \S`)

// released gives what is unreleased to a version, and leaves an empty place for
// the next one.
func released(changelog, version, date string) (string, error) {
	before, after, found := strings.Cut(changelog, unreleased)
	if !found {
		return "", fmt.Errorf("%s has no heading %q", changelogFile, strings.TrimSpace(unreleased))
	}
	if hasSection(changelog, version) {
		return "", fmt.Errorf("%s has a section of %s already", changelogFile, version)
	}
	news := after
	if at := section.FindStringIndex(after); at != nil {
		news = after[:at[0]]
	}
	if !entry.MatchString(news) {
		return "", errors.New(changelogFile + " has no entry under Unreleased; say there what users of this version will notice")
	}
	return before + unreleased + "\n## " + version + " - " + date + "\n" + after, nil
}

// hasSection says whether a version has its own section.
func hasSection(changelog, version string) bool {
	return strings.Contains(changelog, "\n## "+version+" - ")
}
