// SPDX-License-Identifier: Apache-2.0

// Command release does the steps of a release that are more than running
// generators. docs/development/release.md tells when each is run.
//
//	release check VERSION         may VERSION be released from this tree?
//	release cut VERSION DATE      VERSION and CHANGELOG.md become those of VERSION
//	release open VERSION          VERSION becomes the one that is worked on
package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// Files and folders, relative to the top of the tree.
const (
	versionFile   = "VERSION"
	changelogFile = "CHANGELOG.md"
	storeFolder   = "bundles"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	switch {
	case len(args) == 2 && args[0] == "check":
		return check(args[1])
	case len(args) == 3 && args[0] == "cut":
		return cut(args[1], args[2])
	case len(args) == 2 && args[0] == "open":
		return open(args[1])
	}
	return errors.New("usage: release check VERSION | cut VERSION DATE | open VERSION")
}

// check says why VERSION cannot be released from this tree, if it cannot.
func check(version string) error {
	status, err := exec.Command("git", "status", "--porcelain").Output()
	if err != nil {
		return fmt.Errorf("asking git for changes: %w", err)
	}
	if err := clean(string(status)); err != nil {
		return err
	}
	if err := newest(version); err != nil {
		return err
	}
	changelog, err := os.ReadFile(changelogFile)
	if err != nil {
		return err
	}
	_, err = released(string(changelog), version, "")
	return err
}

// clean takes what git status --porcelain prints.
func clean(status string) error {
	if status == "" {
		return nil
	}
	return fmt.Errorf("the tree has changes that are not committed; commit or stash them first:\n%s", strings.TrimRight(status, "\n"))
}

func cut(version, date string) error {
	changelog, err := os.ReadFile(changelogFile)
	if err != nil {
		return err
	}
	changed, err := released(string(changelog), version, date)
	if err != nil {
		return err
	}
	if err := os.WriteFile(changelogFile, []byte(changed), 0o644); err != nil {
		return err
	}
	return os.WriteFile(versionFile, []byte(version+"\n"), 0o644)
}

func open(version string) error {
	if err := newest(version); err != nil {
		return err
	}
	return os.WriteFile(versionFile, []byte(version+"\n"), 0o644)
}

// newest says whether version is higher than every stored one.
func newest(version string) error {
	stored, err := storedVersions(storeFolder)
	if err != nil {
		return err
	}
	return follows(version, stored)
}
