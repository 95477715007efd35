// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// cgroupRoot is where the kernel's control groups are mounted. Version 1 has a
// folder per controller in it, version 2 is one tree; both are handled, but
// only version 1 (and its hybrid form) has been seen to work.
const cgroupRoot = "/sys/fs/cgroup"

// frozen is a state of a node's processes.
type frozen string

const (
	freeze frozen = "freeze"
	thaw   frozen = "thaw"
)

func cgroupV2() bool {
	_, err := os.Stat(filepath.Join(cgroupRoot, "cgroup.controllers"))
	return err == nil
}

// hierarchies returns the folders below which a node has its own cgroup.
func hierarchies() []string {
	if cgroupV2() {
		return []string{cgroupRoot}
	}
	found, err := os.ReadDir(cgroupRoot)
	if err != nil {
		return nil
	}
	var dirs []string
	for _, e := range found {
		dir := filepath.Join(cgroupRoot, e.Name())
		if _, err := os.Stat(filepath.Join(dir, "cgroup.procs")); err == nil && e.IsDir() {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

// makeCgroups makes a node's cgroup in every hierarchy. The kubelet puts the
// pods' cgroups below it.
func makeCgroups(name string) error {
	for _, dir := range hierarchies() {
		group := filepath.Join(dir, name)
		if err := os.MkdirAll(group, 0o755); err != nil {
			return err
		}
		if err := prepareCgroup(dir, group); err != nil {
			return err
		}
	}
	return nil
}

// prepareCgroup sets what a fresh group of a version 1 hierarchy lacks.
func prepareCgroup(dir, group string) error {
	controllers := strings.Split(filepath.Base(dir), ",")
	if slices.Contains(controllers, "cpuset") {
		// It is born without processors and memory.
		for _, file := range []string{"cpuset.cpus", "cpuset.mems"} {
			if err := copyFile(filepath.Join(dir, file), filepath.Join(group, file)); err != nil {
				return err
			}
		}
	}
	if slices.Contains(controllers, "cpu") {
		// It weighs as much as one single thread of the machine outside; all the
		// pods of a node together deserve more than that.
		return os.WriteFile(filepath.Join(group, "cpu.shares"), []byte("10240"), 0o644)
	}
	return nil
}

func copyFile(from, to string) error {
	content, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, content, 0o644)
}

// joinCgroup puts the calling process where freezing its node reaches it, and
// leaves it where it is for all accounting.
func joinCgroup(name string) error {
	group := filepath.Join(cgroupRoot, "freezer", name)
	if cgroupV2() {
		// Version 2 allows no processes beside the pods' groups.
		group = filepath.Join(cgroupRoot, name, "system")
		if err := os.MkdirAll(group, 0o755); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(group, "cgroup.procs"), []byte(strconv.Itoa(os.Getpid())), 0o644)
}

// freezer is how a node's processes are frozen: what to write where, and what
// to read where once it is done.
type freezer struct {
	control, state string
	write, read    map[frozen]string
}

func freezerOf(name string) freezer {
	if cgroupV2() {
		dir := filepath.Join(cgroupRoot, name)
		return freezer{
			control: filepath.Join(dir, "cgroup.freeze"),
			state:   filepath.Join(dir, "cgroup.events"),
			write:   map[frozen]string{freeze: "1", thaw: "0"},
			read:    map[frozen]string{freeze: "frozen 1", thaw: "frozen 0"},
		}
	}
	file, words := filepath.Join(cgroupRoot, "freezer", name, "freezer.state"), map[frozen]string{freeze: "FROZEN", thaw: "THAWED"}
	return freezer{control: file, state: file, write: words, read: words}
}

// is says whether the node's processes are in that state.
func (f freezer) is(want frozen) bool {
	content, err := os.ReadFile(f.state)
	return err == nil && strings.Contains(string(content), f.read[want])
}

// set freezes or thaws everything in a node and waits until it is so.
func (f freezer) set(ctx context.Context, want frozen) error {
	if err := os.WriteFile(f.control, []byte(f.write[want]), 0o644); err != nil {
		return err
	}
	return await(ctx, 20*time.Second, fmt.Sprintf("the kernel to %s the node", want), func() bool { return f.is(want) })
}

// removeCgroups removes every cgroup whose name is wanted. A group can be removed
// once the kernel has forgotten its last process, which takes a moment.
func removeCgroups(ctx context.Context, wanted func(name string) bool) error {
	var left []string
	err := await(ctx, 15*time.Second, "the end of cgroups", func() bool {
		left = nil
		for _, dir := range hierarchies() {
			for _, name := range entries(dir, wanted) {
				if err := removeCgroup(filepath.Join(dir, name)); err != nil {
					left = append(left, filepath.Join(dir, name))
				}
			}
		}
		return len(left) == 0
	})
	if err != nil {
		return fmt.Errorf("%w: %s", err, strings.Join(left, " "))
	}
	return nil
}

// removeCgroup removes a group and all below it, the innermost first.
func removeCgroup(group string) error {
	var dirs []string
	err := filepath.WalkDir(group, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			dirs = append(dirs, path)
		}
		return nil
	})
	for _, dir := range slices.Backward(dirs) {
		if removal := os.Remove(dir); removal != nil && !errors.Is(removal, fs.ErrNotExist) {
			err = errors.Join(err, removal)
		}
	}
	return err
}
