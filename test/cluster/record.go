// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// recordFolder is known to every clone on the machine. It is in /run because
// what it tells of does not outlive the machine's uptime either.
const recordFolder = "/run/spawnery-test-clusters"

// record is what a cluster's owner writes down for himself and for others. It
// exists before the first namespace and goes after the last.
type record struct {
	Network network `json:"network"`
	// Folder is the cluster's own, and so tells whose it is.
	Folder string `json:"folder"`
	// Fingerprint stands for what it was started from.
	Fingerprint string `json:"fingerprint"`
	// GraceSeconds is how long a node may be silent; 0 is Kubernetes' default.
	GraceSeconds int `json:"graceSeconds"`
	// Nodes has the first process of node N at N-1.
	Nodes []process `json:"nodes"`
}

// process names one process for good: a number alone may be reused.
type process struct {
	PID int `json:"pid"`
	// Boot and Started (in ticks after boot) tell it from a later one.
	Boot    string `json:"boot"`
	Started string `json:"started"`
}

func recordFile(n network) string {
	return filepath.Join(recordFolder, fmt.Sprintf("%d.json", n))
}

// readRecord returns nil if there is none.
func readRecord(n network) (*record, error) {
	content, err := os.ReadFile(recordFile(n))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var r record
	if err := json.Unmarshal(content, &r); err != nil {
		return nil, fmt.Errorf("reading %s: %w", recordFile(n), err)
	}
	return &r, nil
}

func (r *record) write() error {
	content, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(recordFolder, 0o755); err != nil {
		return err
	}
	part := recordFile(r.Network) + ".part"
	if err := os.WriteFile(part, append(content, '\n'), 0o644); err != nil {
		return err
	}
	return os.Rename(part, recordFile(r.Network))
}

// alive returns the recorded processes that live.
func (r *record) alive() []int {
	var pids []int
	for _, p := range r.Nodes {
		if p.alive() {
			pids = append(pids, p.PID)
		}
	}
	return pids
}

// identify describes a living process.
func identify(pid int) (process, error) {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return process{}, err
	}
	state, started, err := readStat(pid)
	if err != nil {
		return process{}, err
	}
	if state == "Z" || state == "X" {
		return process{}, fmt.Errorf("process %d has ended", pid)
	}
	return process{PID: pid, Boot: strings.TrimSpace(string(boot)), Started: started}, nil
}

// readStat returns a process's state letter and start time.
func readStat(pid int) (string, string, error) {
	content, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", "", err
	}
	// The second field is the command in brackets, which may hold anything.
	_, rest, ok := strings.Cut(string(content[strings.LastIndexByte(string(content), ')'):]), " ")
	fields := strings.Fields(rest)
	const state, started = 0, 19
	if !ok || len(fields) <= started {
		return "", "", fmt.Errorf("cannot read /proc/%d/stat", pid)
	}
	return fields[state], fields[started], nil
}

// alive says whether exactly this process lives. One that has ended and waits
// for its parent to notice does not.
func (p process) alive() bool {
	if p.PID == 0 {
		return false
	}
	now, err := identify(p.PID)
	return err == nil && now == p
}

// kill ends the process, and with it everything in its PID namespace.
func (p process) kill() error {
	if !p.alive() {
		return nil
	}
	if err := syscall.Kill(p.PID, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("killing process %s: %w", strconv.Itoa(p.PID), err)
	}
	return nil
}

// root is the process's root folder: the way to the files of a node.
func (p process) root(file string) string {
	return fmt.Sprintf("/proc/%d/root%s", p.PID, file)
}
