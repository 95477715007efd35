// SPDX-License-Identifier: Apache-2.0

// Command release does the steps of a release that are more than running
// generators. docs/development/release.md tells when each is run.
//
//	release check VERSION                  may VERSION be released from this tree?
//	release cut VERSION DATE               VERSION and CHANGELOG.md become those of VERSION
//	release channel VERSION                keep the channel of this tree as that of VERSION
//	release check-commit VERSION COMMIT    may the bundle of COMMIT be stored as VERSION?
//	release store VERSION COMMIT GO BUILT  store what hack/rebuild.sh made of COMMIT in BUILT
//	release unpack ARCHIVE FOLDER          write the programs of an image into FOLDER
//	release last                           print the last stored version
//	release open VERSION                   VERSION becomes the one that is worked on
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	agentv1alpha1 "github.com/spawnery/spawnery-operator/api/agent/v1alpha1"
	channels "github.com/spawnery/spawnery-operator/api/agent/v1alpha1/released"
	"github.com/spawnery/spawnery-operator/hack/release/store"
)

// Files and folders, relative to the top of the tree.
const (
	versionFile   = "VERSION"
	changelogFile = "CHANGELOG.md"
	storeFolder   = "bundles"
	channelFolder = "api/agent/v1alpha1/released"
)

func main() {
	if err := run(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return errUsage
	}
	commands := map[string]struct {
		arguments int
		run       func(a []string) error
	}{
		"check":        {1, func(a []string) error { return check(ctx, a[0]) }},
		"cut":          {2, func(a []string) error { return cut(a[0], a[1]) }},
		"channel":      {1, func(a []string) error { return keepChannel(a[0]) }},
		"check-commit": {2, func(a []string) error { return checkCommit(ctx, a[0], a[1]) }},
		"store":        {4, func(a []string) error { return add(a[0], a[1], a[2], a[3]) }},
		"unpack":       {2, func(a []string) error { return unpack(a[0], a[1]) }},
		"last":         {0, func([]string) error { return last() }},
		"open":         {1, func(a []string) error { return open(a[0]) }},
	}
	command, ok := commands[args[0]]
	if !ok || len(args)-1 != command.arguments {
		return errUsage
	}
	return command.run(args[1:])
}

var errUsage = errors.New("see the head of hack/release/main.go for the commands and their arguments")

// check says why VERSION cannot be released from this tree, if it cannot.
func check(ctx context.Context, version string) error {
	if err := clean(ctx); err != nil {
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

// clean says whether everything is committed.
func clean(ctx context.Context) error {
	status, err := git(ctx, "status", "--porcelain")
	if err != nil || status == "" {
		return err
	}
	return fmt.Errorf("the tree has changes that are not committed; commit or stash them first:\n%s", strings.TrimRight(status, "\n"))
}

// newest says whether version is higher than every stored one.
func newest(version string) error {
	stored, err := store.Versions(storeFolder)
	if err != nil {
		return err
	}
	return store.Follows(version, stored)
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

// keepChannel writes how VERSION speaks, for later versions to be tested with.
func keepChannel(version string) error {
	content, err := channels.Encode(agentv1alpha1.File_api_agent_v1alpha1_channel_proto)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(channelFolder, channels.FileName(version)), content, 0o644)
}

// checkCommit says why the bundle of a commit cannot be stored, if it cannot.
func checkCommit(ctx context.Context, version, commit string) error {
	if err := clean(ctx); err != nil {
		return err
	}
	if err := newest(version); err != nil {
		return err
	}
	changelog, err := git(ctx, "show", commit+":"+changelogFile)
	if err != nil {
		return err
	}
	if !hasSection(changelog, version) {
		return fmt.Errorf("%s has no section of %s at %s; run make release VERSION=%s and commit what it changes", changelogFile, version, commit, version)
	}
	for _, branch := range []string{"refs/remotes/origin/main", "refs/heads/main"} {
		if _, err := git(ctx, "rev-parse", "--verify", "--quiet", branch); err != nil {
			continue
		}
		if _, err := git(ctx, "merge-base", "--is-ancestor", commit, branch); err == nil {
			return nil
		}
	}
	return fmt.Errorf("%s is not on the main branch; put it there first, a rebase would change its name", commit)
}

func add(version, commit, goVersion, built string) error {
	image, err := store.ReadImage(filepath.Join(built, "operator.tar"))
	if err != nil {
		return err
	}
	record := store.Record{Version: version, Commit: commit, Go: goVersion, Image: *image}
	return store.Add(storeFolder, record, filepath.Join(built, "bundle"))
}

func unpack(archive, folder string) error {
	image, err := store.ReadImage(archive)
	if err != nil {
		return err
	}
	return image.Unpack(folder)
}

func last() error {
	stored, err := store.Versions(storeFolder)
	if err != nil {
		return err
	}
	if len(stored) == 0 {
		return errors.New("no version is stored in " + storeFolder)
	}
	fmt.Println(stored[len(stored)-1])
	return nil
}

func open(version string) error {
	if err := newest(version); err != nil {
		return err
	}
	return os.WriteFile(versionFile, []byte(version+"\n"), 0o644)
}

// git returns what git prints; an error has what git said about it.
func git(ctx context.Context, args ...string) (string, error) {
	output, err := exec.CommandContext(ctx, "git", args...).Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		err = fmt.Errorf("%w: %s", err, strings.TrimSpace(string(exit.Stderr)))
	}
	if err != nil {
		return "", fmt.Errorf("asking git %s: %w", args[0], err)
	}
	return string(output), nil
}
